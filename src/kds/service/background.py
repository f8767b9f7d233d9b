"""The user's service as a background process: starting it, stopping it, and looking at it.

A service is alive as long as its lock is held: the system lets go of the lock however the process
ends, and its files are in a folder that belongs to the user alone.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from filelock import FileLock, Timeout

from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.files import read_private
from kds.brain.timeouts import Deadline
from kds.brain.workspace import Workspace
from kds.service.service_client import ServiceAddress, ServiceUnavailableError, reach

START_S: Final = 60.0
"""Seconds until a start has failed. It takes 3 s on a quiet machine."""

STOP_S: Final = 15.0
"""Seconds before a stop has failed; the service itself gives requests in flight ten."""

COMING_S: Final = 10.0
"""Seconds that a new process has to take its lock. It takes one, with other work going on."""

POLL_S: Final = 0.05

COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "kds")
"""Runs `kds`; -P: a `kds` folder in the user's project must not be taken for ours."""

LOG_LIMIT: Final = 1_000_000
"""Bytes of service.log beyond which a start begins a new one; the old one keeps one name."""

Stopped = Literal["stopped", "killed", "not running"]
State = Literal["running", "starting", "not answering", "not running"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What can be said of the service: ``health`` is its own word when it answers."""

    state: State
    pid: int | None = None
    health: Mapping[str, Any] | None = None
    socket: str | None = None
    http: str | None = None


def is_running() -> bool:
    """Tell whether a process holds the lock of the service."""
    path = ServiceAddress().lock_path
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        raise WorkspaceError(
            f"cannot look at the service: {error.strerror}", where=str(path), hint="check its mode"
        ) from error


def coming() -> int | None:
    """The process that was just started and has not taken its lock yet."""
    path = ServiceAddress().starting_path
    with suppress(StoreError, ValueError, OSError):
        if abs(time.time() - path.lstat().st_mtime) < COMING_S:
            pid = int(read_private(path) or b"")
            if sys.platform != "win32":  # signal 0 would end it there
                os.kill(pid, 0)
            return pid
    return None


def health(workspace: Workspace) -> Mapping[str, Any] | None:
    """What the service says of itself, and of ``workspace`` if it is open; None: no answer."""
    client = reach(workspace, timeout_s=STOP_S)
    try:
        return None if client is None else client.health()
    except ServiceUnavailableError:
        return None


def standing_of(workspace: Workspace) -> Standing:
    """Look at the service. Raises WorkspaceError when that may not be done."""
    answer = health(workspace)
    written = noted(ServiceAddress())
    http = (written.get("http") or {}).get("url")
    if answer is not None:
        return Standing("running", answer["pid"], answer, written.get("socket"), http)
    if is_running():
        listens = written.get("socket") or http
        return Standing("not answering" if listens else "starting", written.get("pid"))
    pid = coming()
    return Standing("not running" if pid is None else "starting", pid)


def spawn_service(*, idle_minutes: float) -> int:
    """Start a service that outlives this process; return its pid without waiting for it.

    When one is running already, the new one ends by itself. Raises StoreError when its folder
    cannot be used.
    """
    process = _spawned(idle_minutes)
    process.returncode = 0  # it is meant to outlive us: Popen need not warn of that
    return process.pid


def _spawned(idle_minutes: float) -> subprocess.Popen[bytes]:
    address = ServiceAddress()
    address.ensure()
    idle = ["--idle-timeout", f"{idle_minutes:g}m"] if idle_minutes else []
    with _open_log(address.log_path) as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--background", *idle],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=address.folder, start_new_session=True, close_fds=True,
        )  # fmt: skip
    with suppress(OSError):  # it is a second until the process holds its lock; it starts without
        address.starting_path.write_text(f"{process.pid}\n")
    return process


def start(
    workspace: Workspace, *, idle_minutes: float, timeout_s: float = START_S
) -> Mapping[str, Any]:
    """Start the service unless it runs or is coming, and have it open ``workspace``.

    Returns its health. Raises KdsError with the last line of its log when it does not come up, and
    as `Conversations.open` does when the workspace does not load.
    """
    settle(workspace, timeout_s=timeout_s)
    if health(workspace) is None:
        process = _spawned(idle_minutes)

        def up() -> bool:
            ended = process.poll() is not None and not is_running()
            return ended or health(workspace) is not None

        Deadline(timeout_s).until(up, pause_s=POLL_S)
        process.returncode = 0  # as above
    if (client := reach(workspace, timeout_s=timeout_s)) is None:
        path = ServiceAddress().log_path
        raise KdsError(
            f"the service did not start: {_last_line(path)}",
            where=str(path),
            hint="run `kds serve` in a terminal to see why",
        )
    return client.open()


def settle(workspace: Workspace, *, timeout_s: float = START_S) -> None:
    """Wait until the service that is starting or holds the lock answers, or has ended."""
    _wait_for_one_coming()
    Deadline(timeout_s).until(
        lambda: not is_running() or health(workspace) is not None, pause_s=POLL_S
    )


def stop(*, force: bool = False, timeout_s: float = STOP_S) -> Stopped:
    """End the service: requests in flight are answered first.

    One that was just started is ended as soon as it holds its lock. With ``force`` a process that
    does not end within ``timeout_s`` is killed; without it this raises KdsError.
    """
    _wait_for_one_coming()
    if not is_running():
        return "not running"
    address = ServiceAddress()
    pid = noted(address).get("pid")
    if not isinstance(pid, int) or pid <= 1:
        raise KdsError(
            "a service is running, but its state file does not name its process",
            where=str(address.state_path),
            hint="it may be starting: try again; else end the process `kds serve` yourself",
        )
    address.starting_path.unlink(missing_ok=True)  # the hook may start it again at once
    _signal(pid, signal.SIGTERM)
    if Deadline(timeout_s).until(lambda: not is_running(), pause_s=POLL_S):
        return "stopped"
    if not force:
        raise KdsError(
            f"the service (pid {pid}) did not end within {timeout_s:g} s",
            hint="kds service stop --force",
        )
    _signal(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    Deadline(STOP_S).until(lambda: not is_running(), pause_s=POLL_S)
    return "killed"


def noted(address: ServiceAddress) -> Mapping[str, Any]:
    """The content of service.json; empty when there is none, or it is damaged."""
    with suppress(StoreError, ValueError):
        state = json.loads(read_private(address.state_path) or b"{}")
        if isinstance(state, dict):
            return state
    return {}


def _wait_for_one_coming() -> None:
    """Wait until the process that was just started has said who it is, or is gone."""
    state = ServiceAddress().state_path
    Deadline(COMING_S).until(
        lambda: coming() is None or (is_running() and state.exists()), pause_s=POLL_S
    )


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _open_log(path: Path) -> Any:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    try:
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        return os.fdopen(os.open(path, flags, 0o600), "ab")
    except OSError as error:
        raise WorkspaceError(
            f"cannot write the log: {error.strerror}", where=str(path), hint="check its mode"
        ) from error


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    said = [line.strip() for line in lines if line.strip() and not line.startswith("  ")]
    return said[-1] if said else "it left no log"
