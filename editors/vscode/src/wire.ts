// What the service and the command line of KDS say (docs/service.md, docs/cli.md), as far as it is read here.

export interface Reference { readonly text: string; readonly target: string; readonly rule: string; readonly score: number }

export interface Entry { readonly timestamp: string; readonly user_message: string; readonly intent: string; readonly context_ref?: string | null }

export interface StepRecord { readonly step: string; readonly cpu_ms: number; readonly notes: readonly string[] }

export interface Turn {
  readonly message: string;
  readonly expanded: string;
  readonly intent: string;
  readonly confidence: number;
  readonly action: "route" | "clarify" | "abstain";
  readonly secondary_intents: readonly string[];
  readonly alternatives: readonly { readonly intent: string; readonly confidence: number }[];
  readonly question: string | null;
  readonly candidates: readonly string[];
  readonly context_ref: string | null;
  readonly references: readonly Reference[];
  readonly unresolved: readonly string[];
  readonly session_id: string | null;
  readonly agent: string | null;
  readonly prompt_file: string | null;
  readonly prompt: string;
  readonly at: string;
  readonly records: readonly StepRecord[];
  readonly warnings: readonly string[];
  /** What is wrong in files of the workspace, which do not count. */
  readonly problems?: readonly Problem[];
  /** The skill, agent, command or prompt file of the project that the message calls for. */
  readonly fits?: { readonly name: string; readonly kind: "skill" | "agent" | "command" | "prompt" } | null;
}

export interface Agent {
  readonly name: string;
  readonly description: string;
  readonly intent: string | null;
  readonly ref: string;
  readonly ask: string | null;
  readonly handoffs: readonly string[];
  readonly tools: readonly string[];
}

export interface Passage { readonly text: string; readonly citation: string; readonly source_path: string | null; readonly line: number | null }

export interface Found { readonly chunks: readonly Passage[]; readonly warnings: readonly string[] }

export interface Session { readonly id: string; readonly title: string; readonly updated_at: string; readonly messages: number }

export interface SessionPage extends Session { readonly page: readonly { readonly role: string; readonly content: string }[] }

export interface Health {
  readonly status: "ok" | "degraded";
  readonly version: string;
  readonly pid: number;
}

/** A fault of a file: `where` is `path:line`. */
export interface Problem { readonly where: string; readonly message: string; readonly hint: string }

/** What KDS says when something is wrong, with what to do about it. */
export class KdsError extends Error {
  override readonly name = "KdsError";
  readonly status: number;
  readonly hint: string | null;
  readonly problems: readonly Problem[];

  constructor(message: string, more: { status?: number; hint?: string | null; problems?: readonly Problem[] } = {}) {
    super(message);
    this.status = more.status ?? 0;
    this.hint = more.hint ?? null;
    this.problems = more.problems ?? [];
  }

  /** The message, with what to do about it. */
  get advice(): string {
    return this.hint ? `${this.message} (${this.hint})` : this.message;
  }
}

/** The error that a reply tells of, or null when it tells of none. */
export function errorIn(data: unknown, status = 0): KdsError | null {
  if (typeof data !== "object" || data === null || !("error" in data)) return null;
  const told = data.error as Partial<Problem> & { problems?: Problem[] };
  const message = told.message ?? `the service answered with status ${status}`;
  const shown = told.where ? `${told.where}: ${message}` : message;
  return new KdsError(shown, { status, hint: told.hint ?? null, problems: told.problems ?? [] });
}
