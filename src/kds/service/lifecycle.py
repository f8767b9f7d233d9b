"""One service a user: its lock, socket and state file; starting, stopping and looking at it.

The lock is held for the life of the process, and the system lets go of it however that ends: its
holder may remove what a dead service left behind, and a service is alive as long as it is held.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, Final, Literal

from filelock import FileLock, Timeout

from kds.brain.errors import KdsError, StoreError
from kds.brain.files import PRIVATE, PrivateFile, failure
from kds.brain.timeouts import Deadline
from kds.brain.workspace import Workspace
from kds.service.errors import AlreadyServedError, ServiceError
from kds.service.service_client import ServiceAddress, ServiceUnavailableError, reach

START_S: Final = 60.0  # seconds until a start has failed. It takes 3 s on a quiet machine

STOP_S: Final = 15.0
"""Seconds before a stop has failed; the service itself gives requests in flight ten."""

POLL_S: Final = 0.05

BACKLOG: Final = 256
"""Connections that may wait to be accepted; a burst of windows, not the internet."""

COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "kds")
"""Runs `kds`; -P: a `kds` folder in the user's project must not be taken for ours."""

LOG_LIMIT: Final = 1_000_000
"""Bytes of service.log beyond which a start begins a new one; the old one keeps one name."""

_PROBE_S: Final = 0.5
"""Seconds until a held lock counts as held: `is_running` holds it for less than a millisecond."""


def claim(address: ServiceAddress) -> ExitStack:
    """Take the right to serve, and sweep away what a killed service left; close it to end.

    Raises AlreadyServedError when another process has it, StoreError when the folder cannot be
    used.
    """
    address.ensure()
    lock = FileLock(address.lock_path, mode=PRIVATE, thread_local=False, poll_interval=POLL_S)
    try:
        lock.acquire(timeout=_PROBE_S)
    except Timeout as error:
        pid = noted(address).get("pid")  # none: it is starting, or stopping
        raise AlreadyServedError(
            f"{f'process {pid}' if pid else 'another process'} serves this user already",
            where=str(address.folder),
            hint="use that one, see `kds service status`; to serve in another way, end it "
            "first with `kds service stop`",
        ) from error
    except OSError as error:
        raise failure("lock", address.lock_path, error) from error
    with ExitStack() as held:
        held.callback(lock.release)
        _withdraw(address)
        held.callback(_withdraw, address)
        return held.pop_all()


def _withdraw(address: ServiceAddress) -> None:
    for path in (address.socket_path, address.state_path):
        PrivateFile(path).remove()


def bind_socket(path: Path) -> socket.socket:
    """Listen on the socket; its folder keeps others out. Raises ServiceError."""
    hint = "serve it over loopback instead: kds serve --no-socket"
    if not hasattr(socket, "AF_UNIX"):  # Windows
        raise ServiceError("this system has no unix sockets", where=str(path), hint=hint)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(PRIVATE)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ServiceError(
            f"cannot make the socket: {error.strerror or error}",
            where=str(path),
            hint=hint,
        ) from error
    return listener


def announce(address: ServiceAddress, state: Mapping[str, object]) -> None:
    """Write down how to reach the service. Raises StoreError."""
    PrivateFile(address.state_path).replace(json.dumps(state, indent=2).encode() + b"\n")


def noted(address: ServiceAddress) -> Mapping[str, Any]:
    """What was written down; empty when there is nothing, or it is damaged."""
    with suppress(StoreError, ValueError):
        state = json.loads(PrivateFile(address.state_path).read() or b"{}")
        if isinstance(state, dict):
            return state
    return {}


def is_running() -> bool:
    """Tell whether a process holds the lock of the service."""
    path = ServiceAddress().lock_path
    try:
        if path.exists():
            FileLock(path, timeout=0).acquire().lock.release()
    except Timeout:
        return True
    except OSError as error:
        raise failure("lock", path, error) from error
    return False


def health(workspace: Workspace) -> Mapping[str, Any] | None:
    """What the service says of itself, and of ``workspace`` if it is open; None: no answer."""
    with suppress(ServiceUnavailableError):
        client = reach(workspace, timeout_s=STOP_S)
        return None if client is None else client.ask("GET /healthz")
    return None


