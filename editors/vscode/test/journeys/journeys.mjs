// What a user does with @kds, in a real VS Code: `make test-vscode`.

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { Editor, missing, PATIENCE_MS, plain, until, workspace } from "./harness.mjs";

const skip = missing();
const ROUNDS = 20;
const LIMITS = { timeout: 1_800_000, skip };

const BROKEN_RULE = "rules:\n  - id: my.rule\n    descripton: oops\n";
const RULE = "rules:\n  - id: np.type\n    enabled: false\n    signal: {kind: noun}\n";
const TESTED_RULE = `rules:
  - id: my.place
    description: d
    signal: {kind: pattern, cues: ['\\bthe usual place\\b']}
    render: {text: the place of this project}
    tests: [{in: Open the usual place, out: Start}, {in: Open the settings page, out: unchanged}]
`;
const MENDED_RULES = "rules: [{id: np.type, enabled: false, signal: {kind: noun}}]\n";
const DIALOGUE = `- id: fab-button
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - {user: Make it purple, expanded: Make the page purple}
    - user: |
        id: of-a-message
`;

const PLANNER = "---\nname: work-planner\ndescription: Plans.\nintent: PLAN\ninputs: [message]\n---\n# Planner\n{{ message }}\n";

let window;

/** What a failure looked like, where SHOTS names a folder. */
async function shot(test) {
  const folder = process.env.SHOTS;
  if (folder && window) await window.page.screenshot({ path: join(folder, `${test.name.replace(/\W+/g, "-").slice(0, 60)}.png`) });
}

