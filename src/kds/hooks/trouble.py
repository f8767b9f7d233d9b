"""Why the hook had nothing to say, and the line about it in ``kds-brain/hook.log``.

Part of `kds.hooks.client`: imports next to nothing. `kds.hooks.log` reads what is written here.
"""

import os
import stat
import time

LOG_NAME = "hook.log"
LOG_LIMIT = 2**16
"""Bytes after which the log is cut to its newer half: some five hundred lines stay."""

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link in a workspace that came with a project must not lead elsewhere, nor a pipe hold us."""


class Trouble(Exception):  # noqa: N818  # no error to anybody: the prompt goes on
    """The hook has nothing to say. The text goes to the log: never a word of the prompt in it."""


class NoService(Trouble):
    """Nobody answers for this workspace."""


class Late(Trouble):
    """The time is up."""


def reason_for(error: BaseException, timeout_s: float) -> str:
    """Say in a few words what happened. Only our own words and those of the system."""
    if isinstance(error, (Late, TimeoutError)):
        return f"no answer within {timeout_s * 1000:.0f} ms"
    if isinstance(error, Trouble):
        return str(error)
    if isinstance(error, OSError) and error.errno:
        return f"{type(error).__name__}: {os.strerror(error.errno)}"
    return f"internal: {type(error).__name__}"


def note(brain: str, reason: str) -> None:
    """Add one line to the log, made with mode 0600. Raises OSError when it cannot be written.

    Lines of several hooks do not mix (O_APPEND). One that comes while another process cuts the
    log may be lost: it is a log. A folder that is a link, as a project may bring along, gets none.
    """
    if os.path.islink(brain):
        return
    path = os.path.join(brain, LOG_NAME)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFELY, 0o600)
    try:
        status = os.fstat(log)
        if not stat.S_ISREG(status.st_mode):
            return
        os.write(log, f"{stamp} {reason}\n".encode())
    finally:
        os.close(log)
    if status.st_size > LOG_LIMIT:
        _cut(path)


def _cut(path: str) -> None:
    log = os.open(path, os.O_RDONLY | _SAFELY)
    try:
        os.lseek(log, -LOG_LIMIT // 2, os.SEEK_END)
        newer = os.read(log, LOG_LIMIT)
    finally:
        os.close(log)
    beside = f"{path}.{os.getpid()}.tmp"
    made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _SAFELY, 0o600)
    try:
        os.write(made, newer[newer.find(b"\n") + 1 :])
    finally:
        os.close(made)
    os.replace(beside, path)
