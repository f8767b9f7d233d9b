"""The conversation memory in one SQLite file: `memory_store.MemoryStore`, put together."""

from pathlib import Path
from typing import TYPE_CHECKING

from kds.brain.clock import Clock, utc_now
from kds.brain.database.database import TIMEOUT_S, Database
from kds.brain.database.database_file import all_files, size_of
from kds.brain.database.health import healing
from kds.brain.database.migrations import version_of
from kds.brain.passages.outbox import read_models
from kds.brain.passages.passage_file import PassageFile
from kds.brain.sessions.entities import EntityTable
from kds.brain.sessions.item_table import ItemTable
from kds.brain.sessions.memory_schema import MEMORY
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.metrics import MetricTable
from kds.brain.sessions.profile import ProfileTable
from kds.brain.sessions.restoring import Tables, put_back
from kds.brain.sessions.session_table import SessionTable
from kds.brain.sessions.session_values import Archive, Session, Stats
from kds.brain.words.tokens import TokenCounter, estimate_tokens


class SqliteStore(SessionTable, Tables, PassageFile):
    """The memory of one workspace."""

    database: Database
    kind = MEMORY
    file_name = "memory.db"
    holders = "session"

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open the file, or make it. Raises StoreError; `warnings` says what was put right."""
        super().__init__(path, clock=clock, count_tokens=count_tokens, timeout_s=timeout_s)
        self.profile = ProfileTable(self.database)
        self.entities = EntityTable(self.database)
        self.metrics = MetricTable(self.database)
        self.items = ItemTable(self.database)

    @healing
    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        return self.session(put_back(self, archive))

    def stats(self) -> Stats:
        """Return how much is stored."""
        with self.database.read() as connection:
            sessions, messages, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(message_count), 0), coalesce(sum(token_count), 0) "
                "FROM session"
            ).fetchone()
            chunks = connection.execute("SELECT count(*) FROM chunk").fetchone()[0]
            summaries = connection.execute("SELECT count(*) FROM summary").fetchone()[0]
            models = read_models(connection)
            version = version_of(connection)
        size = sum(map(size_of, all_files(self.path)))
        return Stats(sessions, messages, chunks, summaries, tokens, models, size, version)


if TYPE_CHECKING:
    # What the protocol asks for is here, with the types it asks for.
    _checked: type[MemoryStore] = SqliteStore
