"""Where a workspace's memory is."""

from pathlib import Path

from kds.brain.clock import Clock
from kds.brain.git import CONVERSATION
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.sqlite_store import SqliteStore
from kds.brain.passages.place import Place
from kds.brain.words.tokens import TokenCounter
from kds.brain.workspace import SharedDatabase


class MemoryPlace(Place[MemoryStore]):
    """The memory of a workspace, wherever that is."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return SqliteStore.path_in(self.workspace)

    def _private(self) -> tuple[str, ...]:
        return CONVERSATION

    def _on_server(self, shared: SharedDatabase, clock: Clock, count: TokenCounter) -> MemoryStore:
        from kds.brain.memory.postgres_store import PostgresStore  # for who has a server

        return PostgresStore.of(shared, clock=clock, count_tokens=count)

    def _in_file(self, clock: Clock, count: TokenCounter) -> MemoryStore:
        return SqliteStore(self.path, clock=clock, count_tokens=count)
