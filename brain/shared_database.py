"""The server that the user named to keep conversations, in the place of a workspace's files.

Of its library, and of the settings, nothing is imported unless there is one.
"""

import getpass
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kds.brain.settings_variables import DATABASE
from kds.brain.workspace import Workspace, own_settings_path

if TYPE_CHECKING:
    from kds.brain.store.postgres import Server

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SharedDatabase:
    """A server, and whose rows on it belong to a workspace."""

    url: str
    tenant: tuple[str, str, str]
    """Organisation, person and project."""

    def __str__(self) -> str:
        """The server without user and password."""
        from kds.brain.store.postgres import place_of

        return place_of(self.url)

    def server(self) -> "Server":
        """Return a pool of connections; whoever has it closes it. Raises StoreError."""
        from kds.brain.store.postgres import Server

        return Server.shared(self.url)


def shared_database(
    workspace: Workspace, *, environ: Environ = os.environ
) -> SharedDatabase | None:
    """Return the server of a workspace, None when there is none: the usual case, told at once.

    Raises SettingsError when the settings may name one and are wrong.
    """
    if not environ.get(DATABASE, "").strip() and not _may_name_one(environ):
        return None
    from kds.brain.settings import load_settings  # 0.1 s of imports

    database = load_settings(workspace, environ=environ).database
    if database.url is None:
        return None
    project = database.project or workspace.root.name or "project"
    names = (database.organisation, database.person or _user(), project)
    return SharedDatabase(database.url.get_secret_value(), names)


def _may_name_one(environ: Environ) -> bool:
    """Whether the user's own settings have the word at all: no parser is needed to see that."""
    try:
        return b"database" in own_settings_path(environ).read_bytes()
    except FileNotFoundError:
        return False
    except OSError:  # told of where the settings are read
        return True


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):  # a user without a name, as in a container
        return getpass.getuser()
    return "user"
