"""One service a user: its lock, socket and state file, its end by signals, and what is left.

The lock is held for the life of the process and the system lets go of it however that ends,
so its holder may remove what a dead service left behind.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from filelock import FileLock, Timeout

from kds.brain.context.conversations import Contexts
from kds.brain.context.journal import MAX_AGE
from kds.brain.errors import KdsError
from kds.brain.files import (
    PRIVATE,
    failure,
    make_private_folder,
    remove_private,
    replace_private,
)
from kds.brain.workspace import Workspace
from kds.hooks.call import at_short
from kds.service.background import noted
from kds.service.errors import AlreadyServedError, ServiceError
from kds.service.service_client import ServiceAddress

BACKLOG: Final = 256
"""Connections that may wait to be accepted; a burst of windows, not the internet."""

_PROBE_S: Final = 0.5
"""Seconds until a held lock counts as held: a look whether there is a service
(`kds.service.background.is_running`) holds it for less than a millisecond."""

ENDING: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
"""Those that do, unless the service was started with them ignored (nohup)."""

_SLEEPER: Final = """\
import datetime, json, os, subprocess, sys, time
file, age_s, *command = sys.argv[1:]
before = None
while True:
    try:
        with open(file, encoding="utf-8") as text:
            lines = text.read().splitlines()
        oldest = datetime.datetime.fromisoformat(json.loads(lines[0])["timestamp"])
    except (OSError, ValueError, LookupError, TypeError):
        break
    left = oldest.timestamp() + float(age_s) - time.time()
    if left < 0 and lines == before:
        break
    if left < 0:
        subprocess.run(command)
        before = lines
    time.sleep(min(max(left, 1), 60))
"""
"""A line of exactly MAX_AGE is still kept; one that cannot be put in order is left."""


class Instance:
    """The right to serve. Get it with `Instance.claim`, give it back with `release`."""

    def __init__(self, address: ServiceAddress, lock: FileLock) -> None:
        self.address = address
        self._lock = lock

    @classmethod
    def claim(cls, address: ServiceAddress) -> "Instance":
        """Take the lock, and sweep away what a killed service left.

        Raises AlreadyServedError when another process has it, StoreError when the folder cannot be
        used.
        """
        address.ensure()
        path = address.lock_path
        lock = FileLock(path, mode=PRIVATE, thread_local=False, poll_interval=_PROBE_S / 10)
        try:
            lock.acquire(timeout=_PROBE_S)
        except Timeout as error:
            raise _already(address) from error
        except OSError as error:
            raise failure("lock", path, error) from error
        instance = cls(address, lock)
        try:
            instance.withdraw()
        except BaseException:
            lock.release()
            raise
        return instance

    def bind(self) -> socket.socket:
        """Listen on the socket. Raises ServiceError where that cannot be."""
        try:
            return bind_private(self.address.socket_path)
        except OSError as error:
            raise ServiceError(
                f"cannot make the socket: {error.strerror or error}",
                where=str(self.address.socket_path),
                hint="serve it over loopback instead: kds serve --no-socket",
            ) from error

    def announce(self, state: Mapping[str, object]) -> None:
        """Write down how to reach the service. Raises StoreError."""
        content = json.dumps(state, indent=2).encode()
        replace_private(self.address.state_path, content + b"\n")

    def hide(self) -> None:
        """Remove the socket: no new requests. The state file still names the process.

        Raises StoreError.
        """
        remove_private(self.address.socket_path)

    def withdraw(self) -> None:
        """Remove socket and state file. Raises StoreError."""
        self.hide()
        remove_private(self.address.state_path)
        for stale in self.address.folder.glob(f".{self.address.socket_path.name}.*.tmp"):
            shutil.rmtree(stale, ignore_errors=True)

    def release(self) -> None:
        """Let another process serve."""
        self._lock.release()


def bind_private(path: Path) -> socket.socket:
    """Listen on a unix socket at ``path`` that never had another mode than 0600.

    It is made inside a folder of mode 0700, and moved to its place when its mode is right and
    connections are accepted: no umask, which is the whole process's, has to be changed, and
    who sees the socket can connect. Raises OSError.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    make_private_folder(beside)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        at_short(str(beside / "s"), listener.bind)
        (beside / "s").chmod(PRIVATE)
        listener.listen(BACKLOG)
        (beside / "s").replace(path)
    except BaseException:
        listener.close()
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return listener


def _already(address: ServiceAddress) -> AlreadyServedError:
    pid = noted(address).get("pid")  # none: it is starting, or stopping
    who = f"process {pid}" if pid else "another process"
    return AlreadyServedError(
        f"{who} serves this user already",
        where=str(address.folder),
        hint="use that one, see `kds service status`; to serve in another way, end it first with "
        "`kds service stop`",
    )


@contextmanager
def ended_by_signals(stop: Callable[[str], object]) -> Iterator[None]:
    """Call ``stop`` with a signal's name; a second one of the same kind ends the process.

    For the main thread only.
    """
    numbers = [signal.Signals[name] for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {n: handler for n, handler in before.items() if handler is not signal.SIG_IGN}

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        stop(signal.Signals(number).name)

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have a signal wake the loop. One that comes just before the loop waits for events would else
    be heeded only at the next request. On Windows the loop sees to that itself."""
    if sys.platform == "win32":
        yield
        return
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        loop.add_reader(ours, ours.recv, 1)
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(ours)


def expire_later(workspace: Workspace) -> None:
    """Have lines of the context of ``workspace`` leave the disk when they expire.

    Nothing happens where there is none, or it cannot be read.
    """
    try:
        if not Contexts(workspace).journal().load().entries:
            return
    except KdsError:
        return
    tidy = (sys.executable, "-P", "-m", "kds", "context", "load", "--workspace")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SLEEPER, str(workspace.context_path),
         str(MAX_AGE.total_seconds()), *tidy, str(workspace.root)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
