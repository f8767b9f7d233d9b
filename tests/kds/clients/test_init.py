"""`kds init` on real folders: what it writes, what it leaves alone, and the way back."""

import json
import os
import shutil
import stat
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from skills_ref.validator import validate_metadata

from kds.brain.environment import own_folder
from kds.clients.generated import digest_in, digest_of

from .conftest import Project, Snapshot, read

BOTH = ("--hook", "--mcp")
CLIENTS = ("claude", "copilot", "vscode", "cursor", "codex", "gemini", "opencode")
ALL = (*CLIENTS, *BOTH, "--skills")
HOOK = "kds-hook 2>/dev/null || true"
CLAUDE_EVENTS = "UserPromptSubmit SessionStart Stop SessionEnd PreCompact"
COPILOT_EVENTS = "userPromptSubmitted sessionStart agentStop sessionEnd preCompact"
CURSOR_EVENTS = "beforeSubmitPrompt sessionStart stop sessionEnd preCompact"
GEMINI_EVENTS = "BeforeAgent SessionStart AfterAgent SessionEnd"  # PreCompress: with each prompt
THEIRS = {
    ".claude/settings.json": '{\n  // mine\n  "model": "opus",\n  "hooks": {"PreToolUse": []}\n}\n',
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
    ".gitignore": "node_modules\nkds-brain.txt",
    ".claude/skills/mine/SKILL.md": "---\nname: mine\n---\n",
}


def _commands(path: str) -> dict[str, list[str]]:
    return {
        event: [one.get("command") or one["bash"] for e in entries for one in e.get("hooks", [e])]
        for event, entries in read(path)["hooks"].items()
    }


