// A turn in chat, from the message to the model's answer, over a socket as with the real service.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as vscode from "vscode";
import { leftIn } from "../src/history.ts";
import { registerParticipant } from "../src/participant.ts";
import { registerTools } from "../src/tools.ts";
import { Window } from "../src/window.ts";
import { FakeService, TURN } from "./service.ts";
import { fake, lm, LanguageModelTextPart, LanguageModelToolCallPart, Location, Range, Uri } from "./vscode.ts";

type Handler = (request: unknown, chat: unknown, stream: unknown, token: unknown) => Promise<vscode.ChatResult>;

const TOKEN = { isCancellationRequested: false, onCancellationRequested: () => undefined };

class Stream {
  text = "";
  readonly buttons: vscode.Command[] = [];
  readonly chips: unknown[] = [];
  markdown(value: string): void {
    this.text += value;
  }
  button(command: vscode.Command): void {
    this.buttons.push(command);
  }
  reference(value: unknown): void {
    this.chips.push(value);
  }
  anchor({ uri, range }: Location, title: string): void {
    this.text += `[${title}](${uri.path}:${range.start.line})`;
  }
  progress(): void {}
}

class Model {
  readonly maxInputTokens = 100_000;
  readonly asked: { messages: { role: string; content: unknown }[]; options: { tools?: unknown[] } }[] = [];
  answers: unknown[][] = [[new LanguageModelTextPart("It is "), new LanguageModelTextPart("purple now.")]];
  sendRequest(messages: { role: string; content: unknown }[], options: { tools?: unknown[] }) {
    this.asked.push({ messages: [...messages], options });
    const parts = this.answers.shift() ?? [];
    if (parts[0] instanceof Error) throw parts[0];
    return { stream: (async function* () { yield* parts; })() };
  }
}

let service: FakeService;
let window: Window;
let stream: Stream;
let model: Model;
const state = new Map<string, unknown>();

beforeEach(async () => {
  service = await new FakeService().listen();
  state.clear();
  Object.assign(fake, { settings: {}, folders: [{ uri: Uri.file(service.root) }], trusted: true, files: {}, executed: [] });
  (lm as { tools: unknown[] }).tools = [];
  window = opened();
  stream = new Stream();
  model = new Model();
});

afterEach(() => service.close());

function opened(): Window {
  const workspaceState = { get: (key: string, or: unknown) => state.get(key) ?? or, update: async (key: string, value: unknown) => void state.set(key, value) };
  const context = { workspaceState, globalStorageUri: Uri.file(mkdtempSync(join(tmpdir(), "kds-own-"))) };
  const made = new Window(context as unknown as vscode.ExtensionContext);
  registerParticipant(made, vscode.Uri.file("/icon.png"));
  return made;
}

function say(prompt: string, more: object = {}, history: unknown[] = []): Promise<vscode.ChatResult> {
  const request = { prompt, command: undefined, references: [], toolReferences: [], model, ...more };
  return (fake.handler as Handler)(request, { history }, stream, TOKEN);
}

