"""Copying sessions: each batch of messages is stored whole, or not at all.

What the server has says where to go on: of each session it has the first messages, and counts them
in the same transaction. There is no other book-keeping, and so none that a crash could leave wrong.
A session that the server has with other messages is left alone there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.engine import Connection, Engine
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.rows import Row, insert, slices
from kds.brain.passages.text_search import WordForms
from kds.brain.postgres.migration.parts import (
    MESSAGES_AT_ONCE,
    SESSIONS_AT_ONCE,
    Held,
    Part,
    Tell,
    held,
    packed,
    rows_of,
)
from kds.brain.postgres.migration.vector_copies import (
    Models,
    common_models,
    queue_rest,
    read,
    store,
)
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.word_index import Indexed, indexed

MESSAGES: Final = "session_num, seq, id, role, speaker, content, at, tokens"
CHUNKS: Final = (
    "session_num, seq, chunk.id, kind, language, chunk.header, start, length, chunk.idents, "
    "chunk.tokens"
)
WITH_CHUNKS: Final = "message JOIN chunk ON chunk.message_num = message.num"
_WITH_TEXTS: Final = f"{WITH_CHUNKS} JOIN chunk_text AS text ON text.id = chunk.id"

_SESSION: Final = "id, title, title_given, created_at, updated_at, document_context"
_SUMMARY: Final = "first_seq, last_seq, text, at, kind"


@dataclass(frozen=True, slots=True)
class _Batch:
    """What is copied at once, read and ready: rows by the session's number in the file."""

    parts: tuple[Part, ...]
    messages: list[Row]
    chunks: list[tuple[Row, Indexed]]
    vectors: list[tuple[int, str, bytes]]


def copy_sessions(
    source: Database, target: Tenancy, tell: Tell, *, at_once: int = MESSAGES_AT_ONCE
) -> int:
    """Copy what the server lacks; returns how many messages that were. Raises StoreError."""
    with source.read() as old:
        sessions = held(old)
    models = common_models(source, target)
    missing = list(_missing(source, target, sessions))
    total = sum(session.messages for session in sessions)
    left = sum(session.messages - first + 1 for session, first in missing)
    tell(total - left, total)
    copied = 0
    with WordForms() as forms:
        for parts in packed(missing, at_once):
            batch = _read(source, target, parts, forms)
            copied += _store(source, target, batch, models, forms)
            left -= len(batch.messages)
            tell(total - left, total)
    return copied


def _missing(
    source: Database, target: Tenancy, sessions: Sequence[Held]
) -> Iterator[tuple[Held, int]]:
    """Yield the sessions of which the server lacks something, and the first message to copy."""
    with target.read() as connection:
        there = {one.id: one for one in held(connection)}
    alike = _alike(source, target, [(old, there[old.id]) for old in sessions if old.id in there])
    for old in sessions:
        new = there.get(old.id)
        if new is None:
            yield old, 1
        elif old.id in alike and (new.messages < old.messages or new.summaries < old.summaries):
            yield old, min(new.messages, old.messages) + 1


def _alike(source: Database, target: Tenancy, pairs: Sequence[tuple[Held, Held]]) -> set[str]:
    """Return which sessions are the same on both sides, as far as both have messages.

    Messages are only ever added, so the last one that both should have tells.
    """
    met = [(old, new, min(old.messages, new.messages)) for old, new in pairs]
    here = _ids(source, [(old.num, seq) for old, _, seq in met])
    there = _ids(target, [(new.num, seq) for _, new, seq in met])
    return {old.id for old, new, _ in met if here.get(old.num) == there.get(new.num)}


def _ids(engine: Engine, places: Sequence[tuple[int, int]]) -> dict[int, str]:
    """Return the id of one message of each session, by the session's number."""
    found: dict[int, str] = {}
    for some in slices(places, at_once=SESSIONS_AT_ONCE):
        runs = [(num, seq, seq) for num, seq in some]
        with engine.read() as connection:
            found |= dict(rows_of(connection, "session_num, id", "message", runs))
    return found


def _read(source: Database, target: Tenancy, parts: tuple[Part, ...], forms: WordForms) -> _Batch:
    runs = [(part.session.num, part.first, part.last) for part in parts]
    with source.read() as connection:
        messages = rows_of(connection, MESSAGES, "message", runs)
        columns = f"{CHUNKS}, text.body, text.context"
        chunks = rows_of(connection, columns, _WITH_TEXTS, runs)
        vectors = read(connection, [row[2] for row in chunks])
    ready = []
    for *row, body, context in chunks:
        texts = (row[5], body, context, row[8])
        ready.append((tuple(row), indexed(forms, texts, tenant=target.tenant)))
    return _Batch(parts, messages, ready, vectors)


