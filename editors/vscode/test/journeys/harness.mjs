// A real VS Code (code-server) with the extension, a model without a network, and a browser.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const HERE = import.meta.dirname;
const EXTENSION = resolve(HERE, "../..");
const PACKAGES = process.env.KDS_TEST_VSCODE ?? "";
const PROGRAM = resolve(process.env.KDS_PROGRAM ?? join(EXTENSION, "../../.venv/bin/kds"));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Everything waits this long: the machine may be busy. */
export const PATIENCE_MS = Number(process.env.KDS_TEST_PATIENCE_S ?? 90) * 1000;
const TRY_MS = PATIENCE_MS / 10;

/** Why the journeys cannot be made here; false when they can. */
export function missing() {
  const needed = [
    [join(PACKAGES, "node_modules/code-server"), "npm install code-server"],
    [join(PACKAGES, "node_modules/playwright-core"), "npm install playwright-core"],
    [CHROMIUM, "apt-get install chromium"],
    [PROGRAM, "KDS_PROGRAM=..."],
  ];
  if (!PACKAGES) return "KDS_TEST_VSCODE does not name a folder with the packages (make test-vscode)";
  const gone = needed.find(([path]) => !existsSync(path));
  return gone ? `${gone[0]} is not there: ${gone[1]}` : false;
}

/** One code-server with a home and a service of its own; `trust` asks before a folder is trusted. */
export class Editor {
  home = mkdtempSync(join(tmpdir(), "kds-editor-"));
  #settings;
  #server;
  #browser;
  #profile; // holds what VS Code keeps of a window
  #port = 0;

