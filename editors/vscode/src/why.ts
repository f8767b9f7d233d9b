// How the last message was read: the panel, which runs no script and loads nothing, and the status bar.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { percent, escaped } from "./reading.ts";
import type { Window, LastTurn } from "./window.ts";
import type { Turn } from "./wire.ts";

const STYLE = `
body { font: var(--vscode-font-size)/1.5 var(--vscode-font-family); color: var(--vscode-foreground); max-width: 60em; margin: 0 auto; padding: 1em; }
h1 { font-size: 1.2em; margin: 0 0 .2em; } h2 { font-size: 1em; margin: 1.2em 0 .2em; }
.expanded { font-size: 1.1em; } .quiet { color: var(--vscode-descriptionForeground); }
table { border-collapse: collapse; } td { padding: .1em 1em .1em 0; vertical-align: top; }
mark { background: var(--vscode-editor-findMatchHighlightBackground); color: inherit; }
meter { width: 10em; vertical-align: middle; } ul { margin: 0; padding-left: 1.2em; }
code { font-family: var(--vscode-editor-font-family); }`;

export function registerWhy(window: Window): vscode.Disposable {
  let panel: vscode.WebviewPanel | undefined;
  const render = (): void => {
    if (panel) panel.webview.html = whyPage(window.last?.turn, randomBytes(16).toString("base64"));
  };
  const show = vscode.commands.registerCommand("kds.why", () => {
    if (panel === undefined) {
      const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      panel = vscode.window.createWebviewPanel("kds.why", "KDS: why", place, { enableScripts: false, localResourceRoots: [] });
      panel.onDidDispose(() => (panel = undefined));
    }
    render();
    panel.reveal(undefined, true);
  });
  return vscode.Disposable.from(show, window.onDidChange(render), { dispose: () => panel?.dispose() });
}

/** The page for a turn: its policy lets in the one style with `nonce`, and nothing else. */
export function whyPage(turn: Turn | undefined, nonce: string): string {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>KDS: why</title><style nonce="${nonce}">${STYLE}</style></head>
<body>${turn ? bodyOf(turn) : "<p>Nothing was said to @kds in this window yet.</p>"}</body></html>`;
}

function bodyOf(turn: Turn): string {
  const rows = turn.references.map(
    (one) => `<tr><td><mark>${html(one.text)}</mark></td><td>${html(one.target)}</td><td class="quiet">${html(one.rule)} ${one.score.toFixed(2)}</td></tr>`,
  );
  const open = turn.unresolved.map((word) => `<tr><td><mark>${html(word)}</mark></td><td>left as it is: nobody knows to what it points</td></tr>`);
  const intents = [{ intent: turn.intent, confidence: turn.confidence }, ...turn.alternatives].map(
    (one) => `<tr><td><code>${html(one.intent)}</code></td><td><meter min="0" max="1" value="${one.confidence}"></meter></td><td>${percent(one.confidence)}</td></tr>`,
  );
  const steps = turn.records
    .filter((record) => record.notes.length > 0)
    .map((record) => `<h2>${html(record.step)} <span class="quiet">${record.cpu_ms.toFixed(1)} ms</span></h2><ul>${record.notes.map((note) => `<li>${html(note)}</li>`).join("")}</ul>`);
  return `<h1>${html(turn.message)}</h1>
<p class="expanded">${turn.expanded === turn.message ? "stands alone as written" : html(turn.expanded)}</p>
<p class="quiet">${html(turn.action)} · agent ${html(turn.agent ?? "none")} · ${html(turn.at)}</p>
${table("What points back", [...rows, ...open])}${table("Intents", intents)}${steps.join("\n")}
${list("Warnings", turn.warnings)}`;
}

function table(title: string, rows: readonly string[]): string {
  return rows.length > 0 ? `<h2>${title}</h2><table>${rows.join("")}</table>` : "";
}

function list(title: string, lines: readonly string[]): string {
  return lines.length > 0 ? `<h2>${title}</h2><ul>${lines.map((line) => `<li>${html(line)}</li>`).join("")}</ul>` : "";
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function html(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

export function registerStatus(window: Window): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("kds.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "KDS";
  item.command = "kds.why";
  const show = (): void => {
    const turn = window.last?.turn;
    const verdict = turn && (turn.action === "clarify" ? "KDS asks back" : `${turn.intent} ${percent(turn.confidence)}`);
    item.text = `$(references) ${verdict ?? "KDS"}`;
    item.tooltip = window.last ? tooltip(window, window.last, "") : "Nothing was said to @kds in this window yet";
  };
  const changed = (): void => {
    show();
    if (window.last) void withService(window, window.last, item);
  };
  show(); // at start-up the service is not asked
  item.show();
  return vscode.Disposable.from(item, window.onDidChange(changed));
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
