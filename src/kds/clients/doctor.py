"""`kds doctor`: workspace, service, hook and the files and settings of the clients."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from kds.brain.clock import moment, utc_now
from kds.brain.errors import ConfigError
from kds.brain.installation import install_line, kds_version
from kds.brain.workspace import Workspace
from kds.clients import workspace_health
from kds.clients.apply import RecordStore
from kds.clients.findings import Checks, Finding, examine
from kds.clients.plan import (
    InstalledHook,
    has_hook,
    has_server,
    installed_hooks,
    installed_wish,
    plan_install,
)
from kds.clients.programs import (
    NO_START,
    VERSION_TIMEOUT_S,
    fault_of,
    find_programs,
    hook_arguments,
)
from kds.clients.project import Project, read_project_text
from kds.clients.settings_file import SettingsFile
from kds.clients.table import CLIENT_TABLE, CODEX_HOOKS, COPILOT_MCP, SHARED_MCP
from kds.hooks.log import read_hook_log
from kds.hooks.reply import PROBE
from kds.router.prompts.library import PromptLibrary
from kds.service.service_client import ServiceAddress, reach

SERVICE_TIMEOUT_S: Final = 5.0
HOOK_TIMEOUT_S: Final = 20.0
"""The hook gives up after 1.5 s by itself; a machine may be busy."""
PROBE_PROMPT: Final = "I want to add a FAB button"
RECENT: Final = timedelta(days=1)
"""Older troubles of the hook are history."""

_START: Final = "kds service start"
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+(?:-\w+)?")


def findings_of(project: Project) -> Iterator[Finding]:
    """The findings of every check, in order; a check that fails is a finding."""
    workspace = project.workspace
    library = cache(lambda: PromptLibrary.load(workspace.prompts_dir))
    checks: dict[str, Checks] = {
        "kds": this_kds,
        "programs": programs,
        "workspace": partial(workspace_health.place, workspace),
        "privacy": partial(workspace_health.rights, workspace),
        "git": partial(workspace_health.committed, workspace),
        "settings": partial(workspace_health.settings, workspace),
        "context": partial(workspace_health.context, workspace),
        "rules": partial(workspace_health.rules, workspace),
        "prompts": lambda: workspace_health.prompts(workspace, library()),
        "service": partial(service, project),
        "files": partial(client_files, project),
        "hook": partial(hooks, project),
        "hook log": partial(hook_log, workspace),
        "trust": partial(copilot_trust, project),
        "trust of Codex": partial(codex_trust, project),
        "clients": clients,
    }
    told = set()
    for name, look in checks.items():
        for finding in examine(name, look):
            if finding.mark != "problem" or finding.found not in told:  # two checks, one file
                told.add(finding.found)
                yield finding


def this_kds() -> Iterator[Finding]:
    """The versions of Python and KDS."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("kds", "ok", f"kds {kds_version()}, Python {python} at {sys.executable}")


def programs() -> Iterator[Finding]:
    """Whether assistants find our programs by name, and can run them. Raises WorkspaceError."""
    found = find_programs()
    install = f"{install_line(tool='pipx install')}, then kds init"
    if (fault := fault_of(found.kds)) is not None:
        yield Finding("programs", "problem", f"{found.kds} {fault}", install)
    elif found.shared:
        yield Finding("programs", "ok", "kds and kds-hook are on the PATH")
    else:
        said = "kds and kds-hook are only on the PATH of an environment: files name their place"
        yield Finding("programs", "note", said, install)


def client_files(project: Project) -> Iterator[Finding]:
    """Whether the files of the clients are as `kds init` would write them. Raises ConfigError."""
    record = RecordStore(project.workspace.brain).load()
    wish = installed_wish(project, record)
    plan = plan_install(project, wish, find_programs(), record)
    wrong = [file.name for file in plan.files if file.changes and file.before is not None]
    for name in wrong:
        found = f"{name} is not as kds init would write it now: see kds init --dry-run"
        yield Finding("files", "problem", found, "kds init")
    for note in plan.notes:
        yield Finding("files", "note", note)
    right = [file.name for file in plan.files if file.after and file.name not in wrong]
    if wish.clients and right:
        yield Finding("files", "ok", f"as kds init writes them: {', '.join(sorted(right))}")


