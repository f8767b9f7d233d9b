// Where KDS works for a file or a message: the workspace that `kds` itself would find.

import { mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import * as vscode from "vscode";

const BRAIN = "kds-brain";

export interface Place {
  /** The folder that holds `kds-brain`, or will. */
  readonly root: string;
  /** The folder of the editor's workspace. */
  readonly folder: string;
  readonly uri: vscode.Uri;
  /** Only then its prompts, rules, settings and programs are used. */
  readonly trusted: boolean;
}

export class Places {
  readonly #own: string;

  /** `own` is a folder of the extension: for windows without a folder that can be trusted. */
  constructor(own: string) {
    this.#own = own;
  }

  /** The place of a message: the folder of the editor in front, one with `kds-brain`, the first. */
  now(): Place {
    const active = vscode.window.activeTextEditor?.document.uri;
    const inFront = active && vscode.workspace.getWorkspaceFolder(active);
    const folders = onDisk();
    const chosen = folders.find((one) => one.uri.toString() === inFront?.uri.toString());
    const withBrain = folders.find((one) => isFolder(join(rootOf(one.uri.fsPath), BRAIN)));
    return this.#place((chosen ?? withBrain ?? folders[0])?.uri);
  }

  /** The place of a file. */
  of(uri: vscode.Uri): Place {
    return this.#place(vscode.workspace.getWorkspaceFolder(uri)?.uri);
  }

  /** One for each folder of the window, without those that are the same. */
  all(): Place[] {
    const found = onDisk().map((folder) => this.#place(folder.uri));
    return found.filter((place, at) => found.findIndex((other) => other.root === place.root) === at);
  }

  /** The one of this window with that root. */
  at(root: string): Place | undefined {
    return [...this.all(), this.now()].find((place) => place.root === root);
  }

  #place(uri: vscode.Uri | undefined): Place {
    if (uri?.scheme === "file" && vscode.workspace.isTrusted) {
      return { root: rootOf(uri.fsPath), folder: uri.fsPath, uri, trusted: true };
    }
    mkdirSync(this.#own, { recursive: true, mode: 0o700 });
    return { root: this.#own, folder: this.#own, uri: vscode.Uri.file(this.#own), trusted: false };
  }
}

function onDisk(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/** As `Workspace.find` does: $KDS_HOME, else the nearest folder above with `kds-brain`, else this. */
export function rootOf(folder: string, home = process.env["KDS_HOME"]?.trim()): string {
  if (home) return basename(home) === BRAIN ? dirname(home) : nested(home) ?? home;
  for (let at = folder; ; at = dirname(at)) {
    const found = nested(at, folder) ?? ofMainWorktree(at, folder);
    if (found !== undefined) return found;
    if (dirname(at) === at) return folder;
  }
}

/** The workspace of the repository that a folder is a `git worktree` of: each names the other. */
function ofMainWorktree(folder: string, origin: string): string | undefined {
  const named = lineOf(join(folder, ".git"))?.replace(/^gitdir: /, "");
  if (named === undefined || !isAbsolute(named)) return undefined;
  const [back, common] = [lineOf(join(named, "gitdir")), lineOf(join(named, "commondir"))];
  if (back === undefined || common === undefined || resolve(back) !== join(folder, ".git")) return undefined;
  const git = resolve(named, common);
  return basename(git) === ".git" ? nested(dirname(git), origin) : undefined;
}

function lineOf(path: string): string | undefined {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile ? readFileSync(path, "utf-8").split("\n", 1)[0]?.trim() : undefined;
}

function nested(folder: string, origin = folder): string | undefined {
  return [folder, join(folder, "KDS")].find((root) => isOwned(join(root, BRAIN), origin));
}

/** Users who may write to a folder above, such as /tmp, must not get to read messages. */
function isOwned(brain: string, origin: string): boolean {
  if (!isFolder(brain)) return false;
  const owner = statSync(brain).uid;
  return process.geteuid === undefined || owner === process.geteuid() || owner === statSync(origin).uid;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
