// The program `kds`: where it is, and running it.

import { execFile } from "node:child_process";
import { constants, promises as fs } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import type { Place } from "./place.ts";
import { errorIn, KdsError } from "./wire.ts";

const VENVS = [".venv", "venv"];

export interface Ended { readonly code: number; readonly stdout: string; readonly stderr: string }

/** KDS is not installed, or not where it is looked for. */
export class NoProgramError extends KdsError {
  constructor(message: string, hint = "install it, or name it in the setting kds.path") {
    super(message, { hint });
  }
}

/** The program beside which the extension was built, as `make vscode` does; else "". */
declare const BUILT_WITH: string;

/**
 * The program for a place: the setting's, that of a venv in the opened folder, of the interpreter
 * that the Python extension uses, the one on the PATH, the one beside which this was built. What
 * lies in a folder above was not opened, so nothing of it is run unless the setting says so.
 */
export async function findProgram(place: Place): Promise<string> {
  const set = vscode.workspace.getConfiguration("kds", place.uri).get<string>("path", "").trim();
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  if (set) {
    const named = set.includes("/") ? [spelledOut(set, place)] : onPath.map((folder) => join(folder, set));
    for (const one of named) if ((await isProgram(one)) && (await isKds(one))) return one;
    const [first = set] = named.length === 1 ? named : [`${set} on the PATH`];
    throw new NoProgramError(`kds.path is ${first}, which ${(await isProgram(first)) ? "is not KDS" : "cannot be run"}`, "correct the setting kds.path");
  }
  // A folder that is not trusted may bring a program of that name along.
  const roots = place.trusted ? [place.folder, ...(place.root.startsWith(`${place.folder}/`) ? [place.root] : [])] : [];
  const own = roots.flatMap((root) => VENVS.map((venv) => join(root, venv, "bin")));
  const python = place.trusted ? await interpreterFolder(place.uri) : [];
  const built = typeof BUILT_WITH === "string" && BUILT_WITH ? [dirname(BUILT_WITH)] : [];
  for (const folder of [...own, ...python, ...onPath, ...built]) {
    const candidate = join(folder, "kds");
    if ((await isProgram(candidate)) && (await isKds(candidate))) return candidate;
  }
  const looked = [...own, ...python].map((folder) => join(folder, "kds")).join(", ");
  throw new NoProgramError(`KDS was not found: not ${looked ? `at ${looked}, nor ` : ""}on the PATH`);
}

interface PythonApi { readonly environments?: { getActiveEnvironmentPath(uri: vscode.Uri): { readonly path: string } | undefined } }

async function interpreterFolder(uri: vscode.Uri): Promise<string[]> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  const api = await extension?.activate().then((found) => found, () => undefined); // its own troubles
  const path = api?.environments?.getActiveEnvironmentPath(uri)?.path ?? "";
  return isAbsolute(path) ? [dirname(path)] : [];
}

function spelledOut(path: string, place: Place): string {
  const whole = path.replace(/^~(?=$|\/)/, homedir()).replaceAll("${workspaceFolder}", place.folder);
  return isAbsolute(whole) ? whole : join(place.folder, whole);
}

/** Another author's package brings a `kds` as well: only KDS has a `kds-hook` beside it, or says its version so. */
async function isKds(path: string): Promise<boolean> {
  if (await isProgram(join(dirname(await fs.realpath(path)), "kds-hook"))) return true;
  return new Promise((resolve) => {
    execFile(path, ["--version"], { timeout: 10_000 }, (error, stdout) => resolve(error === null && /^kds \d+\./.test(stdout)));
  });
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
export async function run(place: Place, args: readonly string[], options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}): Promise<Ended> {
  const program = await findProgram(place);
  const env = { ...process.env, NO_COLOR: "1" };
  const { timeoutMs: timeout = 120_000, signal } = options;
  const how = { cwd: place.root, env, timeout, maxBuffer: 32_000_000, ...(signal && { signal }) };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], how, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, stdout, stderr });
      else if (code === "ENOENT") reject(new NoProgramError(`${program} cannot be run`, "install it again, or name another one in the setting kds.path"));
      else reject(new KdsError(`${program} ${args[0]}: ${error?.message ?? "it was stopped"}`, { hint: "see KDS: Doctor" }));
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
