"""``kds-brain/hook.log``: what became of each call of the hook, without a word of a prompt.

`kds-hook` writes why a call got no answer, the service what it answered, or why it was silent.
"""

import os
import stat
import time

from kds.hooks.call import GUARDS

LOG_NAME = "hook.log"
LOG_LIMIT = 2**16  # bytes after which the log begins anew; the old one keeps a name
SESSION_CHARS = 100


def note(brain: str, reason: str) -> None:
    """Add one line, in a file of mode 0600. Raises OSError when it cannot be written.

    Lines of several hooks do not mix (O_APPEND).
    """
    if os.path.islink(brain):
        return
    path = os.path.join(brain, LOG_NAME)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | GUARDS, 0o600)
    try:
        status = os.fstat(log)
        if stat.S_ISREG(status.st_mode):
            os.write(log, f"{stamp} {reason}\n".encode())
    finally:
        os.close(log)
    if status.st_size >= LOG_LIMIT:
        os.replace(path, f"{path}.1")


def note_answer(brain: str, client: str, session: str | None, event: str, what: str) -> None:
    """Add a line on what the service answered. Raises OSError as `note` does."""
    named = "".join(one if one.isalnum() or one in "-.:" else "_" for one in session or "-")
    note(brain, f"{client} {named[:SESSION_CHARS]} {event}: {' '.join(what.split())}")


def read_hook_log(brain: str | os.PathLike[str]) -> "list[tuple[str | None, ...]]":
    """Return time (ISO 8601), client, session, event and answer of each call, oldest first.

    Why there was none stands in the place of the answer, without the three before it. A damaged
    line has no time. Raises StoreError when the log cannot be read.
    """
    import re
    from datetime import datetime
    from pathlib import Path

    from kds.brain.files import PrivateFile

    path = Path(brain) / LOG_NAME
    both = (PrivateFile(one).read() or b"" for one in (path.with_name(f"{LOG_NAME}.1"), path))
    found: list[tuple[str | None, ...]] = []
    for line in b"".join(both).decode("utf-8", "replace").splitlines():
        stamp, _, text = line.partition(" ")
        try:
            at = datetime.fromisoformat(stamp)
            written = at.tzinfo is not None and at.year >= 2000
        except ValueError:
            written = False
        told = re.fullmatch(r"(\w+) (\S+) (prompt|start|tool): (.+)", text)
        found.append(
            (stamp, *(told.groups() if told else (None, None, None, text)))
            if written
            else (None, None, None, None, line)
        )
    return found
