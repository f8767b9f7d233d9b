"""The conversation memory, put together: its tables, its file, and where a workspace has it.

`SqliteStore` keeps it in one file, `PostgresStore` on a server; both pass
tests/brain/conformance.py. Every method raises StoreError with ``where`` and ``hint``; a session
that does not exist is one of the reasons.

`schema/` has the steps that make the tables of a file. `message` holds every text once: a chunk is
a slice of its message, and what the index knows of a chunk is a view. The index notes in which
chunk a word stands, not where in it: it takes .38 of the size of real chats (.65 with columns). A
session's chunks are one range of ids. Times are microseconds since 1970.
"""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kds.brain.git import CONVERSATION
from kds.brain.memory.entities import EntityTable
from kds.brain.memory.metrics import MetricTable
from kds.brain.memory.profile import ProfileTable
from kds.brain.memory.records import Archive, Session, Stats
from kds.brain.memory.sessions import Draft, MessageTable, SessionTable, new_id
from kds.brain.memory.sessions import insert as insert_session
from kds.brain.memory.summaries import SummaryTable
from kds.brain.passages.details import imported
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.postgres_passages import PostgresPassages
from kds.brain.passages.store import WITHOUT_VECTOR, MessageSearch, Place
from kds.brain.passages.values import Message
from kds.brain.store.columns import kept_text, to_micros
from kds.brain.store.engine import Connection
from kds.brain.store.maintenance import healing
from kds.brain.store.migrations import FileKind, scripts
from kds.brain.store.sqlite import Database
from kds.brain.store.tenancy import Tenancy

CONTRADICTIONS: Final = {
    "messages are missing in the middle of a session": (
        "SELECT count(*) FROM session WHERE message_count <> "
        "(SELECT count(*) FROM message WHERE session_num = session.num) OR message_count <> "
        "coalesce((SELECT max(seq) FROM message WHERE session_num = session.num), 0)"
    ),
    "sessions count their tokens wrong": (
        "SELECT count(*) FROM session WHERE token_count <> "
        "coalesce((SELECT sum(tokens) FROM message WHERE session_num = session.num), 0)"
    ),
    "chunks stand outside the range of their session": (
        "SELECT count(*) FROM chunk JOIN message ON message.num = chunk.message_num "
        "WHERE chunk.id >> 24 <> session_num"
    ),
    "chunks have neither a vector nor a job": WITHOUT_VECTOR,
    "messages are not cut into chunks": (
        "SELECT count(*) FROM message WHERE role <> 'system' AND trim(replace(replace("
        "content, '\n', ''), '\t', '')) <> '' "
        "AND NOT EXISTS (SELECT 1 FROM chunk WHERE message_num = message.num)"
    ),
}
"""What may not be, in either engine, and the question that counts how often it is."""

MEMORY: Final = FileKind(
    "the memory",
    0x4B44534D,  # 'KDSM'
    rebuild="kds memory check --rebuild",
    migrations=scripts(Path(__file__).parent / "schema"),
    contradictions=CONTRADICTIONS,
)


class MemoryStore(SessionTable, MessageTable, SummaryTable, MessageSearch):
    """All of it: conversations, what was said in them, and what stands beside them."""

    holders = "session"

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
            details=imported(message.details, message.content),
        )

    def stats(self) -> Stats:
        """Return how much is stored."""
        with self.database.read() as connection:
            sessions, messages, chunks, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(message_count), 0), coalesce(sum(chunk_count), 0), "
                "coalesce(sum(token_count), 0) FROM session"
            ).fetchone()
            summaries = connection.execute("SELECT count(*) FROM summary").fetchone()[0]
            room = self._room(connection)
        numbers = (sessions, int(messages), int(chunks), summaries, int(tokens))
        return Stats(*numbers, self.models(), *room)


def _insert(connection: Connection, session: Session) -> tuple[str, int]:
    """Add the row of a session, under another id when its own is taken; returns id and number."""
    session_id = session.id if _is_free(connection, "session", session.id) else new_id()
    return session_id, insert_session(connection, replace(session, id=session_id))


def _with_free_id(connection: Connection, draft: Draft) -> Draft:
    return draft if _is_free(connection, "message", draft.id) else replace(draft, id=new_id())


def _is_free(connection: Connection, table: str, name: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (name,)).fetchone() is None


class SqliteStore(PassageFile, MemoryStore):
    """The memory of one workspace."""

    database: Database
    kind = MEMORY
    phrases = False
    file_name = "memory.db"


class PostgresStore(PostgresPassages, MemoryStore):
    """The memory of one person in an organisation."""

    database: Tenancy
    contradictions = CONTRADICTIONS
    tables = ("message", "chunk", "embedding")
    texts = (
        "SELECT chunk.id, header, substr(content, start + 1, length) AS body, "
        "'' AS context, idents FROM chunk JOIN message ON message.num = chunk.message_num"
    )


class MemoryPlace(Place[MemoryStore]):
    """The memory of a workspace, wherever that is."""

    __slots__ = ()
    file_name = SqliteStore.file_name
    private = CONVERSATION

    def _opened(self, **options: Any) -> MemoryStore:
        if self.shared is None:
            return SqliteStore(self.path, **options)
        return PostgresStore.of(self.shared, **options)
