"""Passages in one SQLite file: `store.PassageStore` for messages and for documents.

SQLite's FTS5 cuts, folds and stems the words. A search index that SQLite finds damaged is made
again on the spot, and the call that found it is repeated.
"""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.passages.store import PassageStore, Weights, backfill, ids_within
from kds.brain.passages.values import Scores
from kds.brain.store import maintenance
from kds.brain.store.maintenance import Check, healing
from kds.brain.store.migrations import FileKind, version_of
from kds.brain.store.sqlite import Database, all_files
from kds.brain.words.terms import PORTER, TOKENS, TokenCounter, estimate_tokens

if TYPE_CHECKING:
    from kds.brain.passages.vectors import VectorSearch

_WORD: Final = re.compile(r"\w+")

QUERY_WORDS: Final = 64
"""Words of a question that are searched for: a pasted page must not cost a second."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the first words of a question, each once.

    >>> words_of('What about "NEAR(x)" AND what')
    ('What', 'about', 'NEAR', 'x', 'AND', 'what')
    """
    return tuple(dict.fromkeys(_WORD.findall(text)))[:QUERY_WORDS]


class PassageFile(PassageStore):
    """A file of passages; what they are passages of is its subclasses' business."""

    database: Database
    kind: ClassVar[FileKind]
    file_name: ClassVar[str]
    """In the `kds-brain` folder of a workspace."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
    ) -> None:
        """Open the file, or make it. Raises StoreError; `warnings` says what was put right."""
        self.path = path
        self.count_tokens = count_tokens
        self.database = Database(path, self.kind, clock=clock)
        self.database.wipe_if_due()

    @healing
    def search_words(
        self,
        words: Iterable[str],
        within: str | None = None,
        *,
        limit: int,
        weights: Weights,
    ) -> Scores:
        """Rank passages with any of the words by BM25."""
        asked = self._any_of(words)
        with self.database.read() as connection:
            first, last = ids_within(connection, within, self.database.place)
            if not asked or limit < 1:
                return {}
            condition = "" if within is None else f"AND rowid BETWEEN {first} AND {last} "
            return dict(
                connection.execute(
                    "SELECT rowid, -rank FROM chunk_fts WHERE chunk_fts MATCH ? AND rank MATCH ? "
                    f"{condition}ORDER BY rank LIMIT ?",
                    (asked, f"bm25{weights}", limit),
                )
            )

    @healing
    def occurrences(
        self, terms: Sequence[Sequence[str]], within: str | None = None, *, limit: int
    ) -> tuple[dict[int, int], ...]:
        """Return the newest passages with one of each term's words, and their tokens."""
        # Without bm25(), which looks at every row of the whole store that has the words.
        query = (
            "SELECT chunk.id, chunk.tokens FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid "
            "WHERE chunk_fts MATCH ? AND chunk_fts.rowid BETWEEN ? AND ? "
            "ORDER BY chunk_fts.rowid DESC LIMIT ?"
        )
        found: list[dict[int, int]] = []
        with self.database.read() as connection:
            ids = ids_within(connection, within, self.database.place)
            for asked in map(self._any_of, terms):
                rows = connection.execute(query, (asked, *ids, limit)) if asked else ()
                found.append(dict(rows))
        return tuple(found)

    @healing
    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return in how many passages each word occurs: of several terms, the rarest counts."""
        with self.database.read() as connection:
            counts = {word: [self._frequency(connection, one) for one in PORTER(word)]
                      for word in words}  # fmt: skip
        return {word: min(found, default=0) for word, found in counts.items()}

    def _any_of(self, words: Iterable[str]) -> str:
        """Return the FTS5 question for rows with any of the words; "" when there is none to ask.

        Each is quoted, so that nothing in it is an operator. Those of a phrase need not be
        neighbours, and stand in any column: the memory's index has no places of words.
        """
        cut = filter(None, map(TOKENS, words))
        each = (" AND ".join(f'"{token}"' for token in tokens) for tokens in cut)
        return " OR ".join(f"({one})" for one in each)

    def _frequency(self, connection: sqlite3.Connection, term: str) -> int:
        row = connection.execute("SELECT doc FROM chunk_word WHERE term = ?", (term,)).fetchone()
        return int(row[0]) if row else 0

    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> Scores:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""
        return self._vectors.search(vector, within, model=model, limit=limit)

    @cached_property
    def _vectors(self) -> "VectorSearch":
        from kds.brain.passages.vectors import VectorSearch  # takes numpy along

        return VectorSearch(self.database)

    def _room(self, connection: Any) -> tuple[int, int]:
        size = 0
        for path in all_files(self.path):
            with suppress(FileNotFoundError):  # another process removed a copy meanwhile
                size += path.stat().st_size
        return size, version_of(connection)

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        return maintenance.check(self.database)

    def rebuild(self) -> Check:
        """Rebuild the search index, queue what has no vector, and examine everything."""
        self.database.rebuild()
        with self.database.write() as connection:
            backfill(connection)
        return self.check()

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self.database.close()
