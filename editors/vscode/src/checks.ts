// Checks of rules, prompts and dialogues, and the lenses above them.

import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { type Change, isWithin, type Kind, kindOf, kindsAt, onDisk, placeIn, Soon } from "./files.ts";
import type { Place } from "./place.ts";
import { findProgram, run } from "./program.ts";
import { guarded, type Window } from "./window.ts";
import { errorIn, KdsError, type Problem } from "./wire.ts";

/** What the three checks print, each its part of it. */
interface Report {
  readonly problems?: readonly Problem[];
  readonly passed_over?: readonly Problem[];
  readonly strays?: readonly Problem[];
  readonly lost?: readonly Problem[];
  readonly failed?: readonly FailedRule[];
  readonly examples?: readonly { readonly astray: readonly { where: string; text: string; intent: string }[] }[];
}

interface FailedRule {
  readonly rule: string;
  readonly where: string;
  readonly in: string;
  readonly expected: readonly string[];
  readonly actual: string;
}

interface Finding {
  readonly where: string;
  readonly message: string;
  readonly severity: vscode.DiagnosticSeverity;
}

const { Error: WRONG, Warning: DOUBTFUL } = vscode.DiagnosticSeverity;

export function registerChecks(window: Window): vscode.Disposable {
  const checks = new Checks(window);
  const seen = ({ uri }: vscode.TextDocument): void => void checks.look(kindOf(uri), uri, { again: false });
  vscode.workspace.textDocuments.forEach(seen);
  return vscode.Disposable.from(
    checks,
    vscode.workspace.onDidSaveTextDocument(({ uri }) => checks.changed(uri)),
    vscode.workspace.onDidOpenTextDocument(seen),
    onDisk((uri, change) => checks.changed(uri, change)),
    vscode.commands.registerCommand("kds.check", guarded(window, () => checks.all())),
  );
}

class Checks implements vscode.Disposable {
  readonly #window: Window;
  readonly #collections = new Map<string, vscode.DiagnosticCollection>();
  readonly #running = new Map<string, AbortController>();
  readonly #soon = new Soon();

  constructor(window: Window) {
    this.#window = window;
  }

