// How a message was read, in words: pure functions from a turn to what is shown.

import type { Next } from "./history.ts";
import COMMANDS from "./commands.json" with { type: "json" };
import type { Agent, Turn } from "./wire.ts";

const PLACES = ["first", "second", "third"] as const;

/** One paragraph: the message written out, what refers to what, intent, agent, certainty. */
export function readingOf(turn: Turn): string {
  const lines = turn.expanded === turn.message ? [] : [`**${escaped(turn.expanded)}**`];
  const pointers = turn.references.map((one) => `*${escaped(one.text)}* → ${escaped(one.target)}`);
  const isAnswer = turn.expanded !== turn.message && turn.references.length === 0; // to our question
  const open = isAnswer ? [] : turn.unresolved.map((word) => `*${escaped(word)}* → ?`);
  const verdict = [`\`${turn.intent}\``, turn.agent === null ? "" : escaped(turn.agent), percent(turn.confidence)];
  lines.push([...pointers, ...open, ...verdict].filter(Boolean).join(" · "));
  return `${lines.map((line) => `> ${line}`).join("  \n")}\n\n`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Text of a user that must not be read as Markdown, nor as a command link. */
export function escaped(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_{}[\]()#+\-.!~<>|$:]/g, "\\$&");
}

/** A button for each candidate of a clarifying question: what it says, and what it means. */
export function choicesOf(turn: Turn, agents: readonly Agent[]): { say: string; label: string }[] {
  return turn.candidates.slice(0, PLACES.length).map((intent, at) => ({
    say: `the ${PLACES[at]} one`,
    label: capital(agentFor(intent, agents)?.ask ?? intent.toLowerCase()),
  }));
}

/** What may come next: the other wishes of the message first, then whom the agent hands on to. */
export function nextOf(turn: Turn, agents: readonly Agent[]): Next[] {
  if (turn.action !== "route") return [];
  const also = turn.secondary_intents.map((intent) => next(intent, turn.expanded, "Also", agents));
  const handoffs = agentFor(turn.intent, agents)?.handoffs ?? [];
  const after = handoffs
    .filter((intent) => !turn.secondary_intents.includes(intent))
    .map((intent) => next(intent, undefined, "Next", agents));
  return [...also, ...after].filter((one) => one !== undefined).slice(0, 4);
}

function next(intent: string, message: string | undefined, word: string, agents: readonly Agent[]): Next | undefined {
  const agent = agentFor(intent, agents);
  if (agent === undefined) return undefined;
  const ask = agent.ask ?? agent.name;
  const command = COMMANDS.find((one) => one.intent === intent && one.ref === agent.ref)?.name;
  const text = message ?? ask;
  const label = `${word}: ${ask}`;
  return command ? { prompt: text, label, command } : { prompt: `#file:${agent.ref} ${text}`, label };
}

export function agentFor(intent: string, agents: readonly Agent[]): Agent | undefined {
  return agents.find((agent) => agent.intent === intent);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The message as the router takes it: a slash command names the prompt of its agent. */
export function addressed(prompt: string, command: string | undefined): string {
  const known = COMMANDS.find((one) => one.name === command);
  return known ? `#file:${known.ref} ${prompt.trim() || known.say}` : prompt;
}

/** The reasons of a turn, step by step, as Markdown. */
export function whyOf(turn: Turn): string {
  const steps = turn.records
    .filter((record) => record.notes.length > 0)
    .map((record) => `**${record.step}** (${record.cpu_ms.toFixed(1)} ms)\n${bullets(record.notes)}`);
  const warnings = turn.warnings.length > 0 ? [`**warnings**\n${bullets(turn.warnings)}`] : [];
  return [`_${escaped(turn.message)}_\n\n${readingOf(turn)}`, ...steps, ...warnings].join("\n\n");
}

function bullets(notes: readonly string[]): string {
  return notes.map((note) => `- ${escaped(note)}`).join("\n");
}
