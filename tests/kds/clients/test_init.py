"""`kds init` on real folders: what it writes, what it leaves alone, and the way back."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.brain.installation import install_line
from kds.cli.setup.init import init

from .conftest import Snapshot, read, set_up

Call = Callable[..., Any]
Write = Callable[[str, str], Path]

BOTH = ("--hook", "--mcp")
ALL = (
    *("--client", "claude", "--client", "copilot", "--client", "vscode", "--client", "cursor"),
    *BOTH,
)
HOOK = "kds-hook || true"
THEIRS = {
    ".claude/settings.json": '{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n',
    ".mcp.json": '{"mcpServers": {"github": {"command": "npx"}}}',
    ".vscode/mcp.json": '{\r\n\t"servers": {\r\n\t\t"x": {"command": "y"}, // one\r\n\t},\r\n}\r\n',
    ".cursor/mcp.json": "{}",
    ".gitignore": "node_modules\nkds-brain.txt",
    ".claude/skills/mine/SKILL.md": "---\nname: mine\n---\n",
}


def _commands(path: str) -> dict[str, list[str]]:
    return {
        event: [
            handler.get("command") or handler["bash"]
            for entry in entries
            for handler in entry.get("hooks", [entry])
        ]
        for event, entries in read(path)["hooks"].items()
    }


def test_claude_gets_hook_server_and_skills(project: Path, kds_call: Call) -> None:
    shutil.rmtree("kds-brain")
    set_up(kds_call, "--client", "claude", *BOTH)
    assert _commands(".claude/settings.json") == {
        "UserPromptSubmit": [HOOK],
        "SessionStart": [HOOK],
    }
    assert read(".mcp.json")["mcpServers"]["kds"]["command"] == "kds"
    assert len(list(Path(".claude/skills").iterdir())) == 14
    assert "kds-brain/*\n!kds-brain/rules/\n" in Path(".gitignore").read_text()
    assert stat.S_IMODE(Path("kds-brain").stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in Path("kds-brain/init").iterdir()} == {0o600}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_ignores_the_conversations_and_not_the_rules(project: Path, kds_call: Call) -> None:
    git = shutil.which("git", path=os.defpath) or "git"
    subprocess.run([git, "init", "-q"], check=True)
    set_up(kds_call, "--client", "claude")
    Path("kds-brain/rules").mkdir()
    Path("kds-brain/rules/own.yaml").write_text("")
    listed = subprocess.run(
        [git, "status", "--porcelain", "-uall"], check=True, capture_output=True, text=True
    ).stdout
    assert "kds-brain/rules/own.yaml" in listed
    assert "kds-brain/init" not in listed


def test_a_second_run_changes_nothing_and_says_so(
    project: Path, kds_call: Call, write: Write
) -> None:
    for name, text in THEIRS.items():
        write(name, text)
    set_up(kds_call, *ALL)
    before = Snapshot.of(project, without="-")
    assert set_up(kds_call, *ALL)["files"] == []
    assert Snapshot.of(project, without="-") == before
    assert "nothing to change" in kds_call("init", *ALL).out


@pytest.mark.parametrize("theirs", [{}, THEIRS], ids=["empty", "settled"])
def test_undo_gives_back_every_byte(
    project: Path, kds_call: Call, write: Write, theirs: dict[str, str]
) -> None:
    for name, text in theirs.items():
        write(name, text)
    (project / ".github").mkdir()
    before = Snapshot.of(project)
    set_up(kds_call, "--client", "copilot")
    set_up(kds_call, *ALL)
    set_up(kds_call, *ALL, "--no-start")
    assert Snapshot.of(project) != before
    undone = set_up(kds_call, "--undo")
    assert undone["files"]
    assert Snapshot.of(project) == before
    assert set_up(kds_call, "--undo")["files"] == []


def test_the_users_entries_keep_order_comments_and_layout(
    project: Path, kds_call: Call, write: Write
) -> None:
    for name, text in THEIRS.items():
        write(name, text)
    set_up(kds_call, *ALL)
    settings = Path(".claude/settings.json").read_text()
    assert settings.startswith('{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [], "User')
    vscode = Path(".vscode/mcp.json").read_bytes()
    assert vscode.startswith(
        b'{\r\n\t"servers": {\r\n\t\t"x": {"command": "y"}, // one\r\n\t\t"kds'
    )
    assert b"\n" not in vscode.replace(b"\r\n", b"")
    assert Path(".gitignore").read_text().startswith("node_modules\nkds-brain.txt\n# KDS")


def test_undo_keeps_what_the_user_changed_since(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".claude/settings.json", '{\n  "model": "opus"\n}\n')
    set_up(kds_call, *ALL)
    for name, old, new in (
        (".claude/settings.json", '"opus"', '"sonnet"'),
        (".mcp.json", '"mcpServers": {', '"mcpServers": {\n    "db": {"command": "x"},'),
        (".gitignore", "# KDS", "dist\n# KDS"),
    ):
        path = Path(name)
        path.write_text(path.read_text().replace(old, new, 1))
    skill = Path(".claude/skills/kds/SKILL.md")
    skill.write_text(skill.read_text() + "mine")
    set_up(kds_call, "--undo")
    assert Path(".claude/settings.json").read_text() == '{\n  "model": "sonnet"\n}\n'
    assert read(".mcp.json") == {"mcpServers": {"db": {"command": "x"}}}
    assert Path(".gitignore").read_text() == "dist\n"
    assert skill.exists()
    assert not Path(".claude/skills/kds-work-planner").exists()
    assert not Path(".vscode").exists()


def test_edits_between_two_runs_are_kept_too(project: Path, kds_call: Call, write: Write) -> None:
    write(".mcp.json", "{}\n")
    set_up(kds_call, "--client", "claude", *BOTH)
    path = Path(".mcp.json")
    path.write_text(path.read_text().replace('"mcp"', '"mcp", "--old"'))
    set_up(kds_call, "--client", "claude", *BOTH)
    assert read(".mcp.json")["mcpServers"]["kds"]["args"] == ["mcp"]
    set_up(kds_call, "--undo")
    assert read(".mcp.json") == {}


def test_an_undo_for_one_client_is_refused_and_says_how_to_keep_the_others(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "claude", "--client", "vscode", "--no-skills")
    before = Snapshot.of(project)
    refused = kds_call("init", "--undo", "--client", "vscode")
    assert refused.code != 0
    assert "kds init --undo, then `kds init --client claude`" in refused.err
    assert Snapshot.of(project) == before


def test_without_a_record_undo_goes_by_the_content(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".claude/settings.json", THEIRS[".claude/settings.json"])
    write(".mcp.json", THEIRS[".mcp.json"])
    set_up(kds_call, *ALL)
    shutil.rmtree("kds-brain/init")
    set_up(kds_call, "--undo")
    assert Path(".claude/settings.json").read_text() == THEIRS[".claude/settings.json"]
    assert read(".mcp.json") == json.loads(THEIRS[".mcp.json"])
    assert read(".vscode/mcp.json") == {}
    assert not list(Path(".claude").glob("skills/kds*"))


def test_a_clone_with_the_files_in_it_needs_no_change(project: Path, kds_call: Call) -> None:
    set_up(kds_call, *ALL)
    shutil.rmtree("kds-brain")
    assert set_up(kds_call, *ALL)["files"] == []


def test_a_dry_run_prints_a_diff_and_writes_nothing(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".mcp.json", THEIRS[".mcp.json"])
    shutil.rmtree("kds-brain")
    before = Snapshot.of(project, without="-")
    shown = kds_call("init", *ALL, "--dry-run")
    assert Snapshot.of(project, without="-") == before
    assert "--- /dev/null\n+++ b/.claude/settings.json\n" in shown.out
    assert f"-{THEIRS['.mcp.json']}\n\\ No newline at end of file\n" in shown.out
    assert "a dry run" in shown.out
    set_up(kds_call, *ALL)
    installed = Snapshot.of(project)
    assert "+++ /dev/null" in kds_call("init", "--undo", "--dry-run").out
    assert Snapshot.of(project) == installed


def test_copilot_alone_has_its_own_hook_file(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "copilot", *BOTH)
    assert read(".github/hooks/kds.json")["version"] == 1
    assert _commands(".github/hooks/kds.json") == {
        "userPromptSubmitted": [HOOK],
        "sessionStart": [HOOK],
    }
    assert not Path(".claude").exists()
    assert Path(".agents/skills/kds/SKILL.md").exists()
    assert "kds" in read(".mcp.json")["mcpServers"]


@pytest.mark.parametrize(
    "order",
    [("claude", "copilot"), ("copilot", "claude"), ("cursor", "claude", "copilot")],
)
def test_in_any_order_of_clients_there_is_one_hook_and_one_set_of_skills(
    project: Path, kds_call: Call, order: tuple[str, ...]
) -> None:
    for client in order:
        set_up(kds_call, "--client", client)
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert not Path(".github/hooks").exists()
    assert not Path(".agents/skills/kds").exists()
    assert len(list(Path(".claude/skills").iterdir())) == 14
    set_up(kds_call, "--undo")
    assert Snapshot.of(project) == Snapshot({}, frozenset())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "hook", "mcp"),
    [("\n", True, False), ("mcp\n", False, True), ("fax\nboth\n", True, True)],
)
def test_at_a_terminal_it_asks_for_hook_or_mcp(
    project: Path, monkeypatch: pytest.MonkeyPatch, answer: str, hook: bool, mcp: bool
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.chdir(project)
    init.main(["--client", "claude"], standalone_mode=False)
    assert "one is enough" in shown.getvalue()
    assert Path(".claude/settings.json").exists() is hook
    assert Path(".mcp.json").exists() is mcp


@pytest.mark.parametrize(
    ("arguments", "hook", "mcp"),
    [
        ((), True, False),
        (("--hook",), True, False),
        (("--mcp",), False, True),
        (("--hook", "--mcp"), True, True),
        (("--no-hook",), False, True),
        (("--no-mcp",), True, False),
        (("--no-hook", "--no-mcp"), False, False),
    ],
)
def test_one_way_is_enough_unless_both_are_asked_for(
    project: Path, kds_call: Call, arguments: tuple[str, ...], hook: bool, mcp: bool
) -> None:
    assert kds_call("init", "--client", "claude", *arguments).code == 0
    assert Path(".claude/settings.json").exists() is hook
    assert Path(".mcp.json").exists() is mcp


@pytest.mark.parametrize(
    "arguments",
    [("claude", "--no-mcp"), ("claude", "--no-hook"), ("claude", "--json"), ("cursor",)],
)
def test_nothing_is_asked_that_is_known(
    project: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("it would be read as an answer"))
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.chdir(project)
    init.main(["--client", *arguments], standalone_mode=False)
    assert "one is enough" not in shown.getvalue()


@pytest.mark.parametrize(
    "order", [("claude", "vscode"), ("vscode", "claude"), ("vscode", "claude", "copilot")]
)
@pytest.mark.parametrize("option", ["--start", "--no-mcp"])
def test_vs_code_has_a_hook_of_its_own_beside_that_of_claude_code(
    project: Path, kds_call: Call, order: tuple[str, ...], option: str
) -> None:
    set_up(kds_call, *(word for client in order[:2] for word in ("--client", client)), option)
    for client in order:
        set_up(kds_call, "--client", client, option)
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert _commands(".github/hooks/kds.json")["userPromptSubmitted"] == [HOOK]
    assert len(list(Path(".github/hooks").iterdir())) == 1
    set_up(kds_call, "--undo")
    assert Snapshot.of(project) == Snapshot({}, frozenset())


def test_claude_code_that_comes_after_vs_code_leaves_that_its_hook(
    project: Path, kds_call: Call
) -> None:
    for client in ("vscode", "claude"):
        set_up(kds_call, "--client", client)
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert _commands(".github/hooks/kds.json")["userPromptSubmitted"] == [HOOK]


def test_a_user_wide_hook_of_claude_is_not_doubled(
    project: Path, kds_call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "claude-home"
    home.mkdir()
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "kds-hook"}]}]}
    (home / "settings.json").write_text(json.dumps({"hooks": hooks}))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    done = set_up(kds_call, "--client", "claude", "--client", "copilot")
    assert any("has one for all projects" in note for note in done["notes"])
    assert not Path(".claude/settings.json").exists()
    assert Path(".github/hooks/kds.json").exists()


def test_an_enabled_plugin_is_not_doubled(project: Path, kds_call: Call, write: Write) -> None:
    text = '{"enabledPlugins": {"kds@kds": true, "other@kds": true}}'
    write(".claude/settings.json", text)
    done = set_up(kds_call, "--client", "claude")
    assert any("the plugin kds@kds brings it" in note for note in done["notes"])
    assert Path(".claude/settings.json").read_text() == text


def test_cursor_gets_hook_server_rule_and_skills(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "cursor", *BOTH)
    assert read(".cursor/hooks.json")["version"] == 1
    assert _commands(".cursor/hooks.json") == {
        "beforeSubmitPrompt": [HOOK],
        "sessionStart": [HOOK],
    }
    rule = Path(".cursor/rules/kds.mdc").read_text()
    assert "alwaysApply: false" in rule
    arguments = read(".cursor/mcp.json")["mcpServers"]["kds"]["args"]
    assert arguments == ["mcp", "--workspace", "${workspaceFolder}"]
    assert Path(".agents/skills/kds/SKILL.md").exists()


def test_programs_of_an_environment_go_into_the_local_settings(
    project: Path, programs: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = tmp_path / "my env"
    shutil.copytree(programs, environment / "bin", symlinks=True)
    (environment / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", str(environment / "bin"))
    monkeypatch.setattr("sys.executable", str(environment / "bin" / "python"))
    done = set_up(kds_call, "--client", "claude", *BOTH)
    assert not Path(".claude/settings.json").exists()
    (command,) = _commands(".claude/settings.local.json")["UserPromptSubmit"]
    assert command == f"'{environment}/bin/kds-hook' || true"
    assert read(".mcp.json")["mcpServers"]["kds"]["command"] == f"{environment}/bin/kds"
    assert any("do not commit" in note for note in done["notes"])
    assert ".claude/settings.local.json\n" in Path(".gitignore").read_text()
    monkeypatch.setenv("PATH", str(programs))
    set_up(kds_call, "--client", "claude", *BOTH)
    assert not Path(".claude/settings.local.json").exists()
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]


def test_programs_that_are_nowhere_are_an_error(
    project: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    refused = kds_call("init", "--client", "claude")
    assert refused.code == 2
    assert install_line(tool="pipx install") in refused.err


def test_parts_can_be_left_out(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "claude", "--no-mcp", "--no-skills", "--no-start")
    assert _commands(".claude/settings.json") == {
        "UserPromptSubmit": ["kds-hook --no-start || true"]
    }
    assert not Path(".mcp.json").exists()
    assert not Path(".claude/skills").exists()


def test_the_copilot_servers_stay_in_their_file(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".github/mcp.json", '{"mcpServers": {}}')
    set_up(kds_call, "--client", "copilot", *BOTH)
    assert "kds" in read(".github/mcp.json")["mcpServers"]
    assert not Path(".mcp.json").exists()
    done = set_up(kds_call, "--client", "claude", "--client", "copilot", *BOTH)
    assert any("move your servers there" in note for note in done["notes"])
    assert "kds" in read(".mcp.json")["mcpServers"]


def test_clients_are_found_by_what_they_leave_and_by_their_programs(
    project: Path, kds_call: Call, write: Write, programs: Path
) -> None:
    refused = kds_call("init")
    assert refused.code == 2
    assert "--client claude" in refused.err
    (project / ".github" / "workflows").mkdir(parents=True)
    assert kds_call("init").code == 2, ".github alone is no sign of Copilot"
    write("CLAUDE.md", "")
    (project / ".vscode").mkdir()
    (programs / "cursor").symlink_to(programs / "kds")
    assert set_up(kds_call)["clients"] == [
        {"client": "claude", "because": "CLAUDE.md"},
        {"client": "vscode", "because": ".vscode"},
        {"client": "cursor", "because": "`cursor` on the PATH"},
    ]


def test_a_workspace_below_kds_belongs_to_the_project_above(project: Path, kds_call: Call) -> None:
    shutil.rmtree("kds-brain")
    Path("KDS/kds-brain").mkdir(parents=True)
    set_up(kds_call, "--client", "claude")
    assert Path(".claude/settings.json").exists()
    assert "KDS/kds-brain/*\n" in Path(".gitignore").read_text()


@pytest.mark.parametrize("line", ["kds-brain/", "/kds-brain", "kds-brain/*"])
def test_what_is_ignored_already_is_not_ignored_again(
    project: Path, kds_call: Call, write: Write, line: str
) -> None:
    path = write(".gitignore", f"{line}\n")
    set_up(kds_call, "--client", "claude")
    assert path.read_text() == f"{line}\n"


def test_all_files_that_cannot_be_worked_with_are_named_at_once(
    project: Path, kds_call: Call, write: Write
) -> None:
    shutil.rmtree("kds-brain")
    write(".claude/settings.json", '{\n  "hooks": [1,\n}')
    write(".vscode/mcp.json", "{}")
    write(".mcp.json", '{"mcpServers": {"kds": {"command": "other"}}}')
    Path(".gitignore").write_bytes(b"\xff\n")
    before = Snapshot.of(project, without="-")
    refused = kds_call("init", *ALL)
    assert refused.code == 2
    assert f"{project}/.claude/settings.json:3: is no JSON" in refused.err
    assert f"{project}/.mcp.json:1: an MCP server named 'kds' is there" in refused.err
    assert f"{project}/.gitignore:1: is not UTF-8 text" in refused.err
    assert refused.err.count("fix:") == 3
    assert Snapshot.of(project, without="-") == before


def test_a_link_out_of_the_project_is_refused(
    project: Path, kds_call: Call, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(".claude").symlink_to(tmp_path / "elsewhere")
    refused = kds_call("init", "--client", "claude")
    assert refused.code == 2
    assert "is reached by a link that leaves the project" in refused.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_within_the_project_stays_one(project: Path, kds_call: Call, write: Write) -> None:
    write("config/mcp.json", "{}")
    Path(".mcp.json").symlink_to("config/mcp.json")
    set_up(kds_call, "--client", "claude", *BOTH)
    assert Path(".mcp.json").is_symlink()
    assert "kds" in read("config/mcp.json")["mcpServers"]
    set_up(kds_call, "--undo")
    assert Path("config/mcp.json").read_text() == "{}"


def test_a_read_only_file_is_refused_and_a_mode_is_kept(
    project: Path, kds_call: Call, write: Write
) -> None:
    path = write(".mcp.json", "{}")
    path.chmod(0o444)
    refused = kds_call("init", "--client", "claude", *BOTH)
    assert refused.code == 2
    assert f"{path}: cannot write it: the file is read-only" in refused.err
    path.chmod(0o640)
    set_up(kds_call, "--client", "claude", *BOTH)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_damaged_record_is_refused_with_a_way_out(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "claude", *BOTH)
    Path("kds-brain/init/record.json").write_text("{")
    refused = kds_call("init", "--undo")
    assert refused.code == 2
    assert "it is no record of kds init" in refused.err
    Path("kds-brain/init/record.json").unlink()
    set_up(kds_call, "--undo")
    assert not list(Path(".claude").glob("skills/*"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _foreign_record(write: Write, name: str, before: str | None, after: str, *folders: str) -> None:
    """A record as somebody may put it into a project that others clone."""
    kind = "generated" if name.endswith("SKILL.md") else "settings"
    file = {"kind": kind, "before": before, "after": _digest(after)}
    record = {"files": {name: file}, "folders": folders}
    write("kds-brain/init/record.json", json.dumps(record)).chmod(0o600)


@pytest.mark.parametrize(
    ("name", "before", "folders"),
    [
        (".mcp.json", "../../../secret", ()),
        (".mcp.json", "secret.before", ()),
        (".git/config", None, ()),
        (".claude/skills/../SKILL.md", None, ()),
        (".github/hooks/../../.mcp.json", None, ()),
        ("../.mcp.json", None, ()),
        ("/.mcp.json", None, ()),
        (".mcp.json", None, ("../empty",)),
        (".mcp.json", None, (".claude/../../empty",)),
        (".mcp.json", None, ("/empty",)),
        (".mcp.json", None, ("src",)),
    ],
)
@pytest.mark.parametrize("arguments", [("--undo",), ("--client", "claude")])
def test_a_record_that_names_what_kds_does_not_write_is_refused(
    project: Path,
    kds_call: Call,
    write: Write,
    name: str,
    before: str | None,
    folders: tuple[str, ...],
    arguments: tuple[str, ...],
) -> None:
    (project.parent / "empty").mkdir(exist_ok=True)
    (project / "src").mkdir()
    write("../secret", "private key")
    write(".git/config", "text")
    write(".mcp.json", "text")
    _foreign_record(write, name, before, "text", *folders)
    files = Snapshot.of(project)
    refused = kds_call("init", *arguments)
    assert refused.code == 2
    assert "it is no record of kds init" in refused.err
    assert Snapshot.of(project) == files
    assert (project.parent / "empty").is_dir()


def test_a_copy_that_is_not_the_one_kept_is_refused(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".mcp.json", "{}")
    copy = f"{_digest('mine')[:16]}.before"
    _foreign_record(write, ".mcp.json", copy, "{}")
    write(f"kds-brain/init/{copy}", "another")
    assert "it was changed since" in kds_call("init", "--undo").err
    assert Path(".mcp.json").read_text() == "{}"


def test_a_link_into_version_control_is_refused(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".git/config", "predictable")
    Path(".mcp.json").symlink_to(".git/config")
    copy = f"{_digest('[core] fsmonitor = evil')[:16]}.before"
    _foreign_record(write, ".mcp.json", copy, "predictable")
    write(f"kds-brain/init/{copy}", "[core] fsmonitor = evil")
    refused = kds_call("init", "--undo")
    assert "is reached by a link into the files of version control" in refused.err
    assert Path(".git/config").read_text() == "predictable"


def test_a_folder_of_the_record_behind_a_link_is_not_removed(
    project: Path, kds_call: Call, write: Write, tmp_path: Path
) -> None:
    (tmp_path / "home" / "skills").mkdir(parents=True)
    Path(".claude").symlink_to(tmp_path / "home")
    write(".mcp.json", "{}")
    _foreign_record(write, ".mcp.json", None, "{}", ".claude/skills")
    assert "a link that leaves the project" in kds_call("init", "--undo").err
    assert (tmp_path / "home" / "skills").is_dir()
    assert Path(".mcp.json").exists()


@pytest.mark.parametrize("arguments", [("--undo",), ("--client", "claude")])
def test_a_folder_of_records_that_is_a_link_is_refused(
    project: Path, kds_call: Call, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.before").write_text("mine")
    Path("kds-brain/init").symlink_to(tmp_path / "elsewhere")
    assert "it is a link" in kds_call("init", *arguments).err
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["x.before"]


def test_skills_changed_by_hand_stay_and_are_named(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "claude")
    skill = Path(".claude/skills/kds/SKILL.md")
    skill.write_text(skill.read_text() + "mine")
    done = set_up(kds_call, "--client", "claude")
    assert ".claude/skills/kds/SKILL.md stays as it is: changed by hand" in done["notes"]
    assert skill.read_text().endswith("mine")


def _git(project: Path, *arguments: str) -> None:
    git = shutil.which("git", path=os.defpath)
    if git is None:
        pytest.skip("needs git")
    subprocess.run([git, "-C", str(project), *arguments], check=True, capture_output=True)


def test_in_a_subfolder_the_top_of_the_repository_is_set_up_and_said(
    project: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    _git(project, "init", "-q")
    (project / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "src" / "deep")
    done = set_up(kds_call, "--client", "claude")
    assert done["project"] == str(project)
    assert f"for {project}/src/deep alone: kds init --workspace ." in done["notes"][0]
    assert (project / "kds-brain").is_dir()
    assert list((project / "src" / "deep").iterdir()) == []
    assert set_up(kds_call, "--client", "claude")["notes"] == []
    assert set_up(kds_call, "--undo")["files"] != []


def test_a_subfolder_is_set_up_when_it_is_named_or_has_a_workspace(
    project: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    _git(project, "init", "-q")
    sub = project / "part"
    sub.mkdir()
    monkeypatch.chdir(sub)
    done = set_up(kds_call, "--client", "claude", "--workspace", ".")
    assert (done["project"], done["notes"]) == (str(sub), [])
    (note,) = set_up(kds_call, "--client", "claude")["notes"]
    assert note.endswith(f"for all of it: kds init --workspace {project}")


def test_a_home_under_version_control_is_no_project(
    project: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    (project / ".git").mkdir()
    (project / "plain").mkdir()
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.chdir(project / "plain")
    assert set_up(kds_call, "--client", "claude")["project"] == f"{project}/plain"


def test_a_workspace_that_others_may_read_is_closed(
    project: Path, kds_call: Call, write: Write
) -> None:
    brain = project / "kds-brain"
    brain.chmod(0o755)
    rules = write("kds-brain/rules/own.yaml", "")
    memory = write("kds-brain/memory.db", "")
    for path in (rules, memory):
        path.chmod(0o644)
    shown = set_up(kds_call, "--client", "claude", "--dry-run")
    assert stat.S_IMODE(brain.stat().st_mode) == 0o755
    done = set_up(kds_call, "--client", "claude")
    told = "takes the rights of others from 2 files and folders in kds-brain/"
    assert told in shown["notes"]
    assert told in done["notes"]
    assert [stat.S_IMODE(p.stat().st_mode) for p in (brain, memory, rules)] == [
        *(0o700, 0o600, 0o644)
    ]


def test_what_was_exported_for_others_is_no_sign_of_an_assistant(
    project: Path, kds_call: Call, write: Write
) -> None:
    for kind, folder, *client in (
        ("prompts", ".github/prompts"),
        ("agents", ".github/agents"),
        ("prompts", ".cursor/commands", "--client", "cursor"),
        ("skills", ".claude/skills"),
    ):
        assert kds_call("export", kind, "--to", folder, *client).code == 0
    assert kds_call("init").code == 2
    write(".github/prompts/mine.prompt.md", "Mine.\n")
    assert set_up(kds_call)["clients"] == [{"client": "copilot", "because": ".github/prompts"}]


def test_what_init_wrote_is_a_sign_of_an_assistant(project: Path, kds_call: Call) -> None:
    set_up(kds_call, "--client", "claude", "--no-hook")
    assert set_up(kds_call)["clients"] == [{"client": "claude", "because": ".claude"}]


def test_a_dry_run_lists_new_skills_and_shows_them_when_asked(
    project: Path, kds_call: Call, write: Write
) -> None:
    write(".mcp.json", "{}")
    shown = kds_call("init", "--client", "claude", *BOTH, "--dry-run").out
    assert "+++ b/.mcp.json" in shown
    assert "SKILL.md" not in shown
    assert ".claude/skills/ (14 skills)" in shown
    assert "--full shows the text of 14 generated files" in shown
    assert len(shown.splitlines()) < 80
    full = kds_call("init", "--client", "claude", *BOTH, "--dry-run", "--full").out
    assert full.count("+++ b/.claude/skills/") == 14
    refused = kds_call("init", "--client", "claude", *BOTH, "--full")
    assert (refused.code, "add --dry-run" in refused.err) == (2, True)


def test_a_dry_run_has_its_diffs_as_json_too(project: Path, kds_call: Call, write: Write) -> None:
    write(".mcp.json", "{}")
    rows = {
        row["path"]: row["diff"]
        for row in set_up(kds_call, "--client", "claude", *BOTH, "--dry-run")["files"]
    }
    assert rows[".mcp.json"].startswith("--- a/.mcp.json\n+++ b/.mcp.json\n")
    assert rows[".claude/skills/kds/SKILL.md"] is None
    full = set_up(kds_call, "--client", "claude", *BOTH, "--dry-run", "--full")["files"]
    assert all(row["diff"] for row in full)
    assert "diff" not in set_up(kds_call, "--client", "claude", *BOTH)["files"][0]


def test_an_undo_says_what_stays_and_a_second_one_that_there_is_nothing(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "claude")
    kds_call("context", "log", "--message", "Add a FAB button", "--intent", "PLAN")
    first = kds_call("init", "--undo").out
    assert f"{project}/kds-brain stays, with the conversations" in first
    assert "kds service stop" not in first
    assert first.endswith("taken back; restart the assistants\n")
    assert kds_call("init", "--undo").out.endswith("nothing to undo here\n")


def test_an_undo_leaves_nothing_behind_where_nothing_else_was_kept(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "claude")
    told = kds_call("init", "--undo").out
    assert "stays" not in told
    assert list(project.iterdir()) == []


def test_an_undo_keeps_the_folder_that_the_user_has_something_in(
    project: Path, kds_call: Call
) -> None:
    set_up(kds_call, "--client", "claude")
    ignored = project / "kds-brain" / ".gitignore"
    ignored.write_text("# mine\n")
    kds_call("init", "--undo")
    assert list((project / "kds-brain").iterdir()) == [ignored]


def test_notes_of_the_project_in_prompts_do_not_keep_kds_out(
    project: Path, kds_call: Call, write: Write
) -> None:
    note = write("prompts/user/onboarding.md", "# Welcome\n")
    assert set_up(kds_call, "--client", "claude")["files"]
    checked = kds_call("prompts", "check")
    assert checked.code == 0
    assert f"kds: {note}:1: has no front matter" in checked.err
    assert "fix: if it is to be one" in checked.err
    rows = json.loads(kds_call("prompts", "check", "--json").out)["passed_over"]
    assert [row["where"] for row in rows] == [f"{note}:1"]
