// Generated from the prompt files by scripts/generate.py; do not edit.

/** A slash command, its agent, and what it says when the user adds nothing. */
export interface SlashCommand {
  readonly name: string;
  readonly intent: string;
  readonly ref: string;
  readonly say: string;
}

export const COMMANDS: readonly SlashCommand[] = [
  {"name": "correct", "intent": "CORRECT", "ref": "prompts/internal/error-corrector.md", "say": "correct what was done"},
  {"name": "amnesia", "intent": "AMNESIA", "ref": "prompts/internal/brain-amnesia.md", "say": "forget what was learned"},
  {"name": "resume", "intent": "RESUME", "ref": "prompts/internal/session-resumer.md", "say": "see where the work stands"},
  {"name": "debug", "intent": "DEBUG", "ref": "prompts/internal/debugger.md", "say": "find out why it fails, and mend it"},
  {"name": "commit", "intent": "COMMIT", "ref": "prompts/internal/commit-handler.md", "say": "commit or push the work"},
  {"name": "screenshot", "intent": "ANALYZE_SCREENSHOT", "ref": "prompts/internal/screenshot-analyzer.md", "say": "look at an image"},
  {"name": "plan", "intent": "PLAN", "ref": "prompts/internal/work-planner.md", "say": "plan something new"},
  {"name": "execute", "intent": "EXECUTE", "ref": "prompts/internal/code-executor.md", "say": "change or continue the work"},
  {"name": "test", "intent": "TEST", "ref": "prompts/internal/test-generator.md", "say": "write or run tests"},
  {"name": "validate", "intent": "VALIDATE", "ref": "prompts/internal/health-validator.md", "say": "check that everything is in order"},
  {"name": "metrics", "intent": "METRICS", "ref": "prompts/internal/metrics-reporter.md", "say": "see KDS's own numbers"},
  {"name": "govern", "intent": "GOVERN", "ref": "prompts/internal/change-governor.md", "say": "review a change to KDS itself"},
  {"name": "ask", "intent": "ASK", "ref": "prompts/internal/knowledge-retriever.md", "say": "get an answer to a question"},
];
