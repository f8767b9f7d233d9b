"""Codex, Gemini CLI, opencode, Cursor and AGENTS.md: what `kds init` writes, and takes back."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.clients.generated.opencodeplugin import command_in
from kds.clients.settings.jsontext import parse_json_text

from .conftest import Snapshot, read, set_up

Call = Callable[..., Any]
Write = Callable[[str, str], Path]

HOOK = "kds-hook || true"
BOTH = ("--hook", "--mcp")
NEW = ("codex", "gemini", "opencode", "cursor", "agents")
ALL = tuple(word for client in ("claude", *NEW) for word in ("--client", client))
THEIRS = {
    ".codex/config.toml": '# mine\nmodel = "o3"\n\n[mcp_servers.db]\ncommand = "db"\n',
    ".codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    ".gemini/settings.json": '{\n  // mine\n  "ui": {"theme": "x"},\n}\n',
    "opencode.jsonc": '{\n\t"mcp": {"db": {"type": "local", "command": ["db"]}}\n}\n',
    ".opencode/plugin/mine.js": "export const Mine = async () => ({})\n",
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "x"}]}}\n',
    ".cursor/rules/mine.mdc": "mine",
    "AGENTS.md": "# Our rules\n\nUse tabs.",
}


def _toml(path: str = ".codex/config.toml") -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text())


def test_codex_gets_hook_server_and_skills(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "codex", *BOTH)
    hooks = read(".codex/hooks.json")["hooks"]
    assert hooks["UserPromptSubmit"][0]["hooks"][0]["command"] == HOOK
    assert _toml()["mcp_servers"] == {"kds": {"command": "kds", "args": ["mcp"]}}
    assert Path(".agents/skills/kds/SKILL.md").exists()


def test_gemini_gets_hook_and_server_in_one_file_and_its_time_in_milliseconds(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "gemini", *BOTH)
    settings = read(".gemini/settings.json")
    (group,) = settings["hooks"]["BeforeAgent"]
    assert group["hooks"] == [{"type": "command", "command": HOOK, "timeout": 5000}]
    assert settings["mcpServers"] == {"kds": {"command": "kds", "args": ["mcp"]}}


def test_opencode_gets_a_plugin_that_calls_the_hook_and_a_server(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "opencode", "--no-start", *BOTH)
    plugin = Path(".opencode/plugin/kds.js").read_text()
    assert 'const COMMAND = "kds-hook --no-start"' in plugin
    assert read("opencode.json")["mcp"]["kds"]["command"] == ["kds", "mcp"]


def test_agents_md_gets_a_part_once(project: Path, kds_call: Call, write: Write) -> None:
    write("AGENTS.md", THEIRS["AGENTS.md"])
    for _ in range(2):
        set_up(kds_call, "--client", "agents")
    text = Path("AGENTS.md").read_text()
    assert text.startswith(THEIRS["AGENTS.md"])
    assert text.count("## KDS") == 1
    assert "`route_message`" in text


@pytest.mark.parametrize("theirs", [{}, THEIRS], ids=["empty", "settled"])
def test_what_others_wrote_is_merged_with_and_undo_gives_back_every_byte(
    project: Path, kds_call: Call, write: Write, theirs: dict[str, str]
) -> None:
    for name, text in theirs.items():
        write(name, text)
    before = Snapshot.of(project)
    set_up(kds_call, *ALL, *BOTH)
    assert set_up(kds_call, *ALL, *BOTH)["files"] == []
    if theirs:
        assert set(_toml()["mcp_servers"]) == {"db", "kds"}
        assert set(read(".codex/hooks.json")["hooks"]) > {"Stop"}
        assert set(read("opencode.jsonc")["mcp"]) == {"db", "kds"}
        assert "// mine" in Path(".gemini/settings.json").read_text()
        assert not Path("opencode.json").exists()
    set_up(kds_call, "--undo")
    assert Snapshot.of(project) == before


def test_without_a_record_undo_takes_out_what_is_ours(
    project: Path, kds_call: Call, write: Write
) -> None:
    for name, text in THEIRS.items():
        write(name, text)
    set_up(kds_call, *ALL, *BOTH)
    shutil.rmtree("kds-brain/init")
    set_up(kds_call, "--undo")
    assert set(_toml()["mcp_servers"]) == {"db"}
    assert read("opencode.jsonc") == _json_of(THEIRS["opencode.jsonc"])
    assert read(".codex/hooks.json") == _json_of(THEIRS[".codex/hooks.json"])
    assert Path("AGENTS.md").read_text().rstrip() == THEIRS["AGENTS.md"]
    assert not Path(".cursor/rules/kds.mdc").exists()
    assert not Path(".opencode/plugin/kds.js").exists()


def _json_of(text: str) -> Any:
    return parse_json_text(text).value()


def test_a_broken_file_of_a_client_that_nobody_asked_for_stops_nobody(
    project: Path, kds_call: Call, write: Write
) -> None:
    set_up(kds_call, "--client", "codex", "--mcp")
    broken = write(".codex/config.toml", "mine = [")
    set_up(kds_call, "--client", "cursor", "--mcp")
    assert broken.read_text() == "mine = ["
    assert Path(".agents/skills/kds/SKILL.md").exists()
    assert kds_call("init", "--client", "codex", "--mcp").code == 2


def test_a_file_where_a_client_has_its_folder_does_not_stop_an_undo(
    project: Path, kds_call: Call, write: Write
) -> None:
    theirs = write(".vscode", "mine")
    assert kds_call("init", "--undo").code == 0
    assert theirs.read_text() == "mine"


def test_undo_keeps_what_the_user_added_since(project: Path, kds_call: Call) -> None:
    set_up(kds_call, *ALL, *BOTH)
    config, page = Path(".codex/config.toml"), Path("AGENTS.md")
    config.write_text(f'model = "o3"\n{config.read_text()}\n# about db\n[mcp_servers.db]\n')
    page.write_text(f"# Ours\n{page.read_text()}\nUse tabs.\n")
    set_up(kds_call, "--undo")
    assert config.read_text() == 'model = "o3"\n\n# about db\n[mcp_servers.db]\n'
    assert page.read_text() == "# Ours\n\nUse tabs.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = \n", ".codex/config.toml:1: is no TOML"),
        ('[mcp_servers.kds]\ncommand = "x"\n', "an MCP server named 'kds' is there"),
        ('mcp_servers = {db = {command = "db"}}\n', "in a form that only a person can add to"),
        ("mcp_servers = 1\n", "'mcp_servers' is no table"),
    ],
)
def test_a_configuration_of_codex_that_cannot_be_changed_is_refused(
    project: Path, kds_call: Call, write: Write, text: str, message: str
) -> None:
    write(".codex/config.toml", text)
    refused = kds_call("init", "--client", "codex", "--mcp")
    assert refused.code == 2
    assert message in refused.err
    assert Path(".codex/config.toml").read_text() == text


def test_a_server_of_codex_follows_a_program_that_moved(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(
        ".codex/config.toml",
        '[mcp_servers.kds]\ncommand = "/old/kds" # once\nargs = ["mcp"]\nenabled = true\n',
    )
    set_up(kds_call, "--client", "codex", "--mcp")
    entry = _toml()["mcp_servers"]["kds"]
    assert entry == {"command": "kds", "args": ["mcp"], "enabled": True}


def test_claude_and_codex_have_skills_each_and_doctor_knows(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "codex")
    set_up(kds_call, "--client", "claude")
    for folder in (".claude", ".agents"):
        assert Path(folder, "skills", "kds", "SKILL.md").exists()
    findings = json.loads(kds_call("doctor", "--json").out)["findings"]
    assert not [one for one in findings if one["mark"] == "problem"]


def test_doctor_sees_what_each_client_has_and_what_is_missing(
    project: Path, kds_call: Call, programs: Path
) -> None:
    set_up(kds_call, *ALL, *BOTH)
    checks: dict[str, str] = {}
    for one in json.loads(kds_call("doctor", "--json").out)["findings"]:
        assert one["mark"] != "problem", one
        checks[one["check"]] = checks.get(one["check"], "") + one["found"] + "\n"
    for name in (".codex/hooks.json", ".gemini/settings.json", ".opencode/plugin/kds.js"):
        assert f"one hook, in {name}\n" in checks["hook files"]
    for name in (".codex/config.toml", ".gemini/settings.json", "opencode.json"):
        assert f"{name} runs kds\n" in checks["mcp"]
    for name in ("kds", "kds-hook"):
        (programs / name).unlink()
    findings = json.loads(kds_call("doctor", "--json").out)["findings"]
    problems = [one["found"] for one in findings if one["mark"] == "problem"]
    assert ".codex/config.toml runs kds, which is not there" in problems
    assert ".opencode/plugin/kds.js runs kds-hook, which is not there" in problems


def test_a_folder_that_codex_does_not_trust_and_a_hook_that_nobody_saw_are_told(
    project: Path,
    kds_call: Call,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told() -> str:
        findings = json.loads(kds_call("doctor", "--json").out)["findings"]
        return "".join(one["found"] for one in findings if one["check"] == "trust")

    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    set_up(kds_call, "--client", "codex")
    assert told() == "", "Codex is not there"
    (programs / "codex").symlink_to(programs / "kds")
    assert "Codex does not trust" in told()
    config = tmp_path / "config.toml"
    config.write_text(f'[projects."{project}"]\ntrust_level = "trusted"\n')
    assert "nobody has told Codex yet" in told()
    state = f'[hooks.state."{project}/.codex/hooks.json:user_prompt_submit:0:0"]\n'
    config.write_text(f'{config.read_text()}{state}trusted_hash = "x"\n')
    assert told() == f"Codex trusts {project}"


def test_a_rule_changed_by_hand_stays_and_an_old_plugin_is_a_problem(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, *ALL)
    rule, plugin = Path(".cursor/rules/kds.mdc"), Path(".opencode/plugin/kds.js")
    rule.write_text(rule.read_text() + "mine")
    done = set_up(kds_call, *ALL)
    assert f"{rule} stays as it is: changed by hand" in done["notes"]
    plugin.write_text("// mine\n")
    done = set_up(kds_call, *ALL)
    assert f"{plugin} stays as it is: not written by KDS" in done["notes"]
    assert plugin.read_text() == "// mine\n"


@pytest.mark.parametrize("command", [r'"a\q"', '"a" + "b"'])
def test_a_plugin_that_is_not_as_we_write_it_is_no_fault_of_the_doctor(command: str) -> None:
    assert command_in(f"const COMMAND = {command}\n") is None
