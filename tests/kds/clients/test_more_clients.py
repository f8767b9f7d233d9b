"""Codex, Gemini CLI, opencode, Cursor and AGENTS.md: what `kds init` writes, and takes back."""

import re
from pathlib import Path

import pytest

from kds.clients.plugin import command_in

from .conftest import Project, Snapshot, read

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
    project.init("codex", "--mcp", "--skills")
    broken = project.write(".codex/config.toml", "mine = [")
    project.init("cursor", "--mcp")
    assert broken.read_text() == "mine = ["
    assert Path(".agents/skills/kds/SKILL.md").exists()
    assert project.try_init("codex", "--mcp").code == 2


def test_a_file_where_a_client_has_its_folder_does_not_stop_an_undo(project: Project) -> None:
    theirs = project.write(".vscode", "mine")
    assert project.try_init("--undo").code == 0
    assert theirs.read_text() == "mine"


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


def test_claude_and_codex_have_skills_each_and_doctor_knows(project: Project) -> None:
    project.init("codex", "--skills")
    project.init("claude")
    for folder in (".claude", ".agents"):
        assert Path(folder, "skills", "kds", "SKILL.md").exists()
    assert project.doctor().problems == []


@pytest.mark.parametrize("client", [*ALL, "copilot", "vscode"])
def test_doctor_is_content_with_what_init_wrote_also_without_its_record(
    project: Project, client: str
) -> None:
    project.init(client, *BOTH, "--skills", "--no-start")
    checks = project.doctor()
    assert checks.problems == []
    assert "as kds init writes them" in checks["files"][-1]["found"]
    Path("kds-brain/init/record.json").unlink()
    assert project.doctor().problems == []


def test_a_folder_that_codex_does_not_trust_and_a_hook_that_nobody_saw_are_told(
    project: Project, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> str:
        return "".join(one["found"] for one in project.doctor().get("trust", ()))

    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    project.init("codex")
    assert told() == "", "Codex is not there"
    (programs / "codex").symlink_to(programs / "kds")
    assert "Codex does not trust" in told()
    config = tmp_path / "config.toml"
    config.write_text(f'[projects."{project.folder}"]\ntrust_level = "trusted"\n')
    assert "nobody has told Codex yet" in told()
    state = f'[hooks.state."{project.folder}/.codex/hooks.json:user_prompt_submit:0:0"]\n'
    config.write_text(f'{config.read_text()}{state}trusted_hash = "x"\n')
    assert told() == f"Codex trusts {project.folder}"


def test_a_rule_changed_by_hand_stays_and_an_old_plugin_is_a_problem(project: Project) -> None:
    project.init(*ALL)
    rule, plugin = Path(".cursor/rules/kds.mdc"), Path(".opencode/plugin/kds.js")
    assert "alwaysApply: false" in rule.read_text()
    rule.write_text(rule.read_text() + "mine")
    done = project.init(*ALL)
    assert f"{rule} stays as it is: changed by hand" in done["notes"]
    plugin.write_text("// mine\n")
    done = project.init(*ALL)
    assert f"{plugin} stays as it is: not written by KDS" in done["notes"]
    assert plugin.read_text() == "// mine\n"


@pytest.mark.parametrize("command", [r'"a\q"', '"a" + "b"'])
def test_a_plugin_that_is_not_as_we_write_it_has_no_command(command: str) -> None:
    assert command_in(f"const COMMAND = {command}\n") is None


RULE, PAGE = ".cursor/rules/kds.mdc", "AGENTS.md"


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["cursor"], [RULE]),
        (["agents"], [PAGE]),
        (["cursor", "agents"], [RULE, PAGE]),
        (["cursor", "claude"], [RULE, ".claude/settings.json"]),
        (["cursor", "--mcp"], [RULE, ".cursor/mcp.json"]),
        (["cursor", "--hook"], [RULE, ".cursor/hooks.json"]),
        (["cursor", "--no-mcp"], [RULE]),
    ],
)
def test_a_client_without_a_certain_hook_gets_a_few_words_and_the_rest_on_request(
    project: Project, words: list[str], files: list[str]
) -> None:
    project.init(*words)
    found = Snapshot.of(project.folder).files
    assert found.keys() - {".gitignore"} == set(files)
    for name in {RULE, PAGE} & set(files):
        said = re.sub("(?s)^---.*?\n---|<!--.*?-->", "", found[name].decode())
        assert "`kds route --json 'MESSAGE'`" in said
        assert len(said) / 4 < 90, "tokens"


def test_a_hook_that_cursor_has_already_follows_the_program(project: Project) -> None:
    project.init("cursor", "--hook")
    hooks = Path(".cursor/hooks.json")
    current = hooks.read_text()
    hooks.write_text(current.replace("kds-hook", "/old/kds-hook"))
    project.init("cursor")
    assert hooks.read_text() == current
