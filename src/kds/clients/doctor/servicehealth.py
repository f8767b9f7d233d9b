"""Is the service in order, and does a prompt come through the installed hook to it?"""

import json
import subprocess
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from kds.brain.clock import moment, utc_now
from kds.brain.installation import kds_version
from kds.brain.workspace import Workspace
from kds.clients.doctor.finding import Finding
from kds.clients.programs import hook_arguments
from kds.clients.settings.entries import NO_START
from kds.hooks.log import read_hook_log
from kds.hooks.reply import PROBE
from kds.service.service_client import ServiceAddress, reach

SERVICE_TIMEOUT_S: Final = 5.0
HOOK_TIMEOUT_S: Final = 20.0
"""The hook gives up after 1.5 s by itself; a machine may be busy."""

PROBE_PROMPT: Final = "I want to add a FAB button"

RECENT: Final = timedelta(days=1)
"""Older troubles of the hook are history."""


def service(workspace: Workspace, commands: Collection[str]) -> Iterator[Finding]:
    """Whether a service runs, of which version, and what it last reloaded.

    ``commands`` are the command lines of the installed hooks.
    """
    client = reach(workspace, timeout_s=SERVICE_TIMEOUT_S)
    if client is None:
        yield _no_service(workspace, commands)
        return
    health = client.health()
    running, ours = str(health.get("version")), kds_version()
    if running != ours:
        found = f"it is kds {running}, the commands are kds {ours}"
        yield Finding("service", "problem", found, "kds service stop, then kds service start")
    else:
        minutes = float(health.get("uptime_s", 0)) / 60
        found = (
            f"running (process {health.get('pid')}, {minutes:.0f} min, {health.get('turns')} turns)"
        )
        yield Finding("service", "ok", found)
    for served in health.get("workspaces", ()):
        yield from _served(served)


def _no_service(workspace: Workspace, commands: Collection[str]) -> Finding:
    stale = ServiceAddress(workspace.brain).socket_path.exists()
    found = "its socket is there, and nobody answers" if stale else "it is not running"
    if any(NO_START not in command for command in commands):
        meant = "the hook starts it with the next session or prompt; that prompt goes on without it"
    elif commands:
        meant = "the hook has nothing to say, and commands take seconds"
    else:
        meant = "commands take seconds"
    return Finding("service", "note", f"{found}: {meant}", _START)


_START: Final = "kds service start"


def hook(workspace: Workspace, folder: Path, commands: Mapping[str, str]) -> Iterator[Finding]:
    """Run each installed hook command (the keys of ``commands``: file, value: command line).

    They run in the folder of the project as the client would run them, but without a shell, and
    with a prompt that is not remembered. Without a service there is nobody to answer: then they
    are not run. Nor is a command that `kds init` does not write: it may have come with the
    project, and do anything.
    """
    if not commands:
        yield Finding("hook", "note", "no hook is installed here", "kds init")
        return
    if reach(workspace, timeout_s=SERVICE_TIMEOUT_S) is None:
        yield Finding("hook", "note", "installed; not tried, as no service is running", _START)
        return
    for name, command in commands.items():
        yield _round_trip(name, command, folder)


def hook_log(workspace: Workspace) -> Iterator[Finding]:
    """What the hook ran into within the last day."""
    since = utc_now() - RECENT
    recent = [
        trouble for trouble in read_hook_log(workspace.brain)
        if trouble.at is not None and trouble.at >= since
    ]  # fmt: skip
    if not recent:
        yield Finding("hook log", "ok", "no trouble within a day")
        return
    last = recent[-1]
    times = "once" if len(recent) == 1 else f"{len(recent)} times"
    at = moment(last.at) if last.at else "?"
    found = f"the hook had to let prompts pass {times} within a day; last at {at}: {last.reason}"
    yield Finding("hook log", "note", found, "kds service status")


def hook_input(folder: Path) -> bytes:
    """What a client would write to the hook, with the mark that nothing is to be remembered."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "kds-doctor",
        "cwd": str(folder),
        "prompt": PROBE_PROMPT,
        PROBE: True,
    }
    return json.dumps(event).encode()


def _round_trip(name: str, command: str, folder: Path) -> Finding:
    def wrong(what: str, fix: str) -> Finding:
        return Finding("hook", "problem", f"the one in {name} {what}", fix)

    arguments = hook_arguments(command)
    if arguments is None:
        found = f"the one in {name} is not as kds init writes it here; not tried: {command!a:.200}"
        return Finding("hook", "note", found, f"look at it in {name}; kds init writes its own")
    try:
        done = subprocess.run(
            arguments, cwd=folder, input=hook_input(folder), capture_output=True,
            timeout=HOOK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except OSError as error:
        return wrong(
            f"cannot be run: {error.strerror or error}", "install KDS again, then kds init"
        )
    except subprocess.TimeoutExpired:
        return wrong(f"did not end within {HOOK_TIMEOUT_S:.0f} s", "see the hook log")
    if done.returncode != 0:
        return wrong(f"ended with {done.returncode}: {_last_line(done.stderr)}", "kds init")
    if _context_in(done.stdout) is None:
        why = _last_line(done.stderr) or "see the hook log"
        return wrong(f"said nothing: {why}", "kds init, and kds service status")
    return Finding("hook", "ok", f"a prompt comes through the one in {name}")


def _context_in(output: bytes) -> str | None:
    """The text for the model in the output of a hook, in the spelling of Claude Code."""
    try:
        answer: Any = json.loads(output)
        text = answer["hookSpecificOutput"]["additionalContext"]
    except (ValueError, KeyError, TypeError):
        return None
    return text if isinstance(text, str) and text.strip() else None


def _served(served: Mapping[str, Any]) -> Iterator[Finding]:
    error = served.get("reload", {}).get("error")
    if error:
        found = f"it still uses older rules and prompts of {served.get('root')}: {error}"
        yield Finding("service", "problem", found, "correct the file; it is read again by itself")
    for warning in served.get("warnings", ()):
        yield Finding("service", "note", str(warning))


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
