// Lenses: play this dialogue, check these rules, see this prompt rendered.

import * as vscode from "vscode";
import { dialoguesIn, kindOf } from "./files.ts";

const LANGUAGES = ["yaml", "json", "markdown", "prompt", "chatagent", "instructions"];

export function registerLenses(): vscode.Disposable {
  const selector = LANGUAGES.map((language) => ({ language, scheme: "file" }));
  return vscode.languages.registerCodeLensProvider(selector, { provideCodeLenses: lensesOf });
}

function lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
  const kind = kindOf(document.uri);
  const { uri } = document;
  if (kind === "dialogues") {
    return dialoguesIn(document.getText()).map(({ id, line }) =>
      lens(line, { title: "$(play) Run this test", command: "kds.runDialogue", arguments: [uri, id] }),
    );
  }
  if (kind === undefined) return [];
  const first = kind === "rules" ? "$(checklist) Check the rules and run their tests" : "$(checklist) Check the prompts";
  const lenses = [lens(0, { title: first, command: "kds.check" })];
  if (uri.path.endsWith(".md")) lenses.push(lens(0, { title: "$(comment-discussion) Ask @kds", command: "kds.ask" }));
  return lenses;
}

function lens(line: number, command: vscode.Command): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);
}
