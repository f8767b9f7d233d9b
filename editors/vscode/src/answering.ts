// Running an agent's prompt on the model that the user picked, with the tools it may call.

import type { Said } from "@kds/transit";
import * as vscode from "vscode";
import type { Agent } from "./wire.ts";

/** Times that a model may call tools before it has to answer. */
const ROUNDS = 8;

/** Names of an agent's tools (docs/prompt-files.md) and what they are called here. */
const OWN_TOOLS: Readonly<Record<string, string>> = { search_memory: "kds_search_memory", search_documents: "kds_search_documents" };

/** Stream the model's answer, and return its text. Throws vscode.LanguageModelError. */
export async function answer(
  request: vscode.ChatRequest,
  asked: { prompt: string; history: readonly Said[]; agent: Agent | undefined },
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<string> {
  const messages = [...asked.history.map(asMessage), vscode.LanguageModelChatMessage.User(asked.prompt)];
  const tools = toolsFor(request, asked.agent);
  let said = "";
  for (let round = 1; ; round += 1) {
    const offered = round < ROUNDS && tools.length > 0 ? { tools } : {};
    const response = await request.model.sendRequest(messages, offered, token);
    const calls: vscode.LanguageModelToolCallPart[] = [];
    let text = "";
    for await (const part of response.stream) {
      if (part instanceof vscode.LanguageModelTextPart) {
        stream.markdown(part.value);
        text += part.value;
      } else if (part instanceof vscode.LanguageModelToolCallPart) calls.push(part);
    }
    said += text;
    if (calls.length === 0 || token.isCancellationRequested) return said;
    const parts = text ? [new vscode.LanguageModelTextPart(text), ...calls] : calls;
    messages.push(vscode.LanguageModelChatMessage.Assistant(parts));
    const results = await Promise.all(calls.map((call) => resultOf(call, request, token)));
    messages.push(vscode.LanguageModelChatMessage.User(results));
  }
}

function asMessage(said: Said): vscode.LanguageModelChatMessage {
  const { User, Assistant } = vscode.LanguageModelChatMessage;
  return said.role === "user" ? User(said.content) : Assistant(said.content);
}

/** The tools that the agent's prompt file names, and those that the user named with #. */
function toolsFor(request: vscode.ChatRequest, agent: Agent | undefined): vscode.LanguageModelToolInformation[] {
  const own = (agent?.tools ?? []).map((name) => OWN_TOOLS[name] ?? name);
  const names = new Set([...own, ...request.toolReferences.map((one) => one.name)]);
  return vscode.lm.tools.filter((tool) => names.has(tool.name));
}

async function resultOf(
  call: vscode.LanguageModelToolCallPart,
  request: vscode.ChatRequest,
  token: vscode.CancellationToken,
): Promise<vscode.LanguageModelToolResultPart> {
  const { toolInvocationToken } = request;
  try {
    const options = { input: call.input, toolInvocationToken };
    const result = await vscode.lm.invokeTool(call.name, options, token);
    return new vscode.LanguageModelToolResultPart(call.callId, result.content);
  } catch (error) {
    const told = `The tool failed: ${error instanceof Error ? error.message : String(error)}`;
    return new vscode.LanguageModelToolResultPart(call.callId, [new vscode.LanguageModelTextPart(told)]);
  }
}
