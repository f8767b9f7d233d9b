// The parts that stand by themselves: places of files, findings, the panel, the socket.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type * as vscode from "vscode";
import { kindOf, kindsAt } from "../src/files.ts";
import { Places, rootOf } from "../src/place.ts";
import { findProgram, run } from "../src/program.ts";
import { Service } from "../src/service.ts";
import { exchange, NotThereError, socketOfUser } from "../src/socket.ts";
import { whyPage } from "../src/why.ts";
import { FakeService, TURN } from "./service.ts";
import { fake, Uri } from "./vscode.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "kds-"));
  Object.assign(fake, { settings: {}, folders: [{ uri: Uri.file(root) }], trusted: true, python: undefined });
});

const path = process.env["PATH"];
afterEach(() => {
  process.env["PATH"] = path;
});

function place(): ReturnType<Places["now"]> {
  return new Places(join(root, "own")).now();
}

function program(folder: string, text = "exit 0"): string {
  mkdirSync(folder, { recursive: true });
  for (const name of ["kds", "kds-hook"]) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return join(folder, "kds");
}

describe("the place of a message", () => {
  it("is the nearest folder above with kds-brain, or KDS/kds-brain", () => {
    mkdirSync(join(root, "a", "b"), { recursive: true });
    expect(rootOf(join(root, "a", "b"), "")).toBe(join(root, "a", "b"));
    mkdirSync(join(root, "kds-brain"));
    expect(rootOf(join(root, "a", "b"), "")).toBe(root);
    mkdirSync(join(root, "a", "KDS", "kds-brain"), { recursive: true });
    expect(rootOf(join(root, "a", "b"), "")).toBe(join(root, "a", "KDS"));
    expect(rootOf("/", join(root, "kds-brain"))).toBe(root);
  });

  it("is that of the repository in a worktree of it, and of no other folder", () => {
    const [shop, tree, evil] = ["shop", "tree", "evil"].map((name) => join(root, name)) as [string, string, string];
    const inside = join(shop, ".git", "worktrees", "tree");
    for (const folder of [join(shop, "kds-brain"), inside, tree, evil]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(inside, "gitdir"), `${join(tree, ".git")}\n`);
    writeFileSync(join(inside, "commondir"), "../..\n");
    for (const folder of [tree, evil]) writeFileSync(join(folder, ".git"), `gitdir: ${inside}\n`);
    expect(rootOf(tree, "")).toBe(shop);
    expect(rootOf(evil, "")).toBe(evil);
  });

  it("is a folder of the extension's own where nothing is trusted, or nothing is open", () => {
    fake.trusted = false;
    expect(place()).toMatchObject({ root: join(root, "own"), trusted: false });
    Object.assign(fake, { trusted: true, folders: [] });
    expect(place().root).toBe(join(root, "own"));
  });

  it("is one for each root of the window, and the one with kds-brain for a message", () => {
    const other = mkdtempSync(join(tmpdir(), "kds-"));
    mkdirSync(join(other, "kds-brain"));
    fake.folders.push({ uri: Uri.file(other) }, { uri: Uri.file(join(other, "sub")) });
    const places = new Places(join(root, "own"));
    expect(places.all().map((one) => one.root)).toEqual([root, other]);
    expect(places.now().root).toBe(other);
  });
});

