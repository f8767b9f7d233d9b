// The program `kds`: where it is, and running it.

import { execFile } from "node:child_process";
import { constants, promises as fs } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, sep } from "node:path";
import * as vscode from "vscode";
import type { Place } from "./place.ts";
import { errorIn, KdsError } from "./wire.ts";

const WINDOWS = process.platform === "win32";
const PROGRAM = WINDOWS ? "kds.exe" : "kds";
/** Another author's package brings a `kds` as well; only KDS brings this one. */
const SIBLING = WINDOWS ? "kds-hook.exe" : "kds-hook";
const VENV_BIN = WINDOWS ? "Scripts" : "bin";
const VENVS = [".venv", "venv"];

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** KDS is not installed, or not where it is looked for. */
export class NoProgramError extends KdsError {
  constructor(message = "KDS was not found in .venv or venv of the opened folder, nor on the PATH") {
    super(message, { hint: "install it, or name it in the setting kds.path" });
  }
}

/**
 * The program for a place: the setting's, that of a venv in the opened folder, the one on the PATH.
 * What lies in a folder above was not opened, so nothing of it is run unless the setting says so.
 */
export async function findProgram(place: Place): Promise<string | undefined> {
  const set = vscode.workspace.getConfiguration("kds", place.uri).get<string>("path", "").trim();
  if (set) {
    const named = spelledOut(set, place);
    if (await isProgram(named)) return named;
    throw new NoProgramError(`kds.path is ${named}, which cannot be run`);
  }
  // A folder that is not trusted may bring a program of that name along.
  const roots = place.trusted ? [place.folder, ...(place.root.startsWith(place.folder + sep) ? [place.root] : [])] : [];
  const own = roots.flatMap((root) => VENVS.map((venv) => join(root, venv, VENV_BIN)));
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  for (const folder of [...own, ...onPath]) {
    const candidate = join(folder, PROGRAM);
    if ((await isProgram(candidate)) && (await isProgram(join(folder, SIBLING)))) return candidate;
  }
  return undefined;
}

function spelledOut(path: string, place: Place): string {
  const whole = path.replace(/^~(?=$|[\\/])/, homedir()).replaceAll("${workspaceFolder}", place.folder);
  return isAbsolute(whole) ? whole : join(place.folder, whole);
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await fs.access(path, constants.X_OK);
    return (await fs.stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Run `kds`. Throws NoProgramError where there is none, KdsError where it cannot be run. */
export async function run(
  place: Place,
  args: readonly string[],
  options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<Ended> {
  const program = await findProgram(place);
  if (program === undefined) throw new NoProgramError();
  const env = { ...process.env, NO_COLOR: "1" };
  const { timeoutMs: timeout = 120_000, signal } = options;
  const how = { cwd: place.root, env, timeout, maxBuffer: 32_000_000, ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], how, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, stdout, stderr });
      else reject(new KdsError(`kds ${args[0]}: ${error?.message ?? "it was stopped"}`, { hint: "see KDS: Doctor" }));
    });
  });
}

/** Run `kds ... --json` and read what it prints. Throws KdsError with what it complains about. */
export async function runJson<T>(place: Place, args: readonly string[], signal?: AbortSignal): Promise<T> {
  const { stdout, stderr, code } = await run(place, args, { signal });
  let data: unknown;
  try {
    data = JSON.parse(stdout);
  } catch {
    throw new KdsError(stderr.trim() || `kds ${args[0]} ended with code ${code}`, { hint: "see KDS: Doctor" });
  }
  const error = errorIn(data);
  if (error) throw error;
  return data as T;
}
