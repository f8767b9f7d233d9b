"""All that a workspace keeps in files, copied to its tenant on a server, and compared.

It may be broken off at any moment and begun again, by several at once too: what is there is not
copied again, and what is not is. The files stay as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kds.brain.documents.document_store import DocumentStore
from kds.brain.postgres.migration import beside
from kds.brain.postgres.migration.compare import (
    Compared,
    compare_conversations,
    compare_rest,
    compare_sessions,
    compare_texts,
)
from kds.brain.postgres.migration.document_copies import compare_documents, copy_documents
from kds.brain.postgres.migration.kept_texts import copy_texts
from kds.brain.postgres.migration.parts import MESSAGES_AT_ONCE
from kds.brain.postgres.migration.sessions import copy_sessions
from kds.brain.postgres.postgres_documents import DOCUMENTS
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.workspace import Workspace

Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration came to."""

    messages: int
    documents: int
    """How many of either this run copied."""
    compared: tuple[Compared, ...]

    @property
    def complete(self) -> bool:
        """Whether the server has all that the files hold."""
        return all(one.same for one in self.compared)


def migrate(
    workspace: Workspace, target: Tenancy, *, tell: Tell, at_once: int = MESSAGES_AT_ONCE
) -> Migrated:
    """Copy the memory, the live contexts and the documents of ``workspace``. Raises StoreError.

    What the server has in the place of something from the files stays, and is told of.
    ``at_once`` messages are one transaction.
    """
    copy_texts(workspace, target)
    messages, memory = _memory(workspace, target, tell, at_once)
    copied, documents = _documents(workspace, target.within(DOCUMENTS), tell)
    texts = compare_texts(workspace, target)
    return Migrated(messages, copied, (*memory, *texts, *documents))


def _memory(
    workspace: Workspace, target: Tenancy, tell: Tell, at_once: int
) -> tuple[int, tuple[Compared, ...]]:
    path = SqliteStore.path_in(workspace)
    if not path.exists():
        beside.copy_conversations(workspace, target)
        return 0, (compare_conversations(workspace, target),)
    with SqliteStore(path) as store:
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
        return messages, (*compared, *compare_rest(source, target, workspace))


def _documents(
    workspace: Workspace, target: Tenancy, tell: Tell
) -> tuple[int, tuple[Compared, ...]]:
    path = DocumentStore.path_in(workspace)
    if not path.exists():
        return 0, ()
    with DocumentStore(path) as store:
        copied = copy_documents(
            store.database, target, lambda *so_far: tell("copying documents", *so_far)
        )
        return copied, compare_documents(store.database, target)
