"""`kds doctor`: quiet on a healthy workspace, and exact about what is broken."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kds.brain.installation import install_line
from kds.brain.workspace import Workspace
from kds.service.resident.address import ServiceAddress
from kds.service.server import Service
from kds.service.service_options import ServiceOptions

Call = Callable[..., Any]
Write = Callable[[str, str], Path]
START_S = 120.0

needs_unix_sockets = pytest.mark.skipif(
    not hasattr(socket, "AF_UNIX"), reason="the hook talks over a unix socket"
)


@pytest.fixture
def fitted_project(project: Path, fitted_brain: Path) -> Path:
    shutil.copytree(fitted_brain, project / "kds-brain", dirs_exist_ok=True)
    return project


@pytest.fixture
def service(fitted_project: Path) -> Iterator[Service]:
    """A service of the project, on its real socket."""
    running = Service((Workspace.find(fitted_project),), ServiceOptions(), log=lambda line: None)
    thread = threading.Thread(target=running.run)
    thread.start()
    assert running.ready.wait(START_S)
    yield running
    running.stop()
    thread.join(START_S)


def _doctor(kds_call: Call, *arguments: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    done = kds_call("doctor", "--json", *arguments)
    report = json.loads(done.out)
    assert report["well"] is (done.code == 0)
    checks: dict[str, list[dict[str, str]]] = {}
    for finding in report["findings"]:
        checks.setdefault(finding["check"], []).append(finding)
        assert finding["mark"] != "problem" or finding["fix"], finding
    return done.code, checks


def _problems(checks: dict[str, list[dict[str, str]]]) -> list[str]:
    return [f["found"] for each in checks.values() for f in each if f["mark"] == "problem"]


@needs_unix_sockets
def test_all_is_well_and_a_prompt_comes_through_the_hook_unremembered(
    fitted_project: Path, service: Service, kds_call: Call
) -> None:
    assert kds_call("init", "--client", "claude").code == 0
    code, checks = _doctor(kds_call)
    assert (code, _problems(checks)) == (0, [])
    found = [finding["found"] for finding in checks["hook"]]
    assert found == ["a prompt comes through the one in .claude/settings.json"]
    assert "running" in checks["service"][0]["found"]
    assert checks["model"][0]["mark"] == "ok"
    assert json.loads(kds_call("context", "load", "--json").out) == {"entries": []}
    assert "all is well" in kds_call("doctor").out


@needs_unix_sockets
def test_a_hook_that_runs_something_else_is_found_out(
    fitted_project: Path, service: Service, programs: Path, kds_call: Call
) -> None:
    kds_call("init", "--client", "claude")
    (programs / "kds-hook").write_text("#!/bin/sh\necho broken >&2\n")
    _, checks = _doctor(kds_call)
    assert _problems(checks) == ["the one in .claude/settings.json said nothing: broken"]
    (programs / "kds-hook").write_text("#!/bin/sh\necho '{\"hookSpecificOutput\": 1}'\n")
    assert "said nothing: see the hook log" in _problems(_doctor(kds_call)[1])[0]
    (programs / "kds-hook").write_text("#!/bin/sh\nexit 3\n")
    assert "ended with 3" in _problems(_doctor(kds_call)[1])[0]
    (programs / "kds-hook").write_text("#!/no/such/python\n")
    assert "cannot be run" in _problems(_doctor(kds_call)[1])[0]


@needs_unix_sockets
@pytest.mark.parametrize(
    "command",
    [
        "echo > ran; kds-hook",
        "kds-hook || true; echo > ran",
        "kds-hook $(echo > ran)",
        "./kds-hook || true",
        "{project}/kds-hook || true",
    ],
)
def test_a_command_that_came_with_the_project_is_told_and_not_run(
    fitted_project: Path, service: Service, kds_call: Call, write: Write, command: str
) -> None:
    write("kds-hook", "#!/bin/sh\necho > ran\n").chmod(0o755)
    command = command.format(project=fitted_project)
    group = {"hooks": [{"type": "command", "command": command}]}
    write(".claude/settings.json", json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    (finding,) = _doctor(kds_call)[1]["hook"]
    assert not Path("ran").exists()
    assert finding["mark"] == "note"
    assert f"not tried: '{command}'" in finding["found"]


@needs_unix_sockets
def test_a_reload_that_failed_is_told(
    fitted_project: Path, service: Service, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.clients.doctor.servicehealth.kds_version", lambda: "9.9")
    _, checks = _doctor(kds_call)
    assert "the commands are kds 9.9" in _problems(checks)[0]
    path = fitted_project / "prompts" / "internal" / "bad.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nno end of the front matter")
    end = time.monotonic() + START_S
    while not any("it still uses older" in found for found in _problems(_doctor(kds_call)[1])):
        assert time.monotonic() < end


def test_an_empty_project_has_no_problem(project: Path, kds_call: Call) -> None:
    shutil.rmtree("kds-brain")
    code, checks = _doctor(kds_call)
    assert code == 0
    assert checks["workspace"][0]["mark"] == "note"
    assert checks["hook"][0]["fix"] == "kds init"
    assert not Path("kds-brain").exists()


def test_without_a_service_the_hook_is_not_run(project: Path, kds_call: Call) -> None:
    kds_call("init", "--client", "claude")
    code, checks = _doctor(kds_call)
    assert code == 0
    assert checks["hook"][0]["fix"] == "kds service start"
    assert not Path("kds-brain/hook.log").exists()
    ServiceAddress(Path("kds-brain").absolute()).socket_path.write_text("")
    assert "nobody answers" in _doctor(kds_call)[1]["service"][0]["found"]


def test_rights_of_others_are_a_problem_that_it_can_fix(project: Path, kds_call: Call) -> None:
    brain = Path("kds-brain")
    brain.chmod(0o755)
    (brain / "memory.db").write_text("")
    (brain / "memory.db").chmod(0o644)
    (brain / "rules").mkdir(mode=0o755)
    code, checks = _doctor(kds_call)
    assert code == 1
    assert _problems(checks) == ["others may read kds-brain (0755), memory.db (0644)"]
    code, checks = _doctor(kds_call, "--fix")
    assert code == 0
    assert checks["privacy"][0]["mark"] == "ok"
    assert (brain / "rules").stat().st_mode & 0o777 == 0o755, "rules are committed"


def test_broken_files_of_the_user_are_named_with_line_and_fix(
    project: Path, kds_call: Call, write: Write
) -> None:
    write("kds-brain/rules/own.yaml", "- id: x\n  nonsense: 1\n")
    write("kds-brain/settings.yaml", "service: {enable: true}\n")
    write("prompts/internal/bad.md", "---\nno end of the front matter")
    write(".claude/settings.json", '{"hooks": ')
    write(".mcp.json", "{}}")
    code, checks = _doctor(kds_call)
    assert code == 1
    for check in ("rules", "settings", "prompts", "hook files", "mcp"):
        assert {f["mark"] for f in checks[check]} == {"problem"}, check
    assert len(_problems(checks)) == len(set(_problems(checks)))
    assert checks["hook files"][0]["found"].startswith(f"{project}/.claude/settings.json:1:")


def test_a_context_that_cannot_be_read_is_a_problem(project: Path, kds_call: Call) -> None:
    Path("kds-brain/conversation-context.jsonl").mkdir(mode=0o700)
    assert _doctor(kds_call)[1]["context"][0]["mark"] == "problem"


def test_doubled_hooks_are_a_problem_that_init_solves(
    project: Path, kds_call: Call, write: Write
) -> None:
    kds_call("init", "--client", "claude")
    hooks = {"userPromptSubmitted": [{"type": "command", "bash": "kds-hook"}]}
    write(".github/hooks/other.json", json.dumps({"version": 1, "hooks": hooks}))
    (problem,) = _problems(_doctor(kds_call)[1])
    assert ".claude/settings.json and .github/hooks/other.json" in problem
    kds_call("init", "--client", "claude")
    assert _problems(_doctor(kds_call)[1]) == []


@pytest.mark.skipif(sys.platform == "win32", reason="every program has the user's PATH there")
def test_a_hook_that_a_desktop_launcher_does_not_find_is_noted_with_its_whole_path(
    project: Path, kds_call: Call, programs: Path
) -> None:
    kds_call("init", "--client", "claude")
    _ok, note = _doctor(kds_call)[1]["programs"]
    assert note["mark"] == "note"
    assert f"they are in {programs}" in note["found"]
    assert str(programs / "kds-hook") in note["fix"]


def test_the_pair_for_claude_code_and_vs_code_is_on_purpose(project: Path, kds_call: Call) -> None:
    kds_call("init", "--client", "claude", "--client", "vscode")
    checks = _doctor(kds_call)[1]
    assert _problems(checks) == []
    found = checks["hook files"][0]["found"]
    assert ".claude/settings.json, and .github/hooks/kds.json for VS Code" in found


def test_a_hook_beside_the_plugin_is_a_problem(project: Path, kds_call: Call, write: Write) -> None:
    kds_call("init", "--client", "claude")
    settings = Path(".claude/settings.json")
    text = settings.read_text().replace("{", '{\n  "enabledPlugins": {"kds@kds": true},', 1)
    settings.write_text(text)
    assert "runs the hook twice" in _problems(_doctor(kds_call)[1])[0]


def test_programs_that_went_away_are_a_problem(
    project: Path, kds_call: Call, programs: Path
) -> None:
    kds_call("init", "--client", "claude", "--client", "vscode", "--hook", "--mcp")
    for name in ("kds", "kds-hook"):
        (programs / name).unlink()
    found = _problems(_doctor(kds_call)[1])
    assert ".claude/settings.json runs kds-hook, which is not there" in found
    assert ".mcp.json runs kds, which is not there" in found
    assert ".vscode/mcp.json runs kds, which is not there" in found


def test_foreign_servers_and_machine_paths_are_told(
    project: Path, kds_call: Call, write: Write, programs: Path
) -> None:
    write(".cursor/mcp.json", '{"mcpServers": {"kds": {"command": "docker", "args": []}}}')
    group = {"hooks": [{"type": "command", "command": f"{programs}/kds-hook"}]}
    write(".claude/settings.json", json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    _, checks = _doctor(kds_call)
    assert _problems(checks) == ["the server 'kds' in .cursor/mcp.json is not this one"]
    assert "by its path on this machine" in checks["hook files"][0]["found"]


def test_skills_that_are_old_doubled_or_edited_are_told(project: Path, kds_call: Call) -> None:
    kds_call("init", "--client", "claude")
    kds_call("export", "skills", "--to", ".agents/skills")
    skill = Path(".claude/skills/kds/SKILL.md")
    skill.write_text(skill.read_text() + "mine")
    shutil.rmtree(".claude/skills/kds-work-planner")
    _, checks = _doctor(kds_call)
    found = [finding["found"] for finding in checks["skills"]]
    assert "1 of 14 in .claude/skills are not those of the prompts of today" in found
    assert "changed by hand in .claude/skills, and left so: kds" in found
    assert any("one client reads both" in each for each in found)
    kds_call("init", "--client", "claude")
    assert _problems(_doctor(kds_call)[1]) == []


def test_recent_troubles_of_the_hook_are_told_and_old_ones_are_not(
    project: Path, kds_call: Call, write: Write
) -> None:
    now = datetime.now(UTC)
    old = now - timedelta(days=3)
    log = write("kds-brain/hook.log", f"{old.isoformat()} no service\n")
    log.chmod(0o600)
    assert _doctor(kds_call)[1]["hook log"][0]["mark"] == "ok"
    log.write_text(f"{old.isoformat()} old\n{now.isoformat()} no service\nbroken\n")
    (finding,) = _doctor(kds_call)[1]["hook log"]
    assert "once within a day" in finding["found"]
    assert finding["found"].endswith("no service")


def test_clients_are_asked_for_their_versions(
    project: Path, kds_call: Call, programs: Path
) -> None:
    for name, script in (("claude", "echo 2.1.197."), ("copilot", "exit 1")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    found = [finding["found"] for finding in _doctor(kds_call)[1]["clients"]]
    assert found == [
        "Claude Code 2.1.197",
        f"Copilot CLI: {programs}/copilot does not say its version",
    ]


def test_what_people_write_by_hand_is_no_matter_of_privacy(
    project: Path, kds_call: Call, write: Write
) -> None:
    for name in ("settings.yaml", "rules/own.yaml", "README.md"):
        write(f"kds-brain/{name}", "").chmod(0o644)
    assert _doctor(kds_call)[1]["privacy"][0]["mark"] == "ok"


def test_without_a_service_it_tells_what_the_hook_does_then(project: Path, kds_call: Call) -> None:
    def found() -> str:
        return _doctor(kds_call)[1]["service"][0]["found"]

    assert found() == "it is not running: commands take seconds"
    kds_call("init", "--client", "claude")
    assert "the hook starts it with the next session or prompt" in found()
    kds_call("init", "--client", "claude", "--no-start")
    assert "the hook has nothing to say" in found()


def test_a_folder_that_copilot_does_not_trust_is_told(
    project: Path,
    kds_call: Call,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tmp_path / "copilot" / "config.json"
    monkeypatch.setenv("COPILOT_HOME", str(config.parent))
    kds_call("init", "--client", "copilot")
    assert "trust" not in _doctor(kds_call)[1], "Copilot is not there"
    (programs / "copilot").write_text("#!/bin/sh\necho 1.0.102\n")
    (programs / "copilot").chmod(0o755)
    (finding,) = _doctor(kds_call)[1]["trust"]
    assert (finding["mark"], str(project) in finding["fix"]) == ("note", True)
    config.parent.mkdir()
    for trusted, mark in (("/else/where", "note"), (project, "ok"), (project.parent, "ok")):
        config.write_text(f'// by Copilot\n{{"trustedFolders": ["{trusted}"]}}\n')
        assert _doctor(kds_call)[1]["trust"][0]["mark"] == mark, trusted
    config.write_text("{]")
    assert _doctor(kds_call)[1]["trust"][0]["mark"] == "problem"


def test_a_folder_in_which_copilot_finds_nothing_needs_no_trust(
    project: Path, kds_call: Call, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert "trust" not in _doctor(kds_call)[1]


def test_programs_of_an_environment_and_their_path_in_git_are_told(
    project: Path, programs: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _doctor(kds_call)[1]["programs"][0]["mark"] == "ok"
    real = shutil.which("git", path=os.defpath)
    if real is None:
        pytest.skip("needs git")
    (programs / "git").symlink_to(real)
    (programs.parent / "pyvenv.cfg").write_text("")
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    kds_call("init", "--client", "claude", "--hook", "--mcp")
    checks = _doctor(kds_call)[1]
    assert checks["programs"][0]["fix"] == f"{install_line(tool='pipx install')}, then kds init"
    assert [finding["mark"] for finding in checks["mcp"]] == ["ok"]
    for arguments in (("init", "-q"), ("add", ".mcp.json")):
        subprocess.run([real, *arguments], cwd=project, check=True)
    note = _doctor(kds_call)[1]["mcp"][1]
    assert note["mark"] == "note"
    assert note["found"].startswith("git tracks .mcp.json, and it names a program by its path")


def test_files_in_prompts_that_are_not_ours_are_told(
    project: Path, kds_call: Call, write: Write
) -> None:
    write("prompts/user/onboarding.md", "# Welcome\n")
    code, checks = _doctor(kds_call)
    assert code == 0
    assert [finding["mark"] for finding in checks["prompts"]] == ["ok", "note"]
    assert "passed over" in checks["prompts"][1]["found"]


@needs_unix_sockets
def test_an_undo_names_the_service_that_runs_on(
    fitted_project: Path, service: Service, kds_call: Call
) -> None:
    kds_call("init", "--client", "claude")
    undone = kds_call("init", "--undo").out
    assert f"a service is running for it (process {os.getpid()}): kds service stop" in undone


def test_another_distribution_called_kds_is_a_problem_with_its_fix(
    project: Path, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.clients.doctor.finding.other_kds", lambda: "another author's package")
    code, checks = _doctor(kds_call)
    assert (code, checks["kds"][1]["found"]) == (1, "another author's package")
    assert checks["kds"][1]["fix"].startswith("pip uninstall -y kds; pip install --force-reinstall")
