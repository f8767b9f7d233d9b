"""Sessions and their messages: made, found, named, deleted.

A message, its chunks, their index rows and jobs are one transaction.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, TypedDict, Unpack, get_args, get_type_hints
from uuid import uuid4

from kds.brain.errors import MessageError, StoreError
from kds.brain.passages.chunking import Piece, cut
from kds.brain.passages.store import (
    CHUNK_BITS,
    MessageSearch,
    Row,
    in_order,
    marks,
    queue,
    range_of,
    session_number,
    unknown,
)
from kds.brain.passages.store import insert as insert_rows
from kds.brain.passages.values import Message, Passage, Role, is_told
from kds.brain.store.columns import from_micros, kept_text, to_micros
from kds.brain.store.engine import VALUES_LIMIT, Connection
from kds.brain.store.maintenance import healing
from kds.brain.timeouts import leaving_time
from kds.brain.words.terms import TokenCounter

ID_LIMIT: Final = 128
"""Characters of an id from outside."""

TITLE_LIMIT: Final = 200
"""Characters of a title that somebody gives; automatic ones are shorter."""

SHORT_TITLE: Final = 48
"""Characters: a line of a session list beside a date and a count, on 80 columns."""

MARK: Final = "…"

ROLES: Final[tuple[Role, ...]] = get_args(Role)

EVERY: Final = 2**62
"""More messages than any session has."""

COUNTED: Final[Mapping[str, bool]] = {"counted": True}
"""Marks a field of `Session` that the store works out itself: no export has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One conversation, and the definition of one: each field is a column of both engines.

    Rows, exports, and the JSON of commands are read from these fields. To add one: a field with
    a default, and the column in both lists of migrations.
    """

    id: str
    num: int = field(default=0, metadata=COUNTED)
    """Its number in the store, never given twice."""
    title: str = ""
    """Empty until somebody names the session or its first user message does."""
    created_at: datetime
    updated_at: datetime
    """When something was last added or changed: `sessions` lists the latest first."""
    document_context: str | None = None
    """Paths of the documents that the session is about, one a line."""
    message_count: int = field(default=0, metadata=COUNTED)
    token_count: int = field(default=0, metadata=COUNTED)

    @property
    def documents(self) -> tuple[str, ...]:
        """Paths of the documents that the session is about."""
        return tuple((self.document_context or "").splitlines())


EXPORTED: Final = tuple(one for one in fields(Session) if not one.metadata.get("counted"))
"""The fields of a session that are given to the store, and that an export has."""

_KINDS: Final[Mapping[str, Any]] = get_type_hints(Session)
SESSION_COLUMNS: Final = ", ".join(f"session.{name}" for name in _KINDS)
_MESSAGE_COLUMNS: Final = (
    "message.id, session.id, seq, role, content, message.at, message.tokens, speaker"
)
_KEPT_COLUMNS: Final = tuple("id seq role speaker content at tokens details".split())
_PIECE_COLUMNS: Final = tuple(one.name for one in fields(Piece))
_piece_row: Final = attrgetter(*_PIECE_COLUMNS)
_MESSAGES: Final = "message JOIN session ON session.num = message.session_num"
_LATER: Final = "updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END"
"""Assigns the moment, twice given, unless the session was changed after it."""


Tell = Callable[[int, int], None]
"""Is told how much is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A message on its way in, not numbered yet: its text is what may be stored, cut already."""

    message: Message
    pieces: tuple[Piece, ...]
    index: tuple[tuple[Any, ...], ...]
    """What the index holds of each piece, as `PassageStore.indexed` returns it."""


class Beside(TypedDict, total=False):
    """What may be told of a message beside its role and its content."""

    at: datetime | None
    speaker: str | None
    message_id: str | None
    details: str | None
    """JSON, without secrets (`kds.brain.passages.details`)."""


class SessionTable(MessageSearch):
    """The tables of sessions, messages and passages: a part of `memory_store.MemoryStore`."""

    count_tokens: TokenCounter

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
        begun = Session(
            id=chosen,
            title=title or "",
            created_at=now,
            updated_at=now,
            document_context=document_context,
        )
        with self.database.write() as connection:
            if found_in(connection, chosen) is not None:
                raise StoreError(
                    f"there is a session {chosen!r} already",
                    where=place,
                    hint="resume it, or choose another id",
                )
            insert(connection, begun)
            return self._one(connection, chosen)

    def session(self, session_id: str) -> Session:
        """Return the session. Raises StoreError when there is none."""
        with self.database.read() as connection:
            return self._one(connection, session_id)

    def find_session(self, session_id: str) -> Session | None:
        """Return the session, None when there is none."""
        with self.database.read() as connection:
            return found_in(connection, session_id)

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """Return sessions, the one changed last first."""
        order = "ORDER BY updated_at DESC, num DESC LIMIT ? OFFSET ?"
        with self.database.read() as connection:
            return tuple(_sessions(connection, order, max(limit, 0), offset))

    def cleanup(
        self, older_than: timedelta, *, dry_run: bool = True, tell: Tell = lambda *_: None
    ) -> tuple[Session, ...]:
        """Remove, unless ``dry_run``, the sessions in which nothing happened for longer than
        ``older_than``; returns them.

        ``tell`` is told how many are gone, of how many. Ended in between, it has removed what it
        told of; the next call goes on.
        """
        oldest = to_micros(self.database.clock() - older_than)
        with self.database.read() as connection:
            found = tuple(_sessions(connection, "WHERE updated_at < ? ORDER BY updated_at", oldest))
        if not dry_run:
            self._delete(found, tell)
        return found

    def delete_session(self, session_id: str) -> None:
        """Remove the session, all it holds, and its bytes."""
        self._delete([self.session(session_id)])

    def rename(self, session_id: str, title: str) -> Session:
        """Give a title that stays. Raises MessageError when there is nothing in it to be read."""
        if not (text := _title(title)):
            raise MessageError("the title is empty", where="title", hint="write some words")
        return self._change(session_id, "title = ?, title_given = 1", text)

    def set_document(self, session_id: str, document: str | None) -> Session:
        """Say which documents the session is about, one a line."""
        return self._change(session_id, "document_context = ?", _kept_document(document))

    @healing
    def _delete(self, sessions: Sequence[Session], tell: Tell = lambda *_: None) -> None:
        for done, session in enumerate(sessions, start=1):
            # What is lost with the server before the last one is deleted again.
            rest = float(done < len(sessions))
            with leaving_time(rest), self.database.write(durable=not rest) as connection:
                # Chunks first: their index rows are found through the messages they are slices of.
                ids = range_of(session.num)
                connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", ids)
                connection.execute("DELETE FROM entity_memory WHERE key = ?", (session.id,))
                connection.execute("DELETE FROM session WHERE num = ?", (session.num,))
                self.database.leaves_bytes(connection)
            tell(done, len(sessions))
        if sessions:
            self.database.wipe()

    def _change(self, session_id: str, assignment: str, value: str | None) -> Session:
        now = to_micros(self.database.clock())
        query = f"UPDATE session SET {assignment}, {_LATER} WHERE id = ?"
        with self.database.write() as connection:
            connection.execute(query, (value, now, now, session_id))
            return self._one(connection, session_id)

    def _one(self, connection: Connection, session_id: str) -> Session:
        if (found := found_in(connection, session_id)) is None:
            raise unknown("session", session_id, self.database.place)
        return found

    @healing
    def append(
        self, session_id: str, role: Role, content: str, **beside: Unpack[Beside]
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs, at once or not at all.

        When it returns, the message outlives a crash of the process and of the machine.
        """
        # Redacting and cutting take the most time: before the lock, not under it.
        draft = self.draft(role, content, **beside)
        with self.database.write() as connection:
            number = session_number(connection, session_id, self.database.place)
            seq = self.add(connection, number, [draft])
        return replace(draft.message, session_id=session_id, seq=seq, details=None)

    def draft(
        self,
        role: Role,
        content: str,
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        message_id: str | None = None,
        details: str | None = None,
    ) -> Draft:
        """Get a message ready. Raises StoreError for a role that is none."""
        place = self.database.place
        if role not in ROLES:
            raise StoreError(
                f"{role!r} is not a role", where=place, hint=f"use one of {', '.join(ROLES)}"
            )
        text = kept_text(content)
        message = Message(
            id=new_id() if message_id is None else checked_id(message_id, "message", place),
            session_id="",
            seq=0,
            role=role,
            content=text,
            at=from_micros(to_micros(at or self.database.clock())),
            tokens=self.count_tokens(text),
            speaker=(kept_text(speaker).strip() or None) if speaker else None,
            details=details,
        )
        pieces = cut(text, count=self.count_tokens) if is_told(role, speaker) else ()
        index = (self.indexed((one.header, one.of(text), "", one.idents)) for one in pieces)
        return Draft(message, pieces, tuple(index))

    def add(self, connection: Connection, session_num: int, drafts: Sequence[Draft]) -> int:
        """Add messages with all that belongs to them, in a transaction; returns the last seq."""
        made = [one.message for one in drafts]
        pieces = [(number, piece) for number, one in enumerate(drafts) for piece in one.pieces]
        index = [known for one in drafts for known in one.index]
        at = to_micros(max(one.at for one in made))
        words = [sum(one[-1] for one in index)] if self.index_columns else []
        # The counters first: on a server, that is where another service waits for this one.
        last, chunks, title, given = connection.execute(
            "UPDATE session SET message_count = message_count + ?, token_count = token_count + ?, "
            f"{'word_count = word_count + ?, ' if words else ''}"
            f"chunk_count = chunk_count + ?, {_LATER} "
            "WHERE num = ? RETURNING message_count, chunk_count, title, title_given",
            (len(made), sum(one.tokens for one in made), *words, len(pieces), at, at, session_num),
        ).fetchone()  # fmt: skip
        if chunks >= 1 << CHUNK_BITS:
            raise StoreError("the session is full", hint="begin another session")
        first = last - len(made) + 1
        placed = (replace(one, seq=seq) for seq, one in enumerate(made, first))
        insert_rows(
            connection, "message", ", ".join(("session_num", *_KEPT_COLUMNS)),
            ((session_num, *(_to_column(getattr(one, name)) for name in _KEPT_COLUMNS))
             for one in placed),
        )  # fmt: skip
        ids = range((session_num << CHUNK_BITS) + chunks - len(pieces) + 1,
                    (session_num << CHUNK_BITS) + chunks + 1)  # fmt: skip
        names = (*_PIECE_COLUMNS, *self.index_columns)
        connection.executemany(
            f"INSERT INTO chunk(id, {', '.join(names)}, message_num) VALUES "
            f"(?, {marks(names)}, (SELECT num FROM message WHERE session_num = ? AND seq = ?))",
            [(one, *_piece_row(piece), *known, session_num, first + number)
             for one, (number, piece), known in zip(ids, pieces, index, strict=True)],
        )  # fmt: skip
        if ids:
            queue(connection, (ids[0], ids[-1]))
        asked = next((one.content for one in made if one.role == "user"), "")
        if asked and not (given or title):
            query = "UPDATE session SET title = ? WHERE num = ?"
            connection.execute(query, (title_of(asked), session_num))
        return int(last)

    def known_ids(self, connection: Connection, messages: Sequence[str]) -> set[str]:
        """Return which ids of messages there are already, within a transaction."""
        found = set[str]()
        for at in range(0, len(messages), VALUES_LIMIT):
            some = messages[at : at + VALUES_LIMIT]
            query = f"SELECT id FROM message WHERE id IN ({marks(some)})"
            found.update(row[0] for row in connection.execute(query, some))
        return found

    def messages(
        self,
        session_id: str,
        *,
        last: int | None = None,
        before_seq: int | None = None,
        details: bool = False,
    ) -> tuple[Message, ...]:
        """Return messages in order: all, or the ``last`` ones (before ``before_seq``)."""
        columns = f"{_MESSAGE_COLUMNS}, details" if details else _MESSAGE_COLUMNS
        before = EVERY if before_seq is None else before_seq
        most = EVERY if last is None else max(last, 0)
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            rows = connection.execute(
                f"SELECT {columns} FROM {_MESSAGES} WHERE session_num = ? AND seq < ? "
                "ORDER BY seq DESC LIMIT ?",
                (number, before, most),
            ).fetchall()
        return tuple(map(_message_of, reversed(rows)))

    def message(self, message_id: str) -> Message:
        """Return one message. Raises StoreError when there is none."""
        query = f"SELECT {_MESSAGE_COLUMNS} FROM {_MESSAGES} WHERE message.id = ?"
        with self.database.read() as connection:
            row = connection.execute(query, (message_id,)).fetchone()
        if row is None:
            raise unknown("message", message_id, self.database.place)
        return _message_of(row)

    def count_questions(self, session_id: str) -> int:
        """Return how many messages of a session are the user's."""
        query = f"SELECT count(*) FROM {_MESSAGES} WHERE session.id = ? AND role = 'user'"
        with self.database.read() as connection:
            return int(connection.execute(query, (session_id,)).fetchone()[0])

    def describe(self, message_id: str, details: str) -> None:
        """Replace the details of a message; one that was erased meanwhile stays so."""
        query = "UPDATE message SET details = ? WHERE id = ?"
        with self.database.write() as connection:
            connection.execute(query, (details, message_id))

    def kinds(self) -> dict[str, int]:
        """Return how many passages there are of each kind: prose, code."""
        query = "SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind"
        with self.database.read() as connection:
            return dict(connection.execute(query).fetchall())

    def passages(self, ids: Sequence[int], *, whole: bool = False) -> tuple[Passage, ...]:
        """Return the passages that exist, in the order asked for; ``whole``: their messages."""
        body, tokens = "substr(content, start + 1, length)", "chunk.tokens"
        if whole:
            body, tokens = "content", "message.tokens"
        query = (
            "SELECT chunk.id, message.id, session.id, document_context, role, speaker, "
            f"message.at, chunk.kind, header, {body}, idents, {tokens} "
            "FROM chunk JOIN message ON message.num = chunk.message_num "
            "JOIN session ON session.num = message.session_num WHERE chunk.id"
        )

        def passage_of(row: Row) -> Passage:
            text = row[9] if isinstance(row[9], str) else ""  # else damaged
            values: Row = (*row[:6], from_micros(row[6]), *row[7:9], text, *row[10:])
            return Passage(*values)

        with self.database.read() as connection:
            return in_order(connection, query, ids, passage_of)