def service(project: Project) -> Iterator[Finding]:
    """Whether a service runs, its version, and whether its last reload failed."""
    client = reach(project.workspace, timeout_s=SERVICE_TIMEOUT_S)
    if client is None:
        yield _no_service(project)
        return
    health = client.health()
    running, ours = str(health.get("version")), kds_version()
    if running != ours:
        found = f"it is kds {running}, the commands are kds {ours}"
        yield Finding("service", "problem", found, "kds service stop, then kds service start")
    else:
        process, minutes = health.get("pid"), float(health.get("uptime_s", 0)) / 60
        found = f"running (process {process}, {minutes:.0f} min, {health.get('turns')} turns)"
        yield Finding("service", "ok", found)
    here = str(project.workspace.root)
    for served in (one for one in health.get("workspaces", ()) if one.get("root") == here):
        if error := served.get("reload", {}).get("error"):
            found = f"it still uses older rules and prompts of {served.get('root')}: {error}"
            fix = "correct the file; it is read again by itself"
            yield Finding("service", "problem", found, fix)
        for warning in served.get("warnings", ()):
            yield Finding("service", "note", str(warning))


def _no_service(project: Project) -> Finding:
    stale = ServiceAddress().socket_path.exists()
    found = "its socket is there, but nothing answers" if stale else "it is not running"
    commands = [hook.command for hook in _known_hooks(project)]
    if any(NO_START not in command for command in commands):
        meant = "the hook starts it with the next session or prompt; that prompt goes on without it"
    elif commands:
        meant = "the hook has nothing to say, and commands take seconds"
    else:
        meant = "commands take seconds"
    return Finding("service", "note", f"{found}: {meant}", _START)


def _known_hooks(project: Project) -> list[InstalledHook]:
    """The installed hooks, none if their files are broken, which another check reports."""
    with suppress(ConfigError):
        return installed_hooks(project)
    return []


def hooks(project: Project) -> Iterator[Finding]:
    """Run each installed hook as its client would, with a prompt that is not remembered.

    They run without a shell. They do not run without a service, which answers them; nor if
    `kds init` would not write such a command, which may have come with the project.
    """
    installed = installed_hooks(project)
    if not installed:
        yield Finding("hook", "note", "no hook is installed here", "kds init")
        return
    if reach(project.workspace, timeout_s=SERVICE_TIMEOUT_S) is None:
        yield Finding("hook", "note", "installed; not tried, as no service is running", _START)
        return
    for hook in installed:
        yield _round_trip(hook, project.folder)


