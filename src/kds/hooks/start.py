"""Starting the service in the background at its first use: for `kds-hook` and the commands.

Part of `kds.hooks.client`: imports next to nothing until it starts something. The settings files
are YAML, and too much for a hook to read. So what is started (`kds service start --auto`) reads
them, and leaves a mark in the workspace where they are against it.
"""

import os
import sys
import time

from kds.brain.discovery import OFF, ON, own_settings, runtime_folder

STARTING_NAME = "service.starting"
"""In the runtime folder: when a service was last started, and by which process."""

PAUSE_S = 60
"""A service takes some seconds to load: after a minute a start has worked, or has failed."""

DECLINED_NAME = "service.off"
"""In a workspace: its settings want no service. Holds until one of them changes."""

DECLINED_S = 3600
"""At the latest then they are read again: one may have been removed, or put back with its date."""

HANDED_LIMIT = 4_000 if sys.platform == "win32" else 16_000
"""Bytes of a hook's input that a pipe takes at once, before anybody reads."""

_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def start_service(root: str, brain: str, prompt: bytes = b"") -> bool:
    """Start the user's service, detached, unless that is switched off or was just tried.

    Does not wait for it. ``prompt`` is the input of a hook that found no service: a process that
    does wait passes it on, and nothing of it is written anywhere. Returns whether a service was
    started. Raises OSError when it cannot be.
    """
    wanted = _variable("KDS_SERVICE_AUTO")
    if not sys.executable or wanted in OFF or _variable("KDS_SERVICE") in OFF:
        return False
    settings = (os.path.join(brain, "settings.yaml"), own_settings())
    if wanted not in ON and _declined(os.path.join(brain, DECLINED_NAME), settings):
        return False
    started = _may_start(os.path.join(runtime_folder(), STARTING_NAME))
    if started:
        _spawn(root, "start", "--auto")
    if 0 < len(prompt) <= HANDED_LIMIT:
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


def leave_word(path: str, word: bytes = b"") -> None:
    """Write a mark. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _SAFELY
    mark = os.open(path, flags, 0o600)
    try:
        os.write(mark, word)
    finally:
        os.close(mark)


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def _may_start(stamp: str) -> bool:
    """Leave a mark, and tell whether there was none within PAUSE_S.

    Two that find an old mark at the same moment may both start: the service's lock leaves one. A
    mark from the future (the clock was put back) is an old one.
    """
    os.makedirs(os.path.dirname(stamp), 0o700, exist_ok=True)
    try:
        if abs(time.time() - os.lstat(stamp).st_mtime) < PAUSE_S:
            return False
        os.unlink(stamp)
    except FileNotFoundError:
        pass
    try:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _declined(mark: str, settings: tuple[str, ...]) -> bool:
    """Whether a mark says that settings want no service, and none of them was changed since."""
    try:
        marked = os.lstat(mark).st_mtime
    except OSError:
        return False
    changed = any(_is_newer(one, marked) for one in settings)
    return abs(time.time() - marked) < DECLINED_S and not changed


def _is_newer(path: str, than: float) -> bool:
    try:
        return os.stat(path).st_mtime >= than
    except OSError:  # it is not there
        return False
