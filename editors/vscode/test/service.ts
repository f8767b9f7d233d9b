// A service of KDS that says what a test lets it say, on a unix socket of its own.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, Turn } from "../src/wire.ts";
import turn from "./turn.json" with { type: "json" };

export const AGENTS: Agent[] = [
  agent("work-planner", "PLAN", "plan something new", ["EXECUTE", "TEST"]),
  agent("code-executor", "EXECUTE", "change or continue the work", ["TEST"]),
  agent("test-generator", "TEST", "write or run tests", []),
  { ...agent("knowledge-retriever", "ASK", "get an answer to a question", []), tools: ["search_documents"] },
  { ...agent("ship-it", "SHIP", "ship it", []), ref: "prompts/internal/ship-it.md" },
];

function agent(name: string, intent: string, ask: string, handoffs: string[]): Agent {
  const ref = `prompts/internal/${name}.md`;
  return { name, description: name, intent, ref, ask, handoffs, tools: [] };
}

export const TURN = turn as Turn;

/** A runtime folder without a service. */
const NOWHERE = mkdtempSync(join(tmpdir(), "kds-nowhere-"));

interface Heard {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly workspace: string | string[] | undefined;
}

/** Replies by "METHOD /path"; a function gets the body. An array of status and data is an error. */
export type Replies = Record<string, unknown>;

const USUAL: Replies = {
  "GET /healthz": { status: "ok", version: "0.1.0", pid: 1 },
  "GET /prompts": AGENTS,
  "POST /route": TURN,
  "POST /query": { chunks: [], warnings: [] },
  "DELETE /context": { cleared: 1 },
};

export class FakeService {
  readonly root = mkdtempSync(join(tmpdir(), "kds-"));
  readonly socketPath = join(this.root, "kds", "service.sock");
  readonly heard: Heard[] = [];
  replies: Replies = {};
  #server: Server | undefined;

  /** Answer as the user's service: the runtime folder is that of the test. */
  async listen(): Promise<this> {
    mkdirSync(join(this.root, "kds-brain"), { recursive: true });
    mkdirSync(join(this.root, "kds"), { mode: 0o700 });
    process.env["XDG_RUNTIME_DIR"] = this.root;
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const body = (text ? JSON.parse(text) : {}) as Record<string, unknown>;
        const workspace = request.headers["kds-workspace"];
        const heard = { method: request.method ?? "", path: request.url ?? "", body, workspace };
        this.heard.push(heard);
        const [status, data] = this.#replyTo(heard);
        response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(data));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.socketPath, resolve));
    return this;
  }

  #replyTo({ method, path, body }: Heard): [number, unknown] {
    const known: Replies = { ...USUAL, ...this.replies };
    const found = known[`${method} ${path.split("?")[0]}`];
    const reply: unknown = typeof found === "function" ? (found as (body: unknown) => unknown)(body) : found;
    if (reply === undefined) return [404, { error: { message: "no such session", where: "session", hint: "list them" } }];
    return Array.isArray(reply) && typeof reply[0] === "number" ? [reply[0], reply[1]] : [200, reply];
  }

  asked(path: string): Heard[] {
    return this.heard.filter((one) => one.path.startsWith(path));
  }

  /** Gone: nothing answers until the next one listens, least of all the user's own service. */
  async close(): Promise<void> {
    await new Promise((resolve) => this.#server?.close(resolve));
    rmSync(this.root, { recursive: true, force: true });
    process.env["XDG_RUNTIME_DIR"] = NOWHERE;
  }
}
