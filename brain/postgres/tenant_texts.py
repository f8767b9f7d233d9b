"""What a tenant has that is a file of its own elsewhere: contexts, what was learned, live work.

Under the names that the files have in `kds-brain`, for amnesia: to be looked at, put away, removed
and brought back.
"""

from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from kds.brain.context.entry_line import decode_lines
from kds.brain.database.engine import Connection
from kds.brain.database.instant import to_micros
from kds.brain.passages.rows import insert
from kds.brain.postgres.texts import PostgresText, tenancy_of, texts_of
from kds.brain.shared_database import SharedDatabase

CONTEXT: Final = "conversation-context"
_FOLDER: Final = "conversations/"
_SUFFIX: Final = ".jsonl"

_CONTEXTS: Final = (
    "SELECT conversation, string_agg(line, E'\\n' ORDER BY num) || E'\\n' FROM context_entry "
    "GROUP BY conversation ORDER BY conversation"
)


def tenant_texts(shared: SharedDatabase) -> dict[str, bytes]:
    """Return all of it by name. Raises StoreError."""
    with tenancy_of(shared) as tenancy, tenancy.read() as connection:
        rows = connection.execute(_CONTEXTS).fetchall()
    contexts = {_name_of(conversation): lines.encode() for conversation, lines in rows}
    return contexts | texts_of(shared)


def remove_texts(shared: SharedDatabase, found: Mapping[str, bytes]) -> None:
    """Remove texts as they were found; what was written since stays. Raises StoreError."""
    with tenancy_of(shared) as tenancy, tenancy.write() as connection:
        for name, content in found.items():
            if (conversation := _conversation(name)) is None:
                query = "DELETE FROM kept_text WHERE name = ? AND content = ?"
                connection.execute(query, (name, content.decode()))
            else:
                query = "DELETE FROM context_entry WHERE conversation = ? AND line = ANY(?)"
                connection.execute(query, (conversation, content.decode().split("\n")))


def put_text(shared: SharedDatabase, name: str, content: bytes) -> None:
    """Put a text in the place of what is there under its name. Raises StoreError."""
    if (conversation := _conversation(name)) is None:
        PostgresText.of(shared, name).replace(content)
        return
    with tenancy_of(shared) as tenancy, tenancy.write() as connection:
        _put_context(connection, conversation, content)


def _put_context(connection: Connection, conversation: str, content: bytes) -> None:
    connection.execute("DELETE FROM context_entry WHERE conversation = ?", (conversation,))
    rows = [
        (conversation, uuid4().hex, to_micros(line.entry.timestamp), line.raw.decode())
        for line in decode_lines(content)
        if line.entry
    ]
    insert(connection, "context_entry", "conversation, id, at, line", rows)


def _name_of(conversation: str) -> str:
    return f"{'' if conversation == CONTEXT else _FOLDER}{conversation}{_SUFFIX}"


def _conversation(name: str) -> str | None:
    """The conversation whose context a name is; None for another text."""
    stem = name.removesuffix(_SUFFIX)
    if name.startswith(_FOLDER):
        return stem.removeprefix(_FOLDER)
    return stem if stem == CONTEXT else None