def standing_of(workspace: Workspace) -> Mapping[str, Any]:
    """What can be said of the service: its ``status``, and all it says itself when it answers.

    Raises StoreError when nobody may look.
    """
    answer, written = health(workspace), noted(ServiceAddress())
    places = {"socket": written.get("socket"), "http": (written.get("http") or {}).get("url")}
    if answer is not None:
        return {**answer, **places}
    if not is_running():
        return {"status": "not running"}
    status = "not answering" if any(places.values()) else "starting"
    return {"status": status, "pid": written.get("pid")}


def spawn_service(*, idle_minutes: float) -> int:
    """Start a service that outlives this process; return its pid once it is coming, or has ended.

    When one is running already, the new one ends by itself. Raises StoreError when its folder
    cannot be used.
    """
    address = ServiceAddress()
    address.ensure()
    idle = ["--idle-timeout", f"{idle_minutes:g}m"] if idle_minutes else []
    with _open_log(address.log_path) as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--background", *idle],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=address.folder, start_new_session=True, close_fds=True,
        )  # fmt: skip
    Deadline(START_S).until(lambda: process.poll() is not None or is_running(), pause_s=POLL_S)
    process.returncode = 0  # it is meant to outlive us: Popen need not warn of that
    return process.pid


def start(
    workspace: Workspace, *, idle_minutes: float, timeout_s: float = START_S
) -> Mapping[str, Any]:
    """Start the service unless it runs or is coming, and have it open ``workspace``.

    Returns its health. Raises KdsError with the last line of its log when it does not come up, and
    as `Conversations.open` does when the workspace does not load.
    """
    settle(workspace, timeout_s=timeout_s)
    if health(workspace) is None:
        spawn_service(idle_minutes=idle_minutes)
        settle(workspace, timeout_s=timeout_s)
    if (client := reach(workspace, timeout_s=timeout_s)) is None:
        path = ServiceAddress().log_path
        lines = path.read_text(errors="replace").split("\n") if path.exists() else []
        said = [line.strip() for line in lines if line.strip() and not line.startswith("  ")]
        raise KdsError(
            f"the service did not start: {said[-1] if said else 'it left no log'}",
            where=str(path),
            hint="run `kds serve` in a terminal to see why",
        )
    return client.ask("POST /open")


def settle(workspace: Workspace, *, timeout_s: float = START_S) -> None:
    """Wait until the service that holds the lock answers, or has ended."""
    Deadline(timeout_s).until(
        lambda: not is_running() or health(workspace) is not None, pause_s=POLL_S
    )


def stop(
    *, force: bool = False, timeout_s: float = STOP_S
) -> Literal["stopped", "killed", "not running"]:
    """End the service: requests in flight are answered first.

    With ``force`` a process that does not end within ``timeout_s`` is killed; without it this
    raises KdsError.
    """
    if not is_running():
        return "not running"
    address = ServiceAddress()
    Deadline(timeout_s).until(lambda: noted(address).get("pid", 0) > 1, pause_s=POLL_S)
    pid = noted(address).get("pid", 0)
    address.starting_path.unlink(missing_ok=True)  # the hook may start it again at once
    if _ended_by(pid, signal.SIGTERM, timeout_s):
        return "stopped"
    if force and _ended_by(pid, getattr(signal, "SIGKILL", signal.SIGTERM), STOP_S):
        return "killed"
    raise KdsError(
        f"the service (process {pid or 'unknown'}) did not end within {timeout_s:g} s",
        where=str(address.state_path),
        hint="kds service stop --force, or end the process `kds serve` yourself",
    )


def _ended_by(pid: int, number: signal.Signals, timeout_s: float) -> bool:
    if pid > 1:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return Deadline(timeout_s if pid > 1 else 0).until(lambda: not is_running(), pause_s=POLL_S)


def _open_log(path: Path) -> IO[bytes]:
    try:
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        return os.fdopen(os.open(path, flags, PRIVATE), "ab")
    except OSError as error:
        raise failure("write", path, error) from error
