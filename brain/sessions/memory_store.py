"""What a conversation memory can do, whatever keeps it: the protocols and nothing else.

`sqlite_store.SqliteStore` is the implementation in one file; tests/brain/conformance.py
holds every implementation against this. Every method raises StoreError with ``where`` and
``hint``; a session that does not exist is one of the reasons.
"""

from datetime import datetime, timedelta
from typing import Protocol

from kds.brain.database.health import Check
from kds.brain.passages.store import MessageSearch
from kds.brain.passages.values import Message, Role, Summary, SummaryKind
from kds.brain.sessions.session_values import Archive, Cleanup, Session, Stats
from kds.brain.sessions.side_stores import EntityStore, ItemStore, MetricStore, ProfileStore


class SessionStore(Protocol):
    """Conversations and what was said in them."""

    def create_session(
        self,
        *,
        title: str | None = None,
        document_context: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; without an id it gets a random one. An id in use is refused."""
        ...

    def session(self, session_id: str) -> Session:
        """Return the session."""
        ...

    def find_session(self, session_id: str) -> Session | None:
        """Return the session, None when there is none."""
        ...

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """Return sessions, the one changed last first."""
        ...

    def rename(self, session_id: str, title: str) -> Session:
        """Give the session a title that stays."""
        ...

    def set_document(self, session_id: str, document: str | None) -> Session:
        """Say which document the session is about."""
        ...

    def delete_session(self, session_id: str) -> None:
        """Remove the session, all it holds, and its bytes from every file of the store."""
        ...

    def cleanup(self, older_than: timedelta, *, dry_run: bool = True) -> Cleanup:
        """Remove the sessions in which nothing happened for longer than ``older_than``."""
        ...

    def append(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        message_id: str | None = None,
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs, at once or not at all.

        When it returns, the message outlives a crash of the process and of the machine. A
        ``message_id`` that is stored already, with the same content in the same session, is
        returned as it is; with another content it is refused.
        """
        ...

    def messages(
        self, session_id: str, *, last: int | None = None, before_seq: int | None = None
    ) -> tuple[Message, ...]:
        """Return messages in order: all, or the ``last`` ones (before ``before_seq``)."""
        ...

    def message(self, message_id: str) -> Message:
        """Return one message."""
        ...

    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        ...

    def add_summary(
        self, session_id: str, first_seq: int, last_seq: int, text: str, *, kind: SummaryKind
    ) -> Summary:
        """Store a summary of a run of messages."""
        ...

    def summaries(self, session_id: str, *, kind: SummaryKind | None = None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        ...


class MemoryStore(SessionStore, MessageSearch, Protocol):
    """All of it: SQLite now, PostgreSQL next."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        ...

    @property
    def profile(self) -> ProfileStore:
        """What the user consented to be remembered."""
        ...

    @property
    def entities(self) -> EntityStore:
        """What the router may resolve references with."""
        ...

    @property
    def metrics(self) -> MetricStore:
        """What recalls measured."""
        ...

    @property
    def items(self) -> ItemStore:
        """What agents keep."""
        ...

    def stats(self) -> Stats:
        """Return how much is stored."""
        ...

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        ...

    def rebuild(self) -> Check:
        """Make the search index anew from the chunks, and what follows from messages; re-check."""
        ...

    def close(self) -> None:
        """Let go of the store; further calls are refused. Closing twice is fine."""
        ...