describe("a message", () => {
  it("shows what it means, and streams the agent's answer", async () => {
    const result = await say("Make it purple");
    expect(stream.text).toBe("> **Make the FAB button purple**  \n> *it* → FAB button · `EXECUTE` · code\\-executor · 98 %\n\nIt is purple now.");
    expect(model.asked[0]?.messages.at(-1)?.content).toBe(TURN.prompt);
    expect(leftIn(result)?.reply).toBe("It is purple now.");
  });

  it("goes to the service with the window's session and the history of the chat", async () => {
    const earlier = [{ prompt: "I want to add a FAB button" }, { response: [], result: { metadata: { kds: { reply: "A plan. ".repeat(100) } } } }];
    await say("Make it purple", {}, earlier);
    const body = service.asked("/route")[0]?.body as { history: { role: string; content: string }[]; conversation: string };
    expect(body.conversation).toBe(window.conversation);
    expect(body.history.map((one) => one.role)).toEqual(["user", "assistant"]);
    expect(body.history[1]?.content.length).toBeGreaterThan(500);
    expect(model.asked[0]?.messages.map((one) => one.role)).toEqual(["user", "assistant", "user"]);
  });

  it("offers the other wishes of the message, and whom the agent hands on to", async () => {
    service.replies = { "POST /route": { ...TURN, intent: "PLAN", secondary_intents: ["SHIP"] } };
    const next = leftIn(await say("Plan it and ship it"))?.next;
    expect(next).toEqual([
      { prompt: "#file:prompts/internal/ship-it.md Make the FAB button purple", label: "Also: ship it" },
      { prompt: "change or continue the work", label: "Next: change or continue the work", command: "execute" },
      { prompt: "write or run tests", label: "Next: write or run tests", command: "test" },
    ]);
  });

  it("names the prompt of the agent for a slash command", async () => {
    await say("the login form", { command: "test" });
    expect(service.asked("/route")[0]?.body["message"]).toBe("#file:prompts/internal/test-generator.md the login form");
    await say("", { command: "test" });
    expect(service.asked("/route")[1]?.body["message"]).toBe("#file:prompts/internal/test-generator.md write or run tests");
  });

  it("is remembered in a session of the window, which is begun when there is none", async () => {
    const path = `/sessions/${window.conversation}/messages`;
    let begun = false;
    service.replies = { [`POST ${path}`]: () => (begun ? {} : undefined), "POST /sessions": (body: { id: string }) => (begun = body.id === window.conversation) && {} };
    await say("Make it purple");
    expect(service.asked(path).map((one) => one.body["role"])).toEqual(["user", "user", "assistant"]);
  });

  it("is not remembered where the setting, or KDS, says no", async () => {
    fake.settings = { remember: false };
    await say("Make it purple");
    expect(service.asked("/sessions")).toEqual([]);
    fake.settings = {};
    service.replies = { [`POST /sessions/${window.conversation}/messages`]: [409, { error: { message: "off" } }] };
    expect((await say("Make it purple")).errorDetails).toBeUndefined();
  });

  it.each([
    ["skill", `/release-notes ${TURN.message}`],
    ["agent", `Hand this to the agent "release-notes": ${TURN.message}`],
  ])("offers to run the %s of the project that fits it", async (kind, query) => {
    service.replies = { "POST /route": { ...TURN, fits: { name: "release-notes", kind } } };
    await say("Make it purple");
    expect(service.asked("/route")[0]?.body["fits"]).toBe(true);
    expect(stream.buttons[0]).toEqual({ command: "workbench.action.chat.open", title: `Run the ${kind} "release-notes"`, arguments: [{ query }] });
  });

  it("can be said to be misread", async () => {
    await say("Make it purple");
    expect(stream.buttons.at(-1)).toEqual({ command: "kds.correct", title: "Not what I meant", arguments: ["Make it purple", service.root] });
  });
});

describe("a clarifying question", () => {
  it("has a button for each candidate, and asks no model", async () => {
    const question = "Did you mean to plan something new, or write or run tests?";
    service.replies = { "POST /route": { ...TURN, action: "clarify", question, candidates: ["PLAN", "TEST"] } };
    const result = await say("login stuff");
    expect(stream.buttons).toEqual([
      { command: "kds.say", title: "Plan something new", arguments: ["the first one"] },
      { command: "kds.say", title: "Write or run tests", arguments: ["the second one"] },
    ]);
    expect(leftIn(result)?.reply).toBe(question);
    expect(model.asked).toEqual([]);
  });
});

describe("what is attached", () => {
  it("goes to the model as it stands, with a chip", async () => {
    fake.files = { "/src/a.ts": "one\ntwo ```\nthree", "/src/b.ts": "whole" };
    const value = new Location(Uri.file("/src/a.ts"), new Range(1, 0, 1, 3));
    await say("Explain #selection and #file:b.ts", { references: [{ id: "s", value }, { id: "f", value: Uri.file("/src/b.ts") }, { id: "x", value: {} }] });
    expect(service.asked("/route")[0]?.body["message"]).toBe("Explain #selection and #file:b.ts");
    const sent = String(model.asked[0]?.messages.at(-1)?.content);
    expect(sent).toContain("a.ts:2-2:\n````typescript\ntwo ```\n````");
    expect(sent).toContain("b.ts:\n```typescript\nwhole\n```");
    expect(stream.chips).toHaveLength(3); // and the agent's prompt
  });

  it("is cut where the model has no room for it", async () => {
    fake.files = { "/big.txt": "x".repeat(90_000) };
    await say("Read it", { references: [{ id: "f", value: Uri.file("/big.txt") }] });
    expect(String(model.asked[0]?.messages.at(-1)?.content)).toContain("(cut: it is long)");
  });
});

describe("a question", () => {
  it("brings the passages of the user's documents, quoted, each with its place", async () => {
    const chunk = { text: "It costs 2 %.\nAlways.", citation: "Agreement, 2", origin: "document", source_path: "a.md", line: 9 };
    service.replies = { "POST /route": { ...TURN, intent: "ASK" }, "POST /query": { chunks: [chunk], warnings: [] } };
    await say("What does it cost?");
    expect(String(model.asked[0]?.messages.at(-1)?.content)).toContain("[1] Agreement, 2\n> It costs 2 %.\n> Always.");
    expect((stream.chips.at(-1) as Location).range.start.line).toBe(8);
  });

  it("lets the model call the tools that the agent's prompt names", async () => {
    (lm as { tools: unknown[] }).tools = [{ name: "kds_search_documents" }, { name: "other" }];
    service.replies = { "POST /route": { ...TURN, intent: "ASK" } };
    model.answers = [
      [new LanguageModelTextPart("Looking. "), new LanguageModelToolCallPart("1", "kds_search_documents", { query: "fee" })],
      [new LanguageModelTextPart("2 %.")],
    ];
    const result = await say("What does it cost?");
    expect(model.asked[0]?.options.tools).toEqual([{ name: "kds_search_documents" }]);
    expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toContain('kds_search_documents {\\"query\\":\\"fee\\"}');
    expect(leftIn(result)?.reply).toBe("Looking. 2 %.");
  });
});

