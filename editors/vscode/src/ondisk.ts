// Files that are created, changed or deleted on disk while the window is open.

import * as vscode from "vscode";

/** Events come in bursts: a branch is checked out, a file is saved and then seen to be saved. */
const BURST_MS = 500;

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

  do(key: string, action: () => Promise<unknown>): void {
    clearTimeout(this.#waiting.get(key));
    this.#waiting.set(key, setTimeout(() => void action().catch(() => undefined), BURST_MS));
  }

  dispose(): void {
    this.#waiting.forEach((timer) => clearTimeout(timer));
  }
}
