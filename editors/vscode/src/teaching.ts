// "Not what I meant": the message becomes an example of the intent that was meant (docs/learning.md).

import * as vscode from "vscode";
import type { Place } from "./place.ts";
import { runJson } from "./program.ts";
import { capital } from "./reading.ts";
import type { Window } from "./window.ts";
import { KdsError } from "./wire.ts";

interface Taught { readonly id: string; readonly text: string; readonly intent: string }

/** Ask what a message meant, the last one where none is `given`, and teach it where it was read. */
export async function correct(window: Window, given?: string, root?: string): Promise<void> {
  const place = root === undefined ? (window.last?.place ?? window.places.now()) : window.places.at(root);
  if (place === undefined) throw new KdsError(`${root} is no longer a folder of this window`, { hint: "open it again" });
  const message = given ?? window.last?.turn.message;
  if (message === undefined) throw new KdsError("nothing was said to @kds in this window yet");
  if (!place.trusted) throw new KdsError("nothing is learned in a folder that is not trusted", { hint: "trust the folder first" });
  const intent = await meant(window, place, message);
  if (intent === undefined) return;
  const told = { location: vscode.ProgressLocation.Notification, title: `KDS learns "${message}" as ${intent}` };
  const args = ["learn", "teach", "--json", "--force", "-w", place.root, "--", message, intent];
  const taught = await vscode.window.withProgress(told, () => runJson<Taught>(place, args));
  const [again, undo] = ["Ask Again", "Undo"];
  const done = `KDS: learned "${taught.text}" as ${taught.intent}.`;
  const chosen = await vscode.window.showInformationMessage(done, again, undo);
  if (chosen === again) window.stay(place);
  if (chosen === again) await vscode.commands.executeCommand("kds.say", message);
  if (chosen === undo) await runJson(place, ["learn", "undo", "--json", "-w", place.root, taught.id]);
}

/** The intents to choose from, the likely ones first. */
async function meant(window: Window, place: Place, message: string): Promise<string | undefined> {
  const agents = await window.service(place).agents();
  const { last } = window;
  const turn = last?.place.root === place.root && last.turn.message === message ? last.turn : undefined;
  const likely = turn?.alternatives.map((one) => one.intent) ?? [];
  const rank = (intent: string): number => (likely.includes(intent) ? likely.indexOf(intent) : likely.length);
  const choices = agents
    .flatMap(({ intent, ...agent }) => (intent && ![turn?.intent, "UNKNOWN"].includes(intent) ? [{ intent, ...agent }] : []))
    .sort((one, other) => rank(one.intent) - rank(other.intent))
    .map(({ intent, name, ask, description }) => ({ label: capital(ask ?? name), description: intent, detail: description, intent }));
  const placeHolder = `What did you mean by "${message}"?`;
  return (await vscode.window.showQuickPick(choices, { placeHolder, matchOnDescription: true }))?.intent;
}
