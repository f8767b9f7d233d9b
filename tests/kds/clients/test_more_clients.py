"""Codex, Gemini CLI, opencode, Cursor and AGENTS.md: what `kds init` writes, and takes back."""

from pathlib import Path

import pytest

from .conftest import Project, read

HOOK = "kds-hook 2>/dev/null || true"
BOTH = ("--hook", "--mcp")
ALL = ("claude", "codex", "gemini", "opencode", "cursor", "agents")


def test_gemini_has_its_time_in_milliseconds(project: Project) -> None:
    project.init("gemini")
    (group,) = read(".gemini/settings.json")["hooks"]["BeforeAgent"]
    assert group["hooks"] == [{"type": "command", "command": HOOK, "timeout": 5000}]


def test_opencode_gets_a_plugin_that_calls_the_hook_and_a_server(project: Project) -> None:
    project.init("opencode", "--no-start", *BOTH)
    plugin = Path(".opencode/plugin/kds.js").read_text()
    assert 'const COMMAND = "kds-hook --no-start"' in plugin
    assert read("opencode.json")["mcp"]["kds"]["command"] == ["kds", "mcp"]


def test_a_broken_file_of_a_client_that_nobody_asked_for_stops_nobody(project: Project) -> None:
    project.init("codex", "--mcp")
    broken = project.write(".codex/config.toml", "mine = [")
    project.init("cursor", "--mcp")
    assert broken.read_text() == "mine = ["
    assert project.try_init("codex", "--mcp").code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = \n", ".codex/config.toml:1: invalid TOML"),
        ('[mcp_servers.kds]\ncommand = "x"\n', "an MCP server named 'kds' is there"),
        ('mcp_servers = {db = {command = "db"}}\n', "in a form that only a person can add to"),
        ("mcp_servers = 1\n", "'mcp_servers' is not a table"),
    ],
)
def test_a_configuration_of_codex_that_cannot_be_changed_is_refused(
    project: Project, text: str, message: str
) -> None:
    project.write(".codex/config.toml", text)
    refused = project.try_init("codex", "--mcp")
    assert refused.code == 2
    assert message in refused.err
    assert Path(".codex/config.toml").read_text() == text


def test_a_server_of_codex_follows_a_program_that_moved(project: Project) -> None:
    project.write(
        ".codex/config.toml",
        '[mcp_servers.kds]\ncommand = "/old/kds" # once\nargs = ["mcp"]\nenabled = true\n',
    )
    project.init("codex", "--mcp")
    entry = read(".codex/config.toml")["mcp_servers"]["kds"]
    assert entry == {"command": "kds", "args": ["mcp"], "enabled": True}


@pytest.mark.parametrize("client", [*ALL, "copilot", "vscode"])
def test_doctor_is_content_with_what_init_wrote_also_without_its_record(
    project: Project, client: str
) -> None:
    project.init(client, *BOTH, "--no-start")
    checks = project.doctor()
    assert checks.problems == []
    assert "as kds init writes them" in checks["files"][-1]["found"]
    Path("kds-brain/init/record.json").unlink()
    assert project.doctor().problems == []
