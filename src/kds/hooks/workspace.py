"""Where the workspace of a folder is: the rule of `kds.brain.workspace`, without its imports.

Part of `kds.hooks.client`: imports next to nothing. A test compares both over trees of folders.
"""

import errno
import os
import stat


def find_workspace(start: str) -> tuple[str, str] | None:
    """The root and the ``kds-brain`` of the workspace of ``start``; None where there is none yet.

    Raises OSError when ``start`` is relative and the current folder no longer exists.
    """
    home = os.environ.get("KDS_HOME", "").strip()
    if home:
        return _named(home)
    origin = os.path.realpath(start)
    try:
        if stat.S_ISREG(os.stat(origin).st_mode):
            origin = os.path.dirname(origin)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
    start = origin
    while True:
        for root in (origin, os.path.join(origin, "KDS")):
            found = _existing(root)
            if found and _is_owned(found[1], start):
                return found
        above = os.path.dirname(origin)
        if above == origin:
            return None
        origin = above


def _is_owned(brain: str, origin: str) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    owner = os.stat(brain).st_uid
    try:
        return owner == os.geteuid() or owner == os.stat(origin).st_uid
    except OSError:
        return False


def _named(home: str) -> tuple[str, str] | None:
    home = os.path.expanduser(home)
    if home.startswith("~"):
        return None
    home = _absolute(home)
    if os.path.basename(home) == "kds-brain":
        return _existing(os.path.dirname(home))
    return _existing(home) or _existing(os.path.join(home, "KDS"))


def _absolute(path: str) -> str:
    """As `Path.absolute` has it: `.` and doubled separators go, `..` stays."""
    path = os.path.join(os.getcwd(), path)
    if os.altsep:
        path = path.replace(os.altsep, os.sep)
    drive, path = os.path.splitdrive(path)
    parts = [part for part in path.split(os.sep) if part not in ("", ".")]
    return drive + os.sep + os.sep.join(parts)


def _existing(root: str) -> tuple[str, str] | None:
    brain = os.path.join(root, "kds-brain")
    return (root, brain) if os.path.isdir(brain) else None
