"""The server that a command works on: the one that the user named."""

from collections.abc import Iterator
from contextlib import contextmanager

from kds.brain.environment import DATABASE
from kds.brain.store.postgres import Server
from kds.brain.workspace import SharedDatabase, Workspace, shared_database
from kds.cli.guard import Refusal


def named_database(folder: Workspace) -> SharedDatabase:
    """Return the database of a workspace. Raises Refusal when the user named none."""
    found = shared_database(folder)
    if found is None:
        raise Refusal(
            "no database is named, so conversations are kept in files",
            f"set {DATABASE}=postgresql://USER:PASSWORD@HOST/NAME, "
            "or `database.url` in your own settings; see kds help operations",
        )
    return found


@contextmanager
def opened(database: SharedDatabase) -> Iterator[Server]:
    """Lend its server for as long as the block runs. Raises StoreError."""
    server = database.server()
    try:
        yield server
    finally:
        server.close()