def insert(connection: Connection, session: Session) -> int:
    """Add a session within a transaction; returns its number. Its counts begin at 0."""
    title = _title(session.title)
    kept = replace(session, title=title, document_context=_kept_document(session.document_context))
    row = {one.name: getattr(kept, one.name) for one in EXPORTED} | {"title_given": bool(title)}
    return _insert(connection, "session", row)


def _insert(connection: Connection, table: str, row: Mapping[str, Any]) -> int:
    """Insert a row, and return its number."""
    values = tuple(map(_to_column, row.values()))
    query = f"INSERT INTO {table}({', '.join(row)}) VALUES ({marks(values)}) RETURNING num"
    return int(connection.execute(query, values).fetchone()[0])


def _to_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value


def _from_column(kind: Any, value: Any) -> Any:
    if kind is str and not isinstance(value, str):
        return "(damaged)"
    if value is not None and kind in (datetime, datetime | None):
        return from_micros(value)
    return bool(value) if kind is bool else value


def session_of(row: Row) -> Session:
    """Read SESSION_COLUMNS; "(damaged)" stands for what should be text and is not."""
    named = zip(_KINDS.items(), row, strict=True)
    return Session(**{name: _from_column(kind, value) for (name, kind), value in named})


def _sessions(connection: Connection, which: str, *values: object) -> Iterator[Session]:
    query = f"SELECT {SESSION_COLUMNS} FROM session {which}"
    return map(session_of, connection.execute(query, values))


