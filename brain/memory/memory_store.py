"""The conversation memory, whatever engine runs its SQL.

`sqlite_store.SqliteStore` keeps it in one file, `kds.brain.memory.postgres_store.PostgresStore`
on a server; tests/brain/conformance.py holds both against the same tests. Every method raises
StoreError with ``where`` and ``hint``; a session that does not exist is one of the reasons.
"""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property

from kds.brain.memory.entities import EntityTable
from kds.brain.memory.messages import Draft, MessageTable
from kds.brain.memory.metrics import MetricTable
from kds.brain.memory.profile import ProfileTable
from kds.brain.memory.records import Archive, Session, Stats
from kds.brain.memory.sessions import SessionTable, new_id
from kds.brain.memory.sessions import insert as insert_session
from kds.brain.memory.summaries import SummaryTable
from kds.brain.passages.store import MessageSearch
from kds.brain.passages.values import Message
from kds.brain.store.columns import kept_text, to_micros
from kds.brain.store.engine import Connection
from kds.brain.store.health import healing


class MemoryStore(SessionTable, MessageTable, SummaryTable, MessageSearch):
    """All of it: conversations, what was said in them, and what stands beside them."""

    @cached_property
    def profile(self) -> ProfileTable:
        """What the user consented to be remembered."""
        return ProfileTable(self.database)

    @cached_property
    def entities(self) -> EntityTable:
        """What the router may resolve references with."""
        return EntityTable(self.database)

    @cached_property
    def metrics(self) -> MetricTable:
        """What recalls measured."""
        return MetricTable(self.database)

    @healing
    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        drafts = [self._draft_of(message) for message in archive.messages]
        with self.database.write() as connection:
            session_id, number = _insert(connection, archive.session)
            for draft in drafts:
                self.add(connection, number, _with_free_id(connection, draft))
            for summary in archive.summaries:
                text = kept_text(summary.text).strip()
                run = (summary.first_seq, summary.last_seq)
                self.add_row(connection, number, (*run, text, to_micros(summary.at), summary.kind))
            connection.execute(
                "UPDATE session SET updated_at = ? WHERE num = ?",
                (to_micros(archive.session.updated_at), number),
            )
        return self.session(session_id)

    def _draft_of(self, message: Message) -> Draft:
        return self.draft(
            message.role,
            message.content,
            at=message.at,
            speaker=message.speaker,
            message_id=message.id or None,
        )

    @abstractmethod
    def stats(self) -> Stats:
        """Return how much is stored."""


def _insert(connection: Connection, session: Session) -> tuple[str, int]:
    """Add the row of a session, under another id when its own is taken; returns id and number."""
    session_id = session.id if _is_free(connection, "session", session.id) else new_id()
    return session_id, insert_session(connection, replace(session, id=session_id))


def _with_free_id(connection: Connection, draft: Draft) -> Draft:
    return draft if _is_free(connection, "message", draft.id) else replace(draft, id=new_id())


def _is_free(connection: Connection, table: str, name: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (name,)).fetchone() is None
