// The language model tools of agent mode: what a message refers to, conversations, documents.

import * as vscode from "vscode";
import type { Window } from "./window.ts";
import { KdsError, type Passage } from "./wire.ts";

const PASSAGES = 5;

interface Search {
  readonly query: string;
  readonly limit?: number;
}

export function registerTools(window: Window): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.lm.registerTool("kds_resolve", tool((input: { message: string }) => resolve(window, input.message))),
    vscode.lm.registerTool("kds_search_memory", tool((input: Search) => search(window, input, "memory"))),
    vscode.lm.registerTool("kds_search_documents", tool((input: Search) => search(window, input, "documents"))),
  );
}

function tool<T>(invoke: (input: T) => Promise<string>): vscode.LanguageModelTool<T> {
  return {
    async invoke(options) {
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(await told(invoke, options.input))]);
    },
  };
}

/** What is wrong is told to the model, with what to do: it can say so to the user. */
async function told<T>(invoke: (input: T) => Promise<string>, input: T): Promise<string> {
  try {
    return await invoke(input);
  } catch (error) {
    if (!(error instanceof KdsError)) throw error;
    return `KDS: ${error.message}${error.hint ? ` (${error.hint})` : ""}`;
  }
}

async function resolve(window: Window, message: string): Promise<string> {
  const service = window.service(window.place);
  const { conversation, earlier: history } = window;
  const turn = await service.route(message, { conversation, history, log: false });
  const references = turn.references.map(({ text, target, score }) => ({ text, target, score }));
  const { expanded, intent, confidence, unresolved } = turn;
  return JSON.stringify({ expanded, references, unresolved, intent, confidence });
}

async function search(window: Window, input: Search, scope: "memory" | "documents"): Promise<string> {
  const service = window.service(window.place);
  const found = await service.search(input.query, { scope, limit: input.limit ?? PASSAGES });
  if (found.chunks.length === 0) return ["Nothing was found.", ...found.warnings].join("\n");
  return found.chunks.map(quoted).join("\n\n");
}

function quoted(chunk: Passage, at: number): string {
  return `[${at + 1}] ${chunk.citation}\n${chunk.text.replace(/^/gm, "> ")}`;
}
