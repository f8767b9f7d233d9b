// The history contract: the same cases as the clients in Python and JavaScript.

import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { heardIn, saidIn } from "../src/history.ts";
import cases from "./history-cases.json" with { type: "json" };

type PastTurn = vscode.ChatRequestTurn | vscode.ChatResponseTurn;

function request(prompt: string): PastTurn {
  return { prompt, participant: "kds.chat", references: [], toolReferences: [] } as unknown as PastTurn;
}

function response(kds: object | undefined, ...parts: string[]): PastTurn {
  const shown = parts.map((value) => ({ value: { value } }));
  return { response: shown, result: { metadata: kds && { kds } }, participant: "kds.chat" } as unknown as PastTurn;
}

describe("what goes along with a message", () => {
  it.each(cases.map((one, at) => [at, one] as const))("is what the other clients send, case %i", (_, { said, sent, sha256 }) => {
    const turns = said.map(([role, piece, times]) => {
      const content = String(piece).repeat(Number(times));
      return role === "user" ? request(content) : response({ reply: content });
    });
    const found = saidIn(turns);
    expect(found).toHaveLength(sent);
    expect(createHash("sha256").update(JSON.stringify(found)).digest("hex")).toBe(sha256);
  });

  it("is the text of an answer that left nothing behind", () => {
    expect(saidIn([request("Hi"), response(undefined, "Hello", " there")])).toEqual([{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello there" }]);
  });

  it("has no turn that was about the chat itself", () => {
    const turns = [request("Add a button"), response({ reply: "Done." }), request(""), response({ reply: "", aside: true }, "why")];
    expect(saidIn(turns).map((one) => one.content)).toEqual(["Add a button", "Done."]);
  });

  it("begins anew behind /clear", () => {
    const turns = [request("Add a button"), response({ reply: "Done." }), request(""), response({ reply: "", clears: true }), request("Hi")];
    expect(saidIn(turns).map((one) => one.content)).toEqual(["Hi"]);
  });

  it("begins with what was said in a session that was resumed", () => {
    const earlier = [{ role: "user", content: "Add a button" }] as const;
    expect(saidIn([request("Make it purple")], earlier).map((one) => one.content)).toEqual(["Add a button", "Make it purple"]);
  });

  it("has the newest reply whole for routing, with the question at its end", () => {
    const long = `${"The pod was killed at noon. ".repeat(60)}Should I raise the limit?`;
    const turns = [request("Why?"), response({ reply: long }), request("And now?"), response({ reply: long })];
    const contents = heardIn(turns).map((one) => one.content);
    expect(contents.at(-1)).toBe(long);
    expect(contents.at(1)).toBe(saidIn(turns).at(1)?.content);
    expect(heardIn([...turns, request("ok")])).toEqual(saidIn([...turns, request("ok")]));
  });
});