def found_in(connection: Connection, session_id: str) -> Session | None:
    """Return a session within a transaction, None when there is none."""
    return next(_sessions(connection, "WHERE id = ?", session_id), None)


def _message_of(row: Row) -> Message:
    """Read _MESSAGE_COLUMNS; the details may stand behind them. Raises StoreError when damaged."""
    message_id, session_id, seq, role, content, at, *rest = row
    if not isinstance(content, str):
        raise StoreError(
            f"message {seq} is damaged: it is not text",
            where=f"session {session_id!r}",
            hint="kds memory delete removes the session; a copy of memory.db brings it back",
        )
    return Message(message_id, session_id, seq, role, content, from_micros(at), *rest)


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


def _kept_document(document: str | None) -> str | None:
    """Return the names of documents, one a line, as they may be stored; blank means none."""
    lines = (line.strip() for line in kept_text(document or "").splitlines())
    return "\n".join(dict.fromkeys(filter(None, lines))) or None


_FENCE: Final = re.compile(r"(?ms)(?:```|~~~).*?(?:```|~~~|\Z)")
_MARKUP: Final = re.compile(r"#file:\S+\s*|^[\s>#*+-]+|[*`]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_TRAILING: Final = " ,;:-–—.…!"


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
            short = textwrap.shorten(sentence, SHORT_TITLE, placeholder="").rstrip(_TRAILING)
            return sentence if short == sentence else short + MARK
    return ""


def _title(title: str) -> str:
    return " ".join(kept_text(title).split())[:TITLE_LIMIT].strip()
