// What is wrong in prompts, rules, words, settings and dialogues: the running service is asked about
// the texts as they stand in the editor.

import { readFile } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import * as vscode from "vscode";
import { type Change, isWithin, kindOf, kindsAt, onDisk, Soon } from "./files.ts";
import type { Place } from "./place.ts";
import type { Checked, Finding } from "./service.ts";
import { guarded, type Window } from "./window.ts";
import { KdsError } from "./wire.ts";

const MOST_FILES = 200;

/** So long nothing changes before the slow check, which takes the service a second or two, in which others wait longer. */
const QUIET_MS = 1000;

export function registerChecks(window: Window): vscode.Disposable {
  const checks = new Checks(window);
  const on = ({ uri }: vscode.TextDocument, full = false): void => checks.look(uri, { full });
  vscode.workspace.textDocuments.forEach((document) => on(document, true));
  const selector = { scheme: "file" };
  return vscode.Disposable.from(
    checks,
    vscode.workspace.onDidOpenTextDocument((document) => on(document, true)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => on(document)),
    vscode.workspace.onDidSaveTextDocument((document) => on(document, true)),
    onDisk((uri, change) => checks.changed(uri, change)),
    vscode.languages.registerCodeActionsProvider(selector, { provideCodeActions: (document, range, { diagnostics }) => checks.fixes(document, range, diagnostics) }),
    vscode.commands.registerCommand("kds.check", guarded(window, () => checks.all())),
  );
}

/** What is known of one workspace. */
class Root {
  readonly place: Place;
  readonly collection: vscode.DiagnosticCollection;
  /** Dialogue files that are checked whether they are open or not. */
  readonly dialogues = new Map<string, vscode.Uri>();
  quick: readonly Finding[] = [];
  /** What only the slow check finds, and the texts of that time: it counts while they stay. */
  slow: Sent & { readonly found: readonly Finding[] } = { texts: {}, found: [] };
  /** All of it, as it is shown. */
  found: readonly Finding[] = [];
  isWanted = false;
  running: Promise<void> | undefined;
  /** Whether something was saved since the last slow check began. */
  isDue = false;
  slowing: Promise<void> | undefined;

  constructor(place: Place) {
    this.place = place;
    this.collection = vscode.languages.createDiagnosticCollection(`kds ${place.root}`);
  }
}

interface Sent { readonly texts: Readonly<Record<string, string>> }

class Checks implements vscode.Disposable {
  readonly #window: Window;
  readonly #roots = new Map<string, Root>();
  readonly #soon = new Soon();
  #told = "";

  constructor(window: Window) {
    this.#window = window;
  }

  /** A text changed, in the editor or on disk: check its workspace soon. */
  look(uri: vscode.Uri, { full = true } = {}): void {
    const place = this.#window.places.of(uri);
    if (!place.trusted || !isOfKds(uri, place) || !vscode.workspace.getConfiguration("kds", uri).get("checkOnSave", true)) return;
    const root = this.#root(place);
    if (kindOf(uri) === "dialogues") root.dialogues.set(uri.toString(), uri);
    root.isDue ||= full;
    this.#soon.do(place.root, () => this.#run(root).catch((error: unknown) => this.#tell(error)));
  }

  /** A file or folder came, changed or went on disk. */
  changed(uri: vscode.Uri, change: Change): void {
    const known = [...this.#roots.values()].flatMap((root) => [...root.dialogues]);
    const isKnown = known.some(([, one]) => isWithin(one, uri));
    if (change === "gone") this.#roots.forEach((root) => root.dialogues.forEach((one, id) => isWithin(one, uri) && root.dialogues.delete(id)));
    const kinds = kindsAt(uri);
    if (isKnown || (kinds.size > 0 && !kinds.has("dialogues"))) this.look(uri);
  }

  /** Check everything in the window, and say how it is. */
  async all(): Promise<void> {
    const places = this.#window.places.all().filter((place) => place.trusted);
    if (places.length === 0) throw new KdsError("there is nothing to check", { hint: "open a folder, and trust it" });
    const told = { location: vscode.ProgressLocation.Notification, title: "KDS checks prompts, rules and dialogues" };
    const count = await vscode.window.withProgress(told, async () => {
      for (const place of places) {
        const root = this.#root(place);
        const pattern = new vscode.RelativePattern(place.root, "**/{*.dialogue.*,dialogues/**/*.{yaml,yml}}");
        const files = await vscode.workspace.findFiles(pattern, "**/node_modules/**", MOST_FILES);
        for (const uri of files.filter((one) => kindOf(one) === "dialogues")) root.dialogues.set(uri.toString(), uri);
        root.isDue = true;
        await this.#run(root);
        await this.#slowly(root);
      }
      return places.reduce((sum, place) => sum + this.#root(place).found.length, 0);
    });
    void vscode.window.showInformationMessage(count === 0 ? "KDS: all of it is in order." : `KDS: ${count} to look at.`);
    if (count > 0) await vscode.commands.executeCommand("workbench.actions.view.problems");
  }

  /** What to write instead, where a finding says so. */
  fixes(document: vscode.TextDocument, range: vscode.Range, diagnostics: readonly vscode.Diagnostic[]): vscode.CodeAction[] {
    const root = this.#roots.get(this.#window.places.of(document.uri).root);
    return (root?.found ?? []).flatMap((one) => {
      const { replacement } = one;
      if (replacement === null || uriOf(one, root?.place).path !== document.uri.path || !range.intersection(rangeOf(one))) return [];
      const action = new vscode.CodeAction(`Write '${replacement}'`, vscode.CodeActionKind.QuickFix);
      action.edit = new vscode.WorkspaceEdit();
      action.edit.replace(document.uri, rangeOf(one), replacement);
      action.isPreferred = true;
      action.diagnostics = diagnostics.filter((shown) => shown.source === "kds" && shown.range.isEqual(rangeOf(one)));
      return [action];
    });
  }

  #root(place: Place): Root {
    const root = this.#roots.get(place.root) ?? new Root(place);
    this.#roots.set(place.root, root);
    return root;
  }

  /** One check at a time; what was asked for meanwhile is done then. */
  #run(root: Root): Promise<void> {
    root.isWanted = true;
    root.running ??= this.#checked(root).finally(() => (root.running = undefined));
    return root.running;
  }

