"""Which assistants are in use in a project: by what they left there, or by their programs.

What `kds export` wrote is no evidence of the assistant that it was written for: people export
for their colleagues, too. What `kds init` wrote is: somebody asked for it.
"""

from collections.abc import Container, Iterator
from pathlib import Path
from shutil import which

from kds.brain.errors import ConfigError
from kds.clients.generated.mark import digest_in
from kds.clients.project import Project
from kds.clients.settings.projectfile import read_project_text
from kds.clients.table import CLIENT_TABLE, CLIENTS, Client


def clients_in_use(
    project: Project, *, by_init: Container[str] = ()
) -> Iterator[tuple[Client, str]]:
    """The clients that seem to be in use here, each with what gives it away.

    ``by_init`` are the files that `kds init` wrote. A program on the PATH counts where nothing
    in the project does.
    """
    for client in CLIENTS:
        traits = CLIENT_TABLE[client]
        marks = (name for name in traits.signs if _is_sign(project, name, by_init))
        mark = next(marks, None)
        if mark is not None:
            yield client, mark
        elif traits.program and which(traits.program):
            yield client, f"`{traits.program}` on the PATH"


def _is_sign(project: Project, name: str, by_init: Container[str]) -> bool:
    place = project.folder / name
    if not place.is_dir():
        return place.exists()
    exported = False
    for file in (path for path in place.rglob("*") if not path.is_dir()):
        if project.name(file) in by_init or not _is_exported(file):
            return True
        exported = True
    return not exported  # an empty folder is there for some reason


def _is_exported(path: Path) -> bool:
    if path.suffix != ".md":
        return False
    try:
        text = read_project_text(path)
    except ConfigError:  # none of ours is unreadable
        return False
    return text is not None and digest_in(text) is not None
