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

export class Position {
  readonly line: number;
  readonly character: number;
  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(line: number, from: number, to: number, until: number) {
    this.start = new Position(line, from);
    this.end = new Position(to, until);
  }
}

export class Location {
  readonly uri: Uri;
  readonly range: Range;
  constructor(uri: Uri, at: Range | Position) {
    this.uri = uri;
    this.range = at instanceof Range ? at : new Range(at.line, at.character, at.line, at.character);
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
export class LanguageModelTextPart {
  readonly value: string;
  constructor(value: string) {
    this.value = value;
  }
}
export class LanguageModelToolCallPart {
  readonly callId: string;
  readonly name: string;
  readonly input: object;
  constructor(callId: string, name: string, input: object) {
    this.callId = callId;
    this.name = name;
    this.input = input;
  }
}
export class LanguageModelToolResultPart {
  readonly callId: string;
  readonly content: unknown[];
  constructor(callId: string, content: unknown[]) {
    this.callId = callId;
    this.content = content;
  }
}
export class LanguageModelToolResult {
  readonly content: unknown[];
  constructor(content: unknown[]) {
    this.content = content;
  }
}
export const LanguageModelChatMessage = {
  User: (content: unknown) => ({ role: "user", content }),
  Assistant: (content: unknown) => ({ role: "assistant", content }),
};
export const DiagnosticSeverity = { Error: 0, Warning: 1 };
export const ChatResultFeedbackKind = { Unhelpful: 0, Helpful: 1 };

/** What a test sets up, and what the extension did with it. */
export const fake = {
  settings: {} as Record<string, unknown>,
  folders: [] as { uri: Uri }[],
  trusted: true,
  files: {} as Record<string, string>,
  executed: [] as unknown[][],
  handler: undefined as unknown,
  participant: undefined as unknown,
  tools: new Map<string, { invoke(options: unknown): Promise<LanguageModelToolResult> }>(),
  mcp: undefined as { provideMcpServerDefinitions(): Promise<McpStdioServerDefinition[]> } | undefined,
};

const nothing = { dispose: () => undefined };
const event = () => nothing;

export class McpStdioServerDefinition {
  cwd: Uri | undefined;
  readonly label: string;
  readonly command: string;
  readonly args: string[];
  constructor(label: string, command: string, args: string[]) {
    this.label = label;
    this.command = command;
    this.args = args;
  }
}

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

export const window = {
  activeTextEditor: undefined,
  createOutputChannel: () => ({ info() {}, warn() {}, error() {}, dispose() {} }),
};

export const commands = {
  executeCommand: async (...call: unknown[]) => void fake.executed.push(call),
};

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
  registerTool: (name: string, tool: { invoke(options: unknown): Promise<LanguageModelToolResult> }) => {
    fake.tools.set(name, tool);
    return nothing;
  },
  registerMcpServerDefinitionProvider: (_id: string, provider: NonNullable<typeof fake.mcp>) => {
    fake.mcp = provider;
    return nothing;
  },
};
