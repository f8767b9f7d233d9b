"""What is on a server in the place of files, for amnesia: looked at, put away, taken, put back.

Contexts, what was learned and work in progress are named as their files would be, in a folder
`server/` that there is only in backups. Sessions, documents and the profile stay where they are.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.private_file import append_private, read_private
from kds.brain.shared_database import SharedDatabase, shared_database
from kds.brain.workspace import Workspace

ON_SERVER: Final = "server/"

STAYS_THERE: Final = "sessions, profile and documents on the server: kds memory delete, kds docs"


@dataclass(frozen=True, slots=True)
class HeldText:
    """A text on a server as it was found: it is taken as it is put away, or not at all."""

    shared: SharedDatabase
    name: str
    content: bytes

    is_readable = True

    def copy_to(self, target: Path) -> None:
        """Write it to a file, mode 0600."""
        append_private(target, self.content)

    def take_away(self) -> bool:
        """Remove it from the server; what was said since is new, and stays."""
        from kds.brain.postgres.tenant_texts import remove_texts

        remove_texts(self.shared, {self.name: self.content})
        return True


def texts_on_server(workspace: Workspace) -> dict[str, HeldText]:
    """Return what the server has, by its name in a backup; nothing where none is named.

    Raises StoreError, and SettingsError when the settings may name a server and are wrong.
    """
    shared = shared_database(workspace)
    if shared is None:
        return {}
    from kds.brain.postgres.tenant_texts import tenant_texts

    found = tenant_texts(shared)
    return {f"{ON_SERVER}{name}": HeldText(shared, name, found[name]) for name in found}


def put_on_server(workspace: Workspace, name: str, extract: Callable[[Path], None]) -> bool:
    """Put a text back; ``extract`` writes it to a file. Raises StoreError without a server, too."""
    shared = shared_database(workspace)
    if shared is None:
        raise StoreError(
            f"'{name.removeprefix(ON_SERVER)}' in it was on a server, and none is named",
            where="KDS_DATABASE",
            hint="name the database that it came from, or another one",
        )
    from kds.brain.postgres.tenant_texts import put_text

    beside = workspace.brain / f".server.{os.urandom(6).hex()}.tmp"
    try:
        extract(beside)
        put_text(shared, name.removeprefix(ON_SERVER), read_private(beside) or b"")
    finally:
        beside.unlink(missing_ok=True)
    return True


def newer_on_server(workspace: Workspace, digests: Mapping[str, str]) -> list[str]:
    """Name the texts on the server that say something else than those of a backup."""
    if not any(name.startswith(ON_SERVER) for name in digests):
        return []
    present = texts_on_server(workspace)
    return [
        name
        for name in digests.keys() & present.keys()
        if hashlib.sha256(present[name].content).hexdigest() != digests[name]
    ]
