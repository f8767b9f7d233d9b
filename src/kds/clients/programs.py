"""By which command line a client is to call KDS: a name on the PATH, or a path of this machine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import WorkspaceError
from kds.brain.installation import install_line
from kds.clients.settings.entries import (
    HOOK_PROGRAM,
    NEVER_FAILS,
    NO_START,
    OLDER_ENDS,
    SERVER,
    shared_command,
)

_ENVIRONMENT_MARKS: Final = ("pyvenv.cfg", "conda-meta")
"""What lies beside the `bin` folder of a virtual environment, and of a conda environment."""

_HOOK_CALL: Final = re.compile(r"(?:^|[\\/\s\"'])kds-hook(?:\.exe)?(?:[\s\"';|&]|$)")

LAUNCHER_PATH: Final = {
    "darwin": "/usr/bin:/bin:/usr/sbin:/sbin",
    "win32": None,
}.get(sys.platform, "/usr/local/bin:/usr/bin:/bin")
"""Where a program looks that was started from a menu or the dock, by no shell of the user: what
launchd and systemd begin with. None where every program has the PATH of the user."""

VERSION_TIMEOUT_S: Final = 10.0
"""For `--version`: `copilot` starts a Node process and unpacks itself on its first run."""

_FETCHERS: Final = ("uvx", "pipx")
"""They fetch a package by the name of its program: for `kds` that is another author's."""


@dataclass(frozen=True, slots=True)
class Programs:
    """How the two programs are called. ``shared`` is True when the names do on any machine."""

    hook: str
    kds: str
    shared: bool


def find_programs() -> Programs:
    """The names where they are on the PATH outside of any environment, else absolute paths.

    A terminal may have an environment active; an assistant that is started elsewhere has not.
    Raises WorkspaceError when they are neither there nor beside this Python.
    """
    search = _path_without_environments()
    if all(shutil.which(name, path=search) for name in (HOOK_PROGRAM, SERVER)):
        return Programs(HOOK_PROGRAM, SERVER, shared=True)
    folder = Path(sys.executable).parent
    found = [shutil.which(name, path=str(folder)) for name in (HOOK_PROGRAM, SERVER)]
    if found[0] is None or found[1] is None:
        raise WorkspaceError(
            "the programs kds and kds-hook are neither on the PATH nor beside this Python",
            where=str(folder),
            hint=f"install KDS again: {install_line(tool='pipx install')}",
        )
    return Programs(shlex.quote(found[0]), found[1], shared=False)


def fault_of(program: str, *, tried: bool = False) -> str | None:
    """Why a client started outside of any environment cannot run ``program``, or None.

    ``tried``: one that is our own is also run, with `--version`. What else a file names may have
    come with the project, and is only looked for.
    """
    search = _path_without_environments()
    found = shutil.which(program, path=search)
    if found is None:
        return "is only there in an environment" if shutil.which(program) else "is not there"
    beside = str(Path(sys.executable).parent)
    ours = {shutil.which(SERVER, path=folders) for folders in (search, beside)}
    if not (tried and found in ours and Path(found).is_absolute()):
        return None
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, timeout=VERSION_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        return f"cannot be run: {error.strerror or error}"
    except subprocess.TimeoutExpired:
        return f"does not end within {VERSION_TIMEOUT_S:.0f} s"
    return None if done.returncode == 0 else f"ends with {done.returncode}"


def beyond_launchers() -> Path | None:
    """Where the hook is on the PATH of this shell, unless a program from a menu sees it too."""
    here = shutil.which(HOOK_PROGRAM, path=_path_without_environments())
    if here is None or LAUNCHER_PATH is None or shutil.which(HOOK_PROGRAM, path=LAUNCHER_PATH):
        return None
    return Path(here)


def calls_hook(command: str) -> bool:
    """Whether a command line of a client runs our hook.

    >>> calls_hook("/opt/x/bin/kds-hook --no-start"), calls_hook("my-kds-hooks")
    (True, False)
    """
    return _HOOK_CALL.search(command) is not None


def hook_arguments(command: str) -> list[str] | None:
    """The program of a hook and its arguments, or None for what `kds init` does not write.

    Settings come with a project that somebody else made. So nothing is read out of the command
    line: it is compared with each that is ours, which run the hook of the PATH or the one
    beside this Python.
    """
    beside = str(Path(sys.executable).parent)
    found = (shutil.which(HOOK_PROGRAM), shutil.which(HOOK_PROGRAM, path=beside))
    # a path that is not absolute is one of the folder we are in
    paths = [path for path in found if path is not None and Path(path).is_absolute()]
    names = {shlex.quote(path): path for path in paths}
    if paths and paths[0] == found[0]:
        names[HOOK_PROGRAM] = paths[0]
    for name, path in names.items():
        for start in (True, False):
            full = shared_command(start=start, program=name)
            bare = full.removesuffix(NEVER_FAILS)
            if command in (full, *(f"{bare}{end}" for end in OLDER_ENDS)):
                return [path, *([] if start else [NO_START])]
    return None


def calls_server(command: object, arguments: object) -> bool:
    """Whether an MCP entry runs our server.

    >>> calls_server("/opt/x/bin/kds", ["mcp"]), calls_server("docker", ["run", "kds"])
    (True, False)
    """
    words = arguments if isinstance(arguments, list) else []
    if isinstance(command, list):  # opencode has both in one list
        command, *words = command or [""]
    program = Path(str(command).replace("\\", "/")).name.removesuffix(".exe")
    by_name = program == SERVER and words[:1] == ["mcp"]
    if program == "docker" or (program in _FETCHERS and not {"--from", "--spec"} & set(words)):
        return False
    return by_name or ("kds" in words and "mcp" in words)


def _path_without_environments() -> str:
    return os.pathsep.join(
        folder
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder and not any((Path(folder).parent / mark).exists() for mark in _ENVIRONMENT_MARKS)
    )