  async #checked(root: Root): Promise<void> {
    while (root.isWanted) {
      root.isWanted = false;
      const sent = { texts: await textsOf(root) };
      root.quick = (await this.#asked(root, sent, false)).problems;
      show(root, sent);
    }
    const slowly = (): Promise<void> => this.#slowly(root).catch((error: unknown) => this.#window.log.warn(String(error)));
    if (root.isDue) this.#soon.do(`${root.place.root} slowly`, slowly, QUIET_MS);
  }

  #slowly(root: Root): Promise<void> {
    root.slowing ??= this.#slowlyChecked(root).finally(() => (root.slowing = undefined));
    return root.slowing;
  }

  async #slowlyChecked(root: Root): Promise<void> {
    while (root.isDue) {
      root.isDue = false;
      const sent = { texts: await textsOf(root) };
      const known = new Set(root.quick.map(keyOf));
      const { problems } = await this.#asked(root, sent, true);
      root.slow = { ...sent, found: problems.filter((one) => !known.has(keyOf(one))) };
      show(root, { texts: await textsOf(root) });
    }
  }

  #asked(root: Root, { texts }: Sent, full: boolean): Promise<Checked> {
    return this.#window.service(root.place).check(texts, full);
  }

  /** Say once why nothing can be checked. */
  #tell(error: unknown): void {
    this.#window.log.warn(`the files cannot be checked: ${String(error)}`);
    if (String(error) !== this.#told) void guarded(this.#window, () => Promise.reject(error as Error))();
    this.#told = String(error);
  }

  dispose(): void {
    this.#soon.dispose();
    this.#roots.forEach((root) => root.collection.dispose());
  }
}

/** Whether the service reads the file there. */
function isOfKds(uri: vscode.Uri, place: Place): boolean {
  return kindsAt(uri).size > 0 && (kindOf(uri) === "dialogues" || /^(prompts|kds-brain)(\/|$)/.test(relative(place.root, uri.fsPath)));
}

/** The texts that count: of the files that are open, and of dialogues that are known. */
async function textsOf(root: Root): Promise<Record<string, string>> {
  const open = vscode.workspace.textDocuments.map(({ uri }) => uri).filter((uri) => kindOf(uri) !== undefined && isWithin(uri, vscode.Uri.file(root.place.root)));
  const read = async (uri: vscode.Uri) => [nameOf(uri, root.place), await textOf(uri).catch(() => undefined)];
  const texts = await Promise.all([...open, ...root.dialogues.values()].map(read));
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined)) as Record<string, string>;
}

/** A file as it is being edited, else as it is on disk: one that is gone may still be open. */
export async function textOf(uri: vscode.Uri): Promise<string> {
  const edited = vscode.workspace.textDocuments.find((one) => one.isDirty && one.uri.toString() === uri.toString());
  return edited?.getText() ?? new TextDecoder().decode(await readFile(uri.fsPath));
}

export function nameOf(uri: vscode.Uri, { root }: Place): string {
  return isWithin(uri, vscode.Uri.file(root)) ? relative(root, uri.fsPath) : uri.fsPath;
}

function show(root: Root, { texts }: Sent): void {
  const isSame = ({ path }: Finding): boolean => texts[path] === root.slow.texts[path];
  const all = new Map([...root.quick, ...root.slow.found.filter(isSame)].map((one) => [keyOf(one), one]));
  root.found = [...all.values()];
  const byFile = new Map<string, [vscode.Uri, vscode.Diagnostic[]]>();
  for (const one of root.found) {
    const uri = uriOf(one, root.place);
    const entry = byFile.get(uri.path) ?? [uri, []];
    byFile.set(uri.path, [uri, [...entry[1], asDiagnostic(one)]]);
  }
  root.collection.clear();
  root.collection.set([...byFile.values()]);
}

const keyOf = (one: Finding): string => JSON.stringify(one);

function asDiagnostic(one: Finding): vscode.Diagnostic {
  const { Error: WRONG, Warning: DOUBTFUL } = vscode.DiagnosticSeverity;
  const text = one.hint ? `${one.message}\nfix: ${one.hint}` : one.message;
  const diagnostic = new vscode.Diagnostic(rangeOf(one), text, one.severity === "error" ? WRONG : DOUBTFUL);
  return Object.assign(diagnostic, { source: "kds", code: one.code });
}

function rangeOf({ line, start, end }: Finding): vscode.Range {
  return new vscode.Range(line, start, line, Math.max(end, start + 1));
}

function uriOf({ path }: Finding, place: Place | undefined): vscode.Uri {
  return vscode.Uri.file(isAbsolute(path) ? path : join(place?.root ?? "/", path));
}