@pytest.mark.parametrize(
    ("client", "hooks", "events", "servers"),
    [
        ("claude", ".claude/settings.json", CLAUDE_EVENTS, ".mcp.json"),
        ("copilot", ".github/hooks/kds.json", COPILOT_EVENTS, ".mcp.json"),
        ("cursor", ".cursor/hooks.json", CURSOR_EVENTS, ".cursor/mcp.json"),
        ("codex", ".codex/hooks.json", CLAUDE_EVENTS, ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", GEMINI_EVENTS, ".gemini/settings.json"),
    ],
)
def test_a_client_gets_hook_and_server_where_it_reads_them(
    project: Project, client: str, hooks: str, events: str, servers: str
) -> None:
    project.init(client, *BOTH)
    assert _commands(hooks) == {event: [HOOK] for event in events.split()}
    assert read(hooks).get("version") == (1 if client in ("copilot", "cursor") else None)
    entry = read(servers)["mcp_servers" if client == "codex" else "mcpServers"]["kds"]
    here = ["--workspace", "${workspaceFolder}"] if client == "cursor" else []
    assert (entry["command"], entry["args"]) == ("kds", ["mcp", *here])
    if client == "gemini":  # in milliseconds
        handler = {"type": "command", "command": HOOK, "timeout": 5000}
        assert read(hooks)["hooks"]["BeforeAgent"] == [{"hooks": [handler]}]
    assert Path(".claude").exists() is (client == "claude")


def test_by_default_nothing_is_listed_in_every_request(project: Project) -> None:
    project.init(*(one for one in CLIENTS if one != "cursor"))
    assert not list(project.folder.glob(".*/skills"))
    assert not [path for path in project.folder.rglob("*mcp*") if "kds-brain" not in path.parts]


@pytest.mark.parametrize(
    ("clients", "folders"),
    [("claude", ".claude"), ("copilot", ".agents"), ("codex", ".agents"),
     ("claude copilot", ".claude"), ("claude gemini", ".claude .agents")],
)  # fmt: skip
def test_the_one_skill_is_short_and_valid(project: Project, clients: str, folders: str) -> None:
    project.init(*clients.split(), "--skills")
    found = list(project.folder.glob(".*/skills/*/SKILL.md"))
    assert {path.relative_to(project.folder).parts[0] for path in found} == {*folders.split()}
    for path in found:
        front = yaml.safe_load(path.read_text().split("---\n")[1])
        assert "Only when the user asks for KDS" in front["description"]
        assert len(f"{front['name']}: {front['description']}") / 4 < 60, "tokens"
        assert ("allowed-tools" in front) is (".claude" in path.parts)
        wrong = validate_metadata({k: v for k, v in front.items() if k != "license"}, path.parent)
        assert wrong == []
    assert project.doctor().problems == []
    project.init("--undo")
    assert Snapshot.of(project.folder) == Snapshot({}, frozenset())


def test_the_one_skill_follows_a_later_init_unless_it_was_changed(project: Project) -> None:
    project.init("copilot", "--skills")
    project.init("claude", "--skills")
    assert not Path(".agents").exists()
    skill = Path(".claude/skills/kds/SKILL.md")
    text = skill.read_text()
    older = text.replace("`kds route", "`/old/kds route")
    skill.write_text(older.replace(digest_in(older) or "", digest_of(older)))
    project.init("claude")
    assert skill.read_text() == text
    skill.write_text(text + "mine")
    notes = project.init("claude")["notes"]
    assert f"{skill} stays as it is: changed by hand" in notes
    skill.write_text("mine")
    notes = project.init("claude", "--skills")["notes"]
    assert f"{skill} stays as it is: not written by kds init" in notes
    assert skill.read_text() == "mine"


def test_what_is_kept_of_it_is_private_and_ignored(project: Project) -> None:
    shutil.rmtree("kds-brain")
    project.init("claude", *BOTH)
    assert "kds-brain/*\n!kds-brain/rules/\n" in Path(".gitignore").read_text()
    assert stat.S_IMODE(Path("kds-brain").stat().st_mode) == 0o700
    (record,) = _records()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600


def _records() -> list[Path]:
    return list(Path(own_folder(), "init").glob("*.json"))


def _settle(project: Project) -> None:
    for name, text in THEIRS.items():
        project.write(name, text)


@pytest.mark.parametrize("theirs", [False, True], ids=["empty", "settled"])
def test_undo_gives_back_every_byte(project: Project, theirs: bool) -> None:
    if theirs:
        _settle(project)
    (project.folder / ".github").mkdir()
    before = Snapshot.of(project.folder)
    project.init("copilot")
    project.init(*ALL)
    assert not theirs or not Path("opencode.json").exists()
    assert Snapshot.of(project.folder) != before
    assert project.init("--undo")["files"]
    assert Snapshot.of(project.folder) == before
    assert project.init("--undo")["files"] == []


def test_a_record_that_comes_along_with_a_project_names_no_file_to_remove(project: Project) -> None:
    project.init(*ALL)
    (kept,) = _records()
    project.write("notes.txt", "mine\n")
    whole = {"kind": "ignore", "before": None, "after": sha256(b"mine\n").hexdigest()}
    planted = json.dumps(json.loads(kept.read_text()) | {"files": {"notes.txt": whole}})
    project.write("kds-brain/init/record.json", planted)
    kept.rename(kept.with_name("0.json"))  # as on another machine
    project.init("--undo")
    assert Path("notes.txt").read_text() == "mine\n"


def test_undo_keeps_what_the_user_changed_since(project: Project) -> None:
    project.write(".claude/settings.json", '{\n  "model": "opus"\n}\n')
    project.init(*ALL)
    for name, old, new in (
        (".claude/settings.json", '"opus"', '"sonnet"'),
        (".mcp.json", '"mcpServers": {', '"mcpServers": {\n    "db": {"command": "x"},'),
        (".gitignore", "# KDS", "dist\n# KDS"),
        (".codex/config.toml", "[", 'model = "o3"\n['),
        (".codex/config.toml", '["mcp"]\n', '["mcp"]\n\n# about db\n[mcp_servers.db]\n'),
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
    assert not Path(".vscode").exists()


def test_without_a_record_undo_goes_by_the_content(project: Project) -> None:
    _settle(project)
    project.init(*ALL)
    _records()[0].unlink()
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


def test_a_second_run_changes_nothing_and_keeps_comments_and_layout(project: Project) -> None:
    _settle(project)
    project.init(*ALL)
    settings = Path(".claude/settings.json").read_text()
    assert settings.startswith('{\n  // mine\n  "model": "opus",\n  "hooks": {"PreToolUse": [], "')
    vscode = Path(".vscode/mcp.json").read_bytes()
    assert vscode.startswith(
        b'{\r\n\t"servers": {\r\n\t\t"x": {"command": "y"}, // one\r\n\t\t"kds'
    )
    assert b"\n" not in vscode.replace(b"\r\n", b"")
    assert Path(".gitignore").read_text().startswith("node_modules\nkds-brain.txt\n# KDS")
    before = Snapshot.of(project.folder, without="-")
    assert project.init(*ALL)["files"] == []
    assert Snapshot.of(project.folder, without="-") == before
    assert "nothing to change" in project.try_init(*ALL).out


def test_an_undo_is_for_all_clients_and_says_what_stays(project: Project) -> None:
    project.init("claude", "vscode")
    before = Snapshot.of(project.folder)
    for part in ("vscode", "--hook", "--skills"):
        refused = project.try_init("--undo", part)
        assert refused.code != 0
        assert "fix: kds init --undo" in refused.err
    assert Snapshot.of(project.folder) == before
    project.kds("context", "log", "--message", "Add a FAB button", "--intent", "PLAN")
    first = project.try_init("--undo").out
    assert f"{project.folder}/kds-brain stays, with conversations" in first
    assert "kds service stop" not in first
    assert first.endswith("taken back; restart the assistants\n")
    assert project.try_init("--undo").out.endswith("nothing to undo here\n")


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


def test_in_a_subfolder_the_top_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree("kds-brain")
    _git("init", "-q")
    (project.folder / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project.folder / "src" / "deep")
    with pytest.raises(AssertionError, match=f"kds init --workspace {project.folder}, or"):
        project.init("claude")
    assert not (project.folder / "kds-brain").exists()
    assert not (project.folder / ".claude").exists()
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
