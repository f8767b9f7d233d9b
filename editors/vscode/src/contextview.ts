// What the conversation of this window remembers, the latest message first.

import * as vscode from "vscode";
import type { Window } from "./window.ts";
import type { Entry } from "./wire.ts";

export function registerContextView(window: Window): vscode.Disposable {
  const provider: vscode.TreeDataProvider<Entry> = {
    onDidChangeTreeData: window.onDidChange,
    getTreeItem: item,
    getChildren: async (parent) => (parent ? [] : entries(window)),
  };
  return vscode.window.registerTreeDataProvider("kds.context", provider);
}

async function entries(window: Window): Promise<Entry[]> {
  try {
    const found = await window.service(window.last?.place ?? window.place).context(window.conversation, "peek");
    const isAsleep = window.last !== undefined && found === undefined;
    await vscode.commands.executeCommand("setContext", "kds.context.asleep", isAsleep);
    return [...(found ?? [])].reverse();
  } catch (error) {
    window.log.warn(`the context cannot be shown: ${String(error)}`);
    return [];
  }
}

function item(entry: Entry): vscode.TreeItem {
  const shown = new vscode.TreeItem(entry.user_message);
  shown.description = [entry.intent, entry.context_ref].filter(Boolean).join(" · ");
  shown.tooltip = `${new Date(entry.timestamp).toLocaleString()}: ${entry.user_message}`;
  shown.iconPath = new vscode.ThemeIcon("comment");
  return shown;
}
