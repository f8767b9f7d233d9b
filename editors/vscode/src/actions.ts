// The commands of the palette, and those behind the buttons in chat.

import * as vscode from "vscode";
import { forget } from "./participant.ts";
import { findProgram, run } from "./program.ts";
import { correct } from "./teaching.ts";
import { guarded, type Window } from "./window.ts";
import { KdsError } from "./wire.ts";

const CLIENTS = ["claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode", "agents"];

export function registerCommands(window: Window, extension: string): vscode.Disposable {
  const on = <A extends unknown[]>(name: string, action: (...args: A) => Promise<unknown>): vscode.Disposable =>
    vscode.commands.registerCommand(`kds.${name}`, guarded(window, action));
  return vscode.Disposable.from(
    on("ask", () => openChat("@kds ", true)),
    on("say", (text: string) => openChat(`@kds ${text}`, false)),
    on("correct", (message?: string, root?: string) => correct(window, message, root)),
    on("newConversation", async () => {
      await forget(window);
      await vscode.commands.executeCommand("workbench.action.chat.newChat"); // what stands in this one would go along
    }),
    on("copyPrompt", async (prompt: string) => vscode.env.clipboard.writeText(prompt)),
    on("doctor", () => inTerminal(window, "doctor", ["doctor"])),
    on("logs", () => inTerminal(window, "logs", ["service", "logs", "-n", "100"])),
    on("init", () => init(window)),
    on("service", () => startOrStop(window)),
    on("walkthrough", async () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${extension}#start`)),
    on("refresh", () => refresh(window)),
    vscode.workspace.registerTextDocumentContentProvider("kds-prompt", { provideTextDocumentContent: (uri) => promptBody(window, uri) }),
    vscode.workspace.registerTextDocumentContentProvider("kds-preview", { provideTextDocumentContent: (uri) => previews.get(uri.path) ?? "" }),
  );
}

async function openChat(query: string, isPartialQuery: boolean): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.chat.open", { query, isPartialQuery });
}

/** The file of an agent's prompt, as the service has it. */
async function promptBody(window: Window, uri: vscode.Uri): Promise<string> {
  const service = window.service(window.places.at(uri.query) ?? window.places.now());
  return service.promptBody(uri.path.slice(1).replace(/\.md$/, ""));
}

/** Run `kds` where its output stays to be read. */
async function inTerminal(window: Window, title: string, args: readonly string[]): Promise<void> {
  const place = window.places.now();
  const program = await findProgram(place);
  const execution = new vscode.ProcessExecution(program, [...args, "-w", place.root], { cwd: place.root });
  const scope = vscode.workspace.getWorkspaceFolder(place.uri) ?? vscode.TaskScope.Workspace;
  const task = new vscode.Task({ type: "kds" }, scope, title, "KDS", execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true, echo: false };
  await vscode.tasks.executeTask(task);
}

/** One address a look, so that an editor never shows an older one beside the question. */
const previews = new Map<string, string>();

/** Show what `kds init` would write, and write it after a yes. */
async function init(window: Window): Promise<void> {
  const place = window.places.now();
  if (!place.trusted) throw new KdsError("there is no folder to set up", { hint: "open one, and trust it" });
  const placeHolder = "Which assistants? VS Code itself needs nothing written: this extension is enough.";
  const clients = await vscode.window.showQuickPick(CLIENTS, { canPickMany: true, placeHolder });
  if (clients === undefined || clients.length === 0) return;
  const args = ["init", "-w", place.root, ...clients.flatMap((client) => ["--client", client])];
  const planned = await run(place, [...args, "--dry-run"]);
  const preview = `/kds-init-${previews.size + 1}.diff`;
  previews.set(preview, planned.stdout || planned.stderr);
  await vscode.window.showTextDocument(vscode.Uri.parse(`kds-preview:${preview}`));
  if (planned.code !== 0) return;
  const yes = await vscode.window.showInformationMessage("KDS: write these files? kds init --undo takes them back.", "Write");
  if (yes === undefined) return;
  const done = await run(place, args);
  await vscode.window.showInformationMessage(`KDS: ${(done.stdout || done.stderr).trim().split("\n").at(-1)}`);
}

async function startOrStop(window: Window): Promise<void> {
  const place = window.places.now();
  const service = window.service(place);
  if ((await service.health()) === undefined) {
    await service.start();
    if ((await service.health()) === undefined) throw new KdsError("the service does not stay up", { hint: "see KDS: Show the Logs" });
    void vscode.window.showInformationMessage("KDS: the service runs.");
  } else {
    await run(place, ["service", "stop", "-w", place.root]);
    void vscode.window.showInformationMessage("KDS: the service has stopped. The next message starts it again.");
  }
  window.refresh();
}

/** Show what there is: the service is started where something may be kept. */
async function refresh(window: Window): Promise<void> {
  for (const place of window.places.all()) {
    const service = window.service(place);
    const isWanted = (await service.sessions()) === undefined || place.root === window.last?.place.root;
    if (isWanted && (await service.health()) === undefined) await service.start();
  }
  window.refresh();
}
