// What a command does when something goes wrong: one message that says how to mend it.

import * as vscode from "vscode";
import { NoProgramError } from "./program.ts";
import type { Window } from "./window.ts";
import { KdsError } from "./wire.ts";

/** A command that tells of its errors once, instead of throwing them at VS Code. */
export function guarded<A extends unknown[], R>(
  window: Window,
  action: (...args: A) => Promise<R>,
): (...args: A) => Promise<R | undefined> {
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
    const install = "How to Install";
    const chosen = await vscode.window.showWarningMessage(`KDS: ${error.message}.`, install);
    if (chosen === install) await vscode.commands.executeCommand("kds.install");
    return;
  }
  await vscode.window.showErrorMessage(`KDS: ${error instanceof KdsError ? error.advice : String(error)}`);
}
