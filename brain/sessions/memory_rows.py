"""Rows of the tables as values."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kds.brain.database.instant import from_micros
from kds.brain.errors import StoreError
from kds.brain.passages.values import Chunk, Message, Passage, Session, Summary

SESSION_COLUMNS = (
    "session.id, session.num, title, created_at, updated_at, document_context, message_count, "
    "token_count"
)
MESSAGE_COLUMNS = "message.id, session.id, seq, role, content, message.at, message.tokens, speaker"
CHUNK_COLUMNS = (
    "chunk.id, message.id, session.id, chunk.kind, chunk.language, chunk.header, body, context, "
    "chunk.idents, chunk.tokens"
)
PASSAGE_COLUMNS = (
    "chunk.id, message.id, session.id, role, speaker, message.at, chunk.kind, header, "
    "substr(content, start + 1, length), idents, chunk.tokens"
)
PASSAGE_TABLES = (
    "chunk JOIN message ON message.num = chunk.message_num "
    "JOIN session ON session.num = message.session_num"
)
CHUNK_TABLES = (
    "chunk JOIN chunk_text ON chunk_text.id = chunk.id "
    "JOIN message ON message.num = chunk.message_num "
    "JOIN session ON session.num = message.session_num"
)
SUMMARY_COLUMNS = (
    "summary.num, session.id, first_seq, last_seq, summary.text, summary.at, summary.kind"
)

IDS_AT_ONCE = 500
"""Ids in one question to SQLite, which allows 999 in its older versions."""

Row = tuple[Any, ...]
"""What sqlite3 gives; the query knows the columns."""


def session_of(row: Row) -> Session:
    """Read SESSION_COLUMNS."""
    number, title, created, updated = row[1], row[2], row[3], row[4]
    return Session(row[0], number, title, from_micros(created), from_micros(updated), *row[5:])


def message_of(row: Row) -> Message:
    """Read MESSAGE_COLUMNS."""
    message_id, session_id, seq, role, content, at, tokens, speaker = row
    return Message(message_id, session_id, seq, role, content, from_micros(at), tokens, speaker)


def chunk_of(row: Row) -> Chunk:
    """Read CHUNK_COLUMNS."""
    return Chunk(*row)


def passage_of(row: Row) -> Passage:
    """Read PASSAGE_COLUMNS."""
    chunk_id, message_id, session_id, role, speaker, at, *rest = row
    return Passage(chunk_id, message_id, session_id, role, speaker, from_micros(at), *rest)


def read_passages(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Passage]:
    """Return passages by chunk id, in no order; at most IDS_AT_ONCE."""
    marks = ", ".join("?" * len(ids))
    query = f"SELECT {PASSAGE_COLUMNS} FROM {PASSAGE_TABLES} WHERE chunk.id IN ({marks})"
    return [passage_of(row) for row in connection.execute(query, list(ids))]


def read_chunks(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Chunk]:
    """Return chunks by id, in no order; at most IDS_AT_ONCE."""
    marks = ", ".join("?" * len(ids))
    query = f"SELECT {CHUNK_COLUMNS} FROM {CHUNK_TABLES} WHERE chunk.id IN ({marks})"
    return [chunk_of(row) for row in connection.execute(query, list(ids))]


def summary_of(row: Row) -> Summary:
    """Read SUMMARY_COLUMNS."""
    number, session_id, first, last, text, at, kind = row
    return Summary(number, session_id, first, last, text, from_micros(at), kind)


def session_number(connection: sqlite3.Connection, session_id: str, path: Path) -> int:
    """Return the number of a session. Raises StoreError when there is none with this id."""
    row = connection.execute("SELECT num FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise unknown("session", session_id, path)
    return int(row[0])


def unknown(what: str, name: str, path: Path) -> StoreError:
    """Say that there is no such session or message."""
    hints = {
        "session": "see which sessions there are: kds memory show",
        "message": "see the messages of its session",
    }
    return StoreError(f"there is no {what} {name!r}", where=str(path), hint=hints[what])
