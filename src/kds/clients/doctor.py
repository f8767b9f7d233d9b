"""`kds doctor`: workspace, service, hook and the files of the clients, as a table of checks."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from kds.brain.clock import utc_now
from kds.brain.errors import ConfigError, KdsError
from kds.brain.git import CONVERSATION, DOCUMENT_FILES, exposure, ignore_conversations
from kds.brain.installation import install_line, kds_version
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.clients.apply import RecordStore
from kds.clients.plan import InstalledHook, installed_hooks, plan_install, recorded_wish
from kds.clients.project import Project
from kds.clients.table import find_programs, hook_program
from kds.hooks.log import read_hook_log
from kds.hooks.reply import PROBE
from kds.router.english import load_english
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import load_rules
from kds.service.service_client import ServiceAddress, reach

SERVICE_TIMEOUT_S: Final = 5.0
HOOK_TIMEOUT_S: Final = 20.0
"""The hook gives up after 1.5 s by itself; a machine may be busy."""
PROBE_PROMPT: Final = "I want to add a FAB button"
RECENT: Final = timedelta(days=1)
"""Older troubles of the hook are history."""
OTHERS: Final = 0o077
"""The rights of group and others."""

_USERS_OWN: Final = ("rules", "english", "settings.yaml", "README.md", ".gitignore")
"""Written by hand and committed; they hold nothing of a conversation."""
_START: Final = "kds service start"

Mark = Literal["ok", "note", "problem"]
"""``note``: it works but could be better, or is not in use."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. ``fix`` says what to do, if anything."""

    check: str
    mark: Mark
    found: str
    fix: str | None = None


Seen = tuple[Mark, str, str | None]
"""What a check sees: a mark, a sentence, and what to do about it."""


