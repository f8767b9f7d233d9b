"""`kds doctor`: quiet on a healthy workspace, and exact about what is broken."""

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kds.brain.installation import install_line
from kds.brain.workspace import Workspace
from kds.clients.generated import digest_in, digest_of
from kds.service.server import Service, ServiceOptions
from kds.service.service_client import ServiceAddress

from .conftest import Project

START_S = 120.0

needs_unix_sockets = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="the hook talks over a unix socket"
)


@pytest.fixture
def service(project: Project, fitted_brain: Path) -> Iterator[Service]:
    """A service of the project, on its real socket."""
    shutil.copytree(fitted_brain, project.folder / "kds-brain", dirs_exist_ok=True)
    running = Service((Workspace.find(project.folder),), ServiceOptions(), log=lambda line: None)
    thread = threading.Thread(target=running.run)
    thread.start()
    assert running.ready.wait(START_S)
    yield running
    running.stop()
    thread.join(START_S)


@needs_unix_sockets
def test_all_is_well_or_a_hook_is_wrong(project: Project, service: Service, programs: Path) -> None:
    assert project.try_init("claude").code == 0
    checks = project.doctor()
    assert checks.problems == []
    found = [finding["found"] for finding in checks["hook"]]
    assert found == ["a prompt comes through the one in .claude/settings.json"]
    assert "running" in checks["service"][0]["found"]
    assert json.loads(project.kds("context", "load", "--json").out) == {"entries": []}
    assert "all is well" in project.kds("doctor").out
    (programs / "kds-hook").write_text("#!/bin/sh\necho broken >&2\n")
    assert project.doctor().problems == ["the one in .claude/settings.json said nothing: broken"]
    for script, said in (
        ("#!/bin/sh\necho '{\"hookSpecificOutput\": 1}'\n", "said nothing: see the hook log"),
        ("#!/bin/sh\nexit 3\n", "ended with 3"),
        ("#!/no/such/python\n", "cannot be run"),
    ):
        (programs / "kds-hook").write_text(script)
        assert said in project.doctor().problems[0]


@needs_unix_sockets
def test_a_command_of_the_project_is_told_and_not_run(project: Project, service: Service) -> None:
    project.write("kds-hook", "#!/bin/sh\necho > ran\n").chmod(0o755)
    for command in (
        "echo > ran; kds-hook", "kds-hook || true; echo > ran", "kds-hook $(echo > ran)",
        "./kds-hook || true", f"{project.folder}/kds-hook || true",
    ):  # fmt: skip
        group = {"hooks": [{"type": "command", "command": command}]}
        project.write(".claude/settings.json", json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
        (finding,) = project.doctor()["hook"]
        assert not Path("ran").exists()
        assert finding["mark"] == "note"
        assert f"not tried: '{command}'" in finding["found"]


@needs_unix_sockets
def test_a_service_of_another_version_is_told(
    project: Project, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.clients.doctor.kds_version", lambda: "9.9")
    assert "the commands are kds 9.9" in project.doctor().problems[0]


def test_programs_that_moved_or_do_not_run_are_told_and_mended_by_init(
    project: Project, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("claude", "cursor", "--hook", "--mcp")
    project.init(*words)
    (tmp_path / "my env").mkdir()
    moved = programs.rename(tmp_path / "my env" / "bin")
    (tmp_path / "my env" / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", str(moved))
    monkeypatch.setattr("sys.executable", str(moved / "python"))
    assert {one.partition(" is not as kds init")[0] for one in project.doctor().problems} == {
        *(".claude/settings.json", ".mcp.json"),
        *(".cursor/mcp.json", ".cursor/hooks.json", ".cursor/rules/kds.mdc"),
        ".gitignore",
    }
    project.init(*words)
    checks = project.doctor()
    assert checks.problems == []
    assert checks["programs"][0]["fix"] == f"{install_line(tool='pipx install')}, then kds init"
    assert "do not commit" in next(one["found"] for one in checks["files"] if one["mark"] == "note")
    (moved / "kds").unlink()
    assert "neither on the PATH nor beside this Python" in project.doctor().problems[0]


def test_without_a_service_the_hook_is_not_run_recent_troubles_are_told(project: Project) -> None:
    project.try_init("claude")
    checks = project.doctor()
    assert checks["hook"][0]["fix"] == "kds service start"
    assert not Path("kds-brain/hook.log").exists()
    ServiceAddress().ensure()
    ServiceAddress().socket_path.write_text("")
    assert "nothing answers" in project.doctor()["service"][0]["found"]
    now = datetime.now(UTC)
    old = now - timedelta(days=3)
    log = project.write("kds-brain/hook.log", f"{old.isoformat()} no service\n")
    log.chmod(0o600)
    assert project.doctor()["hook log"][0]["mark"] == "ok"
    log.write_text(f"{old.isoformat()} old\n{now.isoformat()} no service\nbroken\n")
    (finding,) = project.doctor()["hook log"]
    assert "within a day: 1; at " in finding["found"]
    assert finding["found"].endswith("no service")


def test_rights_of_others_are_a_problem_that_it_can_fix(project: Project) -> None:
    brain = Path("kds-brain")
    brain.chmod(0o755)
    (brain / "memory.db").write_text("")
    (brain / "memory.db").chmod(0o644)
    (brain / "rules").mkdir(mode=0o755)
    for name in ("settings.yaml", "rules/notes.md", "README.md"):
        project.write(f"kds-brain/{name}", "").chmod(0o644)
    checks = project.doctor()
    assert checks.problems == ["others may read kds-brain (0755), memory.db (0644)"]
    checks = project.doctor("--fix")
    assert checks["privacy"][0]["mark"] == "ok"
    assert (brain / "rules").stat().st_mode & 0o777 == 0o755, "rules are committed"


def test_broken_files_of_the_user_are_named_with_line_and_fix(project: Project) -> None:
    project.write("kds-brain/rules/own.yaml", "- id: x\n  nonsense: 1\n")
    project.write("kds-brain/settings.yaml", "service: {enable: true}\n")
    project.write("prompts/internal/bad.md", "---\nno end of the front matter")
    project.write(".claude/settings.json", '{"hooks": ')
    checks = project.doctor()
    for check in ("rules", "settings", "prompts", "hook"):
        assert {f["mark"] for f in checks[check]} == {"problem"}, check
    assert len(checks.problems) == len(set(checks.problems))
    assert checks["hook"][0]["found"].startswith(f"{project.folder}/.claude/settings.json:1:")


def test_files_that_init_would_write_otherwise_are_problems(project: Project) -> None:
    project.try_init("claude", "vscode", "opencode")
    checks = project.doctor()
    assert checks.problems == []
    assert "as kds init writes them: .claude/settings.json, " in checks["files"][0]["found"]
    hooks = {"userPromptSubmitted": [{"type": "command", "bash": "kds-hook"}]}
    project.write(".github/hooks/other.json", json.dumps({"version": 1, "hooks": hooks}))
    plugin = Path(".opencode/plugin/kds.js")
    text = plugin.read_text().replace("5000", "4000")
    plugin.write_text(text.replace(digest_in(text) or "", digest_of(text)))
    assert {one.partition(" is not as")[0] for one in project.doctor().problems} == {
        *(".github/hooks/other.json", plugin.as_posix())
    }
    project.try_init("claude", "vscode", "opencode")
    assert project.doctor().problems == []
    plugin.write_text(plugin.read_text() + "mine")
    notes = [one["found"] for one in project.doctor()["files"] if one["mark"] == "note"]
    assert notes == [f"{plugin} stays as it is: changed by hand"]
