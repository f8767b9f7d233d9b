// The status bar: how the last message to @kds was read, and how the service is.

import * as vscode from "vscode";
import { escaped, percent } from "./reading.ts";
import type { LastTurn, Window } from "./window.ts";

export function registerStatus(window: Window): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("kds.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "KDS";
  item.command = "kds.why";
  const show = (): void => {
    if (!vscode.workspace.getConfiguration("kds").get("statusBar", true)) return item.hide();
    const turn = window.last?.turn;
    const verdict = turn && (turn.action === "clarify" ? "KDS asks back" : `${turn.intent} ${percent(turn.confidence)}`);
    item.text = `$(references) ${verdict ?? "KDS"}`;
    item.tooltip = window.last ? tooltip(window, window.last, "") : "Nothing was said to @kds in this window yet";
    item.show();
  };
  const changed = (): void => {
    show();
    if (window.last) void withService(window, window.last, item);
  };
  show(); // at start-up the service is not asked
  const settings = vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("kds.statusBar")) show();
  });
  return vscode.Disposable.from(item, settings, window.onDidChange(changed));
}

async function withService(window: Window, last: LastTurn, item: vscode.StatusBarItem): Promise<void> {
  const health = await window.service(last.place).health().catch(() => undefined);
  const state = health ? `${health.status}, version ${health.version}, pid ${health.pid}` : "not running";
  if (window.last === last) item.tooltip = tooltip(window, last, state);
}

function tooltip(window: Window, { turn, place }: LastTurn, service: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString("", true);
  const rows = [
    ["message", turn.expanded],
    ["intent", `${turn.intent}, certainty ${percent(turn.confidence)}`],
    ["agent", turn.agent ?? "none"],
    ["work", turn.session_id ?? "none"],
    ["session", window.conversation],
    ["service", service],
    ["workspace", place.trusted ? place.root : "none that is trusted: KDS's own prompts and rules"],
  ].filter(([, value]) => value);
  return text.appendMarkdown(rows.map(([name, value]) => `**${name}** ${escaped(value ?? "")}`).join("  \n"));
}
