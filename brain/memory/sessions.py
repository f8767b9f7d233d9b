"""Sessions in SQLite: made, found, named, deleted."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import uuid4

from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.memory_rows import SESSION_COLUMNS, session_of, session_row
from kds.brain.memory.records import Cleanup, Session
from kds.brain.passages.outbox import count_vector_deletion
from kds.brain.passages.passage_schema import range_of
from kds.brain.passages.rows import marks, session_number, unknown
from kds.brain.store.columns import kept_text, to_micros
from kds.brain.store.deletion import note_scrub, wipe
from kds.brain.store.engine import Connection, Engine

ID_LIMIT: Final = 128
"""Characters of an id from outside (as for conversations, issue 4)."""

LATER: Final = "updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END"
"""Assigns the moment, twice given, unless the session was changed after it."""

TITLE_LIMIT: Final = 200
"""Characters of a title that somebody gives; automatic ones are shorter."""

SHORT_TITLE: Final = 48
"""Characters: a line of a session list beside a date and a count, on 80 columns."""

MARK: Final = "…"

_FENCE: Final = re.compile(r"(?ms)(?:```|~~~).*?(?:```|~~~|\Z)")
_MARKUP: Final = re.compile(r"#file:\S+\s*|^[\s>#*+-]+|[*`]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_TRAILING: Final = " ,;:-–—.…!"

_LOOSE_ENDS: Final = frozenset(
    "a an and as at because but by for from if in into is it its my of on or our so than that "
    "the their then this to when which while who with your".split()
)
"""Words that promise more: a title that was cut does not end with one."""


class SessionTable:
    """The table of sessions: a part of `memory_store.MemoryStore`."""

    database: Engine

    def create_session(
        self,
        *,
        title: str | None = None,
        document_context: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; without an id it gets a random one. An id in use is refused."""
        place = self.database.place
        chosen = checked_id(session_id, "session", place) if session_id is not None else new_id()
        now = self.database.clock()
        with self.database.write() as connection:
            if _row(connection, chosen) is not None:
                raise StoreError(
                    f"there is a session {chosen!r} already",
                    where=place,
                    hint="resume it, or choose another id",
                )
            insert(
                connection,
                Session(
                    id=chosen,
                    title=title or "",
                    created_at=now,
                    updated_at=now,
                    document_context=document_context,
                ),
            )
            return _one(connection, chosen, place)

    def session(self, session_id: str) -> Session:
        """Return the session. Raises StoreError when there is none."""
        with self.database.read() as connection:
            return _one(connection, session_id, self.database.place)

    def find_session(self, session_id: str) -> Session | None:
        """Return the session, None when there is none."""
        with self.database.read() as connection:
            row = _row(connection, session_id)
        return session_of(row) if row else None

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """Return sessions, the one changed last first."""
        query = (
            f"SELECT {SESSION_COLUMNS} FROM session ORDER BY updated_at DESC, num DESC "
            "LIMIT ? OFFSET ?"
        )
        with self.database.read() as connection:
            return tuple(map(session_of, connection.execute(query, (max(limit, 0), offset))))

    def cleanup(self, older_than: timedelta, *, dry_run: bool = True) -> Cleanup:
        """Remove the sessions in which nothing happened for longer than ``older_than``."""
        oldest = to_micros(self.database.clock() - older_than)
        query = f"SELECT {SESSION_COLUMNS} FROM session WHERE updated_at < ? ORDER BY updated_at"
        with self.database.read() as connection:
            found = tuple(map(session_of, connection.execute(query, (oldest,))))
        if not dry_run:
            self._delete(found)
        return Cleanup(found, dry_run)

    def delete_session(self, session_id: str) -> None:
        """Remove the session, all it holds, and its bytes."""
        self._delete([self.session(session_id)])

    def rename(self, session_id: str, title: str) -> Session:
        """Give a title that stays. Raises MessageError when there is nothing in it to be read."""
        text = _title(title)
        if not text:
            raise MessageError("the title is empty", where="title", hint="write some words")
        return self._change(session_id, "title = ?, title_given = 1", text)

    def set_document(self, session_id: str, document: str | None) -> Session:
        """Say which documents the session is about, one a line."""
        return self._change(session_id, "document_context = ?", kept_document(document))

    def _delete(self, sessions: Sequence[Session]) -> None:
        if not sessions:
            return
        with self.database.write() as connection:
            for session in sessions:
                # Chunks first: their index rows are found through the messages they are slices of.
                connection.execute(
                    "DELETE FROM chunk WHERE id BETWEEN ? AND ?", range_of(session.num)
                )
                connection.execute("DELETE FROM entity_memory WHERE key = ?", (session.id,))
                connection.execute("DELETE FROM session WHERE num = ?", (session.num,))
            count_vector_deletion(self.database, connection)
            note_scrub(self.database, connection)
        wipe(self.database)

    def _change(self, session_id: str, assignment: str, value: str | None) -> Session:
        now = to_micros(self.database.clock())
        with self.database.write() as connection:
            number = session_number(connection, session_id, self.database.place)
            connection.execute(
                f"UPDATE session SET {assignment}, {LATER} WHERE num = ?",
                (value, now, now, number),
            )
            return _one(connection, session_id, self.database.place)


