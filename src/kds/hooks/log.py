"""``kds-brain/hook.log``: why the hook had nothing to say. `kds-hook` writes it, others read it."""

import os
import stat
import time

LOG_NAME = "hook.log"
LOG_LIMIT = 2**16
"""Bytes after which the log begins anew; the old one keeps a name."""

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link in a workspace that came with a project must not lead elsewhere, nor a pipe hold us."""


def note(brain: str, reason: str) -> None:
    """Add one line, in a file of mode 0600. Raises OSError when it cannot be written.

    Lines of several hooks do not mix (O_APPEND).
    """
    if os.path.islink(brain):
        return
    path = os.path.join(brain, LOG_NAME)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFELY, 0o600)
    try:
        status = os.fstat(log)
        if stat.S_ISREG(status.st_mode):
            os.write(log, f"{stamp} {reason}\n".encode())
    finally:
        os.close(log)
    if status.st_size >= LOG_LIMIT:
        os.replace(path, f"{path}.1")


def read_hook_log(brain: str | os.PathLike[str]) -> list[tuple[str | None, str]]:
    """Return time (ISO 8601; None for a damaged line) and reason of each line, oldest first.

    Raises StoreError when the log cannot be read.
    """
    from datetime import datetime
    from pathlib import Path

    from kds.brain.files import read_private

    content = read_private(Path(brain) / LOG_NAME) or b""
    found: list[tuple[str | None, str]] = []
    for line in content.decode("utf-8", "replace").splitlines():
        stamp, _, reason = line.partition(" ")
        try:
            datetime.fromisoformat(stamp)
        except ValueError:
            stamp, reason = "", line
        found.append((stamp or None, reason))
    return found
