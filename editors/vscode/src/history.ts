// What was said in a chat with @kds, as the history contract sends it (docs/history-transit.md).

import { type Said, transit } from "@kds/transit";
import type * as vscode from "vscode";

/** What an answer leaves in its turn, for those that follow. */
export interface Left {
  /** What KDS or the model said, without the lines about how the message was read. */
  readonly reply: string;
  /** The message was about the chat itself: /why, /context, /clear. */
  readonly aside?: boolean;
  /** Nothing before this turn counts any more. */
  readonly clears?: boolean;
  readonly message?: string;
  /** Where the message was read. */
  readonly root?: string;
  readonly next?: readonly Next[];
}

/** Something that may be said next. */
export interface Next { readonly prompt: string; readonly label: string; readonly command?: string }

/** Characters of the newest reply that routing gets to see: its end. */
const REPLY_END = 8000;

type PastTurn = vscode.ChatRequestTurn | vscode.ChatResponseTurn;

/** What goes along with the next message: `earlier`, then the turns of the chat, within the contract. */
export function saidIn(turns: readonly PastTurn[], earlier: readonly Said[] = []): Said[] {
  return transit(allIn(turns, earlier));
}

/** The same for routing: the newest reply is whole, since "yes" answers the question at its end. */
export function heardIn(turns: readonly PastTurn[], earlier: readonly Said[] = []): Said[] {
  const all = allIn(turns, earlier);
  const sent = transit(all);
  const [whole, last] = [all.at(-1), sent.at(-1)];
  if (whole?.role !== "assistant" || last?.role !== "assistant") return sent;
  return [...sent.slice(0, -1), { ...last, content: whole.content.slice(-REPLY_END) }];
}

function allIn(turns: readonly PastTurn[], earlier: readonly Said[]): Said[] {
  let said: Said[] = [...earlier];
  for (const turn of turns) {
    if (isRequest(turn)) {
      said.push({ role: "user", content: turn.prompt });
      continue;
    }
    const left = leftIn(turn.result);
    if (left?.clears) said = [];
    else if (left?.aside) said.pop(); // the question that this answers
    else said.push({ role: "assistant", content: left?.reply ?? textOf(turn) });
  }
  return said;
}

export function leftIn(result: vscode.ChatResult): Left | undefined {
  return result.metadata?.["kds"] as Left | undefined;
}

function isRequest(turn: PastTurn): turn is vscode.ChatRequestTurn {
  return "prompt" in turn;
}

function textOf(turn: vscode.ChatResponseTurn): string {
  const parts = turn.response.map((part) => {
    const value: unknown = "value" in part ? part.value : undefined;
    if (typeof value === "string") return value;
    return typeof value === "object" && value !== null && "value" in value ? String(value.value) : "";
  });
  return parts.join("");
}
