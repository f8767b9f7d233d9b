"""Full-text search over chunks and summaries in SQLite."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kds.brain.database.database import Database
from kds.brain.passages.fts_words import WordForms, any_of
from kds.brain.passages.values import Scope, Scored, Summary
from kds.brain.sessions.memory_rows import SUMMARY_COLUMNS, session_number, summary_of
from kds.brain.sessions.memory_schema import CHUNK_BITS
from kds.brain.words.identifiers import joined_forms

Weights = tuple[float, float, float, float]

WEIGHTS: Final[Weights] = (1.0, 1.0, 0.3, 1.0)
"""BM25 weights of header, body, context, idents (DESIGN 6: measured on LoCoMo)."""

COMMON: Final = 1000
"""Chunks. SQLite counts a term's chunks one by one (50k: 5 ms), so counts from here on are kept
for as long as the store is open: what is common stays so."""


@dataclass(frozen=True, slots=True)
class TextSearch:
    """The full-text indexes."""

    database: Database
    forms: WordForms
    common: dict[str, int] = field(default_factory=dict)
    """Counts of terms that were found to be common, as they were then."""

    def words(
        self, words: Sequence[str], scope: Scope, *, limit: int, weights: Weights | None
    ) -> tuple[Scored, ...]:
        """Rank the chunks that have any of the words."""
        return self._match(any_of(words), scope, limit=limit, weights=weights or WEIGHTS)

    def identifiers(
        self, identifiers: Sequence[str], scope: Scope, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank the chunks that have any of the identifiers, in any spelling."""
        question = any_of(joined_forms(identifiers))
        if not question:
            return ()
        return self._match(f"idents : ({question})", scope, limit=limit, weights=WEIGHTS)

    def occurrences(
        self, terms: Sequence[Sequence[str]], session_id: str, *, limit: int
    ) -> tuple[dict[int, int], ...]:
        """Return for each term the chunks of a session with one of its words, and their tokens.

        Without bm25(), which looks at every row of the whole store that has the words.
        """
        query = (
            "SELECT chunk.id, chunk.tokens FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid "
            "WHERE chunk_fts MATCH ? AND chunk_fts.rowid BETWEEN ? AND ? "
            "ORDER BY chunk_fts.rowid DESC LIMIT ?"
        )
        found: list[dict[int, int]] = []
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.path)
            first, last = number << CHUNK_BITS, ((number + 1) << CHUNK_BITS) - 1
            for words in terms:
                question = any_of(words)
                asked = (f"{{header body idents}} : ({question})", first, last, limit)
                found.append(dict(connection.execute(query, asked)) if question else {})
        return tuple(found)

    def summaries(
        self, words: Sequence[str], session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session."""
        question = any_of(words)
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.path)
            if not question or limit < 1:
                return ()
            rows = connection.execute(
                f"SELECT {SUMMARY_COLUMNS}, -bm25(summary_fts) AS score FROM summary_fts "
                "JOIN summary ON summary.num = summary_fts.rowid "
                "JOIN session ON session.num = summary.session_num "
                "WHERE summary_fts MATCH ? AND session_num = ? "
                "ORDER BY score DESC, summary.num LIMIT ?",
                (question, number, limit),
            ).fetchall()
        return tuple((summary_of(row[:-1]), row[-1]) for row in rows)

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return in how many chunks each word occurs: of several terms, the rarest counts."""
        found: dict[str, int] = {}
        with self.database.read() as connection:
            for word in words:
                counts = [self._frequency(connection, term) for term in self.forms(word)]
                found[word] = min(counts, default=0)
        return found

    def _frequency(self, connection: sqlite3.Connection, term: str) -> int:
        if (known := self.common.get(term)) is not None:
            return known
        query = "SELECT doc FROM chunk_word WHERE term = ?"
        row = connection.execute(query, (term,)).fetchone()
        count = int(row[0]) if row else 0
        if count >= COMMON:
            self.common[term] = count
        return count

    def _match(
        self, question: str, scope: Scope, *, limit: int, weights: Weights
    ) -> tuple[Scored, ...]:
        with self.database.read() as connection:
            condition, values = self._condition(connection, scope)
            if not question or limit < 1:
                return ()
            ranking = f"bm25({', '.join(str(float(weight)) for weight in weights)})"
            rows = connection.execute(
                "SELECT rowid, -rank FROM chunk_fts WHERE chunk_fts MATCH ? AND rank MATCH ? "
                f"{condition} ORDER BY rank LIMIT ?",
                (question, ranking, *values, limit),
            ).fetchall()
        return tuple(Scored(chunk_id, score) for chunk_id, score in rows)

    def _condition(
        self, connection: sqlite3.Connection, scope: Scope
    ) -> tuple[str, tuple[object, ...]]:
        condition = ""
        values: tuple[object, ...] = ()
        if scope.session_id is not None:
            number = session_number(connection, scope.session_id, self.database.path)
            condition += "AND rowid BETWEEN ? AND ? "
            values += (number << CHUNK_BITS, ((number + 1) << CHUNK_BITS) - 1)
        if scope.document is not None:
            condition += (
                f"AND (rowid >> {CHUNK_BITS}) IN "
                "(SELECT num FROM session WHERE document_context = ?) "
            )
            values += (scope.document,)
        return condition, values
