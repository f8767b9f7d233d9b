"""`kds init` on real folders: what it writes, what it leaves alone, and the way back."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from skills_ref.validator import validate_metadata

from kds.brain.installation import install_line
from kds.cli.commands.init import init
from kds.clients.generated import digest_in, digest_of

from .conftest import Project, Snapshot, read

BOTH = ("--hook", "--mcp")
CLIENTS = ("claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode", "agents")
ALL = (*CLIENTS, *BOTH, "--skills")
HOOK = "kds-hook 2>/dev/null || true"
THEIRS = {
    ".claude/settings.json": '{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n',
    ".mcp.json": '{"mcpServers": {"github": {"command": "npx"}}}',
    ".vscode/mcp.json": '{\r\n\t"servers": {\r\n\t\t"x": {"command": "y"}, // one\r\n\t},\r\n}\r\n',
    ".cursor/mcp.json": "{}",
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "x"}]}}\n',
    ".cursor/rules/mine.mdc": "mine",
    ".codex/config.toml": '# mine\nmodel = "o3"\n\n[mcp_servers.db]\ncommand = "db"\n',
    ".codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    ".gemini/settings.json": '{\n  // mine\n  "ui": {"theme": "x"},\n}\n',
    "opencode.jsonc": '{\n\t"mcp": {"db": {"type": "local", "command": ["db"]}}\n}\n',
    ".opencode/plugin/mine.js": "export const Mine = async () => ({})\n",
    "AGENTS.md": "# Our rules\n\nUse tabs.",
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


@pytest.mark.parametrize(
    ("client", "hooks", "events", "servers"),
    [
        ("claude", ".claude/settings.json", "UserPromptSubmit SessionStart", ".mcp.json"),
        ("copilot", ".github/hooks/kds.json", "userPromptSubmitted sessionStart", ".mcp.json"),
        ("cursor", ".cursor/hooks.json", "beforeSubmitPrompt sessionStart", ".cursor/mcp.json"),
        ("codex", ".codex/hooks.json", "UserPromptSubmit SessionStart", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", "BeforeAgent SessionStart", ".gemini/settings.json"),
    ],
)
def test_a_client_gets_hook_server_and_skill_where_it_reads_them(
    project: Project, client: str, hooks: str, events: str, servers: str
) -> None:
    project.init(client, *BOTH, "--skills")
    assert _commands(hooks) == {event: [HOOK] for event in events.split()}
    assert read(hooks).get("version") == (1 if client in ("copilot", "cursor") else None)
    entry = read(servers)["mcp_servers" if client == "codex" else "mcpServers"]["kds"]
    here = ["--workspace", "${workspaceFolder}"] if client == "cursor" else []
    assert (entry["command"], entry["args"]) == ("kds", ["mcp", *here])
    skills = Path(".claude" if client == "claude" else ".agents", "skills")
    assert [path.name for path in skills.iterdir()] == ["kds"]
    assert Path(".claude").exists() is (client == "claude")


def _front(path: str) -> dict[str, Any]:
    front = yaml.safe_load(Path(path).read_text().split("---\n")[1])
    assert isinstance(front, dict)
    return front


def test_by_default_nothing_is_listed_in_every_request(project: Project) -> None:
    project.init(*(one for one in CLIENTS if one not in ("cursor", "agents")))
    assert not list(project.folder.glob(".*/skills"))
    assert not [path for path in project.folder.rglob("*mcp*") if "kds-brain" not in path.parts]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_the_one_skill_is_short_and_for_when_it_is_asked_for(project: Project, client: str) -> None:
    project.init(client, "--skills")
    (path,) = project.folder.glob(".*/skills/*/SKILL.md")
    front = _front(str(path))
    assert "Only when the user asks for KDS" in front["description"]
    assert len(f"{front['name']}: {front['description']}") / 4 < 60, "tokens"
    assert ("allowed-tools" in front) is (client == "claude")
    wrong = validate_metadata({k: v for k, v in front.items() if k != "license"}, path.parent)
    assert wrong == []


def _found(text: str) -> str:
    found = digest_in(text)
    assert found is not None
    return found


def test_the_one_skill_stays_and_follows_a_later_init(project: Project, programs: Path) -> None:
    project.init("claude", "--skills")
    skill = Path(".claude/skills/kds/SKILL.md")
    text = skill.read_text()
    older = text.replace("`kds route", "`/old/kds route")
    skill.write_text(older.replace(_found(older), digest_of(older)))
    project.init("claude")
    assert skill.read_text() == text


def test_what_is_kept_of_it_is_private_and_ignored(project: Project) -> None:
    shutil.rmtree("kds-brain")
    project.init("claude", *BOTH)
    assert "kds-brain/*\n!kds-brain/rules/\n" in Path(".gitignore").read_text()
    assert stat.S_IMODE(Path("kds-brain").stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in Path("kds-brain/init").iterdir()} == {0o600}


def _settle(project: Project) -> None:
    for name, text in THEIRS.items():
        project.write(name, text)


def test_a_second_run_changes_nothing_and_says_so(project: Project) -> None:
    _settle(project)
    project.init(*ALL)
    before = Snapshot.of(project.folder, without="-")
    assert project.init(*ALL)["files"] == []
    assert Snapshot.of(project.folder, without="-") == before
    assert "nothing to change" in project.try_init(*ALL).out


@pytest.mark.parametrize("theirs", [False, True], ids=["empty", "settled"])
def test_undo_gives_back_every_byte(project: Project, theirs: bool) -> None:
    if theirs:
        _settle(project)
    (project.folder / ".github").mkdir()
    before = Snapshot.of(project.folder)
    project.init("copilot")
    project.init(*ALL)
    assert not theirs or not Path("opencode.json").exists()
    project.init(*ALL, "--no-start")
    assert Snapshot.of(project.folder) != before
    assert project.init("--undo")["files"]
    assert Snapshot.of(project.folder) == before
    assert project.init("--undo")["files"] == []


def test_undo_keeps_what_the_user_changed_since(project: Project) -> None:
    project.write(".claude/settings.json", '{\n  "model": "opus"\n}\n')
    project.init(*ALL)
    for name, old, new in (
        (".claude/settings.json", '"opus"', '"sonnet"'),
        (".mcp.json", '"mcpServers": {', '"mcpServers": {\n    "db": {"command": "x"},'),
        (".gitignore", "# KDS", "dist\n# KDS"),
        (".codex/config.toml", "[", 'model = "o3"\n['),
        (".codex/config.toml", '["mcp"]\n', '["mcp"]\n\n# about db\n[mcp_servers.db]\n'),
        ("AGENTS.md", "<!--", "# Ours\n<!--"),
        ("AGENTS.md", "kds: end -->\n", "kds: end -->\n\nUse tabs.\n"),
        (".claude/skills/kds/SKILL.md", "---\n", "---\nmine: 1\n"),
    ):
        path = Path(name)
        text = path.read_text().replace(old, new, 1)
        assert new in text
        path.write_text(text)
    project.init("--undo")
    assert Path(".claude/settings.json").read_text() == '{\n  "model": "sonnet"\n}\n'
    assert read(".mcp.json") == {"mcpServers": {"db": {"command": "x"}}}
    assert Path(".gitignore").read_text() == "dist\n"
    config = 'model = "o3"\n\n# about db\n[mcp_servers.db]\n'
    assert Path(".codex/config.toml").read_text() == config
    assert Path("AGENTS.md").read_text() == "# Ours\n\nUse tabs.\n"
    assert [path.name for path in Path(".claude/skills").iterdir()] == ["kds"]
    assert not Path(".vscode").exists()


def test_without_a_record_undo_goes_by_the_content(project: Project) -> None:
    _settle(project)
    project.init(*ALL)
    shutil.rmtree("kds-brain/init")
    project.init("--undo")
    left = Snapshot.of(project.folder).files | {".cursor/mcp.json": b"{}"}
    assert {name: text.decode().split() for name, text in left.items()} == {
        name: text.split() for name, text in THEIRS.items()
    }


def _git(*arguments: str) -> str:
    git = shutil.which("git", path=os.defpath)
    if git is None:
        pytest.skip("needs git")
    return subprocess.run([git, *arguments], check=True, capture_output=True, text=True).stdout


def test_git_ignores_the_conversations_and_not_the_rules(project: Project) -> None:
    _git("init", "-q")
    project.init("claude")
    Path("kds-brain/rules").mkdir()
    Path("kds-brain/rules/own.yaml").write_text("")
    listed = _git("status", "--porcelain", "-uall")
    assert "kds-brain/rules/own.yaml" in listed
    assert "kds-brain/init" not in listed


def test_the_users_entries_keep_order_comments_and_layout(project: Project) -> None:
    _settle(project)
    project.init(*ALL)
    settings = Path(".claude/settings.json").read_text()
    assert settings.startswith('{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [], "User')
    vscode = Path(".vscode/mcp.json").read_bytes()
    assert vscode.startswith(
        b'{\r\n\t"servers": {\r\n\t\t"x": {"command": "y"}, // one\r\n\t\t"kds'
    )
    assert b"\n" not in vscode.replace(b"\r\n", b"")
    assert Path(".gitignore").read_text().startswith("node_modules\nkds-brain.txt\n# KDS")


def test_an_undo_for_one_client_is_refused_and_says_how_to_keep_the_others(
    project: Project,
) -> None:
    project.init("claude", "vscode")
    before = Snapshot.of(project.folder)
    refused = project.try_init("--undo", "vscode")
    assert refused.code != 0
    assert "kds init --undo, then `kds init --client claude`" in refused.err
    assert Snapshot.of(project.folder) == before


def test_a_clone_with_the_files_in_it_needs_no_change(project: Project) -> None:
    project.init(*ALL)
    shutil.rmtree("kds-brain")
    assert project.init(*ALL)["files"] == []


def test_a_dry_run_prints_a_diff_and_writes_nothing(project: Project) -> None:
    project.write(".mcp.json", THEIRS[".mcp.json"])
    shutil.rmtree("kds-brain")
    before = Snapshot.of(project.folder, without="-")
    shown = project.try_init(*ALL, "--dry-run")
    assert Snapshot.of(project.folder, without="-") == before
    assert "--- /dev/null\n+++ b/.claude/settings.json\n" in shown.out
    assert f"-{THEIRS['.mcp.json']}\n\\ No newline at end of file\n" in shown.out
    assert "a dry run" in shown.out
    project.init(*ALL)
    installed = Snapshot.of(project.folder)
    assert "+++ /dev/null" in project.try_init("--undo", "--dry-run").out
    assert Snapshot.of(project.folder) == installed


@pytest.mark.parametrize(
    "order",
    [("claude", "copilot"), ("copilot", "claude"), ("cursor", "claude", "copilot")],
)
def test_in_any_order_of_clients_there_is_one_hook_and_one_set_of_skills(
    project: Project, order: tuple[str, ...]
) -> None:
    for client in order:
        project.init(client, "--skills")
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert not Path(".github/hooks").exists()
    assert not Path(".agents/skills/kds").exists()
    assert [path.name for path in Path(".claude/skills").iterdir()] == ["kds"]
    project.init("--undo")
    assert Snapshot.of(project.folder) == Snapshot({}, frozenset())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "hook", "mcp"),
    [("\n", True, False), ("mcp\n", False, True), ("fax\nboth\n", True, True)],
)
def test_at_a_terminal_it_asks_for_hook_or_mcp(
    project: Project, monkeypatch: pytest.MonkeyPatch, answer: str, hook: bool, mcp: bool
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.chdir(project.folder)
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
    project: Project, arguments: tuple[str, ...], hook: bool, mcp: bool
) -> None:
    assert project.try_init("claude", *arguments).code == 0
    assert Path(".claude/settings.json").exists() is hook
    assert Path(".mcp.json").exists() is mcp


@pytest.mark.parametrize(
    "arguments",
    [("claude", "--no-mcp"), ("claude", "--no-hook"), ("claude", "--json"), ("cursor",)],
)
def test_nothing_is_asked_that_is_known(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("it would be read as an answer"))
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    monkeypatch.chdir(project.folder)
    init.main(["--client", *arguments], standalone_mode=False)
    assert "one is enough" not in shown.getvalue()


@pytest.mark.parametrize(
    "order", [("claude", "vscode"), ("vscode", "claude"), ("vscode", "claude", "copilot")]
)
@pytest.mark.parametrize("option", ["--start", "--no-mcp"])
def test_vs_code_has_a_hook_of_its_own_beside_that_of_claude_code(
    project: Project, order: tuple[str, ...], option: str
) -> None:
    project.init(*order[:2], option)
    for client in order:
        project.init(client, option)
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert _commands(".github/hooks/kds.json")["userPromptSubmitted"] == [HOOK]
    assert len(list(Path(".github/hooks").iterdir())) == 1
    project.init("--undo")
    assert Snapshot.of(project.folder) == Snapshot({}, frozenset())


def test_a_user_wide_hook_of_claude_is_not_doubled(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "claude-home"
    home.mkdir()
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "kds-hook"}]}]}
    (home / "settings.json").write_text(json.dumps({"hooks": hooks}))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    done = project.init("claude", "copilot")
    assert any("has one for all projects" in note for note in done["notes"])
    assert not Path(".claude/settings.json").exists()
    assert Path(".github/hooks/kds.json").exists()


def test_who_has_the_files_and_not_kds_sees_nothing(project: Project, tmp_path: Path) -> None:
    project.write(".codex/hooks.json", '{"hooks": {}}')
    project.write(".claude/settings.json", json.dumps(
        {"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "kds-hook || true"}]}]}}
    ))  # fmt: skip
    project.init("claude", "codex", "gemini", "copilot")
    for name in (".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"):
        for command in {one for each in _commands(name).values() for one in each}:
            done = subprocess.run(
                ["/bin/sh", "-c", command], env={"PATH": str(tmp_path)}, capture_output=True
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), name


def test_programs_of_an_environment_go_into_the_local_settings(
    project: Project, programs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = tmp_path / "my env"
    shutil.copytree(programs, environment / "bin", symlinks=True)
    (environment / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", str(environment / "bin"))
    monkeypatch.setattr("sys.executable", str(environment / "bin" / "python"))
    done = project.init("claude", *BOTH, "--skills")
    assert not Path(".claude/settings.json").exists()
    (command,) = _commands(".claude/settings.local.json")["UserPromptSubmit"]
    assert command == f"'{environment}/bin/kds-hook' 2>/dev/null || true"
    skill = Path(".claude/skills/kds/SKILL.md")
    assert f"run `'{environment}/bin/kds' route --json 'MESSAGE'`" in skill.read_text()
    assert f"Bash('{environment}/bin/kds' route *)" in _front(str(skill))["allowed-tools"]
    assert read(".mcp.json")["mcpServers"]["kds"]["command"] == f"{environment}/bin/kds"
    assert any("do not commit" in note for note in done["notes"])
    assert ".claude/settings.local.json\n" in Path(".gitignore").read_text()
    monkeypatch.setenv("PATH", str(programs))
    project.init("claude", *BOTH)
    assert not Path(".claude/settings.local.json").exists()
    assert _commands(".claude/settings.json")["UserPromptSubmit"] == [HOOK]
    assert "run `kds route --json 'MESSAGE'`" in skill.read_text()


def test_programs_that_are_nowhere_are_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    refused = project.try_init("claude")
    assert refused.code == 2
    assert install_line(tool="pipx install") in refused.err


def test_the_copilot_servers_stay_in_their_file(project: Project) -> None:
    project.write(".github/mcp.json", '{"mcpServers": {}}')
    project.init("copilot", *BOTH)
    assert "kds" in read(".github/mcp.json")["mcpServers"]
    assert not Path(".mcp.json").exists()
    done = project.init("claude", "copilot", *BOTH)
    assert any("move your servers there" in note for note in done["notes"])
    assert "kds" in read(".mcp.json")["mcpServers"]


def test_clients_are_found_by_what_they_leave_and_by_their_programs(
    project: Project, programs: Path
) -> None:
    refused = project.try_init()
    assert refused.code == 2
    assert "--client claude" in refused.err
    (project.folder / ".github" / "workflows").mkdir(parents=True)
    assert project.try_init().code == 2, ".github alone is no sign of Copilot"
    project.write("CLAUDE.md", "")
    (project.folder / ".vscode").mkdir()
    (programs / "cursor").symlink_to(programs / "kds")
    assert project.init()["clients"] == [
        {"client": "claude", "because": "CLAUDE.md"},
        {"client": "vscode", "because": ".vscode"},
        {"client": "cursor", "because": "`cursor` on the PATH"},
    ]


def test_a_workspace_below_kds_belongs_to_the_project_above(project: Project) -> None:
    shutil.rmtree("kds-brain")
    Path("KDS/kds-brain").mkdir(parents=True)
    project.init("claude")
    assert Path(".claude/settings.json").exists()
    assert "KDS/kds-brain/*\n" in Path(".gitignore").read_text()


def test_all_files_that_cannot_be_worked_with_are_named_at_once(project: Project) -> None:
    shutil.rmtree("kds-brain")
    project.write(".claude/settings.json", '{\n  "hooks": [1,\n}')
    project.write(".vscode/mcp.json", "{}")
    project.write(".mcp.json", '{"mcpServers": {"kds": {"command": "other"}}}')
    Path(".gitignore").write_bytes(b"\xff\n")
    before = Snapshot.of(project.folder, without="-")
    refused = project.try_init(*ALL)
    assert refused.code == 2
    assert f"{project.folder}/.claude/settings.json:3: invalid JSON" in refused.err
    assert f"{project.folder}/.mcp.json:1: an MCP server named 'kds' is there" in refused.err
    assert f"{project.folder}/.gitignore:1: is not UTF-8 text" in refused.err
    assert refused.err.count("fix:") == 3
    assert Snapshot.of(project.folder, without="-") == before


def test_a_link_out_of_the_project_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(".claude").symlink_to(tmp_path / "elsewhere")
    refused = project.try_init("claude")
    assert refused.code == 2
    assert "is reached by a link that leaves the project" in refused.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_within_the_project_stays_one(project: Project) -> None:
    project.write("config/mcp.json", "{}")
    Path(".mcp.json").symlink_to("config/mcp.json")
    project.init("claude", *BOTH)
    assert Path(".mcp.json").is_symlink()
    assert "kds" in read("config/mcp.json")["mcpServers"]
    project.init("--undo")
    assert Path("config/mcp.json").read_text() == "{}"


def test_a_read_only_file_is_refused_and_a_mode_is_kept(project: Project) -> None:
    path = project.write(".mcp.json", "{}")
    path.chmod(0o444)
    refused = project.try_init("claude", *BOTH)
    assert refused.code == 2
    assert f"{path}: cannot write it: the file is read-only" in refused.err
    path.chmod(0o640)
    project.init("claude", *BOTH)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_damaged_record_does_not_count(project: Project) -> None:
    project.init("claude", *BOTH)
    Path("kds-brain/init/record.json").write_text("{")
    assert "was not written here" in project.init("--undo")["notes"][0]
    assert Snapshot.of(project.folder).files == {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _foreign_record(project: Project, name: str, before: str, after: str) -> None:
    """A record as somebody may put it into a project that others clone."""
    file = {"kind": "settings", "before": f"{_digest(before)[:16]}.before", "after": _digest(after)}
    record = {"files": {name: file, "../secret": file}, "folders": ["../empty", "src"]}
    project.write("kds-brain/init/record.json", json.dumps(record)).chmod(0o600)
    project.write(f"kds-brain/init/{file['before']}", before).chmod(0o600)


def test_a_copy_that_is_not_the_one_kept_is_refused(project: Project) -> None:
    project.write(".mcp.json", "{}")
    project.init("claude", "--mcp")
    project.write(f"kds-brain/init/{_digest('{}')[:16]}.before", "another")
    assert "it was changed since" in project.try_init("--undo").err
    assert "kds" in read(".mcp.json")["mcpServers"]


EVIL = '{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "evil"}]}]}}'


@pytest.mark.parametrize("theirs", ["{}", '{"hooks": {}}', '{"permissions": {"deny": ["Bash"]}}'])
def test_a_record_that_was_not_written_here_restores_and_removes_nothing(
    project: Project, theirs: str
) -> None:
    for folder in (project.folder.parent / "empty", project.folder / "src"):
        folder.mkdir(exist_ok=True)
    project.write("../secret", theirs)
    project.write(".claude/settings.json", theirs)
    _foreign_record(project, ".claude/settings.json", EVIL, theirs)
    before = Snapshot.of(project.folder)
    assert "record.json was not written here" in project.init("--undo")["notes"][0]
    assert Snapshot.of(project.folder) == before
    project.init("claude")
    project.init("--undo")
    assert Snapshot.of(project.folder) == before
    assert (project.folder.parent / "secret").read_text() == theirs
    assert (project.folder.parent / "empty").is_dir()


def test_a_project_that_was_moved_loses_what_is_of_kds_and_keeps_its_copies(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _settle(project)
    before = Snapshot.of(project.folder)
    project.init(*ALL)
    moved = tmp_path / "moved"
    project.folder.rename(moved)
    monkeypatch.chdir(moved)
    project.init("--undo")
    gone = {".cursor/mcp.json": [b"{}"]}
    assert Snapshot.of(moved).words() | gone == before.words(), "without a record bare files go"
    assert list((moved / "kds-brain" / "init").glob("*.before"))


def test_a_setup_without_a_receipt_is_renewed_and_taken_back(project: Project) -> None:
    _settle(project)
    before = Snapshot.of(project.folder)
    project.init(*ALL)
    record = Path("kds-brain/init/record.json")
    record.write_text(f"{record.read_text()}\n")
    hooks = Path(".claude/settings.json")
    hooks.write_text(hooks.read_text().replace("kds-hook", "/old/bin/kds-hook"))
    project.init(*ALL)
    project.init("--undo")
    gone = {".cursor/mcp.json": [b"{}"]}
    assert Snapshot.of(project.folder).words() | gone == before.words()


def test_a_link_into_version_control_is_refused(project: Project) -> None:
    project.write(".git/config", "predictable")
    Path(".mcp.json").symlink_to(".git/config")
    refused = project.try_init("claude", "--mcp")
    assert "is reached by a link into the files of version control" in refused.err
    assert Path(".git/config").read_text() == "predictable"


@pytest.mark.parametrize("arguments", [("--undo",), ("claude",)])
def test_a_folder_of_records_that_is_a_link_is_refused(
    project: Project, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.before").write_text("mine")
    Path("kds-brain/init").symlink_to(tmp_path / "elsewhere")
    assert "it is a link" in project.try_init(*arguments).err
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["x.before"]


def test_in_a_subfolder_the_top_of_the_repository_is_named_and_set_up_when_it_is_agreed_to(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    _git("init", "-q")
    (project.folder / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project.folder / "src" / "deep")
    with pytest.raises(AssertionError, match=f"kds init --workspace {project.folder}, or"):
        project.init("claude")
    assert not (project.folder / "kds-brain").exists()
    assert not (project.folder / ".claude").exists()
    assert project.init("claude", "--dry-run")["project"] == str(project.folder)
    done = project.init("claude", f"--workspace={project.folder}")
    assert done["project"] == str(project.folder)
    assert (project.folder / "kds-brain").is_dir()
    assert list((project.folder / "src" / "deep").iterdir()) == []
    assert project.init("claude")["notes"] == []
    assert project.init("--undo")["files"] != []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to be root")
@pytest.mark.parametrize("mark", [".git", ".hg", "linked"])
def test_a_repository_that_somebody_else_put_above_is_not_a_project(
    project: Project, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    shutil.rmtree("kds-brain")
    planted = project.folder / (".git" if mark == "linked" else mark)
    (project.folder / "mine").mkdir()
    planted.symlink_to(project.folder / "mine") if mark == "linked" else planted.mkdir()
    os.chown(planted, 65534, 65534, follow_symlinks=False)
    monkeypatch.chdir(project.folder / "mine")
    assert project.init("claude")["project"] == f"{project.folder}/mine"
    assert not (project.folder / ".claude").exists()


def test_a_subfolder_is_set_up_when_it_is_named_or_has_a_workspace(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    _git("init", "-q")
    sub = project.folder / "part"
    sub.mkdir()
    monkeypatch.chdir(sub)
    done = project.init("claude", "--workspace=.")
    assert (done["project"], done["notes"]) == (str(sub), [])
    (note,) = project.init("claude")["notes"]
    assert note.endswith(f"for all of it: kds init --workspace {project.folder}")


def test_a_home_under_version_control_is_not_a_project(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree("kds-brain")
    (project.folder / ".git").mkdir()
    (project.folder / "plain").mkdir()
    monkeypatch.setenv("HOME", str(project.folder))
    monkeypatch.chdir(project.folder / "plain")
    assert project.init("claude")["project"] == f"{project.folder}/plain"


def test_a_workspace_that_others_may_read_is_closed(project: Project) -> None:
    brain = project.folder / "kds-brain"
    brain.chmod(0o755)
    rules = project.write("kds-brain/rules/own.yaml", "")
    memory = project.write("kds-brain/memory.db", "")
    for path in (rules, memory):
        path.chmod(0o644)
    shown = project.init("claude", "--dry-run")
    assert stat.S_IMODE(brain.stat().st_mode) == 0o755
    done = project.init("claude")
    told = "takes the rights of others from 2 files and folders in kds-brain/"
    assert told in shown["notes"]
    assert told in done["notes"]
    assert [stat.S_IMODE(p.stat().st_mode) for p in (brain, memory, rules)] == [
        *(0o700, 0o600, 0o644)
    ]


def test_what_init_wrote_is_a_sign_of_an_assistant(project: Project) -> None:
    project.init("claude", "--skills")
    assert project.init()["clients"] == [{"client": "claude", "because": ".claude"}]
    project.init("--undo")
    project.init("codex", "claude", "--mcp")
    shutil.rmtree(".codex")
    assert project.init()["clients"] == [
        {"client": "claude", "because": "an earlier kds init"},
        {"client": "codex", "because": "an earlier kds init"},
    ]


def test_a_dry_run_lists_new_skills_and_shows_them_when_asked(project: Project) -> None:
    project.write(".mcp.json", "{}")
    shown = project.try_init("claude", *BOTH, "--skills", "--dry-run").out
    assert "+++ b/.mcp.json" in shown
    assert "SKILL.md" not in shown
    assert ".claude/skills/ (1 skill)" in shown
    assert "--full shows the text of 1 generated file" in shown
    assert len(shown.splitlines()) < 80
    full = project.try_init("claude", *BOTH, "--skills", "--dry-run", "--full").out
    assert full.count("+++ b/.claude/skills/") == 1
    refused = project.try_init("claude", *BOTH, "--full")
    assert (refused.code, "add --dry-run" in refused.err) == (2, True)


def test_a_dry_run_has_its_diffs_as_json_too(project: Project) -> None:
    project.write(".mcp.json", "{}")
    words = ("claude", *BOTH, "--skills", "--dry-run")
    rows = {row["path"]: row["diff"] for row in project.init(*words)["files"]}
    assert rows[".mcp.json"].startswith("--- a/.mcp.json\n+++ b/.mcp.json\n")
    assert rows[".claude/skills/kds/SKILL.md"] is None
    full = project.init(*words, "--full")["files"]
    assert all(row["diff"] for row in full)
    assert "diff" not in project.init("claude", *BOTH)["files"][0]


def test_an_undo_says_what_stays_and_a_second_one_that_there_is_nothing(project: Project) -> None:
    project.init("claude")
    project.kds("context", "log", "--message", "Add a FAB button", "--intent", "PLAN")
    first = project.try_init("--undo").out
    assert f"{project.folder}/kds-brain stays, with the conversations" in first
    assert "kds service stop" not in first
    assert first.endswith("taken back; restart the assistants\n")
    assert project.try_init("--undo").out.endswith("nothing to undo here\n")


def test_an_undo_leaves_nothing_behind_where_nothing_else_was_kept(project: Project) -> None:
    project.init("claude")
    told = project.try_init("--undo").out
    assert "stays" not in told
    assert list(project.folder.iterdir()) == []


def test_notes_of_the_project_in_prompts_do_not_keep_kds_out(project: Project) -> None:
    note = project.write("prompts/user/onboarding.md", "# Welcome\n")
    assert project.init("claude")["files"]
    checked = project.kds("prompts", "check")
    assert checked.code == 0
    assert f"kds: {note}:1: has no front matter" in checked.err
    assert "fix: if it is to be one" in checked.err
    rows = json.loads(project.kds("prompts", "check", "--json").out)["passed_over"]
    assert [row["where"] for row in rows] == [f"{note}:1"]
