"""`kds doctor`: quiet on a healthy workspace, and exact about what is broken."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kds.brain.installation import install_line
from kds.brain.workspace import Workspace
from kds.clients.generated.mark import digest_in, digest_of
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
def test_all_is_well_and_a_prompt_comes_through_the_hook_unremembered(
    project: Project, service: Service
) -> None:
    assert project.try_init("claude").code == 0
    checks = project.doctor()
    assert checks.problems == []
    found = [finding["found"] for finding in checks["hook"]]
    assert found == ["a prompt comes through the one in .claude/settings.json"]
    assert "running" in checks["service"][0]["found"]
    assert checks["model"][0]["mark"] == "ok"
    assert json.loads(project.kds("context", "load", "--json").out) == {"entries": []}
    assert "all is well" in project.kds("doctor").out


@needs_unix_sockets
def test_a_hook_that_runs_something_else_is_found_out(
    project: Project, service: Service, programs: Path
) -> None:
    project.try_init("claude")
    (programs / "kds-hook").write_text("#!/bin/sh\necho broken >&2\n")
    checks = project.doctor()
    assert checks.problems == ["the one in .claude/settings.json said nothing: broken"]
    (programs / "kds-hook").write_text("#!/bin/sh\necho '{\"hookSpecificOutput\": 1}'\n")
    assert "said nothing: see the hook log" in project.doctor().problems[0]
    (programs / "kds-hook").write_text("#!/bin/sh\nexit 3\n")
    assert "ended with 3" in project.doctor().problems[0]
    (programs / "kds-hook").write_text("#!/no/such/python\n")
    assert "cannot be run" in project.doctor().problems[0]


@needs_unix_sockets
@pytest.mark.parametrize(
    "command",
    [
        "echo > ran; kds-hook",
        "kds-hook || true; echo > ran",
        "kds-hook $(echo > ran)",
        "./kds-hook || true",
        "{here}/kds-hook || true",
    ],
)
def test_a_command_that_came_with_the_project_is_told_and_not_run(
    project: Project, service: Service, command: str
) -> None:
    project.write("kds-hook", "#!/bin/sh\necho > ran\n").chmod(0o755)
    command = command.format(here=project.folder)
    group = {"hooks": [{"type": "command", "command": command}]}
    project.write(".claude/settings.json", json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    (finding,) = project.doctor()["hook"]
    assert not Path("ran").exists()
    assert finding["mark"] == "note"
    assert f"not tried: '{command}'" in finding["found"]


@needs_unix_sockets
def test_a_reload_that_failed_is_told(
    project: Project, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.clients.doctor.servicehealth.kds_version", lambda: "9.9")
    checks = project.doctor()
    assert "the commands are kds 9.9" in checks.problems[0]
    path = project.folder / "prompts" / "internal" / "bad.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nno end of the front matter")
    end = time.monotonic() + START_S
    while not any("it still uses older" in found for found in project.doctor().problems):
        assert time.monotonic() < end


NAMED = (".claude/skills/kds/SKILL.md", ".cursor/rules/kds.mdc", "AGENTS.md")
"""What tells a model which command to run."""


def test_a_program_that_only_an_environment_has_is_told_and_mended_by_init(
    project: Project, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("claude", "cursor", "agents", "--hook", "--mcp", "--skills")
    project.init(*words)
    environment = tmp_path / "my env"
    environment.mkdir()
    programs.rename(environment / "bin")
    (environment / "pyvenv.cfg").write_text("")
    monkeypatch.setenv("PATH", str(environment / "bin"))
    monkeypatch.setattr("sys.executable", str(environment / "bin" / "python"))
    problems = project.doctor().problems
    only = "which is only there in an environment"
    assert {f"{name} has the model run kds, {only}" for name in NAMED} <= set(problems)
    assert f".mcp.json runs kds, {only}" in problems
    assert f".claude/settings.json runs kds-hook, {only}" in problems
    project.init(*words)
    assert project.doctor().problems == []
    (environment / "bin" / "kds").write_text("#!/bin/sh\nexit 3\n")
    quoted = f"'{environment}/bin/kds'"
    problems = project.doctor().problems
    assert {f"{name} has the model run {quoted}, which ends with 3" for name in NAMED} <= set(
        problems
    )
    (environment / "bin" / "kds").unlink()
    problems = project.doctor().problems
    assert {f"{name} has the model run {quoted}, which is not there" for name in NAMED} <= set(
        problems
    )


@pytest.mark.parametrize("command", ["./kds", "'{here}/kds'", "kds; ./kds", "$(./kds)"])
def test_a_command_for_the_model_that_came_with_the_project_is_not_run(
    project: Project, command: str
) -> None:
    project.init("agents")
    project.write("kds", "#!/bin/sh\necho > ran\nexit 3\n").chmod(0o755)
    page, command = Path("AGENTS.md"), command.format(here=project.folder)
    page.write_text(page.read_text().replace("`kds route", f"`{command} route"))
    assert "ends with" not in "".join(project.doctor().problems)
    assert not Path("ran").exists()


def test_an_empty_project_has_no_problem(project: Project) -> None:
    shutil.rmtree("kds-brain")
    checks = project.doctor()
    assert checks["workspace"][0]["mark"] == "note"
    assert checks["hook"][0]["fix"] == "kds init"
    assert not Path("kds-brain").exists()


def test_without_a_service_the_hook_is_not_run(project: Project) -> None:
    project.try_init("claude")
    checks = project.doctor()
    assert checks["hook"][0]["fix"] == "kds service start"
    assert not Path("kds-brain/hook.log").exists()
    ServiceAddress(Path("kds-brain").absolute()).socket_path.write_text("")
    assert "nobody answers" in project.doctor()["service"][0]["found"]


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
    project.write(".mcp.json", "{}}")
    checks = project.doctor()
    for check in ("rules", "settings", "prompts", "hook files", "mcp"):
        assert {f["mark"] for f in checks[check]} == {"problem"}, check
    assert len(checks.problems) == len(set(checks.problems))
    assert checks["hook files"][0]["found"].startswith(f"{project.folder}/.claude/settings.json:1:")


def test_a_context_that_cannot_be_read_is_a_problem(project: Project) -> None:
    Path("kds-brain/conversation-context.jsonl").mkdir(mode=0o700)
    assert project.doctor()["context"][0]["mark"] == "problem"


def test_doubled_hooks_are_a_problem_that_init_solves(project: Project) -> None:
    project.try_init("claude")
    hooks = {"userPromptSubmitted": [{"type": "command", "bash": "kds-hook"}]}
    project.write(".github/hooks/other.json", json.dumps({"version": 1, "hooks": hooks}))
    (problem,) = project.doctor().problems
    assert ".claude/settings.json and .github/hooks/other.json" in problem
    project.try_init("claude")
    assert project.doctor().problems == []


@pytest.mark.skipif(sys.platform == "win32", reason="every program has the user's PATH there")
def test_a_hook_that_a_desktop_launcher_does_not_find_is_noted_with_its_whole_path(
    project: Project, programs: Path
) -> None:
    project.try_init("claude")
    _ok, note = project.doctor()["programs"]
    assert note["mark"] == "note"
    assert f"they are in {programs}" in note["found"]
    assert str(programs / "kds-hook") in note["fix"]


def test_the_pair_for_claude_code_and_vs_code_is_on_purpose(project: Project) -> None:
    project.try_init("claude", "vscode")
    checks = project.doctor()
    assert checks.problems == []
    found = checks["hook files"][0]["found"]
    assert ".claude/settings.json, and .github/hooks/kds.json for VS Code" in found


def test_a_hook_beside_the_plugin_is_a_problem(project: Project) -> None:
    project.try_init("claude")
    settings = Path(".claude/settings.json")
    text = settings.read_text().replace("{", '{\n  "enabledPlugins": {"kds@kds": true},', 1)
    settings.write_text(text)
    assert "runs the hook twice" in project.doctor().problems[0]


def test_foreign_servers_and_machine_paths_are_told(project: Project, programs: Path) -> None:
    project.write(".cursor/mcp.json", '{"mcpServers": {"kds": {"command": "docker", "args": []}}}')
    group = {"hooks": [{"type": "command", "command": f"{programs}/kds-hook"}]}
    project.write(".claude/settings.json", json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    checks = project.doctor()
    assert checks.problems == ["the server 'kds' in .cursor/mcp.json is not this one"]
    assert "by its path on this machine" in checks["hook files"][0]["found"]


def test_skills_that_are_old_doubled_or_edited_are_told(project: Project) -> None:
    project.try_init("claude", "--skills")
    project.kds("export", "skills", "--to", ".agents/skills")
    skill = Path(".claude/skills/kds/SKILL.md")
    skill.write_text(skill.read_text() + "mine")
    old = Path(".agents/skills/kds-work-planner/SKILL.md")
    text = f"{old.read_text()}old\n"
    old.write_text(text.replace(digest_in(text) or "", digest_of(text)))
    found = [finding["found"] for finding in project.doctor()["skills"]]
    assert "1 of 14 in .agents/skills are not those of this version" in found
    assert "changed by hand in .claude/skills, and left so: kds" in found
    assert any("one client reads both" in each for each in found)
    shutil.rmtree(".agents/skills/kds")
    project.try_init("claude")
    checks = project.doctor()
    assert checks.problems == []
    assert "12 in .agents/skills" in [finding["found"] for finding in checks["skills"]]


def test_recent_troubles_of_the_hook_are_told_and_old_ones_are_not(project: Project) -> None:
    now = datetime.now(UTC)
    old = now - timedelta(days=3)
    log = project.write("kds-brain/hook.log", f"{old.isoformat()} no service\n")
    log.chmod(0o600)
    assert project.doctor()["hook log"][0]["mark"] == "ok"
    log.write_text(f"{old.isoformat()} old\n{now.isoformat()} no service\nbroken\n")
    (finding,) = project.doctor()["hook log"]
    assert "once within a day" in finding["found"]
    assert finding["found"].endswith("no service")


def test_clients_are_asked_for_their_versions(project: Project, programs: Path) -> None:
    for name, script in (("claude", "echo 2.1.197."), ("copilot", "exit 1")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    found = [finding["found"] for finding in project.doctor()["clients"]]
    assert found == [
        "Claude Code 2.1.197",
        f"Copilot CLI: {programs}/copilot does not say its version",
    ]


def test_without_a_service_it_tells_what_the_hook_does_then(project: Project) -> None:
    def found() -> str:
        return project.doctor()["service"][0]["found"]

    assert found() == "it is not running: commands take seconds"
    project.try_init("claude")
    assert "the hook starts it with the next session or prompt" in found()
    project.try_init("claude", "--no-start")
    assert "the hook has nothing to say" in found()


def test_a_folder_that_copilot_does_not_trust_is_told(
    project: Project, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "copilot" / "config.json"
    monkeypatch.setenv("COPILOT_HOME", str(config.parent))
    config.parent.mkdir()
    config.write_text("{}")
    assert "trust" not in project.doctor(), "Copilot finds nothing here"
    config.unlink()
    project.try_init("copilot")
    assert "trust" not in project.doctor(), "Copilot is not there"
    (programs / "copilot").write_text("#!/bin/sh\necho 1.0.102\n")
    (programs / "copilot").chmod(0o755)
    (finding,) = project.doctor()["trust"]
    assert (finding["mark"], str(project.folder) in finding["fix"]) == ("note", True)
    here = project.folder
    for trusted, mark in (("/else/where", "note"), (here, "ok"), (here.parent, "ok")):
        config.write_text(f'// by Copilot\n{{"trustedFolders": ["{trusted}"]}}\n')
        assert project.doctor()["trust"][0]["mark"] == mark, trusted
    config.write_text("{]")
    assert project.doctor()["trust"][0]["mark"] == "problem"


def test_programs_of_an_environment_and_their_path_in_git_are_told(
    project: Project, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.doctor()["programs"][0]["mark"] == "ok"
    real = shutil.which("git", path=os.defpath)
    if real is None:
        pytest.skip("needs git")
    (programs / "git").symlink_to(real)
    (programs.parent / "pyvenv.cfg").write_text("")
    monkeypatch.setattr("sys.executable", str(programs / "python"))
    project.try_init("claude", "--hook", "--mcp")
    checks = project.doctor()
    assert checks["programs"][0]["fix"] == f"{install_line(tool='pipx install')}, then kds init"
    assert [finding["mark"] for finding in checks["mcp"]] == ["ok"]
    for arguments in (("init", "-q"), ("add", ".mcp.json")):
        subprocess.run([real, *arguments], cwd=project.folder, check=True)
    note = project.doctor()["mcp"][1]
    assert note["mark"] == "note"
    assert note["found"].startswith("git tracks .mcp.json, and it names a program by its path")


def test_files_in_prompts_that_are_not_ours_are_told(project: Project) -> None:
    project.write("prompts/user/onboarding.md", "# Welcome\n")
    checks = project.doctor()
    assert [finding["mark"] for finding in checks["prompts"]] == ["ok", "note"]
    assert "passed over" in checks["prompts"][1]["found"]


@needs_unix_sockets
def test_an_undo_names_the_service_that_runs_on(project: Project, service: Service) -> None:
    project.try_init("claude")
    undone = project.try_init("--undo").out
    assert f"a service is running for it (process {os.getpid()}): kds service stop" in undone


def test_another_distribution_called_kds_is_a_problem_with_its_fix(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.clients.doctor.finding.other_kds", lambda: "another author's package")
    checks = project.doctor()
    assert checks.problems == ["another author's package"]
    assert checks["kds"][1]["fix"].startswith("pip uninstall -y kds; pip install --force-reinstall")
