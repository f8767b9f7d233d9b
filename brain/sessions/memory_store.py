"""The conversation memory, whatever engine runs its SQL.

`sqlite_store.SqliteStore` keeps it in one file, `kds.brain.postgres.postgres_store.PostgresStore`
on a server; tests/brain/conformance.py holds both against the same tests. Every method raises
StoreError with ``where`` and ``hint``; a session that does not exist is one of the reasons.
"""

from abc import abstractmethod
from functools import cached_property

from kds.brain.database.health import healing
from kds.brain.passages.store import MessageSearch
from kds.brain.sessions.entities import EntityTable
from kds.brain.sessions.item_table import ItemTable
from kds.brain.sessions.metrics import MetricTable
from kds.brain.sessions.profile import ProfileTable
from kds.brain.sessions.restoring import Tables, put_back
from kds.brain.sessions.session_table import SessionTable
from kds.brain.sessions.session_values import Archive, Session, Stats


class MemoryStore(SessionTable, Tables, MessageSearch):
    """All of it: conversations, what was said in them, and what stands beside them."""

    @cached_property
    def profile(self) -> ProfileTable:
        """What the user consented to be remembered."""
        return ProfileTable(self.database)

    @cached_property
    def entities(self) -> EntityTable:
        """What the router may resolve references with."""
        return EntityTable(self.database)

    @cached_property
    def metrics(self) -> MetricTable:
        """What recalls measured."""
        return MetricTable(self.database)

    @cached_property
    def items(self) -> ItemTable:
        """What agents keep."""
        return ItemTable(self.database)

    @healing
    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        return self.session(put_back(self, archive))

    @abstractmethod
    def stats(self) -> Stats:
        """Return how much is stored."""