def insert(connection: Connection, session: Session) -> int:
    """Add a session within a transaction; returns its number. Its counts begin at 0."""
    title = _title(session.title)
    kept = replace(session, title=title, document_context=kept_document(session.document_context))
    row = session_row(kept) | {"title_given": int(bool(title))}
    made = connection.execute(
        f"INSERT INTO session({', '.join(row)}) VALUES ({marks([*row])}) RETURNING num",
        tuple(row.values()),
    ).fetchone()
    return int(made[0])


def new_id() -> str:
    """Return an id that nobody else has."""
    return uuid4().hex


def checked_id(text: str, what: str, place: str) -> str:
    """Return an id from outside. Raises StoreError when it cannot be one."""
    if not text or len(text) > ID_LIMIT or not text.isprintable() or text != text.strip():
        raise StoreError(
            f"{text[:40]!r} cannot be the id of a {what}",
            where=place,
            hint=f"use 1 to {ID_LIMIT} printable characters, without blanks at the ends",
        )
    return text


def kept_document(document: str | None) -> str | None:
    """Return the names of documents, one a line, as they may be stored; blank means none."""
    lines = (line.strip() for line in kept_text(document or "").splitlines())
    return "\n".join(dict.fromkeys(filter(None, lines))) or None


def title_of(message: str) -> str:
    """Return a short title for a session that begins with ``message``; "" when it says nothing.

    >>> title_of("## I want to add a **FAB button**. It should pulse.")
    'I want to add a FAB button'
    >>> title_of("Explain why the import of the second module fails when the first one is reloaded")
    'Explain why the import of the second module…'
    """
    for line in _FENCE.sub("\n", message).splitlines():
        text = " ".join(_MARKUP.sub("", line).split())
        sentence = _SENTENCE_END.split(text, maxsplit=1)[0].rstrip(_TRAILING)
        if any(map(str.isalnum, sentence)):
            return _cut(sentence)
    return ""


def _cut(sentence: str) -> str:
    if len(sentence) <= SHORT_TITLE:
        return sentence
    words = sentence[: SHORT_TITLE + 1].split(" ")[:-1]
    while words and words[-1].casefold().strip(_TRAILING) in _LOOSE_ENDS:
        words.pop()
    text = " ".join(words).rstrip(_TRAILING)
    # One word longer than the limit (a path, a URL) is cut where it is.
    return (text or sentence[: SHORT_TITLE - 1]) + MARK


def _title(title: str) -> str:
    return " ".join(kept_text(title).split())[:TITLE_LIMIT].strip()


def _row(connection: Connection, session_id: str) -> tuple[object, ...] | None:
    query = f"SELECT {SESSION_COLUMNS} FROM session WHERE id = ?"
    row: tuple[object, ...] | None = connection.execute(query, (session_id,)).fetchone()
    return row


def _one(connection: Connection, session_id: str, place: str) -> Session:
    row = _row(connection, session_id)
    if row is None:
        raise unknown("session", session_id, place)
    return session_of(row)