  /** A file or folder came, changed or went: check its kind, which hangs together, or the dialogue that is known. */
  changed(uri: vscode.Uri, change: Change = "changed"): void {
    if (change === "gone") this.#forget(uri);
    for (const kind of kindsAt(uri)) {
      const key = keyOf(this.#window.places.of(uri), kind, uri);
      const isWanted = kind !== "dialogues" || (change !== "gone" && this.#collections.has(key));
      if (isWanted) this.#soon.do(key, () => this.look(kind, uri, { again: true }));
    }
  }

  /** Nothing is wrong in a file that is gone. */
  #forget(gone: vscode.Uri): void {
    for (const collection of this.#collections.values()) {
      const files = [...collection].map(([uri]) => uri).filter((uri) => isWithin(uri, gone));
      files.forEach((uri) => collection.delete(uri));
    }
  }

  /** Check what a file is part of; when that was checked before, only `again`. */
  async look(kind: Kind | undefined, uri: vscode.Uri, { again }: { again: boolean }): Promise<void> {
    if (kind === undefined || !vscode.workspace.getConfiguration("kds", uri).get("checkOnSave", true)) return;
    const place = this.#window.places.of(uri);
    if (!place.trusted || (this.#collections.has(keyOf(place, kind, uri)) && !again)) return;
    try {
      if ((await findProgram(place)) !== undefined) await this.#check(place, kind, uri);
    } catch (error) {
      this.#window.log.warn(`the ${kind} cannot be checked: ${String(error)}`); // saving goes on
    }
  }

  /** Check everything in the window, and say how it is. */
  async all(): Promise<void> {
    const places = this.#window.places.all().filter((place) => place.trusted);
    if (places.length === 0) throw new KdsError("there is nothing to check", { hint: "open a folder, and trust it" });
    const told = { location: vscode.ProgressLocation.Notification, title: "KDS checks prompts, rules and dialogues" };
    const counts = await vscode.window.withProgress(told, async () => {
      const found: number[] = [];
      for (const place of places) {
        for (const kind of ["prompts", "rules"] as const) found.push(await this.#check(place, kind, place.uri));
        const pattern = new vscode.RelativePattern(place.root, "**/{*.dialogue.*,dialogues/**/*.{yaml,yml}}");
        const files = await vscode.workspace.findFiles(pattern, "**/node_modules/**", 200);
        for (const uri of files.filter((one) => kindOf(one) === "dialogues")) found.push(await this.#check(place, "dialogues", uri));
      }
      return found;
    });
    const count = counts.reduce((sum, one) => sum + one, 0);
    const message = count === 0 ? "KDS: all of it is in order." : `KDS: ${count} to look at.`;
    void vscode.window.showInformationMessage(message);
    if (count > 0) await vscode.commands.executeCommand("workbench.actions.view.problems");
  }

  async #check(place: Place, kind: Kind, uri: vscode.Uri): Promise<number> {
    const key = keyOf(place, kind, uri);
    this.#running.get(key)?.abort(); // what it finds would be out of date
    const controller = new AbortController();
    this.#running.set(key, controller);
    const collection = this.#collections.get(key) ?? vscode.languages.createDiagnosticCollection(`kds ${key}`);
    this.#collections.set(key, collection);
    const args = kind === "dialogues" ? ["test", "--list", uri.fsPath] : [kind, "check"];
    let stdout: string;
    try {
      ({ stdout } = await run(place, [...args, "--json", "-w", place.root], { signal: controller.signal }));
    } catch (error) {
      if (controller.signal.aborted) return 0;
      throw error;
    }
    const found = findingsIn(JSON.parse(stdout) as Report);
    const isInside = (path: string): boolean => [place.root, place.folder].some((root) => path.startsWith(`${root}/`));
    const isOwn = (path: string): boolean => kind === (kindOf(vscode.Uri.file(path)) ?? "prompts"); // each problem once
    const here = found.filter((one) => isOwn(pathOf(one, place)) && (one.severity === WRONG || isInside(pathOf(one, place))));
    collection.clear(); // setting many leaves the files alone that are in order by now
    collection.set(asDiagnostics(here, place));
    return here.length;
  }

  dispose(): void {
    this.#soon.dispose();
    for (const controller of this.#running.values()) controller.abort();
    for (const collection of this.#collections.values()) collection.dispose();
  }
}

function keyOf(place: Place, kind: Kind, uri: vscode.Uri): string {
  return kind === "dialogues" ? `${place.root} ${uri.fsPath}` : `${place.root} ${kind}`;
}

/** Everything that a report finds wrong or doubtful. */
export function findingsIn(report: Report): Finding[] {
  const wrong = [...(report.problems ?? []), ...(errorIn(report)?.problems ?? [])];
  const doubtful = [...(report.passed_over ?? []), ...(report.strays ?? []), ...(report.lost ?? [])];
  const rules = (report.failed ?? []).filter((one) => "rule" in one);
  const astray = (report.examples ?? []).flatMap((one) => one.astray);
  return [
    ...wrong.map((one) => ({ where: one.where, message: withHint(one), severity: WRONG })),
    ...doubtful.map((one) => ({ where: one.where, message: withHint(one), severity: DOUBTFUL })),
    ...rules.map((one) => ({ where: one.where, message: failure(one), severity: WRONG })),
    ...astray.map((one) => ({ where: one.where, message: `the example '${one.text}' reaches ${one.intent}`, severity: DOUBTFUL })),
  ];
}

function withHint({ message, hint }: Problem): string {
  return hint ? `${message}\nfix: ${hint}` : message;
}

function failure(one: FailedRule): string {
  return `the test of rule '${one.rule}' fails: '${one.in}' came out as '${one.actual}', not '${one.expected.join("' or '")}'`;
}

function asDiagnostics(found: readonly Finding[], place: Place): [vscode.Uri, vscode.Diagnostic[]][] {
  const byFile = new Map<string, vscode.Diagnostic[]>();
  for (const one of found) {
    const path = pathOf(one, place);
    const { line } = placeIn(one.where);
    const diagnostic = new vscode.Diagnostic(new vscode.Range(line, 0, line, 1000), one.message, one.severity);
    diagnostic.source = "kds";
    byFile.set(path, [...(byFile.get(path) ?? []), diagnostic]);
  }
  return [...byFile].map(([path, diagnostics]) => [vscode.Uri.file(path), diagnostics]);
}

function pathOf(one: Finding, place: Place): string {
  const { path } = placeIn(one.where);
  return isAbsolute(path) ? path : join(place.root, path);
}

const LANGUAGES = ["yaml", "json", "markdown", "prompt", "chatagent", "instructions"];

export function registerLenses(): vscode.Disposable {
  const selector = LANGUAGES.map((language) => ({ language, scheme: "file" }));
  return vscode.languages.registerCodeLensProvider(selector, { provideCodeLenses: lensesOf });
}

function lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
  const { uri } = document;
  const kind = kindOf(uri);
  if (kind === undefined || kind === "dialogues") return []; // those of dialogues: dialoguetests.ts
  const first = kind === "rules" ? "$(checklist) Check the rules and run their tests" : "$(checklist) Check the prompts";
  const lenses = [lens(0, { title: first, command: "kds.check" })];
  if (uri.path.endsWith(".md")) lenses.push(lens(0, { title: "$(comment-discussion) Ask @kds", command: "kds.ask" }));
  return lenses;
}

function lens(line: number, command: vscode.Command): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);
}
