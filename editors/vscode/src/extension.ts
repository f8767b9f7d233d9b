// KDS in VS Code. Activating registers what there is, and starts nothing: no program is looked for,
// no file is read, until somebody asks.

import * as vscode from "vscode";
import { registerCommands } from "./actions.ts";
import { registerChecks } from "./checks.ts";
import { registerDialogueTests } from "./dialoguetests.ts";
import { registerParticipant } from "./participant.ts";
import { registerContextView, registerSessions } from "./sessions.ts";
import { registerTools } from "./tools.ts";
import { registerStatus, registerWhy } from "./why.ts";
import { Window } from "./window.ts";

export function activate(context: vscode.ExtensionContext): void {
  const started = performance.now();
  const window = new Window(context);
  const icon = vscode.Uri.joinPath(context.extensionUri, "media", "icon.png");
  context.subscriptions.push(
    window,
    registerParticipant(window, icon),
    registerTools(window),
    registerContextView(window),
    registerSessions(window),
    registerWhy(window),
    registerStatus(window),
    registerCommands(window, context.extension.id),
    registerChecks(window),
    registerDialogueTests(window),
    vscode.workspace.onDidChangeWorkspaceFolders(() => window.refresh()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => window.refresh()),
  );
  window.log.info(`activated in ${(performance.now() - started).toFixed(1)} ms`);
}