describe("@kds in a trusted folder", LIMITS, () => {
  const editor = new Editor();
  let root = "";

  before(async () => {
    root = workspace({ "kds-brain/rules/mine.yaml": BROKEN_RULE, "dialogues/fab.yaml": DIALOGUE, "shop.ts": "export const price = 2;\n" });
    rmSync(join(root, "kds-brain/rules/mine.yaml"));
    await editor.start();
    console.log(editor.versions);
    window = await editor.open(root);
    await window.chat();
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it("FAB button, make it purple, add tests for that, dark mode first", async () => {
    assert.ok(window);
    const planned = await window.say("I want to add a FAB button", /Echo of Work planner/);
    assert.match(planned, /PLAN · work-planner · \d+ %/);
    const purple = await window.say("Make it purple", /Echo of Code executor: \d+ messages/);
    assert.match(purple, /Make the FAB button purple it → FAB button · EXECUTE · code-executor/);
    assert.match(purple, /Echo of Code executor: 3 messages/); // the turn before, and this one
    assert.match(await window.say("add tests for that", /Echo of Test generator/), /TEST · test-generator/);
    const first = await window.say("actually, dark mode first", /Echo of (?:Error corrector|Code executor)/);
    assert.match(first, /CORRECT · error-corrector|EXECUTE · code-executor/); // either is right
  });

  it("a follow-up hands the work on", async () => {
    assert.ok(window);
    await window.say("I want to add a search box", /Echo of Work planner/);
    await window.page.locator(".interactive-session").getByText("Next: write or run tests").last().click();
    await window.answer(/TEST · test-generator · 100 %.*Echo of Test generator/);
  });

  it("a slash command names the agent, and /why shows the steps", async () => {
    assert.ok(window);
    assert.match(await window.say("/debug the login form", /Echo of Debugger/), /DEBUG · debugger · 100 %/);
    assert.match(await window.say("/why ", /resolve \(/), /names its prompt/);
    assert.match(await window.say("/context ", /PLAN.*FAB button/s), /I want to add a FAB button \(?/);
  });

  it("a clarifying question is answered with a button", async () => {
    assert.ok(window);
    await window.say("login stuff", /Did you mean/);
    await window.press(/^(Change|Find|Correct|Plan|Write|Get)/);
    await window.answer(/login stuff.*100 %.*Echo of/);
  });

  it("what is said to be misread, by a button or a thumb down, is learned, and read otherwise from then on", async () => {
    assert.ok(window);
    assert.match(await window.say("give the dashboard some love", /Not what I meant/), /EXECUTE/);
    const choices = await window.pick(() => window.press("Not what I meant"), "CORRECT");
    await window.page.keyboard.press("Escape"); // a thumb down asks the same
    await choices.waitFor({ state: "hidden", timeout: PATIENCE_MS });
    const down = (await window.last()).locator(".chat-footer-toolbar .codicon-thumbsdown");
    await window.pick(() => down.click({ timeout: PATIENCE_MS }), "CORRECT");
    await window.page.keyboard.type("PLAN");
    await window.page.keyboard.press("Enter");
    const toast = await window.notice('learned "give the dashboard some love" as PLAN');
    await toast.getByRole("button", { name: "Ask Again" }).click();
    await window.answer(/PLAN · work-planner.*Echo of Work planner/);
  });

  it("a file goes along as it is, with a chip", async () => {
    assert.ok(window);
    await window.file("shop.ts");
    await window.command("Chat: Add File to Chat");
    await window.say("Explain this file", /Echo of Knowledge retriever: \d+ messages, with "export const price = 2;"/);
  });

  it("a service that is killed is started again", async () => {
    assert.ok(window);
    const pid = editor.servicePid;
    process.kill(pid, "SIGKILL");
    await window.say("Commit my changes", /Echo of Commit handler/);
    assert.notEqual(editor.servicePid, pid);
  });

  it("is started and stopped by a command, which says why it does not start", async () => {
    assert.ok(window);
    const run = "KDS: Start or Stop the Service";
    await window.command(run);
    await window.notice("the service has stopped");
    const folder = join(editor.home, "run/kds");
    chmodSync(folder, 0o755);
    await window.command(run);
    await window.notice("is not private to you");
    chmodSync(folder, 0o700);
    workspace({ "kds-brain/settings.yaml": "memry: {}\n" }, root);
    await window.command(run);
    await window.notice("the service runs");
    assert.ok(editor.servicePid > 0);
    rmSync(join(root, "kds-brain/settings.yaml"));
    await window.command("Notifications: Clear All Notifications");
  });

  it("a secret that was typed is not kept by the extension", async () => {
    assert.ok(window);
    const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    await window.say(`Commit my changes with the token ${secret}`, /Echo of Commit handler/);
    await window.page.waitForTimeout(2_000); // VS Code stores it
    const kept = await window.kept();
    assert.match(kept, /vscode-[0-9a-f-]+/); // the id of the session
    assert.ok(!kept.includes(secret), kept);
  });

  it("the panel shows why, and runs no script", async () => {
    assert.ok(window);
    await window.why("Commit my changes", "Intents");
  });

  it("the views show the context and the session of the window", async () => {
    assert.ok(window);
    await window.command("View: Show KDS");
    const tree = window.page.locator(".sidebar .pane-body");
    await until(async () => plain((await tree.allInnerTexts()).join(" ")).includes("Commit my changes"));
    await until(async () => /I want to add a FAB button.*messages ·/.test(plain((await tree.allInnerTexts()).join(" "))));
  });

  it("a session is renamed, exported, gone on with and deleted from the tree", async () => {
    assert.ok(window);
    const { page } = window;
    await window.chat();
    await window.say("I want to add a FAB button", /Echo of Work planner/);
    await window.command("KDS: Focus on Sessions View");
    const row = (text) => page.locator(".sidebar .monaco-list-row", { hasText: text }).first();
    await window.choose(row("messages ·"), "Rename");
    await window.fill("The round button");
    await row("The round button").waitFor({ timeout: PATIENCE_MS });
    await window.choose(row("The round button"), "Export");
    await window.accept(/The-round-button\.md$/);
    await until(async () => /I want to add a FAB button/.test(readFileSync(join(root, "The-round-button.md"), "utf-8")));
    await window.command("KDS: Begin a New Conversation");
    assert.doesNotMatch(await window.say("Make it purple", /Echo of/), /FAB/);
    await window.command("KDS: Focus on Sessions View");
    await window.choose(row("The round button"), "Resume");
    await until(async () => (await window.rows()) < 0); // a new chat
    assert.match(await window.say("Make it purple", /Echo of Code executor/), /Make the FAB button purple it → FAB button/);
    await window.command("KDS: Focus on Sessions View");
    await window.choose(row("The round button"), "Delete");
    await page.locator(".monaco-dialog-box").getByRole("button", { name: "Delete" }).click({ timeout: PATIENCE_MS });
    await row("The round button").waitFor({ state: "detached", timeout: PATIENCE_MS });
  });

  it("a broken rule is underlined, until it is mended", async () => {
    assert.ok(window);
    writeFileSync(join(root, "kds-brain/rules/mine.yaml"), BROKEN_RULE);
    await window.file("mine.yaml");
    await window.page.locator(".squiggly-error").first().waitFor({ timeout: PATIENCE_MS });
    await window.command("View: Focus Problems");
    const problems = window.page.locator(".markers-panel");
    await until(async () => plain(await problems.innerText()).includes("unknown key 'descripton'"));
    await window.page.waitForTimeout(3_000); // whatever else checks it
    assert.equal(plain(await problems.innerText()).split("unknown key").length, 2, "each problem once");
    await window.write(MENDED_RULES);
    await window.page.locator(".squiggly-error").waitFor({ state: "detached", timeout: PATIENCE_MS });
    await until(async () => !plain(await problems.innerText()).includes("unknown key"));
    rmSync(join(root, "kds-brain/rules/mine.yaml"));
  });

  it("a mistake is underlined as it is typed, saved or not, gone as fast, and mended by its quick fix", async (test) => {
    assert.ok(window);
    const { page } = window;
    const path = join(root, "kds-brain/rules/typed.yaml");
    writeFileSync(path, RULE);
    await window.file("typed.yaml");
    await window.command("KDS: Check Prompts, Rules and Dialogues"); // the service is warm by then
    await window.notice("in order");
    await window.command("Notifications: Clear All Notifications");
    const wrong = page.locator(".editor-instance .squiggly-error").first();
    await page.locator(".editor-instance .view-lines").first().click();
    await page.keyboard.press("Control+Home");
    for (const key of ["ArrowDown", "ArrowDown", "Home"]) await page.keyboard.press(key);
    const times = { shown: [], gone: [] };
    for (let round = 0; round < 2 * ROUNDS; round += 1) {
      if (round === ROUNDS) assert.equal(readFileSync(path, "utf-8"), RULE); // nothing was saved
      for (const [what, key, state] of [["shown", "x", "attached"], ["gone", "Backspace", "detached"]]) {
        const begun = performance.now();
        await page.keyboard.press(key);
        if (round >= ROUNDS) await page.keyboard.press("Control+S");
        await wrong.waitFor({ state, timeout: PATIENCE_MS });
        times[what].push(Math.round(performance.now() - begun));
        await page.waitForTimeout(200);
      }
    }
    await page.keyboard.press("x");
    await wrong.waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press("Control+.");
    await page.locator(".action-widget", { hasText: "Write 'enabled'" }).waitFor({ timeout: PATIENCE_MS });
    await page.keyboard.press("Enter");
    await wrong.waitFor({ state: "detached", timeout: PATIENCE_MS });
    await window.command("File: Save");
    await until(async () => readFileSync(path, "utf-8") === RULE);
    rmSync(path);
    const p95 = (all) => all.sort((one, other) => one - other)[Math.ceil(all.length * 0.95) - 1];
    console.log(`key, then key and save, to squiggle ${times.shown.join(", ")} ms; squiggle gone ${times.gone.join(", ")} ms; load ${loadavg()[0]?.toFixed(1)}`);
    const isQuick = Math.max(p95(times.shown), p95(times.gone)) <= 500;
    if (!isQuick && (loadavg()[0] ?? 0) > cpus().length) return test.skip("the machine has too much else to do to say");
    assert.ok(isQuick);
  });

  it("a mistake in a prompt, rule, word or setting is named in the chat, as a link, and the chat answers", async () => {
    assert.ok(window);
    const wrong = {
      "kds-brain/rules/broken.yaml": BROKEN_RULE, "kds-brain/english/people.yaml": "peple: x\n",
      "prompts/internal/broken.md": "---\nnme: broken\n---\nx\n", "kds-brain/settings.yaml": "memry: {}\n",
    };
    for (const [name, text] of Object.entries(wrong)) {
      workspace({ [name]: text }, root);
      editor.stopService(); // it has no good state of before
      await window.command("KDS: Begin a New Conversation");
      await window.chat();
      const base = name.split("/").at(-1);
      assert.match(await window.say("I want to add a FAB button", /PLAN.*Echo of Work planner/), new RegExp(`${base}:\\d+ does not count`));
      await (await window.last()).locator("a", { hasText: `${base}:` }).or((await window.last()).locator(".chat-inline-anchor-widget", { hasText: `${base}:` })).first().click({ timeout: PATIENCE_MS });
      await window.page.locator(".tab", { hasText: base }).first().waitFor({ timeout: PATIENCE_MS });
      rmSync(join(root, name));
    }
    await window.command("View: Close All Editors");
    editor.stopService();
  });

  it("a dialogue is played by its lens as it stands in the editor, and shows what is wrong", async () => {
    assert.ok(window);
    await window.file("fab.yaml");
    const lens = window.page.locator(".codelens-decoration a", { hasText: "Run this test" });
    await lens.first().click();
    await window.page.locator('.editor-instance [class*="testing-error-icon"], .editor-instance [class*="testing-failed-icon"]').first().waitFor({ timeout: PATIENCE_MS });
    await until(async () => (await lens.count()) === 1); // the id in the message has none
    await window.page.locator(".editor-instance .view-lines").first().click();
    for (const key of ["Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", "Control+Shift+K"]) await window.page.keyboard.press(key); // the turn that fails; not saved
    await lens.first().click();
    await window.page.locator('.editor-instance [class*="testing-passed-icon"]').first().waitFor({ timeout: PATIENCE_MS });
  });

  it("a file with the same dialogue twice is an error, and the run ends", async () => {
    assert.ok(window);
    writeFileSync(join(root, "dialogues/twice.yaml"), DIALOGUE + DIALOGUE);
    await window.command("Testing: Focus on Test Explorer View");
    await window.shows(".test-explorer", /dialogues\/twice\.yaml/);
    await window.command("Test: Run All Tests");
    const failed = '.test-explorer [class*="testing-error-icon"], .test-explorer [class*="testing-failed-icon"]';
    await window.page.locator(failed).first().waitFor({ timeout: PATIENCE_MS });
    await window.page.locator('.test-explorer [class*="testing-running-icon"], .test-explorer .codicon-loading').first().waitFor({ state: "detached", timeout: PATIENCE_MS });
    await window.file("twice.yaml");
    await window.command("View: Focus Problems");
    await window.shows(".markers-panel", /twice\.yaml.*is already used/);
    rmSync(join(root, "dialogues/twice.yaml"));
    await window.shows(".markers-panel", /twice\.yaml/, { gone: true });
    await window.command("View: Close All Editors");
  });

  it("rules and dialogues that come, are renamed and go on disk are seen", async () => {
    assert.ok(window);
    const at = (name) => join(root, name);
    writeFileSync(at("kds-brain/rules/mine.yaml"), BROKEN_RULE);
    await window.command("View: Focus Problems");
    await window.shows(".markers-panel", /mine\.yaml.*unknown key 'descripton'/);
    renameSync(at("kds-brain/rules/mine.yaml"), at("kds-brain/rules/ours.yaml"));
    await window.shows(".markers-panel", /ours\.yaml.*unknown key 'descripton'/);
    await window.shows(".markers-panel", /mine\.yaml/, { gone: true });
    writeFileSync(at("kds-brain/rules/ours.yaml"), TESTED_RULE);
    await window.shows(".markers-panel", /ours\.yaml.*the test of rule 'my\.place' fails/);
    writeFileSync(at("kds-brain/rules/ours.yaml"), TESTED_RULE.replace("Start", "Open the place of this project"));
    await window.shows(".markers-panel", /ours\.yaml/, { gone: true });
    rmSync(at("kds-brain/rules/ours.yaml"));

    await window.command("Testing: Focus on Test Explorer View");
    await window.shows(".test-explorer", /dialogues\/fab\.yaml/);
    writeFileSync(at("dialogues/more.yaml"), DIALOGUE);
    await window.shows(".test-explorer", /dialogues\/more\.yaml/);
    renameSync(at("dialogues/more.yaml"), at("dialogues/other.yaml"));
    await window.shows(".test-explorer", /dialogues\/other\.yaml/);
    await window.shows(".test-explorer", /more\.yaml/, { gone: true });
    const elsewhere = workspace({ "pack/dialogues/packed.yaml": DIALOGUE });
    renameSync(join(elsewhere, "pack"), at("pack"));
    await window.shows(".test-explorer", /pack\/dialogues\/packed\.yaml/);
    rmSync(at("pack"), { recursive: true });
    rmSync(at("dialogues/other.yaml"));
    rmSync(elsewhere, { recursive: true });
    await window.shows(".test-explorer", /packed|other/, { gone: true });
  });

  it("doctor and logs run in a terminal, and the first steps are a page", async () => {
    assert.ok(window);
    await window.command("KDS: Doctor: Check the Installation");
    await window.shows(".xterm-rows", /workspace.*service/s);
    await window.command("KDS: Show the Logs");
    await window.shows(".xterm-rows", /service/);
    await window.command("KDS: Getting Started");
    await window.shows(".gettingStartedContainer", /Get started with KDS.*Install KDS.*Ask @kds.*See why/);
    await window.command("View: Close All Editors");
  });

  it("another assistant is set up after a look at what is written", async () => {
    assert.ok(window);
    const { page } = window;
    await window.command("KDS: Set KDS Up for Other Assistants");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "claude" }).first().click({ timeout: PATIENCE_MS });
    await page.keyboard.press("Enter");
    await window.notice("write these files?");
    await window.shows(".editor-instance .view-lines", /\.claude\/settings/);
    await window.command("Notifications: Clear All Notifications"); // no
    await window.command("KDS: Set KDS Up for Other Assistants");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "cursor" }).first().click({ timeout: PATIENCE_MS });
    await page.keyboard.press("Enter");
    const asked = await window.notice("write these files?");
    await window.shows(".editor-instance .view-lines", /\.cursor\/rules\/kds\.mdc/);
    await window.shows(".editor-instance .view-lines", /\.claude/, { gone: true });
    assert.equal(existsSync(join(root, ".cursor")), false);
    await asked.getByRole("button", { name: "Write" }).click();
    await until(async () => existsSync(join(root, ".cursor/rules/kds.mdc")));
    await window.command("View: Close All Editors");
  });

  it("the MCP server of KDS in the folder stands in for the tools of the extension", async () => {
    assert.ok(window);
    await window.chat();
    const offered = async () => {
      await window.page.locator(".interactive-input-part .monaco-editor").first().click({ timeout: PATIENCE_MS });
      await window.page.keyboard.press("Control+A");
      await window.page.keyboard.type("#kds", { delay: 40 });
      await window.page.waitForTimeout(1_000);
      const found = plain((await window.page.locator(".suggest-widget").allInnerTexts()).join(" "));
      await window.page.keyboard.press("Escape");
      return found;
    };
    await until(async () => /kdsResolve.*kdsMemory|kdsMemory.*kdsResolve/.test(await offered()));
    workspace({ ".vscode/mcp.json": JSON.stringify({ servers: { kds: { command: "kds", args: ["mcp"] } } }) }, root);
    await until(async () => !(await offered()).includes("kdsResolve"));
    rmSync(join(root, ".vscode"), { recursive: true });
    await until(async () => (await offered()).includes("kdsResolve"));
  });

  it("a window that is opened again goes on where it was", async () => {
    assert.ok(window);
    await window.chat();
    await window.say("I want to add a FAB button", /Echo of Work planner/);
    await window.page.waitForTimeout(2_000); // VS Code stores the chat
    await window.page.close();
    editor.stopService();
    window = await editor.open(root);
    await window.command("KDS: Focus on Sessions View");
    const sidebar = ".sidebar .pane-body";
    await window.shows(sidebar, /The service of KDS does not run just now/);
    await window.page.locator(sidebar).getByText("Show the sessions").click();
    await window.shows(sidebar, /I want to add a FAB button.*messages ·/);
    await window.chat();
    assert.match(await window.say("Make it round", /Echo of Code executor/), /Make the FAB button round/);
    assert.match(await window.say("/why ", /resolve \(/), /Make it round/);
  });

  it("activates within 50 ms, and reads a message within 150 ms", (test) => {
    const log = editor.log();
    const times = (pattern) =>
      [...log.matchAll(pattern)].map((found) => Number(found[1])).sort((one, other) => one - other);
    const [activated, read] = [times(/activated in ([\d.]+) ms/g), times(/read in (\d+) ms/g)];
    console.log(`activated in ${activated.join(", ")} ms; read in ${read.join(", ")} ms; load ${loadavg()[0]?.toFixed(1)}`);
    const median = read[Math.floor(read.length / 2)] ?? Infinity;
    const isQuick = (activated[0] ?? Infinity) <= 50 && median <= 150;
    if (!isQuick && (loadavg()[0] ?? 0) > 2 * cpus().length) return test.skip("the machine has too much else to do to say");
    assert.ok(isQuick, `activated in ${activated[0]} ms, read in ${median} ms`);
  });
});

describe("@kds in a folder that is not trusted", LIMITS, () => {
  const editor = new Editor({ "kds.path": "" }, { trust: true });
  let root = "";

  before(async () => {
    const trap = "#!/bin/sh\ntouch \"$(dirname \"$0\")/../../ran\"\n";
    const agent = PLANNER.replace("# Planner", "# Trap");
    root = workspace({ ".venv/bin/kds": trap, ".venv/bin/kds-hook": trap, "prompts/internal/work-planner.md": agent });
    await editor.start();
    window = await editor.open(root);
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it("uses no program, prompt or rule of the folder", async () => {
    assert.ok(window);
    await window.chat({ model: false }); // here VS Code does not show that it has one, nor when
    let read = "unavailable";
    while (read.includes("unavailable")) read = await window.say("I want to add a FAB button", /Echo of|unavailable/);
    assert.match(read, /PLAN · work-planner/);
    assert.doesNotMatch(read, /Trap/); // its prompt
    assert.equal(existsSync(join(root, "ran")), false); // its program
    assert.deepEqual(readdirSync(join(root, "kds-brain")), []); // nothing is remembered there
  });
});

describe("@kds in a window with two folders", LIMITS, () => {
  const editor = new Editor();
  const folders = ["alpha", "beta"];
  let parent = "";

  before(async () => {
    parent = mkdtempSync(join(tmpdir(), "kds-journey-"));
    for (const name of folders) {
      const planner = PLANNER.replace("# Planner", `# Planner of ${name}`);
      const files = { "prompts/internal/work-planner.md": planner, [`${name}.ts`]: "", [`kds-brain/rules/${name}.yaml`]: BROKEN_RULE };
      workspace(files, join(parent, name));
    }
    const both = join(parent, "both.code-workspace");
    writeFileSync(both, JSON.stringify({ folders: folders.map((path) => ({ path })) }));
    await editor.start();
    window = await editor.open(both);
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(parent, { recursive: true, force: true });
  });

  it("shows what is wrong in the rules of both, and asks neither's rules to mend the other's", async () => {
    assert.ok(window);
    await window.command("KDS: Check Prompts, Rules and Dialogues");
    const problems = window.page.locator(".markers-panel");
    const shown = (name) => new RegExp(`${name}\\.yaml.*unknown key`);
    for (const name of folders) await until(async () => shown(name).test(plain(await problems.innerText())));
    await window.file("alpha.yaml");
    await window.write(MENDED_RULES);
    await until(async () => !shown("alpha").test(plain(await problems.innerText())));
    assert.match(plain(await problems.innerText()), shown("beta"));
    await window.file("beta.yaml");
    await window.write(MENDED_RULES);
    await until(async () => !shown("beta").test(plain(await problems.innerText())));
  });

  it("asks the folder of the file in front, and remembers there", async () => {
    assert.ok(window);
    await window.chat();
    for (const name of folders) {
      await window.file(`${name}.ts`);
      await window.say(`I want to add a ${name} button`, new RegExp(`PLAN · work-planner.*Echo of Planner of ${name}`));
    }
    await window.command("KDS: Focus on Sessions View");
    const row = (name) => window.page.locator(".sidebar .monaco-list-row", { hasText: `· ${name}` }).first();
    for (const name of folders) await row(name).waitFor({ timeout: PATIENCE_MS });
    await window.choose(row("alpha"), "Resume"); // while a file of beta is in front
    await until(async () => (await window.rows()) < 0); // a new chat
    await window.say("I want to add a search box", /Echo of Planner of alpha/);
  });

  it("learns, asks again and takes an answer where the message was read", async () => {
    assert.ok(window);
    const { page } = window;
    for (const name of folders) writeFileSync(join(parent, name, `kds-brain/rules/${name}.yaml`), MENDED_RULES);
    await window.command("KDS: Begin a New Conversation");
    await window.chat();
    await window.file("alpha.ts");
    await window.say("give the dashboard some love", /EXECUTE.*Not what I meant/);
    await window.file("beta.ts");
    await window.say("I want to add a beta button", /Echo of Planner of beta.*Not what I meant/);
    const older = page.locator(".interactive-session .monaco-list-row", { hasText: "Echo of Code executor" });
    await window.pick(() => older.getByRole("button", { name: "Not what I meant" }).click({ timeout: PATIENCE_MS }), "CORRECT");
    await page.keyboard.type("PLAN");
    await page.keyboard.press("Enter");
    const toast = await window.notice('learned "give the dashboard some love" as PLAN');
    await toast.getByRole("button", { name: "Ask Again" }).click();
    await window.answer(/PLAN · work-planner.*Echo of Planner of alpha/); // a file of beta is in front
    assert.deepEqual(folders.map((name) => existsSync(join(parent, name, "kds-brain/learned.yaml"))), [true, false]);

    await window.command("KDS: Begin a New Conversation");
    await until(async () => (await window.rows()) < 0);
    await window.file("beta.ts");
    await window.say("login stuff", /Did you mean/);
    await window.file("alpha.ts");
    await window.press(/^Change/);
    await window.answer(/login stuff.*EXECUTE · code-executor · 100 %.*Echo of/); // alpha was asked nothing
    await window.say("I want to add an alpha button", /Echo of Planner of alpha/);
  });
});

describe("a window on a part of a project, with kds on the PATH", LIMITS, () => {
  const editor = new Editor({ "kds.path": "" });
  let root = "";

  before(async () => {
    const trap = "#!/bin/sh\ntouch \"$(dirname \"$0\")/../../ran\"\n";
    root = workspace({ ".venv/bin/kds": trap, ".venv/bin/kds-hook": trap, "part/shop.ts": "" });
    await editor.start();
    window = await editor.open(join(root, "part"));
    await window.chat();
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it("answers, and runs nothing of the folder above, which was not opened", async () => {
    assert.ok(window);
    await window.say("I want to add a FAB button", /PLAN.*Echo of Work planner/);
    assert.equal(existsSync(join(root, "ran")), false);
  });
});

describe("a window without KDS", LIMITS, () => {
  const editor = new Editor({ "kds.path": "/nowhere/kds" });
  let root = "";

  before(async () => {
    root = workspace({ "kds-brain/rules/mine.yaml": BROKEN_RULE });
    await editor.start();
    window = await editor.open(root);
    await window.chat();
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it("says so with the name of the setting when a file is opened and in the chat, and how to install it", async () => {
    assert.ok(window);
    await window.file("mine.yaml");
    await window.notice("kds.path is /nowhere/kds, which cannot be run");
    await window.say("Make it purple", /kds\.path is \/nowhere\/kds.*Open the setting kds\.path/);
    await window.press("How to install it");
    await window.shows(".gettingStartedContainer", /Get started with KDS.*Install KDS/);
  });
});

describe("a window on a folder with prompts and no kds-brain", LIMITS, () => {
  const editor = new Editor();
  let root = "";

  before(async () => {
    root = workspace({ "prompts/user/mine.md": "---\nnme: mine\n---\nx\n", "prompts/user/deep/notes.md": "# Notes\n" });
    rmSync(join(root, "kds-brain"), { recursive: true });
    await editor.start();
    window = await editor.open(root);
  });
  afterEach((test) => shot(test));
  after(async () => {
    await editor.stop();
    rmSync(root, { recursive: true, force: true });
  });

  it("underlines what is wrong, leaves notes alone, and answers", async () => {
    assert.ok(window);
    await window.file("mine.md");
    await window.page.locator(".squiggly-error").first().waitFor({ timeout: PATIENCE_MS });
    await window.file("notes.md");
    await window.command("View: Focus Problems");
    await window.shows(".markers-panel", /unknown key 'nme'/);
    assert.doesNotMatch(plain(await window.page.locator(".markers-panel").innerText()), /notes\.md/);
    await window.chat();
    await window.say("I want to add a FAB button", /mine\.md:\d does not count.*Echo of Work planner/);
  });
});
