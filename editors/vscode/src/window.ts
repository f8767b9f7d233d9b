// What belongs to a window: its conversation, the last turn, and the service of each place.

import { randomUUID } from "node:crypto";
import type { Said } from "@kds/transit";
import * as vscode from "vscode";
import { type Place, Places } from "./place.ts";
import { NoProgramError } from "./program.ts";
import { Service } from "./service.ts";
import { KdsError, type Turn } from "./wire.ts";

const KEY = "kds.conversation";

/** A window that is opened again within this time goes on; KDS's context lasts as long. */
const LASTS_MS = 2 * 3600 * 1000;

interface Kept {
  readonly id: string;
  /** Where a session is kept that was resumed. */
  readonly root?: string;
  readonly at: number;
  readonly earlier: readonly Said[];
}

/** The last message of the window, where it was read, and how. */
export interface LastTurn { readonly turn: Turn; readonly place: Place }

export class Window implements vscode.Disposable {
  readonly places: Places;
  readonly log = vscode.window.createOutputChannel("KDS", { log: true });
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #services = new Map<string, Service>();
  /** How the last message of each session was read, until the window is closed: a message may hold a secret. */
  readonly #readings = new Map<string, LastTurn>();
  readonly #state: vscode.Memento;
  #kept: Kept;
  #last: LastTurn | undefined;
  #next: string | undefined;

  constructor(context: vscode.ExtensionContext) {
    this.#state = context.workspaceState;
    this.places = new Places(vscode.Uri.joinPath(context.globalStorageUri, "no-folder").fsPath);
    const kept = this.#state.get<Kept>(KEY);
    this.#kept = kept && Date.now() - kept.at < LASTS_MS ? kept : fresh();
  }

  /** The one session id of this window. */
  get conversation(): string {
    return this.#kept.id;
  }

  /** What was said before the chat in this window: of a session that was resumed. */
  get earlier(): readonly Said[] {
    return this.#kept.earlier;
  }

  /** Where the next message is read: as `stay` says, where a resumed session is, else `Places.now`. */
  get place(): Place {
    const root = this.#next ?? this.#kept.root;
    return (root === undefined ? undefined : this.places.at(root)) ?? this.places.now();
  }

  /** The next message answers what was asked there, or is said there again. */
  stay(place: Place): void {
    this.#next = place.root;
  }

  get last(): LastTurn | undefined {
    return this.#last;
  }

  service(place: Place): Service {
    const known = this.#services.get(place.root) ?? new Service(place);
    this.#services.set(place.root, known);
    return known;
  }

  /** A turn was read: notify the views that show it. */
  async read(turn: Turn, place: Place): Promise<void> {
    this.#last = { turn, place };
    this.#next = turn.action === "clarify" ? place.root : undefined;
    await this.#keep({ ...this.#kept, at: Date.now() });
    this.#readings.set(this.conversation, this.#last);
  }

  /** Begin anew, or go on with a session that is remembered. */
  async begin(session?: { id: string; root: string; earlier: readonly Said[] }): Promise<void> {
    this.#last = session && this.#readings.get(session.id);
    this.#next = undefined;
    await this.#keep(session ? { ...session, at: Date.now() } : fresh());
  }

  /** Forget how the last message of a session was read. */
  forgetReading(id: string): void {
    this.#readings.delete(id);
  }

  /** What is shown may be out of date. */
  refresh(): void {
    this.#changed.fire();
  }

  async #keep(kept: Kept): Promise<void> {
    this.#kept = kept;
    this.#changed.fire();
    await this.#state.update(KEY, kept);
  }

  dispose(): void {
    this.#changed.dispose();
    this.log.dispose();
  }
}

/** In a trusted folder what is said is remembered, unless a setting says no. */
export function isKept(place: Place): boolean {
  return place.trusted && vscode.workspace.getConfiguration("kds", place.uri).get("remember", true);
}

function fresh(): Kept {
  return { id: `vscode-${randomUUID()}`, at: Date.now(), earlier: [] };
}

/** A command that shows its errors, with their fix, instead of throwing them at VS Code. */
export function guarded<A extends unknown[], R>(window: Window, action: (...args: A) => Promise<R>): (...args: A) => Promise<R | undefined> {
  return async (...args) => {
    try {
      return await action(...args);
    } catch (error) {
      window.log.error(error instanceof Error ? error : String(error));
      void tell(error);
      return undefined;
    }
  };
}

async function tell(error: unknown): Promise<void> {
  if (error instanceof NoProgramError) {
    const [install, setting] = ["How to Install", "Open the Setting"];
    const chosen = await vscode.window.showWarningMessage(`KDS: ${error.advice}`, install, setting);
    if (chosen === install) await vscode.commands.executeCommand("kds.walkthrough");
    if (chosen === setting) await vscode.commands.executeCommand("workbench.action.openSettings", "kds.path");
    return;
  }
  await vscode.window.showErrorMessage(`KDS: ${error instanceof KdsError ? error.advice : String(error)}`);
}
