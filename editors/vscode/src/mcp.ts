// The MCP server of KDS, one for each folder that is trusted: no mcp.json has to be written.

import * as vscode from "vscode";
import { findProgram } from "./program.ts";
import type { Window } from "./window.ts";

export function registerMcp(window: Window): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () => definitions(window),
  };
  const settings = vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("kds.mcp") || change.affectsConfiguration("kds.path")) changed.fire();
  });
  return vscode.Disposable.from(
    changed,
    settings,
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.lm.registerMcpServerDefinitionProvider("kds.mcp", provider),
  );
}

async function definitions(window: Window): Promise<vscode.McpStdioServerDefinition[]> {
  if (!vscode.workspace.getConfiguration("kds").get("mcp", true)) return [];
  const places = window.places.all().filter((place) => place.trusted);
  const found = await Promise.all(
    places.map(async (place) => {
      const program = await findProgram(place);
      if (program === undefined) return undefined;
      const label = places.length > 1 ? `KDS (${vscode.workspace.asRelativePath(place.folder)})` : "KDS";
      const server = new vscode.McpStdioServerDefinition(label, program, ["mcp", "--workspace", place.root]);
      server.cwd = vscode.Uri.file(place.root);
      return server;
    }),
  );
  return found.filter((server) => server !== undefined);
}