def findings_of(project: Project) -> Iterator[Finding]:
    """The findings of every check, in order; a check that fails is a finding."""
    told = set()
    for name, look in CHECKS.items():
        for seen in _seen(look, project):
            if seen[0] != "problem" or seen[1] not in told:  # two checks, one file
                told.add(seen[1])
                yield Finding(name, *seen)


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether none of the findings is a problem."""
    return all(finding.mark != "problem" for finding in findings)


def _seen(look: Callable[[Project], Iterator[Seen]], project: Project) -> Iterator[Seen]:
    try:
        yield from look(project)
    except ConfigError as error:
        for problem in error.problems:
            yield "problem", f"{problem.where}: {problem.message}", problem.hint
    except KdsError as error:
        where = f"{error.where}: " if error.where else ""
        yield "problem", f"{where}{error.message}", error.hint
    except OSError as error:
        found = f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")
        yield "problem", found, "check the file and its rights"


def _kds(project: Project) -> Iterator[Seen]:
    python = ".".join(str(part) for part in sys.version_info[:3])
    yield "ok", f"kds {kds_version()}, Python {python} at {sys.executable}", None


def _programs(project: Project) -> Iterator[Seen]:
    """Whether assistants find our programs by name, and can run them."""
    if find_programs().shared:
        yield "ok", "kds and kds-hook are on the PATH", None
    else:
        said = "kds and kds-hook are only on the PATH of an environment: files name their place"
        yield "note", said, f"{install_line(tool='pipx install')}, then kds init"


def _place(project: Project) -> Iterator[Seen]:
    workspace = project.workspace
    workspace.check()
    if workspace.brain.is_dir():
        yield "ok", str(workspace.brain), None
    else:
        found = f"{workspace.root} has no {workspace.brain.name} yet; the first message makes it"
        yield "note", found, "kds init"


def _privacy(project: Project) -> Iterator[Seen]:
    """Whether anybody else may read what is stored."""
    workspace = project.workspace
    if not workspace.brain.is_dir():
        return
    if paths := too_open(workspace):
        shown = (f"{one.name} ({stat.S_IMODE(one.stat().st_mode):04o})" for one in paths)
        yield "problem", f"others may read {', '.join(shown)}", "kds doctor --fix"
    else:
        yield "ok", "nobody else may read what is stored", None


def _git(project: Project) -> Iterator[Seen]:
    """Whether git would commit what is stored; if so, nothing is stored."""
    workspace = project.workspace
    if not workspace.brain.is_dir():
        return
    if found := exposure(workspace, (*CONVERSATION, *DOCUMENT_FILES)):
        error = found.as_error(workspace.brain)
        yield "problem", f"{error.message}; nothing is kept there", error.hint
    elif found.unknown:
        yield "note", f"git does not say what it would commit: {found.unknown}", None
    else:
        yield "ok", "git leaves what is stored out of every commit", None


def _settings(project: Project) -> Iterator[Seen]:
    service = load_settings(project.workspace).service
    switched = "on" if service.enabled else "off"
    yield "ok", f"service {switched}, idle after {service.idle_minutes:g} min", None


def _rules(project: Project) -> Iterator[Seen]:
    load_rules(project.workspace.rules_dir)
    load_english(project.workspace.english_dir)
    yield "ok", "the rules load", None


def _prompts(project: Project) -> Iterator[Seen]:
    library = PromptLibrary.load(project.workspace.prompts_dir)
    yield "ok", f"{len(library.prompts())} prompts load", None


def _service(project: Project) -> Iterator[Seen]:
    """Whether a service runs, its version, and what it warns of."""
    client = reach(project.workspace, timeout_s=SERVICE_TIMEOUT_S)
    if client is None:
        stale = ServiceAddress().socket_path.exists()
        found = "its socket is there, but nothing answers" if stale else "it is not running"
        yield "note", f"{found}: the hook has nothing to say, commands take seconds", _START
        return
    health = client.ask("GET /healthz")
    if (running := str(health.get("version"))) != (ours := kds_version()):
        found = f"it is kds {running}, the commands are kds {ours}"
        yield "problem", found, "kds service stop, then kds service start"
    else:
        yield "ok", f"running (process {health.get('pid')}, {health.get('turns')} turns)", None
    here = str(project.workspace.root)
    for served in (one for one in health.get("workspaces", ()) if one.get("root") == here):
        yield from (("note", str(warning), None) for warning in served.get("warnings", ()))


def _files(project: Project) -> Iterator[Seen]:
    """Whether the files of the clients are as `kds init` would write them."""
    record = RecordStore(project).load()
    wish = recorded_wish(project, record)
    plan = plan_install(project, wish, find_programs(), record)
    wrong = [file.name for file in plan.files if file.changes and file.before is not None]
    for name in wrong:
        found = f"{name} is not as kds init would write it now: see kds init --dry-run"
        yield "problem", found, "kds init"
    yield from (("note", note, None) for note in plan.notes)
    right = sorted(file.name for file in plan.files if file.after and file.name not in wrong)
    if wish.clients and right:
        yield "ok", f"as kds init writes them: {', '.join(right)}", None


def _hook(project: Project) -> Iterator[Seen]:
    """Run each installed hook as its client would, with a prompt that is not remembered.

    They run without a shell. They do not run without a service, which answers them; nor if
    `kds init` would not write such a command, which may have come with the project.
    """
    installed = installed_hooks(project)
    if not installed:
        yield "note", "no hook is installed here", "kds init"
    elif reach(project.workspace, timeout_s=SERVICE_TIMEOUT_S) is None:
        yield "note", "installed; not tried, as no service is running", _START
    else:
        yield from (_round_trip(hook, project.folder) for hook in installed)


def _round_trip(hook: InstalledHook, folder: Path) -> Seen:
    here, program = f"the one in {hook.name}", hook_program(hook.command)
    if program is None:
        found = f"{here} is not as kds init writes it here; not tried: {hook.command!a:.200}"
        return "note", found, f"look at it in {hook.name}; kds init writes its own"
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "kds-doctor",
             "cwd": str(folder), "prompt": PROBE_PROMPT, PROBE: True}  # fmt: skip
    try:
        done = subprocess.run(
            [program], cwd=folder, input=json.dumps(event).encode(), capture_output=True,
            timeout=HOOK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except OSError as error:
        fix = "install KDS again, then kds init"
        return "problem", f"{here} cannot be run: {error.strerror or error}", fix
    except subprocess.TimeoutExpired:
        return "problem", f"{here} did not end within {HOOK_TIMEOUT_S:.0f} s", "see the hook log"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    said = lines[-1][:200] if lines else "see the hook log"
    if done.returncode != 0:
        return "problem", f"{here} ended with {done.returncode}: {said}", "kds init"
    try:  # in the spelling of Claude Code
        text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"].strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        text = ""
    if not text:
        return "problem", f"{here} said nothing: {said}", "kds init, and kds service status"
    return "ok", f"a prompt comes through {here}", None


def _hook_log(project: Project) -> Iterator[Seen]:
    since, log = utc_now() - RECENT, read_hook_log(project.workspace.brain)
    recent = [f"at {at}: {why}" for at, client, *_, why in log
              if at and client is None and datetime.fromisoformat(at) >= since]  # fmt: skip
    if recent:
        found = f"answers that the hook did not get within a day: {len(recent)}; {recent[-1]}"
        yield "note", found, "kds service status"
    else:
        yield "ok", "no trouble within a day", None


CHECKS: Final[Mapping[str, Callable[[Project], Iterator[Seen]]]] = {
    "kds": _kds, "programs": _programs, "workspace": _place, "privacy": _privacy, "git": _git,
    "settings": _settings, "rules": _rules, "prompts": _prompts, "service": _service,
    "files": _files, "hook": _hook, "hook log": _hook_log,
}  # fmt: skip


def leave_out(workspace: Workspace) -> bool:
    """Have git ignore what is stored; return whether a rule had to be added.

    What git tracks already stays tracked until the user removes it from git.
    """
    names = (*CONVERSATION, *DOCUMENT_FILES)
    if not workspace.brain.is_dir() or not exposure(workspace, names).let_through:
        return False
    ignore_conversations(workspace)
    return True


def too_open(workspace: Workspace) -> list[Path]:
    """Folders and files of the workspace that others have rights to, except behind a link."""
    brain = workspace.brain
    if sys.platform == "win32" or brain.is_symlink() or not brain.is_dir():
        return []
    ours = (one for one in brain.rglob("*") if one.relative_to(brain).parts[0] not in _USERS_OWN)
    paths = (brain, *sorted(one for one in ours if not one.is_symlink()))
    return [path for path in paths if path.stat().st_mode & OTHERS]


def make_private(workspace: Workspace) -> int:
    """Take the rights of others away from what is ours; returns from how many files and folders."""
    paths = [path for path in too_open(workspace) if path.stat().st_uid == os.geteuid()]
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return len(paths)
