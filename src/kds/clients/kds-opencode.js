// Asks KDS at the start of a session and about every prompt that is typed, puts what it has to say
// beside the prompt, and tells it when a turn has ended.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const WATCHES_TOOLS = false
const LIMIT_MS = 5000

function ask(input) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND, { shell: true, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), LIMIT_MS)
    let said = ""
    child.stdout.on("data", (chunk) => (said += chunk))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve({}))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({}) // it has nothing to say, or is not installed: the prompt goes on as it is
      }
    })
    child.stdin.end(JSON.stringify({ client: "opencode", ...input }))
  })
}

export const KDS = async ({ directory }) => {
  const started = new Set()
  const tell = (hook_event_name, session_id, more) =>
    ask({ hook_event_name, session_id, cwd: directory, ...more })
  return {
    "chat.message": async (input, output) => {
      const typed = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (!typed) return
      const said = []
      if (!started.has(input.sessionID)) {
        started.add(input.sessionID)
        said.push(await tell("SessionStart", input.sessionID, { source: "startup" }))
      }
      const answer = await tell("UserPromptSubmit", input.sessionID, { prompt: typed.text })
      said.push(answer)
      if (answer.decision === "block") {
        if (!answer.prompt) throw new Error(answer.reason)
        typed.text = answer.prompt // without the secrets (the setting hook.secrets)
      }
      const text = said.map((one) => one.additionalContext).filter(Boolean).join("\n")
      if (text) output.parts.push({ ...typed, id: `${typed.id}k`, text, synthetic: true })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await tell("Stop", event.properties.sessionID)
    },
    ...(WATCHES_TOOLS && {
      "tool.execute.before": async ({ tool, sessionID }, { args }) => {
        const answer = await tell("PreToolUse", sessionID, { tool_name: tool, tool_input: args })
        if (answer.permissionDecision === "deny") throw new Error(answer.permissionDecisionReason)
      },
    }),
  }
}
