"""Which process a number in a file means, as far as the system tells (Linux).

A number can be anybody's: a project may bring `service.json` along, and a number is given anew when
its process has ended.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kds.brain.errors import StoreError
from kds.brain.private_file import read_private
from kds.hooks.call import over_unix, peer
from kds.hooks.trouble import Trouble
from kds.service.resident.address import ServiceAddress

_START = 19
"""Place of `starttime` behind the name in /proc/PID/stat (proc(5): the 22nd field)."""


def noted(address: ServiceAddress) -> Mapping[str, Any]:
    """What service.json says; nothing when it says nothing that makes sense."""
    with suppress(StoreError, ValueError):
        state = json.loads(read_private(address.state_path) or b"{}")
        if isinstance(state, dict):
            return state
    return {}


def lives(pid: int) -> bool:
    """Tell whether there is such a process of this user."""
    if sys.platform == "win32":
        return True  # signal 0 would end it there
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def start_of(pid: int) -> int | None:
    """When a process began, in ticks since the system did; None where nobody says."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
        return int(status.rpartition(b")")[2].split()[_START])  # the name may hold anything
    except (OSError, ValueError, IndexError):
        return None


def is_service(pid: int, began: object, address: ServiceAddress) -> bool:
    """Tell whether a process is the service at ``address`` that ``began`` then.

    It has the lock open, it began when it wrote down its number, and it is who listens on the
    socket, if anybody does. What the system does not tell does not count.
    """
    if start_of(pid) != began or not _has_open(pid, address.lock_path):
        return False
    return _listener(address) in (None, pid)


def _has_open(pid: int, path: Path) -> bool:
    """Whether a process has a file open."""
    if not Path("/proc/self/fd").is_dir():
        return True
    try:
        wanted = path.stat()
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                if os.path.samestat(one.stat(), wanted):
                    return True
    except OSError:  # it has ended, or is another user's
        return False
    return False


def _listener(address: ServiceAddress) -> int | None:
    """Who listens on the socket."""
    try:
        connection = over_unix(str(address.socket_path), time.monotonic() + 0.5)
    except (OSError, Trouble):
        return None
    try:
        told = peer(connection)
    finally:
        connection.close()
    return None if told is None else told[0]
