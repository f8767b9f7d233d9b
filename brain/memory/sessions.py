"""Sessions and their messages: made, found, named, deleted.

A message, its chunks, their index rows and jobs are one transaction.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Final, get_args
from uuid import uuid4

from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.records import (
    MESSAGE_COLUMNS,
    PASSAGE_COLUMNS,
    PASSAGE_TABLES,
    SESSION_COLUMNS,
    WHOLE_COLUMNS,
    Cleanup,
    Session,
    message_of,
    passage_of,
    session_of,
    session_row,
)
from kds.brain.passages.chunking import Piece, cut
from kds.brain.passages.store import (
    CHUNK_BITS,
    PassageStore,
    count_vector_deletion,
    in_order,
    marks,
    queue,
    range_of,
    session_number,
    unknown,
)
from kds.brain.passages.values import Message, Passage, Role, is_told
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.maintenance import healing, note_scrub, wipe
from kds.brain.words.terms import TokenCounter

ID_LIMIT: Final = 128
"""Characters of an id from outside."""

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

    @healing
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
    words = textwrap.shorten(sentence, SHORT_TITLE, placeholder="").rstrip(_TRAILING)
    return sentence if words == sentence else words + MARK


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


ROLES: Final[tuple[Role, ...]] = get_args(Role)

EVERY: Final = 2**62
"""More messages than any session has."""

_OF_PIECE: Final = tuple(one.name for one in fields(Piece))
"""The columns of a chunk that its piece says."""

_FROM: Final = "message JOIN session ON session.num = message.session_num"


@dataclass(frozen=True, slots=True)
class Draft:
    """A message on its way in: its text is what may be stored, cut already."""

    id: str
    role: Role
    speaker: str | None
    content: str
    at: int
    tokens: int
    pieces: tuple[Piece, ...]
    details: str | None = None


class MessageTable(PassageStore):
    """The tables of messages and their passages: a part of `memory_store.MemoryStore`."""

    database: Engine
    count_tokens: TokenCounter

    @healing
    def append(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        message_id: str | None = None,
        details: str | None = None,
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs, at once or not at all.

        ``details`` are JSON, without secrets (`kds.brain.passages.details`).
        When it returns, the message outlives a crash of the process and of the machine. A
        ``message_id`` that is stored already, with the same content in the same session, is
        returned as it is; with another content it is refused.
        """
        # Redacting and cutting take the most time: before the lock, not under it.
        draft = self.draft(
            role, content, at=at, speaker=speaker, message_id=message_id, details=details
        )
        with self.database.write() as connection:
            number = session_number(connection, session_id, self.database.place)
            stored = self._stored(connection, draft.id) if message_id is not None else None
            if stored is not None:
                return self._same(stored, session_id, draft)
            seq = self.add(connection, number, draft)
        return Message(
            id=draft.id,
            session_id=session_id,
            seq=seq,
            role=role,
            content=draft.content,
            at=from_micros(draft.at),
            tokens=draft.tokens,
            speaker=draft.speaker,
        )

    def draft(
        self,
        role: Role,
        content: str,
        *,
        at: datetime | None,
        speaker: str | None,
        message_id: str | None,
        details: str | None = None,
    ) -> Draft:
        """Get a message ready. Raises StoreError for a role that is none."""
        place = self.database.place
        if role not in ROLES:
            raise StoreError(
                f"{role!r} is not a role", where=place, hint=f"use one of {', '.join(ROLES)}"
            )
        text = kept_text(content)
        return Draft(
            id=new_id() if message_id is None else checked_id(message_id, "message", place),
            role=role,
            speaker=(kept_text(speaker).strip() or None) if speaker else None,
            content=text,
            at=to_micros(at or self.database.clock()),
            tokens=self.count_tokens(text),
            pieces=cut(text, count=self.count_tokens) if is_told(role, speaker) else (),
            details=details,
        )

    def messages(
        self,
        session_id: str,
        *,
        last: int | None = None,
        before_seq: int | None = None,
        details: bool = False,
    ) -> tuple[Message, ...]:
        """Return messages in order: all, or the ``last`` ones (before ``before_seq``)."""
        columns = f"{MESSAGE_COLUMNS}, details" if details else MESSAGE_COLUMNS
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(
                f"SELECT {columns} FROM {_FROM} WHERE session_num = ? AND seq < ? "
                "ORDER BY seq DESC LIMIT ?",
                (
                    number,
                    EVERY if before_seq is None else before_seq,
                    EVERY if last is None else max(last, 0),
                ),
            ).fetchall()
        return tuple(map(message_of, reversed(rows)))

    def count_questions(self, session_id: str) -> int:
        """Return how many messages of a session are the user's."""
        query = f"SELECT count(*) FROM {_FROM} WHERE session.id = ? AND role = 'user'"
        with self.database.read() as connection:
            return int(connection.execute(query, (session_id,)).fetchone()[0])

    def describe(self, message_id: str, details: str) -> None:
        """Replace the details of a message; one that was erased meanwhile stays so."""
        with self.database.write() as connection:
            _describe(connection, message_id, details)

    def kinds(self) -> dict[str, int]:
        """Return how many passages there are of each kind: prose, code."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind"
            )
            return dict(rows.fetchall())

    def message(self, message_id: str) -> Message:
        """Return one message. Raises StoreError when there is none."""
        with self.database.read() as connection:
            found = self._stored(connection, message_id)
        if found is None:
            raise unknown("message", message_id, self.database.place)
        return found

    def passages(self, ids: Sequence[int], *, whole: bool = False) -> tuple[Passage, ...]:
        """Return the passages that exist, in the order asked for."""
        columns = WHOLE_COLUMNS if whole else PASSAGE_COLUMNS
        with self.database.read() as connection:
            return in_order(
                ids,
                lambda marks, some: (
                    (row[0], passage_of(row))
                    for row in connection.execute(
                        f"SELECT {columns} FROM {PASSAGE_TABLES} WHERE chunk.id IN ({marks})", some
                    )
                ),
            )

    def add(self, connection: Connection, session_num: int, draft: Draft) -> int:
        """Add a message with all that belongs to it, within a transaction; returns its ``seq``."""
        # The counters first: on a server, that is where another service waits for this one.
        count = len(draft.pieces)
        seq, chunks, title, given = connection.execute(
            "UPDATE session SET message_count = message_count + 1, token_count = token_count + ?, "
            f"chunk_count = chunk_count + ?, {LATER} WHERE num = ? "
            "RETURNING message_count, chunk_count, title, title_given",
            (draft.tokens, count, draft.at, draft.at, session_num),
        ).fetchone()
        if chunks >= 1 << CHUNK_BITS:
            raise StoreError("the session is full", hint="begin another session")
        row = connection.execute(
            "INSERT INTO message(id, session_num, seq, role, speaker, content, at, tokens) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING num",
            (
                draft.id,
                session_num,
                seq,
                draft.role,
                draft.speaker,
                draft.content,
                draft.at,
                draft.tokens,
            ),
        ).fetchone()
        if draft.details is not None:
            _describe(connection, draft.id, draft.details)
        first = (session_num << CHUNK_BITS) + chunks - count + 1
        ids = range(first, first + count)
        insert_chunks(connection, row[0], ids, draft.pieces)
        if ids:
            self.index_range(connection, session_num, (ids[0], ids[-1]))
        queue(connection, ids)
        if not given and not title and draft.role == "user":
            connection.execute(
                "UPDATE session SET title = ? WHERE num = ?", (title_of(draft.content), session_num)
            )
        return int(seq)

    def _stored(self, connection: Connection, message_id: str) -> Message | None:
        query = f"SELECT {MESSAGE_COLUMNS} FROM {_FROM} WHERE message.id = ?"
        row = connection.execute(query, (message_id,)).fetchone()
        return message_of(row) if row else None

    def _same(self, stored: Message, session_id: str, draft: Draft) -> Message:
        same = (stored.session_id, stored.role, stored.content)
        if same != (session_id, draft.role, draft.content):
            raise StoreError(
                f"another message has the id {stored.id!r}",
                where=self.database.place,
                hint="an id stands for one message: give the new one another",
            )
        return stored


def _describe(connection: Connection, message_id: str, details: str) -> None:
    connection.execute("UPDATE message SET details = ? WHERE id = ?", (details, message_id))


def insert_chunks(
    connection: Connection, message_num: int, ids: Sequence[int], pieces: Sequence[Piece]
) -> None:
    """Add the chunks of a message."""
    connection.executemany(
        f"INSERT INTO chunk(id, message_num, {', '.join(_OF_PIECE)}) "
        f"VALUES (?, ?{', ?' * len(_OF_PIECE)})",
        [
            (chunk_id, message_num, *(getattr(piece, name) for name in _OF_PIECE))
            for chunk_id, piece in zip(ids, pieces, strict=True)
        ],
    )
