// Dialogue files in the Testing view: each dialogue is a test that `kds test` plays.

import { basename } from "node:path/posix";
import * as vscode from "vscode";
import { nameOf, textOf } from "./checks.ts";
import { type Change, isWithin, kindOf, onDisk, placeIn, Soon } from "./files.ts";
import { runJson } from "./program.ts";
import { signalOf } from "./socket.ts";
import { guarded, type Window } from "./window.ts";
import { KdsError } from "./wire.ts";

interface Played {
  readonly played: readonly string[];
  readonly failed: readonly {
    readonly id: string;
    readonly turns: readonly {
      readonly where: string;
      readonly user: string;
      readonly mismatches: readonly { field: string; expected: unknown; actual: unknown }[];
      readonly why: readonly string[];
    }[];
  }[];
}

const FILES = "**/{*.dialogue.yaml,*.dialogue.yml,*.dialogue.json,dialogues/**/*.yaml,dialogues/**/*.yml}";

export function registerDialogueTests(window: Window): vscode.Disposable {
  const controller = vscode.tests.createTestController("kds.dialogues", "KDS dialogues");
  const run = (request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> =>
    played(window, controller, request, token);
  const profile = controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, run, true);
  const changed = new vscode.EventEmitter<void>();
  const fill = async (file: vscode.TestItem): Promise<void> => {
    await filled(window, controller, file);
    changed.fire();
  };
  const lenses: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: changed.event,
    provideCodeLenses: ({ uri }) => [...(controller.items.get(uri.toString())?.children ?? [])].map(([id, item]) => {
      const command = { title: "$(play) Run this test", command: "kds.runDialogue", arguments: [uri, id] };
      return new vscode.CodeLens(item.range ?? new vscode.Range(0, 0, 0, 0), command);
    }),
  };
  const seen = ({ uri }: vscode.TextDocument): void => {
    if (kindOf(uri) === "dialogues") void fill(fileItem(controller, uri));
  };
  const list = async (): Promise<void> => {
    const files = await vscode.workspace.findFiles(FILES, "**/{node_modules,site-packages}/**", 500);
    for (const uri of files) fileItem(controller, uri);
  };
  let isListed = false;
  controller.resolveHandler = async (item) => {
    if (item) return fill(item);
    isListed = true;
    return list();
  };
  const soon = new Soon();
  const moved = (uri: vscode.Uri, change: Change): void => {
    if (change === "gone") {
      for (const [id, item] of controller.items) if (item.uri && isWithin(item.uri, uri)) controller.items.delete(id);
    } else if (kindOf(uri) === "dialogues") {
      const item = change === "made" ? fileItem(controller, uri) : controller.items.get(uri.toString());
      if (item?.children.size) soon.do(item.id, async () => controller.resolveHandler?.(item));
    } else if (isListed && change === "made" && !basename(uri.path).includes(".")) soon.do("", list); // a folder, it seems
  };
  vscode.workspace.textDocuments.forEach(seen);
  const one = async (uri: vscode.Uri, id: string): Promise<void> => {
    const file = fileItem(controller, uri);
    if (file.children.get(id) === undefined) await fill(file);
    const item = file.children.get(id);
    if (item === undefined) throw new KdsError(`there is no dialogue '${id}' in ${uri.fsPath}`);
    const source = new vscode.CancellationTokenSource();
    await run(new vscode.TestRunRequest([item], undefined, profile), source.token);
  };
  return vscode.Disposable.from(
    controller,
    profile,
    changed,
    vscode.languages.registerCodeLensProvider([{ language: "yaml", scheme: "file" }, { language: "json", scheme: "file" }], lenses),
    soon,
    onDisk(moved),
    vscode.workspace.onDidOpenTextDocument(seen),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (kindOf(document.uri) === "dialogues") soon.do(document.uri.toString(), () => fill(fileItem(controller, document.uri)));
    }),
    vscode.commands.registerCommand("kds.runDialogue", guarded(window, one)),
  );
}

function fileItem(controller: vscode.TestController, uri: vscode.Uri): vscode.TestItem {
  const known = controller.items.get(uri.toString());
  if (known) return known;
  const item = controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri);
  item.canResolveChildren = true;
  controller.items.add(item);
  return item;
}

/** The dialogues of a file as KDS itself reads it; one that cannot be read has none, and the checks say why. */
async function filled(window: Window, controller: vscode.TestController, file: vscode.TestItem): Promise<void> {
  const uri = file.uri ?? vscode.Uri.file("");
  file.busy = true;
  try {
    const place = window.places.of(uri);
    const name = nameOf(uri, place);
    const { dialogues, problems } = place.trusted ? await window.service(place).check({ [name]: await textOf(uri) }) : { dialogues: [], problems: [] };
    const wrong = problems.find((one) => one.path === name && one.severity === "error");
    file.error = wrong && `line ${wrong.line + 1}: ${wrong.message} (${wrong.hint})`;
    file.children.replace(dialogues.map(([, id, line]) => {
      const item = controller.createTestItem(id, id, uri);
      item.range = new vscode.Range(line, 0, line, 0);
      return item;
    }));
  } catch (error) {
    file.error = error instanceof KdsError ? error.advice : String(error);
    file.children.replace([]);
  } finally {
    file.busy = false;
  }
}

async function played(window: Window, controller: vscode.TestController, request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
  await vscode.workspace.saveAll(false); // what is played is the file
  const run = controller.createTestRun(request);
  try {
    const wanted = request.include ?? [...controller.items].map(([, item]) => item);
    const files = new Map<vscode.TestItem, Set<vscode.TestItem>>();
    for (const item of wanted) {
      const file = item.parent ?? item;
      if (item === file) await controller.resolveHandler?.(file);
      if (item === file && file.error) run.errored(file, new vscode.TestMessage(file.error));
      const tests = item === file ? [...file.children].map(([, child]) => child) : [item];
      files.set(file, new Set([...(files.get(file) ?? []), ...tests]));
    }
    for (const [file, tests] of files) {
      if (!token.isCancellationRequested && tests.size > 0) await playFile(window, run, file, [...tests], token);
    }
  } finally {
    run.end();
  }
}

async function playFile(window: Window, run: vscode.TestRun, file: vscode.TestItem, tests: readonly vscode.TestItem[], token: vscode.CancellationToken): Promise<void> {
  tests.forEach((test) => run.started(test));
  const uri = file.uri ?? vscode.Uri.file("");
  try {
    const place = window.places.of(uri);
    if (!place.trusted) throw new KdsError("tests run only in a folder that is trusted");
    const result = await runJson<Played>(place, ["test", uri.fsPath, "--json", "-w", place.root], signalOf(token));
    for (const test of tests) {
      const failed = result.failed.find((one) => one.id === test.id);
      if (!result.played.includes(test.id)) run.errored(test, new vscode.TestMessage("KDS played no dialogue of this name"));
      else if (failed) run.failed(test, failed.turns.flatMap((turn) => messagesOf(turn, uri)));
      else run.passed(test);
    }
  } catch (error) {
    const message = error instanceof KdsError ? error.advice : String(error);
    tests.forEach((test) => run.errored(test, new vscode.TestMessage(message)));
  }
}

function messagesOf(turn: Played["failed"][number]["turns"][number], uri: vscode.Uri): vscode.TestMessage[] {
  return turn.mismatches.map(({ field, expected, actual }) => {
    const title = `${field} of "${turn.user}"\n${turn.why.join("\n")}`;
    const message = vscode.TestMessage.diff(title, shown(expected), shown(actual));
    message.location = new vscode.Location(uri, new vscode.Position(placeIn(turn.where).line, 0));
    return message;
  });
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
