"""One service a user: its lock, socket and state file, and what it leaves to expire.

The lock is held for the life of the process and the system lets go of it however that ends,
so its holder may remove what a dead service left behind.
"""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from filelock import FileLock, Timeout

from kds.brain.context.conversations import Contexts
from kds.brain.context.journal import MAX_AGE
from kds.brain.errors import KdsError
from kds.brain.files import PRIVATE, failure, remove_private, replace_private
from kds.brain.workspace import Workspace
from kds.service.background import noted
from kds.service.errors import AlreadyServedError, ServiceError
from kds.service.service_client import ServiceAddress

BACKLOG: Final = 256
"""Connections that may wait to be accepted; a burst of windows, not the internet."""

_PROBE_S: Final = 0.5
"""Seconds until a held lock counts as held: a look whether there is a service
(`kds.service.background.is_running`) holds it for less than a millisecond."""


_TIDY_LATER: Final = """\
until=$1; shift
while [ -s "$0" ] && left=$((until - $(date +%s))) && [ "$left" -gt 0 ]; do
  sleep "$((left < 60 ? left : 60))"
done
[ -s "$0" ] && exec "$@"
"""
"""$0 is the file of the context: where it is gone or empty, nothing is left to do."""


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
        """Listen on the socket; the folder keeps others out. Raises ServiceError."""
        path = self.address.socket_path
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
                hint="serve it over loopback instead: kds serve --no-socket",
            ) from error
        return listener

    def announce(self, state: Mapping[str, object]) -> None:
        """Write down how to reach the service. Raises StoreError."""
        content = json.dumps(state, indent=2).encode()
        replace_private(self.address.state_path, content + b"\n")

    def hide(self) -> None:
        """Remove the socket: no new requests. The state file still names the process."""
        remove_private(self.address.socket_path)

    def withdraw(self) -> None:
        """Remove socket, state file and the mark of a hang. Raises StoreError."""
        self.hide()
        remove_private(self.address.state_path)
        remove_private(self.address.hung_path)

    def release(self) -> None:
        """Let another process serve."""
        self._lock.release()


def _already(address: ServiceAddress) -> AlreadyServedError:
    pid = noted(address).get("pid")  # none: it is starting, or stopping
    who = f"process {pid}" if pid else "another process"
    return AlreadyServedError(
        f"{who} serves this user already",
        where=str(address.folder),
        hint="use that one, see `kds service status`; to serve in another way, end it first with "
        "`kds service stop`",
    )


def expire_later(workspace: Workspace, *, age_s: float = MAX_AGE.total_seconds()) -> None:
    """Have the lines of a context leave the disk once all are older than ``age_s`` seconds.

    Nothing happens where there are no lines, or the system has no shell.
    """
    shell = shutil.which("sh")
    with suppress(KdsError):
        if shell is None or not Contexts(workspace).journal().load().entries:
            return
        context, until = workspace.context_path, time.time() + age_s + 1
        tidy = (sys.executable, "-P", "-m", "kds", "context", "load", "--workspace", workspace.root)
        process = subprocess.Popen(
            [shell, "-c", _TIDY_LATER, context, f"{until:.0f}", *tidy],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # nobody waits for it, and Python need not warn of that
