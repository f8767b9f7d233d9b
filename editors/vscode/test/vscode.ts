// A stand-in for what the units touch of VS Code's API: values only, no editor.

export class Uri {
  readonly scheme: string;
  readonly path: string;
  constructor(scheme: string, path: string) {
    this.scheme = scheme;
    this.path = path;
  }
  get fsPath(): string {
    return this.path;
  }
  static file(path: string): Uri {
    return new Uri("file", path);
  }
  static from(parts: { scheme: string; path: string }): Uri {
    return new Uri(parts.scheme, parts.path);
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, [base.path, ...parts].join("/"));
  }
  toString(): string {
    return `${this.scheme}://${this.path}`;
  }
}

/** A class of VS Code's that only holds what it is made of. */
function holder<T extends unknown[], Held>(...names: string[]): new (...values: T) => Held {
  const made = function (this: object, ...values: T): void {
    names.forEach((name, at) => Object.assign(this, { [name]: values[at] }));
  };
  return made as unknown as new (...values: T) => Held;
}

export const Position = holder<[number, number], { line: number }>("line", "character");

export class Range {
  readonly start: { line: number };
  readonly end: { line: number };
  constructor(line: number, from: number, to: number, until: number) {
    this.start = new Position(line, from);
    this.end = new Position(to, until);
  }
}

export class Location {
  readonly uri: Uri;
  readonly range: Range;
  constructor(uri: Uri, at: Range | { line: number }) {
    this.uri = uri;
    this.range = at instanceof Range ? at : new Range(at.line, 0, at.line, 0);
  }
}

export class Disposable {
  static from(...those: { dispose(): unknown }[]): { dispose(): void } {
    return { dispose: () => those.forEach((one) => one.dispose()) };
  }
}

export class EventEmitter<T> {
  readonly #listeners: ((value: T) => void)[] = [];
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.#listeners.push(listener);
    return { dispose: () => undefined };
  };
  fire(value: T): void {
    this.#listeners.forEach((listener) => listener(value));
  }
  dispose(): void {}
}

export class LanguageModelError extends Error {}
export const LanguageModelTextPart = holder<[string], { value: string }>("value");
export const LanguageModelToolCallPart = holder<[string, string, object], object>("callId", "name", "input");
export const LanguageModelToolResultPart = holder<[string, unknown[]], object>("callId", "content");
export const LanguageModelToolResult = holder<[unknown[]], { content: { value: string }[] }>("content");
export const LanguageModelChatMessage = { User: (content: unknown) => ({ role: "user", content }), Assistant: (content: unknown) => ({ role: "assistant", content }) };
export const DiagnosticSeverity = { Error: 0, Warning: 1 };
export const ChatResultFeedbackKind = { Unhelpful: 0, Helpful: 1 };

interface Tool {
  invoke(options: unknown, token: unknown): Promise<{ content: { value: string }[] }>;
}

/** What a test sets up, and what the extension did with it. */
export const fake = {
  settings: {} as Record<string, unknown>,
  folders: [] as { uri: Uri }[],
  trusted: true,
  files: {} as Record<string, string>,
  executed: [] as unknown[][],
  handler: undefined as unknown,
  participant: undefined as unknown,
  tools: new Map<string, Tool>(),
  /** The interpreter that the Python extension uses. */
  python: undefined as string | undefined,
};

const nothing = { dispose: () => undefined };
const event = () => nothing;

export const workspace = {
  get isTrusted() {
    return fake.trusted;
  },
  get workspaceFolders() {
    return fake.folders;
  },
  textDocuments: [],
  getWorkspaceFolder: (uri: Uri) => fake.folders.find((one) => uri.path.startsWith(one.uri.path)),
  getConfiguration: () => ({ get: (key: string, or: unknown) => fake.settings[key] ?? or }),
  asRelativePath: (uri: Uri | string) => (typeof uri === "string" ? uri : uri.path).split("/").at(-1),
  findFiles: async () => [],
  createFileSystemWatcher: () => ({ ...nothing, onDidCreate: event, onDidChange: event, onDidDelete: event }),
  onDidChangeConfiguration: event,
  onDidChangeWorkspaceFolders: event,
  onDidGrantWorkspaceTrust: event,
  openTextDocument: async (uri: Uri) => {
    const text = fake.files[uri.path];
    if (text === undefined) throw new Error("no such file");
    const lines = (range: Range) => text.split("\n").slice(range.start.line, range.end.line + 1).join("\n");
    return { languageId: "typescript", getText: (range?: Range) => (range ? lines(range) : text) };
  },
};

export const window = { activeTextEditor: undefined, createOutputChannel: () => ({ info() {}, warn() {}, error() {}, dispose() {} }) };

const python = { environments: { getActiveEnvironmentPath: () => ({ path: fake.python }) } };
export const extensions = { getExtension: () => fake.python && { activate: async () => python } };

export const commands = { executeCommand: async (...call: unknown[]) => void fake.executed.push(call) };

export const chat = {
  createChatParticipant: (_id: string, handler: unknown) => {
    fake.handler = handler;
    fake.participant = { onDidReceiveFeedback: event, dispose: () => undefined };
    return fake.participant;
  },
};

export const lm = {
  tools: [] as { name: string }[],
  invokeTool: async (name: string, options: { input: object }) =>
    new LanguageModelToolResult([new LanguageModelTextPart(`${name} ${JSON.stringify(options.input)}`)]),
  registerTool: (name: string, tool: Tool) => {
    fake.tools.set(name, tool);
    return nothing;
  },
};
