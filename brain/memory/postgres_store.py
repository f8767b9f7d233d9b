"""The conversation memory of one tenant on a server: `memory_store.MemoryStore`, put together."""

from collections.abc import Sequence
from typing import Final

from kds.brain.memory.memory_store import CONTRADICTIONS, MemoryStore
from kds.brain.memory.sessions import Draft
from kds.brain.passages.postgres_passages import (
    PostgresPassages,
    steps_taken,
    stored_bytes,
)
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Tenancy

_TEXTS: Final = (
    "SELECT chunk.id, header, substr(content, start + 1, length) AS body, "
    "'' AS context, idents "
    "FROM chunk JOIN message ON message.num = chunk.message_num"
)
"""What the index knows of each passage, as the view ``chunk_text`` of a file has it."""


class PostgresStore(PostgresPassages, MemoryStore):
    """The memory of one person in an organisation."""

    database: Tenancy
    texts = _TEXTS
    contradictions = CONTRADICTIONS

    def index_passages(
        self, connection: Connection, session_num: int, seq: int, ids: Sequence[int], draft: Draft
    ) -> None:
        """Put the passages of a new message into the index."""
        if ids:
            self.index_range(connection, session_num, (ids[0], ids[-1]))

    def size(self, connection: Connection) -> int:
        """Return how much room the rows of this tenant take."""
        return stored_bytes(connection, ("message", "chunk", "embedding"))

    def version(self, connection: Connection) -> int:
        """Return how many steps the database has had."""
        return steps_taken(connection)
