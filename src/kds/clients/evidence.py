"""Which assistants are in use in a project: by what they left there, or by their programs.

What `kds export` wrote is no evidence of the assistant that it was written for: people export
for their colleagues, too. What `kds init` wrote is: somebody asked for it.
"""

import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Final

from kds.brain.errors import ConfigError
from kds.clients.generated import CLIENTS, Client
from kds.clients.mark import digest_in
from kds.clients.project import Project
from kds.clients.projectfile import read_project_text

_SIGNS: Final[Mapping[Client, tuple[str, ...]]] = {
    "claude": (".claude", "CLAUDE.md"),
    "copilot": (
        ".github/copilot-instructions.md",
        *(f".github/{name}" for name in ("copilot", "hooks", "skills", "agents", "prompts")),
    ),
    "vscode": (".vscode",),
    "cursor": (".cursor",),
}
"""What a client leaves in a project. `.github` alone is no sign: most have it for other things."""

_PROGRAMS: Final[Mapping[Client, str]] = {
    "claude": "claude",
    "copilot": "copilot",
    "vscode": "code",
    "cursor": "cursor",
}


def clients_in_use(
    project: Project, *, by_init: Container[str] = (), path: str | None = None
) -> Iterator[tuple[Client, str]]:
    """The clients that seem to be in use here, each with what gives it away.

    ``by_init`` are the files that `kds init` wrote. A program on ``path`` counts where nothing
    in the project does.
    """
    for client in CLIENTS:
        marks = (name for name in _SIGNS[client] if _is_sign(project, name, by_init))
        mark = next(marks, None)
        if mark is not None:
            yield client, mark
        elif which(_PROGRAMS[client], path=path):
            yield client, f"`{_PROGRAMS[client]}` on the PATH"


def _is_sign(project: Project, name: str, by_init: Container[str]) -> bool:
    place = project.folder / name
    if not place.is_dir():
        return place.exists()
    exported = False
    for file in _files(place):
        if project.name(file) in by_init or not _is_exported(file):
            return True
        exported = True
    return not exported  # an empty folder is there for some reason


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def _is_exported(path: Path) -> bool:
    if path.suffix != ".md":
        return False
    try:
        text = read_project_text(path)
    except ConfigError:  # none of ours is unreadable
        return False
    return text is not None and digest_in(text) is not None
