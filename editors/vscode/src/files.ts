// Which files KDS reads, told by their place and name.

import type * as vscode from "vscode";

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
  if (/\/kds-brain\/(rules|english)\/[^/]+\.yaml$/.test(path)) return "rules";
  if (/\/prompts\/(internal|shared|user)\/[^/]+\.(md|examples\.yaml)$/.test(path)) return "prompts";
  if (/\.dialogue\.(ya?ml|json)$/i.test(path) || /\/dialogues\/(.+\/)?[^/]+\.ya?ml$/i.test(path)) return "dialogues";
  return undefined;
}

/** `path:line` of a problem as KDS writes it; lines count from 0 here. */
export function placeIn(where: string): { path: string; line: number } {
  const found = /^(.*):(\d+)$/.exec(where);
  return found ? { path: found[1] ?? where, line: Math.max(0, Number(found[2]) - 1) } : { path: where, line: 0 };
}

/** The dialogues of a text with their lines: enough to show where one may be run. */
export function dialoguesIn(text: string): { id: string; line: number }[] {
  return text.split("\n").flatMap((row, line) => {
    const found = /^(?:- |)\s*[{]?\s*"?id"?\s*:\s*["']?([^"',}#]+?)["']?\s*(?:[,}#].*)?$/.exec(row) ?? /^- .*?\bid:\s*["']?([\w.-]+)/.exec(row);
    return found?.[1] ? [{ id: found[1].trim(), line }] : [];
  });
}
