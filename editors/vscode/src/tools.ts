// The language model tools of agent mode: what a message refers to, conversations, past sessions, documents.

import * as vscode from "vscode";
import { run } from "./program.ts";
import { signalOf } from "./socket.ts";
import type { Window } from "./window.ts";
import { KdsError, type Passage } from "./wire.ts";

const PASSAGES = 5;

interface Search { readonly query: string; readonly limit?: number }

/** Where VS Code starts the MCP server of KDS, its tools stand in for ours: one surface is enough. */
async function yieldToServer(): Promise<void> {
  const files = await vscode.workspace.findFiles(".vscode/mcp.json");
  const texts = await Promise.all(files.map((uri) => vscode.workspace.fs.readFile(uri).then(String, () => "")));
  await vscode.commands.executeCommand("setContext", "kds.mcp", texts.some((text) => /"kds"\s*:/.test(text)));
}

export function registerTools(window: Window): vscode.Disposable {
  const watcher = vscode.workspace.createFileSystemWatcher("**/.vscode/mcp.json");
  void yieldToServer();
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(yieldToServer),
    watcher.onDidChange(yieldToServer),
    watcher.onDidDelete(yieldToServer),
    vscode.lm.registerTool("kds_resolve", tool((input: { message: string }, signal) => resolve(window, input.message, signal))),
    vscode.lm.registerTool("kds_search_memory", tool((input: Search, signal) => search(window, input, "memory", signal))),
    vscode.lm.registerTool("kds_recall", tool((input: Search, signal) => recall(window, input, signal))),
    vscode.lm.registerTool("kds_search_documents", tool((input: Search, signal) => search(window, input, "documents", signal))),
  );
}

/** What is wrong is told to the model, with what to do: it can say so to the user. */
function tool<T>(answer: (input: T, signal: AbortSignal) => Promise<string>): vscode.LanguageModelTool<T> {
  const told = (error: unknown): string => {
    if (error instanceof KdsError) return `KDS: ${error.advice}`;
    throw error;
  };
  const invoke = async ({ input }: { input: T }, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> => {
    const text = await answer(input, signalOf(token)).catch(told);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  };
  return { invoke };
}

async function resolve(window: Window, message: string, signal: AbortSignal): Promise<string> {
  const service = window.service(window.place);
  const { conversation, earlier: history } = window;
  const turn = await service.route(message, { conversation, history, log: false, signal });
  const references = turn.references.map(({ text, target, score }) => ({ text, target, score }));
  const { expanded, intent, confidence, unresolved } = turn;
  return JSON.stringify({ expanded, references, unresolved, intent, confidence });
}

async function search(window: Window, input: Search, scope: "memory" | "documents", signal: AbortSignal): Promise<string> {
  const service = window.service(window.place);
  const found = await service.search(input.query, { scope, limit: input.limit ?? PASSAGES, signal });
  if (found.chunks.length === 0) return ["Nothing was found.", ...found.warnings].join("\n");
  return found.chunks.map(quoted).join("\n\n");
}

async function recall({ place }: Window, { query, limit }: Search, signal: AbortSignal): Promise<string> {
  const args = ["recall", "--limit", String(limit ?? PASSAGES), "-w", place.root, "--", query];
  const { stdout, stderr } = await run(place, args, { signal });
  return [stdout, stderr].map((text) => text.trim()).filter(Boolean).join("\n");
}

function quoted(chunk: Passage, at: number): string {
  return `[${at + 1}] ${chunk.citation}\n${chunk.text.replace(/^/gm, "> ")}`;
}
