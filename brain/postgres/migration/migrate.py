"""All that a workspace keeps in files, copied to its tenant on a server, and compared.

It may be broken off at any moment and begun again, by several at once too: what is there is not
copied again, and what is not is. The files stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kds.brain.postgres.migration import beside
from kds.brain.postgres.migration.comparison import (
    Compared,
    compare_conversations,
    compare_rest,
    compare_sessions,
)
from kds.brain.postgres.migration.parts import MESSAGES_AT_ONCE
from kds.brain.postgres.migration.sessions import copy_sessions
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.workspace import Workspace

Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration came to."""

    messages: int
    """That this run copied."""
    compared: tuple[Compared, ...]

    @property
    def complete(self) -> bool:
        """Whether the server has all that the files hold."""
        return all(one.same for one in self.compared)


def migrate(
    workspace: Workspace, target: Tenancy, *, tell: Tell, at_once: int = MESSAGES_AT_ONCE
) -> Migrated:
    """Copy the memory and the live contexts of ``workspace``. Raises StoreError.

    What the server has in the place of something from the files stays, and is told of.
    ``at_once`` messages are one transaction.
    """
    with SqliteStore.if_any(workspace) as store:
        if store is None:
            beside.copy_conversations(workspace, target)
            return Migrated(0, (compare_conversations(workspace, target),))
        source = store.database
        messages = copy_sessions(
            source, target, lambda *so_far: tell("copying", *so_far), at_once=at_once
        )
        beside.copy_entities(source, target)
        beside.copy_items(source, target)
        beside.copy_profile(source, target)
        beside.copy_metrics(source, target)
        beside.copy_conversations(workspace, target)
        compared = compare_sessions(source, target, lambda *so_far: tell("comparing", *so_far))
        return Migrated(messages, (*compared, *compare_rest(source, target, workspace)))