describe("the program", () => {
  it("is the setting's, else that of the venv, of the Python extension, on the PATH", async () => {
    process.env["PATH"] = "/nowhere";
    await expect(findProgram(place())).rejects.toThrow(`not at ${join(root, ".venv", "bin", "kds")}`);
    const onPath = program(join(root, "bin"));
    process.env["PATH"] = join(root, "bin");
    expect(await findProgram(place())).toBe(onPath);
    const beside = program(join(root, "conda"));
    fake.python = join(root, "conda", "python");
    expect(await findProgram(place())).toBe(beside);
    const own = program(join(root, ".venv", "bin"));
    expect(await findProgram(place())).toBe(own);
    for (const path of ["${workspaceFolder}/bin/kds", "kds"]) {
      fake.settings = { path };
      expect(await findProgram(place())).toBe(onPath);
    }
  });

  it("is never one that a folder brings along which is not trusted, or another author's", async () => {
    program(join(root, ".venv", "bin"));
    process.env["PATH"] = `.venv/bin:${join(root, "none")}`;
    fake.trusted = false;
    await expect(findProgram(place())).rejects.toThrow("KDS was not found: not on the PATH");
    rmSync(join(dirname(program(join(root, "none"), "echo kds-lint 3")), "kds-hook"));
    await expect(findProgram(place())).rejects.toThrow("not on the PATH");
    rmSync(join(dirname(program(join(root, "none"), "echo kds 0.1.0")), "kds-hook"));
    expect(await findProgram(place())).toBe(join(root, "none", "kds")); // bare
  });

  it("is named with the setting where its interpreter is gone", async () => {
    const own = program(join(root, ".venv", "bin"));
    writeFileSync(own, "#!/nowhere/python\n");
    const told = run(place(), ["doctor"]).catch(({ advice }: { advice: string }) => advice);
    expect(await told).toBe(`${own} cannot be run (install it again, or name another one in the setting kds.path)`);
  });

  it("is not run unasked out of a folder above the one that was opened", async () => {
    program(join(root, ".venv", "bin"));
    mkdirSync(join(root, "kds-brain"));
    mkdirSync(join(root, "part"));
    process.env["PATH"] = "";
    fake.folders = [{ uri: Uri.file(join(root, "part")) }];
    expect(place().root).toBe(root);
    await expect(findProgram(place())).rejects.toThrow("KDS was not found");
  });

  it.each(["/nowhere/kds", "kds"])("is named with the setting where the setting is wrong: %s", async (path) => {
    process.env["PATH"] = "";
    fake.settings = { path };
    await expect(findProgram(place())).rejects.toThrow(`kds.path is ${path}`);
  });
});

describe("the socket", () => {
  it("is in a folder that is private to the user", async () => {
    const asked = { method: "GET", path: "/", workspace: root } as const;
    await expect(exchange(join(root, "none", "s"), asked)).rejects.toBeInstanceOf(NotThereError);
    mkdirSync(join(root, "open"), { mode: 0o755 });
    symlinkSync(join(root, "open"), join(root, "link"));
    for (const name of ["open", "link"]) {
      await expect(exchange(join(root, name, "s"), asked)).rejects.toThrow("is not private to you");
    }
  });

  it("is where the system keeps sockets, in a folder of the user", () => {
    expect(socketOfUser({ XDG_RUNTIME_DIR: root })).toBe(join(root, "kds", "service.sock"));
    expect(socketOfUser({ XDG_RUNTIME_DIR: "not/absolute" })).not.toContain("not/absolute");
  });

  it("is told which workspace a request is about", async () => {
    const service = await new FakeService().listen();
    await exchange(service.socketPath, { method: "GET", path: "/healthz", workspace: "/home/me/my shop" });
    expect(service.heard[0]?.workspace).toBe("/home/me/my%20shop");
    await service.close();
  });

  it("of a service that is too old for the extension leads to what to update", async () => {
    const service = await new FakeService().listen();
    const told = new Service(place()).check({}).catch(({ advice }: { advice: string }) => advice);
    expect(await told).toBe("the running KDS (version 0.1.0) is too old for this extension (update it, or name another one in the setting kds.path)");
    await service.close();
  });
});

describe("files", () => {
  it("are told by place and name", () => {
    const kinds = ["/p/kds-brain/settings.yaml", "/p/prompts/notes/deep/a.md", "/p/kds-brain/rules/a.yaml", "/p/prompts/internal/a.md", "/p/prompts/internal/a.examples.yaml", "/p/a.dialogue.json", "/p/dialogues/x/a.yaml", "/p/a.yaml", "/p/README.md"];
    expect(kinds.map((one) => kindOf(Uri.file(one) as unknown as vscode.Uri))).toEqual(["rules", "prompts", "rules", "prompts", "prompts", "dialogues", "dialogues", undefined, undefined]);
    const folders = ["/p/kds-brain", "/p/kds-brain/rules", "/p/prompts", "/p/dialogues", "/p/node_modules/a/dialogues", "/p/src"];
    expect(folders.map((one) => [...kindsAt(Uri.file(one) as unknown as vscode.Uri)])).toEqual([[], ["rules"], ["prompts"], ["dialogues"], [], []]);
  });
});

describe("the panel", () => {
  it("lets in one style, and neither a script nor what a user wrote", () => {
    const page = whyPage({ ...TURN, message: "<script>alert(1)</script>" }, "abc");
    expect(page).toContain("default-src 'none'; style-src 'nonce-abc'; base-uri 'none'; form-action 'none'");
    expect(page).not.toMatch(/<script|<img|https?:/);
    expect(page).toContain("&lt;script&gt;");
    expect(page).toContain("<mark>it</mark>");
    expect(whyPage(undefined, "abc")).toContain("Nothing was said");
  });
});
