// One request to the service over its unix socket. Node's own HTTP: nothing else is needed.

import { closeSync, constants, lstatSync, openSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { dirname } from "node:path";
import type { CancellationToken } from "vscode";
import { errorIn, KdsError } from "./wire.ts";

/** Bytes of a socket's path that every system takes. */
const PATH_LIMIT = 103;

/** Nobody listens there: the service has to be started. */
export class NotThereError extends Error {
  override readonly name = "NotThereError";
}

export interface Asked {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

/** What VS Code cancels, as `exchange` takes it. */
export function signalOf(token: CancellationToken): AbortSignal {
  const controller = new AbortController();
  token.onCancellationRequested(() => controller.abort());
  return controller.signal;
}

/** The reply's JSON, or its text where it is none. Throws KdsError and NotThereError. */
export async function exchange(socketPath: string, asked: Asked): Promise<unknown> {
  check(socketPath);
  const spelled = shortSpelling(socketPath);
  try {
    const { status, content } = await send(spelled.path, asked);
    const data = parsed(content);
    if (status < 400) return data;
    throw errorIn(data, status) ?? new KdsError(`the service answered with status ${status}`, { status });
  } finally {
    spelled.close();
  }
}

/** A project may bring a link or a socket of somebody else along. */
function check(path: string): void {
  let found;
  try {
    found = lstatSync(path);
  } catch {
    throw new NotThereError("there is no socket");
  }
  const mine = process.geteuid === undefined || found.uid === process.geteuid();
  if (!found.isSocket() || !mine) {
    throw new KdsError(`${path} is not a socket of yours`, { hint: "remove it, if you know it" });
  }
}

/** A long path goes by way of an open descriptor of its folder, where the system has /proc. */
function shortSpelling(path: string): { path: string; close: () => void } {
  if (Buffer.byteLength(path) <= PATH_LIMIT || process.platform !== "linux") {
    return { path, close: () => undefined };
  }
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  const name = path.slice(dirname(path).length + 1);
  return { path: `/proc/self/fd/${folder}/${name}`, close: () => closeSync(folder) };
}

function send(socketPath: string, asked: Asked): Promise<{ status: number; content: string }> {
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  const headers: Record<string, string> = { Connection: "close" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(asked.timeoutMs ?? 90_000);
  const signal = asked.signal ? AbortSignal.any([asked.signal, limit]) : limit;
  return new Promise((resolve, reject) => {
    const options = { socketPath, path: asked.path, method: asked.method, headers, signal };
    const asking = httpRequest(options, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", (error) => reject(translated(error)));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, content: Buffer.concat(parts).toString("utf-8") }),
      );
    });
    asking.on("error", (error) => {
      const late = limit.aborted && !asked.signal?.aborted;
      const hint = "see `kds service status`";
      reject(late ? new KdsError("the service does not answer in time", { hint }) : translated(error));
    });
    asking.end(body);
  });
}

/** The codes of a service that is not there, or that died in the middle. */
const GONE = new Set(["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"]);

function translated(error: NodeJS.ErrnoException): Error {
  return GONE.has(error.code ?? "") ? new NotThereError(error.message) : error;
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
