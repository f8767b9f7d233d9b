// What belongs to a window: its conversation, the last turn, and the service of each place.

import { randomUUID } from "node:crypto";
import type { Said } from "@kds/transit";
import * as vscode from "vscode";
import { type Place, Places } from "./place.ts";
import { Service } from "./service.ts";
import type { Turn } from "./wire.ts";

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
export interface LastTurn {
  readonly turn: Turn;
  readonly place: Place;
}

export class Window implements vscode.Disposable {
  readonly places: Places;
  readonly log = vscode.window.createOutputChannel("KDS", { log: true });
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #services = new Map<string, Service>();
  readonly #state: vscode.Memento;
  #kept: Kept;
  #last: LastTurn | undefined;

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

  /** Where the next message is read: where the session is that was resumed, else as `Places.now`. */
  get place(): Place {
    return this.places.all().find((one) => one.root === this.#kept.root) ?? this.places.now();
  }

  get last(): LastTurn | undefined {
    return this.#last;
  }

  service(place: Place): Service {
    const known = this.#services.get(place.root) ?? new Service(place);
    this.#services.set(place.root, known);
    return known;
  }

  /** A turn was read: whoever shows something of it is told. */
  async read(turn: Turn, place: Place): Promise<void> {
    this.#last = { turn, place };
    await this.#keep({ ...this.#kept, at: Date.now() });
  }

  /** Begin anew, or go on with a session that is remembered. */
  async begin(session?: { id: string; root: string; earlier: readonly Said[] }): Promise<void> {
    this.#last = undefined;
    await this.#keep(session ? { ...session, at: Date.now() } : fresh());
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

function fresh(): Kept {
  return { id: `vscode-${randomUUID()}`, at: Date.now(), earlier: [] };
}
