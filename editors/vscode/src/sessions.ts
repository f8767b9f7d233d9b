// The KDS view: the context of this window, and the remembered sessions.

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Said } from "@kds/transit";
import type { Place } from "./place.ts";
import type { Service } from "./service.ts";
import { guarded, type Window } from "./window.ts";
import type { Session, Entry } from "./wire.ts";

interface Item { readonly place: Place; readonly session: Session }

const ROLES = ["user", "assistant"];

/** Messages that are read once more where a session has no context any longer. */
const RECALLED = 5;

export function registerSessions(window: Window): vscode.Disposable {
  const provider: vscode.TreeDataProvider<Item> = {
    onDidChangeTreeData: window.onDidChange,
    getTreeItem: (item) => treeItem(item, item.session.id === window.conversation),
    getChildren: async (parent) => (parent ? [] : items(window)),
  };
  const on = (name: string, action: (window: Window, item: Item) => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(`kds.session.${name}`, guarded(window, (item: Item) => action(window, item)));
  return vscode.Disposable.from(
    vscode.window.registerTreeDataProvider("kds.sessions", provider),
    on("resume", resume),
    on("rename", rename),
    on("export", write),
    on("delete", remove),
  );
}

async function items(window: Window): Promise<Item[]> {
  const found = await Promise.all(
    window.places.all().map(async (place) => {
      try {
        return (await window.service(place).sessions())?.map((session) => ({ place, session }));
      } catch (error) {
        window.log.warn(`the sessions cannot be shown: ${String(error)}`);
        return [];
      }
    }),
  );
  await vscode.commands.executeCommand("setContext", "kds.sessions.asleep", found.includes(undefined));
  return found.flatMap((one) => one ?? []);
}

function treeItem({ place, session }: Item, here: boolean): vscode.TreeItem {
  const item = new vscode.TreeItem(session.title || session.id);
  item.id = `${place.root} ${session.id}`;
  const folder = (vscode.workspace.workspaceFolders ?? []).length > 1 ? ` · ${basename(place.folder)}` : "";
  item.description = `${session.messages} messages · ${new Date(session.updated_at).toLocaleDateString()}${folder}`;
  item.tooltip = `${session.title}\n${session.id}`;
  item.iconPath = new vscode.ThemeIcon(here ? "circle-filled" : "comment-discussion");
  item.contextValue = "kds.session";
  return item;
}

/** Go on with a session in a new chat: its last messages go along with what is said there. */
async function resume(window: Window, { place, session }: Item): Promise<void> {
  const service = window.service(place);
  const { page } = await service.lastMessages(session);
  const earlier = page.flatMap(({ role, content }) =>
    ROLES.includes(role) ? [{ role: role as "user" | "assistant", content }] : [],
  );
  await recalled(service, session.id, earlier);
  await window.begin({ id: session.id, root: place.root, earlier });
  await vscode.commands.executeCommand("workbench.action.chat.newChat");
  await vscode.commands.executeCommand("workbench.action.chat.open", { query: "@kds ", isPartialQuery: true });
}

/** A context that was cleared, or is too old, comes back: its last messages are read once more. */
async function recalled(service: Service, conversation: string, earlier: readonly Said[]): Promise<void> {
  if ((await service.context(conversation))?.length) return;
  const asked = earlier.filter((one) => one.role === "user").slice(-RECALLED);
  for (const { content } of asked) await service.route(content, { conversation, history: [] });
}

async function rename(window: Window, { place, session }: Item): Promise<void> {
  const title = await vscode.window.showInputBox({ prompt: "New title of the session", value: session.title });
  if (!title?.trim()) return;
  await window.service(place).renameSession(session.id, title);
  window.refresh();
}

async function write(window: Window, { place, session }: Item): Promise<void> {
  const filters = { Markdown: ["md"], "JSON, for kds memory import": ["json"] };
  const name = session.title.replace(/[^\w-]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "session";
  const defaultUri = vscode.Uri.joinPath(place.uri, `${name}.md`);
  const target = await vscode.window.showSaveDialog({ defaultUri, filters });
  if (target === undefined) return;
  const format = target.path.endsWith(".json") ? "json" : "markdown";
  const text = await window.service(place).exportSession(session.id, format);
  await vscode.workspace.fs.writeFile(target, Buffer.from(text, "utf-8"));
  await vscode.window.showTextDocument(target);
}

async function remove(window: Window, { place, session }: Item): Promise<void> {
  const detail = "Its messages are erased, and so are their bytes in the file.";
  const question = `Delete "${session.title}"?`;
  const yes = await vscode.window.showWarningMessage(question, { modal: true, detail }, "Delete");
  if (yes === undefined) return;
  await window.service(place).deleteSession(session.id);
  window.forgetReading(session.id);
  if (session.id === window.conversation) await window.begin();
  window.refresh();
}

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