describe("when something is wrong", () => {
  it("hands out the prompt of the agent where the model fails", async () => {
    model.answers = [[new (vscode.LanguageModelError as unknown as typeof Error)("no quota")]];
    await say("Make it purple");
    expect(stream.text).toContain("The model did not answer: no quota");
    expect(stream.buttons[0]?.command).toBe("kds.copyPrompt");
  });

  it("says what KDS complains about, with the fix", async () => {
    service.replies = { "POST /route": [400, { error: { message: "the message is empty", where: "message", hint: "say something" } }] };
    const result = await say(" ");
    expect(result.errorDetails?.message).toBe("message: the message is empty (say something)");
  });

  it("names each file that does not count, as a link, and answers", async () => {
    const problem = (where: string) => ({ where, message: "unknown key 'x'", hint: "remove it" });
    service.replies = { "POST /route": { ...TURN, problems: [problem("/p/a.yaml:3"), problem("/p/a.yaml:9"), problem("/p/b.md:1")] } };
    await say("Make it purple");
    expect(stream.text).toContain("> ⚠ [a.yaml:3](/p/a.yaml:2) does not count: unknown key 'x' (remove it)\n\n> ⚠ [b.md:1](/p/b.md:0)");
    expect(stream.text).toContain("It is purple now.");
  });

  it("says how to install KDS where there is none", async () => {
    await service.close();
    fake.settings = { path: "/nowhere/kds" };
    await say("Make it purple");
    expect(stream.text).toContain("kds\\.path is /nowhere/kds");
    expect(stream.buttons.map((one) => one.title)).toEqual(["Open the setting kds.path", "How to install it"]);
    service = await new FakeService().listen();
  });
});

describe("the window", () => {
  it("goes on with its session when it is opened again, and begins anew after /clear", async () => {
    await say("Make it purple");
    const before = window.conversation;
    expect(JSON.stringify([...state])).not.toContain("purple"); // as typed, it may hold a secret
    window = opened();
    expect(window.conversation).toBe(before);
    await say("Make it purple");
    const result = await say("", { command: "clear" });
    expect(leftIn(result)?.clears).toBe(true);
    expect(window.conversation).not.toBe(before);
    expect(window.last).toBeUndefined();
    await window.begin({ id: before, root: service.root, earlier: [] });
    expect(window.last?.turn.message).toBe("Make it purple");
  });

  it("shows why, and the context, without a word to the model", async () => {
    await say("", { command: "why" });
    expect(stream.text).toBe("Nothing was said to @kds in this window yet.");
    await say("Make it purple");
    service.replies = { "GET /context": { entries: [{ timestamp: "x", user_message: "Make [it](command:x)", intent: "PLAN" }], warnings: [] } };
    const asked = model.asked.length;
    await say("", { command: "why" });
    expect(stream.text).toContain("**resolve** (1.3 ms)\n- 'it' \\-\\> 'the FAB button' \\<b\\>");
    expect(leftIn(await say("", { command: "context" }))?.aside).toBe(true);
    expect(stream.text).toContain("- `PLAN` Make \\[it\\]\\(command\\:x\\)");
    expect(model.asked.length).toBe(asked);
  });

  it("uses nothing of a folder that is not trusted", async () => {
    fake.trusted = false;
    fake.settings = { path: "/nowhere/kds" };
    await say("Make it purple");
    expect(service.heard.map((one) => one.workspace)).not.toContain(service.root);
  });
});

describe("the tools of agent mode", () => {
  it("resolve without remembering, search, and recall", async () => {
    registerTools(window);
    const text = async (name: string, input: object) =>
      String((await fake.tools.get(name)?.invoke({ input }, TOKEN))?.content[0]?.value);
    expect(JSON.parse(await text("kds_resolve", { message: "Make it purple" }))).toMatchObject({ expanded: "Make the FAB button purple", intent: "EXECUTE" });
    expect(service.asked("/route")[0]?.body["log"]).toBe(false);
    expect(await text("kds_search_memory", { query: "fee" })).toBe("Nothing was found.");
    expect(service.asked("/query")[0]?.body).toMatchObject({ scope: "memory", answer: false, limit: 5 });
    fake.settings = { path: join(service.root, "kds-program") };
    writeFileSync(fake.settings["path"] as string, '#!/bin/sh\n[ "$1" = --version ] && echo kds 0.1.0 || echo "$*"\n', { mode: 0o755 });
    expect(await text("kds_recall", { query: "which port?" })).toBe(`recall --limit 5 -w ${service.root} -- which port?`);
  });
});
