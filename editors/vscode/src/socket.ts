// One request to the service over its unix socket. Node's own HTTP: nothing else is needed.

import { closeSync, constants, lstatSync, openSync, statSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { CancellationToken } from "vscode";
import { errorIn, KdsError } from "./wire.ts";

/** Bytes of a socket's path that every system takes. */
const PATH_LIMIT = 103;

/** Nobody listens there: the service has to be started. */
export class NotThereError extends Error {
  override readonly name = "NotThereError";
}

/** The socket of the user's one service: as runtime_folder of kds.brain.whereabouts finds it. */
export function socketOfUser(env: NodeJS.ProcessEnv = process.env): string {
  const uid = process.geteuid?.();
  const bases = uid === undefined ? [] : [env["XDG_RUNTIME_DIR"]?.trim() ?? "", `/run/user/${uid}`];
  const base = bases.find((one) => isAbsolute(one) && ownerOf(one) === uid);
  if (base !== undefined) return join(base, "kds", "service.sock");
  const given = env["XDG_CONFIG_HOME"]?.trim() ?? "";
  return join(isAbsolute(given) ? given : join(homedir(), ".config"), "kds", "run", "service.sock");
}

function ownerOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.uid;
}

export interface Asked {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The root of the workspace that it is about. */
  readonly workspace: string;
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

/** Another user who could write to the folder could pose as the service. */
function check(path: string): void {
  const folder = lstatSync(dirname(path), { throwIfNoEntry: false });
  if (folder === undefined) throw new NotThereError("there is no socket");
  const uid = process.geteuid?.();
  if (uid !== undefined && (!folder.isDirectory() || folder.uid !== uid || (folder.mode & 0o077) !== 0)) {
    throw new KdsError(`${dirname(path)} is not private to you`, { hint: "remove it, if you know it" });
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
  const headers: Record<string, string> = { Connection: "close", "Kds-Workspace": encodeURI(asked.workspace) };
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
