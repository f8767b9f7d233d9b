"""Codex, Gemini CLI, opencode and Cursor: what `kds init` writes, and takes back."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..conftest import refused
from .conftest import Project, read

BOTH = ("--hook", "--mcp")


HOST = """
import {{ KDS }} from {plugin}
const hooks = await KDS({{ directory: "/home/me/shop" }})
for (const text of ["Go on", "Make it purple"]) {{
  const output = {{ parts: [{{ type: "text", id: "p1", text }}] }}
  await hooks["chat.message"]({{ sessionID: "s1" }}, output)
  console.log(output.parts.map((part) => part.text).join("|"))
}}
await hooks.event({{ event: {{ type: "session.updated", properties: {{}} }} }})
await hooks.event({{ event: {{ type: "session.idle", properties: {{ sessionID: "s1" }} }} }})
"""


def test_the_plugin_of_opencode_tells_what_happens(project: Project, programs: Path) -> None:
    node = shutil.which("node", path=os.defpath)
    if node is None:
        pytest.skip("needs Node.js")
    told = project.folder / "told"
    answer = '{"additionalContext": "KDS: x"}'
    (programs / "kds-hook").write_text(
        f"#!/bin/sh\nread -r L; echo \"$L\" >>{told}\necho '{answer}'"
    )
    project.init("opencode")
    plugin = Path(".opencode/plugin/kds.js").rename("kds.mjs")
    host = project.write("host.mjs", HOST.format(plugin=json.dumps(str(plugin.absolute()))))
    done = subprocess.run([node, host], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Go on|KDS: x", "KDS: x", "Make it purple|KDS: x"]
    calls = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(one["hook_event_name"], one.get("prompt")) for one in calls] == [
        *(("SessionStart", None), ("UserPromptSubmit", "Go on")),
        *(("UserPromptSubmit", "Make it purple"), ("Stop", None)),
    ]
    assert {(one["session_id"], one["cwd"]) for one in calls} == {("s1", "/home/me/shop")}


def test_a_configuration_of_codex_that_cannot_be_changed_is_refused(project: Project) -> None:
    for text, message in (
        ("model = \n", ".codex/config.toml:1: invalid TOML"),
        ('[mcp_servers.kds]\ncommand = "x"\n', "an MCP server named 'kds' is there"),
        ('mcp_servers = {db = {command = "db"}}\n', "in a form that only a person can add to"),
        ("mcp_servers = 1\n", "'mcp_servers' is not a table"),
    ):
        path = project.write(".codex/config.toml", text)
        refused(project.try_init("codex", "--mcp"), message)
        assert path.read_text() == text


def test_codex_follows_a_moved_program_and_its_broken_file_stops_no_other(project: Project) -> None:
    project.write(
        ".codex/config.toml",
        '[mcp_servers.kds]\ncommand = "/old/kds" # once\nargs = ["mcp"]\nenabled = true\n',
    )
    project.init("codex", "--mcp")
    entry = read(".codex/config.toml")["mcp_servers"]["kds"]
    assert entry == {"command": "kds", "args": ["mcp"], "enabled": True}
    broken = project.write(".codex/config.toml", "mine = [")
    project.init("cursor", "--mcp")
    assert broken.read_text() == "mine = ["
    assert project.try_init("codex", "--mcp").code == 2


GUARDED = {
    "claude": (".claude/settings.json", "PreToolUse"),
    "copilot": (".github/hooks/kds.json", "preToolUse"),
    "codex": (".codex/hooks.json", "PreToolUse"),
    "gemini": (".gemini/settings.json", "BeforeTool"),
    "cursor": (".cursor/hooks.json", "beforeReadFile"),
}


@pytest.mark.parametrize("client", GUARDED)
def test_calls_of_tools_are_watched_where_settings_say_so(project: Project, client: str) -> None:
    name, event = GUARDED[client]
    project.init(client, "--hook")
    assert event not in read(name)["hooks"]
    project.kds("config", "set", "hook.secrets", "block")
    (problem,) = project.doctor().problems
    assert name in problem
    project.init(client, "--hook")
    assert len(read(name)["hooks"][event]) == 1
    assert project.doctor().problems == []
    project.kds("config", "set", "hook.secrets", "off")
    project.init(client, "--hook")
    assert event not in read(name)["hooks"]


def test_the_plugin_of_opencode_watches_tools_as_the_settings_have_it(project: Project) -> None:
    project.init("opencode", *BOTH)
    plugin = Path(".opencode/plugin/kds.js")
    assert 'const COMMAND = "kds-hook"' in plugin.read_text()
    assert read("opencode.json")["mcp"]["kds"]["command"] == ["kds", "mcp"]
    assert "const WATCHES_TOOLS = false" in plugin.read_text()
    project.kds("config", "set", "hook.secrets", "block")
    project.init("opencode", "--hook")
    assert "const WATCHES_TOOLS = true" in plugin.read_text()
    assert project.doctor().problems == []
