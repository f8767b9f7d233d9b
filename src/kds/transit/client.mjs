// Asking the query service of KDS: the reference client for Node (docs/history-transit.md).
// The same as client.py. Node 18 or newer, no dependencies.

import { randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";

import { transit } from "./history.mjs";

const UNIX = "unix:";
const TIMEOUT_S = 90;

/** The question was not answered; the history is as it was, so it can be asked again. */
export class QueryError extends Error {
  constructor(message, { status = 0, where = null, hint = null } = {}) {
    super(where ? `${where}: ${message}` : message);
    this.name = "QueryError";
    this.status = status;
    this.where = where;
    this.hint = hint;
  }
}

/**
 * One conversation with the query service: one question at a time. Under `sessionId`, a new UUID
 * for every client, the service remembers it; with null it remembers nothing.
 */
export class QueryClient {
  constructor(
    address,
    { token, workspace, sessionId = randomUUID(), sourcePath, timeoutS = TIMEOUT_S, ...unknown } = {},
  ) {
    const [option] = Object.keys(unknown);
    if (option) throw new TypeError(`unknown option '${option}'`);
    this.address = address;
    this.token = token;
    this.workspace = workspace;
    this.sessionId = sessionId;
    this.sourcePath = sourcePath;
    this.timeoutS = timeoutS;
    this.history = [];
  }

  /** Ask with the conversation so far, and add both to it; the reply of POST /query. */
  async ask(query, options = {}) {
    const data = await this.#post({
      query,
      conversation_context: this.history,
      session_id: this.sessionId ?? undefined,
      source_path: this.sourcePath,
      ...options,
    });
    if (!("rewritten_query" in data) || !Array.isArray(data.chunks)) {
      throw new QueryError("not an answer to a question", { hint: "is it a KDS service?" });
    }
    const replies = data.answer ? [{ role: "assistant", content: data.answer }] : [];
    this.history = transit([...this.history, { role: "user", content: query }, ...replies]);
    return data;
  }

  async #post(sent) {
    const [request, where] = target(this.address);
    const headers = { "Content-Type": "application/json", Connection: "close" };
    const token = this.token?.trim();
    if (token) headers.Authorization = `Bearer ${token}`;
    if (this.workspace) headers["Kds-Workspace"] = encodeURI(this.workspace);
    const body = JSON.stringify(sent); // fields without a value are left out
    const signal = AbortSignal.timeout(this.timeoutS * 1000);
    let reply;
    try {
      reply = await exchange(request, { ...where, method: "POST", path: "/query", headers, signal }, body);
    } catch (error) {
      if (signal.aborted) {
        const message = `no answer within ${this.timeoutS} s`;
        throw new QueryError(message, { hint: "see `kds service status`" });
      }
      const message = `the service does not answer: ${error.message}`;
      throw new QueryError(message, { hint: "start it: kds service start" });
    }
    return read(reply);
  }
}

function target(address) {
  if (address.startsWith(UNIX)) {
    return [http.request, { socketPath: address.slice(UNIX.length), host: "localhost" }];
  }
  let url;
  try {
    url = new URL(address);
  } catch {
    url = null;
  }
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    const hint = "write unix:PATH or http://HOST:PORT";
    throw new QueryError(`invalid address '${address}'`, { hint });
  }
  const secure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return [secure ? https.request : http.request, { host, port: url.port || (secure ? 443 : 80) }];
}

function exchange(request, options, body) {
  return new Promise((resolve, reject) => {
    const asking = request(options, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode, content: Buffer.concat(parts).toString("utf-8") });
      });
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

function read({ status, content }) {
  let data;
  try {
    data = JSON.parse(content);
  } catch {
    throw new QueryError("the answer is not JSON", { status, hint: "is it a KDS service?" });
  }
  const isObject = data !== null && typeof data === "object" && !Array.isArray(data);
  if (status < 400 && isObject) return data;
  const problem = isObject && data.error !== null && typeof data.error === "object" ? data.error : {};
  const message = problem.message || `the service answered with status ${status}`;
  const { where = null, hint = null } = problem;
  throw new QueryError(message, { status, where, hint });
}
