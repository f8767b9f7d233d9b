"""Rows of the tables as values."""

from kds.brain.database.instant import from_micros
from kds.brain.passages.rows import Row
from kds.brain.passages.values import Message, Passage, Summary
from kds.brain.sessions.session_values import Session

SESSION_COLUMNS = (
    "session.id, session.num, title, created_at, updated_at, document_context, message_count, "
    "token_count"
)
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
    number, title, created, updated = row[1], row[2], row[3], row[4]
    return Session(row[0], number, title, from_micros(created), from_micros(updated), *row[5:])


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
