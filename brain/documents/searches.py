"""What a recall asks of the file: `recall.Searches` over SQLite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kds.brain.database.database import Database
from kds.brain.documents.document_recall import COLUMN_WEIGHTS, Searches
from kds.brain.documents.document_rows import PASSAGE_TABLES, read_passages
from kds.brain.documents.document_values import Passage
from kds.brain.documents.judging import Candidate
from kds.brain.documents.lookup import Lookup
from kds.brain.passages.searching import TextSearch
from kds.brain.passages.values import Scope, Scored
from kds.brain.passages.vectors import VectorSearch
from kds.brain.sessions.memory_rows import IDS_AT_ONCE


@dataclass(frozen=True, slots=True)
class FileSearches:
    """The searches of one file. ``within`` is the id of the only document to look at."""

    database: Database
    text: TextSearch
    vectors: VectorSearch

    def lookup(self, within: str | None) -> Lookup:
        """Return the tables of terms and sections."""
        if within is None:
            return Lookup(self.database)
        with self.database.read() as connection:
            row = connection.execute("SELECT num FROM document WHERE id = ?", (within,)).fetchone()
        return Lookup(self.database, int(row[0]) if row else 0)

    def frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return in how many passages each word occurs."""
        return self.text.frequencies(words)

    def by_words(
        self, words: Sequence[str], within: str | None, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages that have any of the words."""
        return self.text.words(words, Scope(within), limit=limit, weights=COLUMN_WEIGHTS)

    def by_vector(
        self, vector: Sequence[float], within: str | None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors."""
        return self.vectors.search(vector, model=model, scope=Scope(within), limit=limit)

    def candidates(self, ids: Sequence[int]) -> tuple[Candidate, ...]:
        """Return passages as they are judged."""
        found: list[Candidate] = []
        with self.database.read() as connection:
            for at in range(0, len(ids), IDS_AT_ONCE):
                some = list(ids[at : at + IDS_AT_ONCE])
                rows = connection.execute(
                    "SELECT chunk.id, document.id, document.title, section.path, tokens, stems, "
                    f"beside FROM {PASSAGE_TABLES} "
                    f"WHERE chunk.id IN ({', '.join('?' * len(some))}) ORDER BY chunk.id",
                    some,
                )
                found += (Candidate(*row) for row in rows)
        return tuple(found)

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return passages by id, in no order."""
        with self.database.read() as connection:
            return tuple(read_passages(connection, ids))

    def measure(self) -> tuple[int, float]:
        """Return how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            chunks, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) FROM document"
            ).fetchone()
        return int(chunks), tokens / max(chunks, 1)


if TYPE_CHECKING:
    _checked: type[Searches] = FileSearches
