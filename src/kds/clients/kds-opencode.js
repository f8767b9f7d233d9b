// Asks KDS about every prompt that is typed, and puts its hint beside the prompt, if it has one.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"
const LIMIT_MS = 5000

function hint(input) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND, { shell: true, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), LIMIT_MS)
    let said = ""
    child.stdout.on("data", (chunk) => (said += chunk))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(""))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(said).additionalContext || "")
      } catch {
        resolve("") // it has nothing to say, or is not installed: the prompt goes on as it is
      }
    })
    child.stdin.end(JSON.stringify(input))
  })
}

export const KDS = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    const typed = output.parts.find((part) => part.type === "text" && !part.synthetic)
    if (!typed) return
    const text = await hint({
      hook_event_name: "UserPromptSubmit",
      session_id: input.sessionID,
      cwd: directory,
      prompt: typed.text,
    })
    if (text) output.parts.push({ ...typed, id: `${typed.id}k`, text, synthetic: true })
  },
})