  constructor(settings = {}, { trust = false } = {}) {
    this.#settings = {
      "chat.agentHost.byokModels.enabled": true,
      "chat.allowAnonymousAccess": true,
      "security.workspace.trust.enabled": trust,
      "security.workspace.trust.startupPrompt": "never",
      "security.workspace.trust.banner": "never",
      "files.autoSave": "off",
      "telemetry.telemetryLevel": "off",
      "telemetry.feedback.enabled": true, // the thumbs; code-server without telemetry has none
      "workbench.startupEditor": "none",
      "extensions.ignoreRecommendations": true,
      "terminal.integrated.gpuAcceleration": "off", // its text can be read
      "kds.path": PROGRAM,
      ...settings,
    };
  }

  async start() {
    const data = join(this.home, "data");
    mkdirSync(join(data, "User"), { recursive: true });
    mkdirSync(join(this.home, "run"), { mode: 0o700 });
    writeFileSync(join(data, "User", "settings.json"), JSON.stringify(this.#settings));
    // VS Code asks the login shell for the PATH.
    for (const name of [".profile", ".bash_profile", ".bashrc"]) {
      writeFileSync(join(this.home, name), `export PATH="${dirname(PROGRAM)}:$PATH"\n`);
    }
    const model = join(this.home, "model.vsix");
    const vsce = join(EXTENSION, "node_modules/.bin/vsce");
    const pack = ["package", "--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", model];
    execFileSync(vsce, pack, { cwd: join(HERE, "model"), stdio: "pipe" });
    const own = join(EXTENSION, "dist/kds-vscode.vsix");
    this.#codeServer(["--install-extension", own, "--install-extension", model], true);
    this.#port = await freePort();
    this.#server = this.#codeServer(["--auth", "none", "--bind-addr", `127.0.0.1:${this.#port}`, "--disable-update-check", "--enable-proposed-api", "kds-test.model-of-the-journeys"]);
    const { chromium } = createRequire(join(PACKAGES, "node_modules/"))("playwright-core");
    this.#browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    this.#profile = await this.#browser.newContext({ viewport: { width: 1500, height: 1000 } });
  }

  #codeServer(args, wait = false) {
    const program = join(PACKAGES, "node_modules/.bin/code-server");
    const folders = ["--user-data-dir", join(this.home, "data"), "--extensions-dir", join(this.home, "ext")];
    const all = [...folders, "--disable-telemetry", ...args];
    if (!wait) return spawn(program, all, { env: this.#env, stdio: "ignore" });
    execFileSync(program, all, { env: this.#env, stdio: "pipe" });
    return undefined;
  }

  get #env() {
    const rest = Object.entries(process.env).filter(([name]) => !/^(KDS|XDG)_/.test(name));
    return { ...Object.fromEntries(rest), HOME: this.home, XDG_RUNTIME_DIR: join(this.home, "run"), KDS_SERVICE_IDLE_MINUTES: "5" };
  }

  #service(...args) {
    return execFileSync(PROGRAM, ["service", ...args], { env: this.#env, cwd: this.home, encoding: "utf-8", stdio: "pipe" });
  }

  /** The process id of the service. */
  get servicePid() {
    return JSON.parse(this.#service("status", "--json")).pid;
  }

  stopService() {
    this.#service("stop", "--force");
  }

  get versions() {
    const program = join(PACKAGES, "node_modules/.bin/code-server");
    const server = execFileSync(program, ["--version"], { encoding: "utf-8", env: this.#env });
    return `code-server ${server.trim()}, Chromium ${this.#browser?.version()}, Node ${process.version}`;
  }

  /** Open a window on a folder, or on the folders of a `.code-workspace`, and wait until it works. */
  async open(path) {
    if (this.#profile === undefined) throw new Error("start() first");
    const page = await this.#profile.newPage();
    await until(async () => {
      await page.goto(`http://127.0.0.1:${this.#port}/?${path.endsWith(".code-workspace") ? "workspace" : "folder"}=${path}`);
      return true;
    });
    await page.locator(".monaco-workbench").waitFor({ timeout: PATIENCE_MS });
    const window = new Window(page);
    await page.locator(".statusbar-item").first().waitFor({ timeout: PATIENCE_MS });
    return window;
  }

  /** What the extension wrote to its log, of all windows. */
  log() {
    const folder = join(this.home, "data/logs");
    const files = readdirSync(folder, { recursive: true, encoding: "utf-8" }).filter((one) => one.endsWith("KDS.log"));
    return files.map((one) => readFileSync(join(folder, one), "utf-8")).join("");
  }

  async stop() {
    await this.#browser?.close();
    const gone = new Promise((done) => this.#server?.once("exit", done));
    if (this.#server?.kill()) await gone;
    this.stopService();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Window {
  page;

  constructor(page) {
    this.page = page;
  }

  /** Run a command by its title in the palette, which does not grow while it is open. */
  async command(title) {
    await until(
      async () => {
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("F1");
        await this.page.locator(".quick-input-widget input").first().waitFor({ timeout: TRY_MS });
        await this.page.keyboard.type(title);
        const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
        await row.waitFor({ timeout: TRY_MS });
        await row.click({ timeout: TRY_MS });
        return true;
      },
      () => `there is no command "${title}"`,
    );
  }

  /** Open the chat, and wait for the model of the tests to be the one that is picked. */
  async chat({ model = true } = {}) {
    await this.command("Chat: Open Chat");
    await this.page.locator(".interactive-input-part").waitFor({ timeout: PATIENCE_MS });
    if (!model) return;
    await until(async () => (await this.page.locator(".interactive-input-part").innerText()).includes("Echo"));
  }

  /** Say something to @kds, and wait for an answer that has `expected` in it; the answer. */
  async say(text, expected) {
    await this.page.mouse.move(600, 500); // away from what shows a hint above the input
    await this.page.waitForTimeout(500);
    await this.page.locator(".interactive-input-part .monaco-editor").first().click({ timeout: PATIENCE_MS });
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.press("Delete");
    await this.page.keyboard.type("@kds ", { delay: 40 });
    await this.page.waitForTimeout(300);
    await this.page.keyboard.type(text, { delay: 5 });
    await this.page.keyboard.press("Escape"); // suggestions
    // Until VS Code knows whom "@kds" names, and marks it, this would go to an agent of its own.
    const named = this.page.locator(".interactive-input-part .view-line span").filter({ hasText: /^@kds$/ });
    await named.first().waitFor({ timeout: PATIENCE_MS });
    const before = await this.rows();
    await this.page.keyboard.press("Enter");
    await until(async () => (await this.rows()) > before);
    return this.answer(expected);
  }

  /** Questions and answers of the chat: rows are drawn in any order, and only those in sight. */
  async rows() {
    const found = this.page.locator(".interactive-session .monaco-list-row");
    return found.evaluateAll((all) => Math.max(-1, ...all.map((row) => Number(row.dataset.index))));
  }

  /** The last answer, once it has `expected` in it. */
  async answer(expected) {
    let found = "";
    await until(
      async () => {
        found = plain(await (await this.last()).innerText({ timeout: TRY_MS }));
        return expected.test(found);
      },
      () => `${expected} is not in: ${found}`,
    );
    return found;
  }

  async last() {
    return this.page.locator(`.interactive-session .monaco-list-row[data-index="${await this.rows()}"]`);
  }

  /** Press a button of the last answer. */
  async press(name) {
    await (await this.last()).getByRole("button", { name }).last().click({ timeout: PATIENCE_MS });
  }

  /** Do what opens a list, until it has such a row: what takes the focus meanwhile closes it. */
  async pick(open, text) {
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
    await until(async () => {
      await open();
      await row.waitFor({ timeout: TRY_MS });
      return true;
    });
    return row;
  }

  /** Open a file of the folder. */
  async file(name) {
    await until(
      async () => {
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("Control+P");
        await this.page.locator(".quick-input-widget input").first().waitFor({ timeout: TRY_MS });
        await this.page.keyboard.type(name);
        const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
        await row.waitFor({ timeout: TRY_MS });
        await row.click({ timeout: TRY_MS });
        return true;
      },
      () => `there is no file "${name}"`,
    );
    await this.page.locator(".editor-instance .view-lines").first().waitFor();
  }

  /** Put a text in place of the file in front, and save it. */
  async write(text) {
    await this.page.locator(".editor-instance .view-lines").first().click({ timeout: PATIENCE_MS });
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.insertText(text);
    await this.page.keyboard.press("Control+S");
  }

  /** Choose from the menu of a row in the tree of a view; a menu takes no click until it stands. */
  async choose(row, name) {
    const item = this.page.locator(".monaco-menu .action-item", { hasText: name }).first();
    await until(
      async () => {
        await this.page.keyboard.press("Escape");
        await row.click({ button: "right", timeout: TRY_MS });
        await item.waitFor({ timeout: TRY_MS });
        await this.page.waitForTimeout(1_000);
        await item.click({ timeout: TRY_MS });
        await item.waitFor({ state: "hidden", timeout: TRY_MS });
        return true;
      },
      () => `the menu has no "${name}"`,
    );
  }

  /** Fill the box that asks for something, in place of what it suggests. */
  async fill(text) {
    const input = this.page.locator(".quick-input-widget input").first();
    await input.waitFor({ timeout: PATIENCE_MS });
    await input.fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** Take what the box suggests, once it does. */
  async accept(expected) {
    const input = this.page.locator(".quick-input-widget input").first();
    await until(async () => expected.test(await input.inputValue({ timeout: TRY_MS })));
    await this.page.keyboard.press("Enter");
  }

  /** Wait for a text in a part of the window, or for it to go. */
  async shows(part, text, { gone = false } = {}) {
    let found = "";
    await until(
      async () => {
        found = plain((await this.page.locator(part).allInnerTexts()).join(" "));
        return text.test(found) !== gone;
      },
      () => `${text} is ${gone ? "still" : "not"} in: ${found}`,
    );
  }

  /** Wait for a text in the panel that shows why. */
  async why(...texts) {
    await this.command("KDS: Why Was It Read This Way?");
    await this.page.locator("iframe.webview").first().waitFor({ timeout: PATIENCE_MS });
    await until(async () => {
      const shown = this.page.frames().map((frame) => frame.evaluate("document.body?.innerText ?? ''").catch(() => ""));
      return (await Promise.all(shown)).some((one) => texts.every((text) => one.includes(text)));
    });
  }

  /** What VS Code keeps for the extension. */
  async kept() {
    return this.page.evaluate(async () => {
      const asked = (request) => new Promise((done, failed) => Object.assign(request, { onsuccess: () => done(request.result), onerror: failed }));
      const found = [];
      for (const { name } of await indexedDB.databases()) {
        const database = await asked(indexedDB.open(name));
        for (const store of database.objectStoreNames) {
          const value = await asked(database.transaction(store).objectStore(store).get("kds.kds-vscode"));
          if (value !== undefined) found.push(String(value));
        }
        database.close();
      }
      return found.join("\n");
    });
  }

  async notice(text) {
    const toast = this.page.locator(".notification-toast, .notifications-center .notification-list-item", { hasText: text });
    await toast.first().waitFor({ timeout: PATIENCE_MS });
    return toast.first();
  }
}

/** A folder with `kds-brain`, and with these files. */
export function workspace(files = {}, root = mkdtempSync(join(tmpdir(), "kds-journey-"))) {
  mkdirSync(join(root, "kds-brain"), { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(resolve(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text, { mode: name.includes("/bin/") ? 0o755 : 0o644 });
  }
  return root;
}

export async function until(check, told = () => "it did not come about") {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    if (await check().catch(() => false)) return;
    if (Date.now() > end) throw new Error(told());
    await new Promise((done) => setTimeout(done, 250));
  }
}

/** Text as it reads: one kind of blank, and no line ends. */
export function plain(text) {
  return text.replace(/[\s\u00a0]+/g, " ").trim();
}

async function freePort() {
  const server = createServer();
  await new Promise ((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === "object" && address ? address.port : 0;
}