def hook_input(folder: Path) -> bytes:
    """What a client writes to the hook, marked as not to be remembered."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "kds-doctor",
        "cwd": str(folder),
        "prompt": PROBE_PROMPT,
        PROBE: True,
    }
    return json.dumps(event).encode()


def _round_trip(hook: InstalledHook, folder: Path) -> Finding:
    def wrong(what: str, fix: str) -> Finding:
        return Finding("hook", "problem", f"the one in {hook.name} {what}", fix)

    arguments = hook_arguments(hook.command)
    if arguments is None:
        found = f"the one in {hook.name} is not as kds init writes it here; not tried: "
        fix = f"look at it in {hook.name}; kds init writes its own"
        return Finding("hook", "note", f"{found}{hook.command!a:.200}", fix)
    try:
        done = subprocess.run(
            arguments, cwd=folder, input=hook_input(folder), capture_output=True,
            timeout=HOOK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except OSError as error:
        fix = "install KDS again, then kds init"
        return wrong(f"cannot be run: {error.strerror or error}", fix)
    except subprocess.TimeoutExpired:
        return wrong(f"did not end within {HOOK_TIMEOUT_S:.0f} s", "see the hook log")
    said = _last_line(done.stderr)
    if done.returncode != 0:
        return wrong(f"ended with {done.returncode}: {said}", "kds init")
    if not _has_context(done.stdout):
        why = said or "see the hook log"
        return wrong(f"said nothing: {why}", "kds init, and kds service status")
    return Finding("hook", "ok", f"a prompt comes through the one in {hook.name}")


def _has_context(output: bytes) -> bool:
    """Whether the output of a hook has a text for the model, in the spelling of Claude Code."""
    try:
        answer: Any = json.loads(output)
        text = answer["hookSpecificOutput"]["additionalContext"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(text, str) and bool(text.strip())


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


def hook_log(workspace: Workspace) -> Iterator[Finding]:
    """The troubles of the hook within the last day."""
    since = utc_now() - RECENT
    recent = [one for one in read_hook_log(workspace.brain) if one.at and one.at >= since]
    if not recent:
        yield Finding("hook log", "ok", "no trouble within a day")
        return
    last = recent[-1]
    times = "once" if len(recent) == 1 else f"{len(recent)} times"
    at = moment(last.at) if last.at else "?"
    found = f"the hook had to let prompts pass {times} within a day; last at {at}: {last.reason}"
    yield Finding("hook log", "note", found, "kds service status")


def copilot_trust(project: Project) -> Iterator[Finding]:
    """Whether the Copilot CLI trusts the project. Raises ConfigError for its settings.

    If it does not, it skips hooks and servers without a word (tried with 1.0.102). The place of
    the list, and that folders below count, are from GitHub's page on configuring it.
    """
    config = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot") / "config.json"
    has_servers = any((project.folder / name).exists() for name in (SHARED_MCP, COPILOT_MCP))
    if not (has_servers or _known_hooks(project)) or not (
        shutil.which("copilot") or config.exists()
    ):
        return
    text = (read_project_text(config) or "").strip()
    node = SettingsFile(str(config), text).root().find(("trustedFolders",)) if text else None
    names = node.value() if node else None
    real = Path(os.path.realpath(project.folder))
    if isinstance(names, list) and any(
        real.is_relative_to(os.path.realpath(name))
        for name in names
        if name and isinstance(name, str)
    ):
        yield Finding("trust", "ok", f"the Copilot CLI trusts {project.folder}")
        return
    found = f"the Copilot CLI does not trust {project.folder}: there it runs no hook and no server"
    fix = f"start copilot in {project.folder}, and trust the folder for future sessions"
    yield Finding("trust", "note", found, fix)


def codex_trust(project: Project) -> Iterator[Finding]:
    """Whether Codex trusts the project, and its user has looked at the hook. Raises ConfigError.

    The forms of the entries are those of Codex's own code: `[projects."FOLDER"]` with a
    `trust_level`, and `[hooks.state."FILE:..."]` with the hash of a hook that was looked at.
    """
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    if not shutil.which("codex") or not (
        has_hook(project, "codex") or has_server(project, "codex")
    ):
        return
    known: dict[str, Any] = {}
    with suppress(tomllib.TOMLDecodeError):  # Codex reports it itself, and does not start
        known = tomllib.loads(read_project_text(home / "config.toml") or "")
    trusted = any(
        isinstance(entry, dict)
        and entry.get("trust_level") == "trusted"
        and project.folder.resolve().is_relative_to(Path(name))
        for name, entry in known.get("projects", {}).items()
    )
    hook_file = project.folder / CODEX_HOOKS
    states = known.get("hooks", {}).get("state", {})
    if not trusted:
        found = f"Codex does not trust {project.folder}: there it runs no hook and no server"
        yield Finding("trust", "note", found, f"start codex in {project.folder}, and trust it")
    elif hook_file.exists() and not any(str(name).startswith(str(hook_file)) for name in states):
        found = f"nobody has told Codex yet that the hook in {CODEX_HOOKS} is wanted"
        yield Finding("trust", "note", found, "start codex there, and look at it: /hooks")
    else:
        yield Finding("trust", "ok", f"Codex trusts {project.folder}")


def clients() -> Iterator[Finding]:
    """The clients on the PATH, with their versions."""
    for traits in CLIENT_TABLE.values():
        path = shutil.which(traits.program or "")
        if path is None:
            continue
        version = _version_of(path)
        if version is None:
            yield Finding("clients", "note", f"{traits.label}: {path} does not say its version")
        else:
            yield Finding("clients", "ok", f"{traits.label} {version}")


def _version_of(path: str) -> str | None:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S,
            check=False, stdin=subprocess.DEVNULL, env={**os.environ, "DISABLE_AUTOUPDATER": "1"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout)
    return match[0] if match and done.returncode == 0 else None
