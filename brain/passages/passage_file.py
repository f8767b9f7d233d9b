"""Passages in one SQLite file: `store.PassageStore` for messages and for documents.

For any number of threads and processes at once. A search index that SQLite finds damaged is made
anew on the spot, and the call that found it is repeated.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kds.brain.clock import Clock, utc_now
from kds.brain.passages.outbox import backfill
from kds.brain.passages.store import PassageStore
from kds.brain.passages.text_search import TextSearch
from kds.brain.passages.values import Scored
from kds.brain.store import health
from kds.brain.store.deletion import scrub_if_due
from kds.brain.store.health import Check
from kds.brain.store.migrations import FileKind
from kds.brain.store.sqlite import TIMEOUT_S, Database
from kds.brain.words.tokens import TokenCounter, estimate_tokens
from kds.brain.workspace import Workspace

if TYPE_CHECKING:
    from kds.brain.passages.vectors import VectorSearch


class PassageFile(TextSearch, PassageStore):
    """A file of passages; what they are passages of is its subclasses' business."""

    database: Database
    kind: ClassVar[FileKind]
    file_name: ClassVar[str]
    """In the `kds-brain` folder of a workspace."""
    holders: ClassVar[str]
    """The table that counts passages and tokens: of sessions, or of documents."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open the file, or make it. Raises StoreError; `warnings` says what was put right."""
        super().__init__()
        self.count_tokens = count_tokens
        self.database = Database(path, self.kind, clock=clock, timeout_s=timeout_s)
        scrub_if_due(self.database)

    @classmethod
    def path_in(cls, workspace: Workspace) -> Path:
        """Where the file of ``workspace`` is, or would be."""
        return workspace.brain / cls.file_name

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        return self.database.warnings

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    def measure(self) -> tuple[int, float]:
        """Return about how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            passages, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) "
                f"FROM {self.holders}"
            ).fetchone()
        return int(passages), tokens / max(passages, 1)

    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""
        return self._vectors.search(vector, within, model=model, limit=limit)

    @cached_property
    def _vectors(self) -> "VectorSearch":
        from kds.brain.passages.vectors import VectorSearch  # numpy, for who has vectors

        return VectorSearch(self.database)

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        return health.check(self.database)

    def rebuild(self) -> Check:
        """Make the search index anew, queue what has no vector, and examine everything."""
        with self.database.write() as connection:
            health.remake_indexes(connection, self.kind.indexes)
            backfill(connection)
        return self.check()

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self._forms.close()
        self._tokens.close()
        self.database.close()
