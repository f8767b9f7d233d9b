"""The conversation memory in one SQLite file: `memory_store.MemoryStore`, put together."""

from kds.brain.memory.memory_schema import MEMORY
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.records import Stats
from kds.brain.passages.outbox import read_models
from kds.brain.passages.passage_file import PassageFile
from kds.brain.store.migrations import version_of
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_files import all_files, size_of


class SqliteStore(PassageFile, MemoryStore):
    """The memory of one workspace."""

    database: Database
    kind = MEMORY
    phrases = False
    file_name = "memory.db"
    holders = "session"

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
