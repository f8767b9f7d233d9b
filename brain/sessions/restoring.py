"""Putting an archived session back, in one transaction, under new ids where its own are taken."""

from dataclasses import replace

from kds.brain.database.engine import Connection
from kds.brain.database.instant import to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.sessions.message_table import Draft, MessageTable
from kds.brain.sessions.session_table import insert as insert_session
from kds.brain.sessions.session_table import new_id
from kds.brain.sessions.session_values import Archive
from kds.brain.sessions.summary_table import SummaryTable


class Tables(MessageTable, SummaryTable):
    """What an archive is put back into."""


def put_back(table: Tables, archive: Archive) -> str:
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
            table.add(connection, number, _with_free_id(connection, draft))
        for summary in archive.summaries:
            text = kept_text(summary.text).strip()
            run = (summary.first_seq, summary.last_seq)
            table.add_row(connection, number, (*run, text, to_micros(summary.at), summary.kind))
        connection.execute(
            "UPDATE session SET updated_at = ? WHERE num = ?",
            (to_micros(session.updated_at), number),
        )
    return session_id


def _with_free_id(connection: Connection, draft: Draft) -> Draft:
    return draft if _is_free(connection, "message", draft.id) else replace(draft, id=new_id())


def _is_free(connection: Connection, table: str, name: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (name,)).fetchone() is None
