"""Messages: a message, its chunks, their index rows and jobs are one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, get_args

from kds.brain.errors import StoreError
from kds.brain.memory.memory_rows import (
    MESSAGE_COLUMNS,
    PASSAGE_COLUMNS,
    PASSAGE_TABLES,
    WHOLE_COLUMNS,
    message_of,
    passage_of,
)
from kds.brain.memory.sessions import LATER, checked_id, new_id, title_of
from kds.brain.passages.chunker import Piece, cut
from kds.brain.passages.outbox import queue
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.rows import in_order, session_number, unknown
from kds.brain.passages.values import Message, Passage, Role
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.health import healing
from kds.brain.words.tokens import TokenCounter

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


class MessageTable:
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
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs, at once or not at all.

        When it returns, the message outlives a crash of the process and of the machine. A
        ``message_id`` that is stored already, with the same content in the same session, is
        returned as it is; with another content it is refused.
        """
        # Redacting and cutting take the most time: before the lock, not under it.
        draft = self.draft(role, content, at=at, speaker=speaker, message_id=message_id)
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
            # What the system says is for the model alone: it is not searched, nor quoted.
            pieces=() if role == "system" else cut(text, count=self.count_tokens),
        )

    def messages(
        self, session_id: str, *, last: int | None = None, before_seq: int | None = None
    ) -> tuple[Message, ...]:
        """Return messages in order: all, or the ``last`` ones (before ``before_seq``)."""
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(
                f"SELECT {MESSAGE_COLUMNS} FROM {_FROM} WHERE session_num = ? AND seq < ? "
                "ORDER BY seq DESC LIMIT ?",
                (
                    number,
                    EVERY if before_seq is None else before_seq,
                    EVERY if last is None else max(last, 0),
                ),
            ).fetchall()
        return tuple(map(message_of, reversed(rows)))

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
        first = (session_num << CHUNK_BITS) + chunks - count + 1
        ids = range(first, first + count)
        insert_chunks(connection, row[0], ids, draft.pieces)
        self.index_passages(connection, session_num, seq, ids, draft)
        queue(connection, ids)
        if not given and not title and draft.role == "user":
            connection.execute(
                "UPDATE session SET title = ? WHERE num = ?", (title_of(draft.content), session_num)
            )
        return int(seq)

    def index_passages(
        self, connection: Connection, session_num: int, seq: int, ids: Sequence[int], draft: Draft
    ) -> None:
        """Put the passages of a new message into the index: a file does that by its triggers."""

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
