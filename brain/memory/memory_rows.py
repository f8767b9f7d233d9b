"""Rows of the tables as values."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final, get_type_hints

from kds.brain.memory.records import Session
from kds.brain.passages.rows import Row
from kds.brain.passages.values import Message, Passage, Summary
from kds.brain.store.columns import from_micros, to_micros

_SESSION: Final[Mapping[str, Any]] = get_type_hints(Session)
SESSION_COLUMNS: Final = ", ".join(f"session.{name}" for name in _SESSION)
EXPORTED: Final = tuple(one for one in fields(Session) if not one.metadata.get("counted"))
"""The fields of a session that are given to the store, and that an export has."""

MESSAGE_COLUMNS = "message.id, session.id, seq, role, content, message.at, message.tokens, speaker"
PASSAGE_COLUMNS = (
    "chunk.id, message.id, session.id, document_context, role, speaker, message.at, chunk.kind, "
    "header, substr(content, start + 1, length), idents, chunk.tokens"
)
WHOLE_COLUMNS = PASSAGE_COLUMNS.replace("substr(content, start + 1, length)", "content").replace(
    "chunk.tokens", "message.tokens"
)
"""Of the message in the place of its passage."""

PASSAGE_TABLES = (
    "chunk JOIN message ON message.num = chunk.message_num "
    "JOIN session ON session.num = message.session_num"
)
SUMMARY_COLUMNS = (
    "summary.num, session.id, first_seq, last_seq, summary.text, summary.at, summary.kind"
)


def session_of(row: Row) -> Session:
    """Read SESSION_COLUMNS."""
    named = zip(_SESSION.items(), row, strict=True)
    return Session(**{name: _from_column(kind, value) for (name, kind), value in named})


def session_row(session: Session) -> dict[str, object]:
    """Return the EXPORTED fields of a session as its columns hold them."""
    return {one.name: _to_column(getattr(session, one.name)) for one in EXPORTED}


def added_column(name: str) -> str:
    """Return the SQL that adds the column of a new field of `Session`, for either engine.

    >>> added_column("document_context")
    'ALTER TABLE session ADD COLUMN document_context TEXT'
    """
    (one,) = (one for one in fields(Session) if one.name == name)
    kind = "TEXT" if _SESSION[name] in (str, str | None) else "BIGINT"
    column = f"ALTER TABLE session ADD COLUMN {name} {kind}"
    if one.default is None:
        return column
    default = _to_column(one.default)
    return f"{column} NOT NULL DEFAULT {default!r}"


def _from_column(kind: Any, value: Any) -> Any:
    if value is None or kind not in (datetime, datetime | None, bool):
        return value
    return bool(value) if kind is bool else from_micros(value)


def _to_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value


def message_of(row: Row) -> Message:
    """Read MESSAGE_COLUMNS."""
    message_id, session_id, seq, role, content, at, tokens, speaker = row
    return Message(message_id, session_id, seq, role, content, from_micros(at), tokens, speaker)


def passage_of(row: Row) -> Passage:
    """Read PASSAGE_COLUMNS."""
    chunk_id, message_id, session_id, document, role, speaker, at, *rest = row
    return Passage(
        chunk_id, message_id, session_id, document, role, speaker, from_micros(at), *rest
    )


def summary_of(row: Row) -> Summary:
    """Read SUMMARY_COLUMNS."""
    number, session_id, first, last, text, at, kind = row
    return Summary(number, session_id, first, last, text, from_micros(at), kind)
