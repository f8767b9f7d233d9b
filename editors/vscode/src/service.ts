// The user's service, asked about a place: over its socket, started when it is needed.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Place } from "./place.ts";
import { run } from "./program.ts";
import { type Asked as Sent, exchange, NotThereError, socketOfUser } from "./socket.ts";
import { type Agent, type Entry, type Found, type Health, KdsError, type Session, type SessionPage, type Turn } from "./wire.ts";
import type { Said } from "@kds/transit";

/** Messages of the history that the service takes (HISTORY_LIMIT of kds.service.service_client). */
const HISTORY_LIMIT = 32;
const START_MS = 60_000;

type Asked = Omit<Sent, "workspace">;

/** Something to look at in a file (Finding of kds.testing.findings). */
export interface Finding {
  readonly path: string; readonly line: number; readonly start: number; readonly end: number;
  readonly message: string; readonly hint: string; readonly code: string; readonly severity: "error" | "warning";
  readonly replacement: string | null;
}

export interface Checked { readonly problems: readonly Finding[]; readonly dialogues: readonly (readonly [path: string, id: string, line: number])[] }

export class Service {
  readonly place: Place;
  readonly socketPath = socketOfUser();
  #starting: Promise<void> | undefined;

  constructor(place: Place) {
    this.place = place;
  }

  /** Read a message: what it refers to, what it wants, who is for it. */
  async route(message: string, asked: { conversation: string; history: readonly Said[]; log?: boolean; signal?: AbortSignal }): Promise<Turn> {
    const history = asked.history.slice(-HISTORY_LIMIT);
    const body = { message, conversation: asked.conversation, history, log: asked.log ?? true, fits: true };
    return (await this.ask({ method: "POST", path: "/route", body, signal: asked.signal })) as Turn;
  }

  /** Passages of documents or of remembered conversations; no model is asked. */
  async search(query: string, asked: { scope: "documents" | "memory"; limit: number; history?: readonly Said[]; signal?: AbortSignal }): Promise<Found> {
    const { scope, limit, history = [], signal } = asked;
    const body = { query, scope, limit, answer: false, conversation_context: history };
    return (await this.ask({ method: "POST", path: "/query", body, signal })) as Found;
  }

  /** The prompt files of the workspace; those with an intent are agents. */
  async agents(): Promise<readonly Agent[]> {
    return (await this.ask({ method: "GET", path: "/prompts" })) as Agent[];
  }

  /** What is wrong in the files of the workspace, with these texts in place of what is saved. */
  async check(texts: Readonly<Record<string, string>>, full = false): Promise<Checked> {
    try {
      return (await this.ask({ method: "POST", path: "/check", body: { texts, full } })) as Checked;
    } catch (error) {
      if (!(error instanceof KdsError) || error.status !== 404) throw error;
      const { version } = (await this.health()) ?? { version: "unknown" };
      throw new KdsError(`the running KDS (version ${version}) is too old for this extension`, { hint: "update it, or name another one in the setting kds.path" });
    }
  }

  async promptBody(name: string): Promise<string> {
    const path = `/prompts/${encodeURIComponent(name)}`;
    return ((await this.ask({ method: "GET", path })) as { body: string }).body;
  }

  async clearContext(conversation: string): Promise<void> {
    await this.ask({ method: "DELETE", path: `/context?conversation=${encodeURIComponent(conversation)}` });
  }

  /** What the window's conversation remembers; undefined after a `peek` where no service runs. */
  async context(conversation: string, how: "ask" | "peek" = "ask"): Promise<readonly Entry[] | undefined> {
    const path = `/context?conversation=${encodeURIComponent(conversation)}`;
    return ((await this[how]({ method: "GET", path })) as { entries: Entry[] } | undefined)?.entries;
  }

  /** The sessions that are remembered; undefined where there may be some, but no service runs. */
  async sessions(): Promise<readonly Session[] | undefined> {
    const found = await this.peek({ method: "GET", path: "/sessions?limit=100" });
    if (found !== undefined) return (found as { sessions: Session[] }).sessions;
    return existsSync(join(this.place.root, "kds-brain")) ? undefined : [];
  }

  /** The last messages of a session, oldest first. */
  async lastMessages(session: Session): Promise<SessionPage> {
    const offset = Math.max(0, session.messages - HISTORY_LIMIT);
    return (await this.ask({ method: "GET", path: `${pathOf(session.id)}?limit=${HISTORY_LIMIT}&offset=${offset}` })) as SessionPage;
  }

  async renameSession(id: string, title: string): Promise<void> {
    await this.ask({ method: "PATCH", path: pathOf(id), body: { title } });
  }

  async deleteSession(id: string): Promise<void> {
    await this.ask({ method: "DELETE", path: pathOf(id) });
  }

  async exportSession(id: string, format: "markdown" | "json"): Promise<string> {
    const found = await this.ask({ method: "GET", path: `${pathOf(id)}/export?format=${format}` });
    return typeof found === "string" ? found : JSON.stringify(found, null, 2);
  }

  /** Store what was said in a session, which is begun if need be. */
  async remember(id: string, said: readonly Said[]): Promise<void> {
    for (const { role, content } of said) {
      const asked: Asked = { method: "POST", path: `${pathOf(id)}/messages`, body: { role, content } };
      try {
        await this.ask(asked);
      } catch (error) {
        if (!(error instanceof KdsError) || error.status !== 404) throw error;
        await this.ask({ method: "POST", path: "/sessions", body: { id } });
        await this.ask(asked);
      }
    }
  }

  /** Whether a service seems to run: a glance, no question. */
  get isThere(): boolean {
    return existsSync(this.socketPath);
  }

  async health(): Promise<Health | undefined> {
    return (await this.peek({ method: "GET", path: "/healthz", timeoutMs: 2_000 })) as Health | undefined;
  }

  /** Ask; start the service and ask once more where none is there, or where it died meanwhile. */
  async ask(asked: Asked): Promise<unknown> {
    try {
      return await this.#exchange(asked);
    } catch (error) {
      if (!(error instanceof NotThereError)) throw error;
    }
    await this.start();
    try {
      return await this.#exchange(asked);
    } catch (error) {
      if (!(error instanceof NotThereError)) throw error;
      throw new KdsError("the service does not stay up", { hint: "see KDS: Show the Logs" });
    }
  }

  /** Ask a service that runs; undefined where none does. */
  async peek(asked: Asked): Promise<unknown> {
    try {
      return await this.#exchange(asked);
    } catch (error) {
      if (error instanceof NotThereError) return undefined;
      throw error;
    }
  }

  #exchange(asked: Asked): Promise<unknown> {
    return exchange(this.socketPath, { ...asked, workspace: this.place.root });
  }

  /** Start the service; one start at a time. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    const ended = await run(this.place, ["service", "start", "-w", this.place.root], { timeoutMs: START_MS });
    if (ended.code === 0) return;
    throw new KdsError(ended.stderr.trim().replace(/^[^]*?^kds: /m, "") || "the service does not start", { hint: "see KDS: Doctor" });
  }
}

/** A session's id may hold a slash, which stays one. */
function pathOf(id: string): string {
  return `/sessions/${id.split("/").map(encodeURIComponent).join("/")}`;
}
