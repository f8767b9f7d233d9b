"""The command lines by which clients call KDS: a name on the PATH, or a path of this machine."""

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import WorkspaceError
from kds.brain.installation import install_line

HOOK_PROGRAM: Final = "kds-hook"
NEVER_FAILS: Final = " 2>/dev/null || true"
"""A colleague without KDS must not see an error: Gemini CLI shows the stderr and the exit code of
a hook with each prompt. `kds-hook` itself writes nothing there."""
SERVER: Final = "kds"
"""The name of the program, and of the MCP server in every client."""

_ENVIRONMENT_MARKS: Final = ("pyvenv.cfg", "conda-meta")
"""What lies beside the `bin` folder of a virtual environment, and of a conda environment."""
_HOOK_CALL: Final = re.compile(r"(?:^|[\\/\s\"'])kds-hook(?:\.exe)?(?:[\s\"';|&]|$)")
_OTHERS: Final = ("docker", "uvx", "pipx")
"""The last two fetch a package by the name of its program: `kds` is another author's package."""


@dataclass(frozen=True, slots=True)
class Programs:
    """How the two programs are called. ``shared``: the names work on any machine."""

    hook: str
    kds: str
    shared: bool


def find_programs() -> Programs:
    """The names if they are on the PATH outside of any environment, else absolute paths.

    A terminal may have an environment active; an assistant that is started elsewhere has not.
    Raises WorkspaceError when the programs are neither there nor beside this Python.
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


def hook_command(program: str = HOOK_PROGRAM) -> str:
    """The command line of the hook."""
    return f"{program}{NEVER_FAILS}"


def calls_hook(command: str) -> bool:
    """Whether a command line of a client runs our hook.

    >>> calls_hook("/opt/x/bin/kds-hook || true"), calls_hook("my-kds-hooks")
    (True, False)
    """
    return _HOOK_CALL.search(command) is not None


def hook_program(command: str) -> str | None:
    """The program that a hook runs, or None if `kds init` would not write its command.

    A project may come from somebody else, settings included. So the command line is not parsed:
    it is compared with each that runs the hook of the PATH or the one beside this Python.
    """
    beside = str(Path(sys.executable).parent)
    on_path = shutil.which(HOOK_PROGRAM)
    names: dict[str, str] = {}
    for path in (on_path, shutil.which(HOOK_PROGRAM, path=beside)):
        if path is not None and Path(path).is_absolute():  # else it is in the current folder
            names |= {shlex.quote(path): path} | ({HOOK_PROGRAM: path} if path == on_path else {})
    found = (path for name, path in names.items() if command in (name, hook_command(name)))
    return next(found, None)


def calls_server(entry: object) -> bool:
    """Whether an entry in a list of MCP servers runs our server.

    >>> calls_server({"command": "/opt/x/bin/kds", "args": ["mcp"]})
    True
    >>> calls_server({"command": "docker", "args": ["run", "kds"]})
    False
    """
    if not isinstance(entry, dict):
        return False
    command, words = entry.get("command"), entry.get("args")
    words = words if isinstance(words, list) else []
    if isinstance(command, list):  # opencode has both in one list
        command, *words = command or [""]
    program = Path(str(command).replace("\\", "/")).name.removesuffix(".exe")
    if program in _OTHERS and not {"--from", "--spec"} & set(words):
        return False
    return (program == SERVER and words[:1] == ["mcp"]) or ("kds" in words and "mcp" in words)


def _path_without_environments() -> str:
    return os.pathsep.join(
        folder
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder and not _is_environment(Path(folder).parent)
    )


def _is_environment(folder: Path) -> bool:
    try:
        return any((folder / mark).exists() for mark in _ENVIRONMENT_MARKS)
    except OSError:  # somebody else's folder
        return False
