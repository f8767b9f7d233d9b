// What the user attached to a message (#file, #selection, ...): shown as chips, read for the model.

import * as vscode from "vscode";

/** Characters of one attachment; what is longer is cut, and says so. */
const LONGEST = 40_000;

/** The text of the attachments, as they stand, for the model; each is shown as a chip. */
export async function attached(references: readonly vscode.ChatPromptReference[], stream: vscode.ChatResponseStream, room: number): Promise<string> {
  const texts: string[] = [];
  let left = room;
  for (const reference of references) {
    const found = await read(reference.value, stream);
    if (found === undefined) continue;
    const limit = Math.max(0, Math.min(LONGEST, left));
    const cut = found.text.length > limit;
    const text = cut ? found.text.slice(0, limit) : found.text;
    left -= text.length;
    const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
    texts.push(`${found.name}${cut ? " (cut: it is long)" : ""}:\n${fence}${found.language}\n${text}\n${fence}`);
  }
  return texts.length > 0 ? `The user attached:\n\n${texts.join("\n\n")}\n\n` : "";
}

interface Text { readonly name: string; readonly language: string; readonly text: string }

async function read(value: unknown, stream: vscode.ChatResponseStream): Promise<Text | undefined> {
  if (typeof value === "string") return { name: "Text", language: "", text: value };
  const location = value instanceof vscode.Location ? value : undefined;
  const uri = location?.uri ?? (value instanceof vscode.Uri ? value : undefined);
  if (uri === undefined) return undefined; // an image, or what a later VS Code may attach
  stream.reference(location ?? uri);
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    const lines = location && `:${location.range.start.line + 1}-${location.range.end.line + 1}`;
    const name = `${vscode.workspace.asRelativePath(uri)}${lines ?? ""}`;
    return { name, language: document.languageId, text: document.getText(location?.range) };
  } catch {
    return { name: vscode.workspace.asRelativePath(uri), language: "", text: "(not text, or cannot be read)" };
  }
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}