def _store(
    source: Database, target: Tenancy, batch: _Batch, models: Models, forms: WordForms
) -> int:
    """Store a batch; returns how many messages that were.

    What somebody else has stored meanwhile is passed over, and told of when both are compared.
    """
    with target.write() as connection:
        numbers = _numbers(connection, batch)
        messages = [row for row in batch.messages if row[0] in numbers]
        chunks = [(row, one) for row, one in batch.chunks if row[0] in numbers]
        insert(connection, "message", MESSAGES, [(numbers[num], *row) for num, *row in messages])
        _store_chunks(connection, numbers, messages, chunks)
        _count(connection, numbers, messages, chunks)
        placed = {row[2]: _placed(numbers, row) for row, _ in chunks}
        store(connection, models, placed, batch.vectors)
        queue_rest(connection, list(placed.values()))
        for part in batch.parts:
            if part.is_end and part.session.num in numbers:
                _store_summaries(source, connection, part.session, numbers, forms)
    return len(messages)


def _numbers(connection: Connection, batch: _Batch) -> dict[int, int]:
    """Return the server's number of each session that goes on with this batch, by the file's."""
    taken = _taken(connection, batch)
    named = {one.session.id: one for one in batch.parts if one.session.num not in taken}
    values = attrgetter(*_SESSION.split(", "))
    new = [values(part.session) for part in named.values() if part.first == 1]
    insert(connection, "session", _SESSION, new, "ON CONFLICT DO NOTHING")
    rows = connection.execute(
        "SELECT id, num, message_count FROM session WHERE id = ANY(?) FOR UPDATE", (list(named),)
    ).fetchall()
    return {named[one].session.num: num for one, num, count in rows if _goes_on(named[one], count)}


def _goes_on(part: Part, stored: int) -> bool:
    """Whether a part is what comes next; of what has no messages left, the summaries are."""
    return stored == part.first - 1 or part.first > part.last


def _taken(connection: Connection, batch: _Batch) -> set[int]:
    """Return the sessions with a message whose id another message on the server has."""
    owners = {row[2]: row[0] for row in batch.messages}
    rows = connection.execute("SELECT id FROM message WHERE id = ANY(?)", (list(owners),))
    return {owners[one] for (one,) in rows}


def _placed(numbers: dict[int, int], row: Row) -> int:
    """Return the id on the server of a chunk of CHUNKS: its place in its session stays."""
    place: int = row[2] & ((1 << CHUNK_BITS) - 1)
    return (numbers[row[0]] << CHUNK_BITS) + place


def _store_chunks(
    connection: Connection,
    numbers: dict[int, int],
    messages: Sequence[Row],
    chunks: Sequence[tuple[Row, Indexed]],
) -> None:
    ids = [row[2] for row in messages]
    nums = dict(connection.execute("SELECT id, num FROM message WHERE id = ANY(?)", (ids,)))
    owner = {(row[0], row[1]): nums[row[2]] for row in messages}
    columns = "id, message_num, kind, language, header, start, length, idents, tokens, size, words"
    rows = [
        (_placed(numbers, row), owner[row[0], row[1]], *row[3:], one.size, one.words)
        for row, one in chunks
    ]
    insert(connection, "chunk", columns, rows)


def _count(
    connection: Connection,
    numbers: dict[int, int],
    messages: Sequence[Row],
    chunks: Sequence[tuple[Row, Indexed]],
) -> None:
    totals = {num: [0, 0, 0, 0] for num in numbers}
    for row in messages:
        totals[row[0]][0] += 1
        totals[row[0]][1] += row[7]
    for row, one in chunks:
        totals[row[0]][2] += 1
        totals[row[0]][3] += one.size
    connection.executemany(
        "UPDATE session SET message_count = message_count + ?, token_count = token_count + ?, "
        "chunk_count = chunk_count + ?, word_count = word_count + ? WHERE num = ?",
        [(*counts, numbers[num]) for num, counts in totals.items()],
    )


def _store_summaries(
    source: Database,
    connection: Connection,
    session: Held,
    numbers: dict[int, int],
    forms: WordForms,
) -> None:
    number = numbers[session.num]
    there: int = connection.execute(
        "SELECT count(*) FROM summary WHERE session_num = ?", (number,)
    ).fetchone()[0]
    if there >= session.summaries:
        return
    with source.read() as old:
        query = f"SELECT {_SUMMARY} FROM summary WHERE session_num = ? ORDER BY num"
        missing = old.execute(query, (session.num,)).fetchall()[there:]
    rows = [(number, *row, indexed(forms, ("", row[2])).words) for row in missing]
    insert(connection, "summary", f"session_num, {_SUMMARY}, words", rows)
