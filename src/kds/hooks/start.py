"""Starting the service in the background at its first use: for `kds-hook` and the commands.

Part of `kds.hooks.client`: imports next to nothing until it starts something. The settings files
are YAML, and too much for a hook to read. So what is started (`kds service start --auto`) reads
them, and leaves word where they are against it.
"""

import os
import sys
import time

from kds.brain.discovery import OFF, ON, own_settings

STAMP_NAME = "service.starting"
PAUSE_S = 60
"""A service takes some seconds to load: after a minute a start has worked, or has failed."""

DECLINED = b"off\n"
"""What the mark says when the settings want no service: so it stays until one of them changes."""

DECLINED_S = 3600
"""At the latest then they are read again: one may have been removed, or put back with its date."""

HANDED_LIMIT = 4_000 if sys.platform == "win32" else 16_000
"""Bytes of a hook's input that a pipe takes at once, before anybody reads."""

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def start_service(root: str, brain: str, prompt: bytes = b"") -> bool:
    """Start the service of ``root``, detached, unless that is switched off or was just tried.

    Does not wait for it. ``prompt`` is the input of a hook that found nobody: a process that does
    wait has it passed on, and nothing of it is written anywhere. Tells whether a service was
    started. Raises OSError when it cannot be.
    """
    wanted = _variable("KDS_SERVICE_AUTO")
    if not sys.executable or wanted in OFF or _variable("KDS_SERVICE") in OFF:
        return False
    settings = (os.path.join(brain, "settings.yaml"), own_settings())
    stamp = os.path.join(brain, STAMP_NAME)
    started = _may_start(stamp, () if wanted in ON else settings)
    if started:
        _spawn(root, "start", "--auto")
    if 0 < len(prompt) <= HANDED_LIMIT and (started or not _declined(stamp)):
        _spawn(root, "hand-over", content=prompt)
    return started


def _spawn(root: str, *words: str, content: bytes = b"") -> None:
    """Run `kds service` with ``words``, and ``content`` on its stdin."""
    import subprocess  # 11 ms: where there is no service, and nowhere else

    # -P: a `kds` folder or a `json.py` in the user's project must not be taken for ours
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kds", "service", *words, "--workspace", root],
        cwd=root,
        stdin=subprocess.PIPE if content else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
    )
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
    if process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(content)


def leave_word(brain: str, word: bytes) -> None:
    """Leave word of a start: DECLINED, or the process that is on its way. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _SAFELY
    mark = os.open(os.path.join(brain, STAMP_NAME), flags, 0o600)
    try:
        os.write(mark, word)
    finally:
        os.close(mark)


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def _may_start(stamp: str, settings: tuple[str, ...] = ()) -> bool:
    """Leave a mark, and tell whether nothing speaks against a start.

    That is: a mark within PAUSE_S, or one that says no and is newer than all ``settings``. Two that
    find an old mark at the same moment may both start: the service's lock leaves one. A mark from
    the future (the clock was put back) is an old one.
    """
    try:
        marked = os.lstat(stamp).st_mtime
        age_s = abs(time.time() - marked)
        changed = not settings or any(_is_newer(one, marked) for one in settings)
        refused = age_s < DECLINED_S and not changed and _declined(stamp)
        if age_s < PAUSE_S or refused:
            return False
        os.unlink(stamp)
    except FileNotFoundError:
        pass
    try:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _declined(stamp: str) -> bool:
    try:
        mark = os.open(stamp, os.O_RDONLY | _SAFELY)
    except OSError:  # a link: it is taken away
        return False
    try:
        return os.read(mark, len(DECLINED) + 1) == DECLINED
    finally:
        os.close(mark)


def _is_newer(path: str, than: float) -> bool:
    try:
        return os.stat(path).st_mtime >= than
    except OSError:  # it is not there
        return False
