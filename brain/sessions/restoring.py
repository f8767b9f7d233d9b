"""Putting an archived session back, in one transaction, under new ids where its own are taken."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from kds.brain.database.instant import to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.passages.values import Summary
from kds.brain.sessions.message_table import Draft, MessageTable, insert
from kds.brain.sessions.session_table import insert as insert_session
from kds.brain.sessions.session_table import new_id
from kds.brain.sessions.session_values import Archive


def put_back(table: MessageTable, archive: Archive) -> str:
    """Store the session with all its messages and summaries; returns its id."""
    drafts = [
        table.draft(
            message.role,
            message.content,
            at=message.at,
            speaker=message.speaker,
            message_id=message.id or None,
        )
        for message in archive.messages
    ]
    session = archive.session
    with table.database.write() as connection:
        session_id = session.id if _is_free(connection, "session", session.id) else new_id()
        number = insert_session(
            connection,
            session_id,
            session.title,
            session.document_context,
            to_micros(session.created_at),
            to_micros(session.updated_at),
        )
        for draft in drafts:
            insert(connection, number, _with_free_id(connection, draft))
        _insert_summaries(connection, number, archive.summaries)
        connection.execute(
            "UPDATE session SET updated_at = ? WHERE num = ?",
            (to_micros(session.updated_at), number),
        )
    return session_id


def _with_free_id(connection: sqlite3.Connection, draft: Draft) -> Draft:
    return draft if _is_free(connection, "message", draft.id) else replace(draft, id=new_id())


def _is_free(connection: sqlite3.Connection, table: str, name: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (name,)).fetchone() is None


def _insert_summaries(
    connection: sqlite3.Connection, session_num: int, summaries: Sequence[Summary]
) -> None:
    connection.executemany(
        "INSERT INTO summary(session_num, first_seq, last_seq, text, at, kind) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                session_num,
                summary.first_seq,
                summary.last_seq,
                kept_text(summary.text).strip(),
                to_micros(summary.at),
                summary.kind,
            )
            for summary in summaries
        ],
    )
