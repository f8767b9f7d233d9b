// Which files KDS reads, told by their place and name; and changes of files on disk.

import * as vscode from "vscode";

export type Kind = "prompts" | "rules" | "dialogues";

/** What a file is to KDS; undefined for all others. */
export function kindOf(uri: vscode.Uri): Kind | undefined {
  return uri.scheme === "file" ? kindOfPath(uri.path) : undefined;
}

/** What a file is, or what a folder may hold. */
export function kindsAt(uri: vscode.Uri): Set<Kind> {
  if (uri.scheme !== "file") return new Set();
  const inside = ["", "/x.yaml", "/x.md", "/internal/x.md"].map((name) => kindOfPath(uri.path + name));
  return new Set(inside.filter((kind) => kind !== undefined));
}

function kindOfPath(path: string): Kind | undefined {
  if (/\/(node_modules|site-packages)\//.test(path)) return undefined;
  if (/\/kds-brain\/((rules|english)\/[^/]+|settings)\.yaml$/.test(path)) return "rules";
  if (/\/prompts\/(.+\/)?[^/]+\.(md|examples\.yaml)$/.test(path)) return "prompts";
  if (/\.dialogue\.(ya?ml|json)$/i.test(path) || /\/dialogues\/(.+\/)?[^/]+\.ya?ml$/i.test(path)) return "dialogues";
  return undefined;
}

/** `path:line` of a problem as KDS writes it; lines count from 0 here. */
export function placeIn(where: string): { path: string; line: number } {
  const found = /^(.*):(\d+)$/.exec(where);
  return found ? { path: found[1] ?? where, line: Math.max(0, Number(found[2]) - 1) } : { path: where, line: 0 };
}

/** Keys and events come in bursts: somebody types, a branch is checked out, a file is saved and then seen to be saved. */
const BURST_MS = 60;

export type Change = "made" | "changed" | "gone";

/** Tell of files and folders; a folder is told of without what is in it. */
export function onDisk(told: (uri: vscode.Uri, change: Change) => void): vscode.Disposable {
  const watcher = vscode.workspace.createFileSystemWatcher("**");
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate((uri) => told(uri, "made")),
    watcher.onDidChange((uri) => told(uri, "changed")),
    watcher.onDidDelete((uri) => told(uri, "gone")),
  );
}

export function isWithin(uri: vscode.Uri, folder: vscode.Uri): boolean {
  return uri.path === folder.path || uri.path.startsWith(`${folder.path}/`);
}

/** Does things when a burst has ended, of those with the same key the last; what is gone by then is not missed. */
export class Soon implements vscode.Disposable {
  readonly #waiting = new Map<string, NodeJS.Timeout>();

  do(key: string, action: () => Promise<unknown>, afterMs = BURST_MS): void {
    clearTimeout(this.#waiting.get(key));
    this.#waiting.set(key, setTimeout(() => void action().catch(() => undefined), afterMs));
  }

  dispose(): void {
    this.#waiting.forEach((timer) => clearTimeout(timer));
  }
}
