"""Full text on a server: BM25 as SQLite's FTS5 ranks it, over terms that KDS cuts itself.

The server's own parsers and dictionaries differ by version and locale; with the terms of
`WordForms` both engines find the same words, and rank them alike. Over everything the ranking is
exact as long as the words of a question stand in at most DRIVING passages together; beyond that
only passages with one of the rarer words are ranked (by all words). Where every word is as common
as that, the newest conversations are ranked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, log, log2
from typing import Final

from kds.brain.passages.passage_schema import CHUNK_BITS, range_of
from kds.brain.passages.rows import session_number
from kds.brain.passages.store import Weights
from kds.brain.passages.text_search import COMMON, IDENTIFIER_WEIGHTS, WordForms
from kds.brain.passages.values import Scored
from kds.brain.store.engine import Connection
from kds.brain.store.tenancy import Tenancy
from kds.brain.words.identifiers import joined_forms

LONGEST_TERM: Final = 500
"""Characters: PostgreSQL takes 2,046 bytes, and no word is that long."""

LAST_PLACE: Final = 16_383
"""The last place that a tsvector tells apart from those behind it."""

GAP: Final = 8
"""Places between two columns, so that no phrase goes from one to the other."""

LABELS: Final = "ABCD"
"""Of the columns header, body, context and idents."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the index holds of a passage: a tsvector as text, and how many words it has."""

    words: str
    size: int


def indexed(forms: WordForms, columns: Sequence[str], *, tenant: int | None = None) -> Indexed:
    """Return the columns of a passage, in the order of LABELS, as the index takes them.

    >>> indexed(WordForms(), ["", "Services here, services there"])
    Indexed(words="'servic':9B,11B 'here':10B 'there':12B", size=4)
    """
    places: dict[str, list[str]] = {}
    at = size = 0
    for label, text in zip(LABELS, columns, strict=False):
        for term in forms.of_text(text):
            at += 1
            size += 1
            places.setdefault(term[:LONGEST_TERM], []).append(f"{min(at, LAST_PLACE)}{label}")
        at += GAP
    parts = [f"{quoted(term)}:{','.join(where)}" for term, where in places.items()]
    if tenant is not None:
        parts.append(f"'tenant:{tenant}'")
    return Indexed(" ".join(parts), size)


def question(terms: Sequence[str], labels: str = "") -> str:
    """Return the tsquery for a word or phrase: its terms in a row.

    >>> question(("user", "name"), "D")
    "'user':D <-> 'name':D"
    """
    suffix = f":{labels}" if labels else ""
    return " <-> ".join(f"{quoted(term[:LONGEST_TERM])}{suffix}" for term in terms)


def any_of(questions: Iterable[str]) -> str:
    """Return the tsquery for whatever answers one of several."""
    return " | ".join(f"({one})" for one in questions)


def quoted(term: str) -> str:
    """Return a term as a tsquery or tsvector takes it, whatever is in it."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


DRIVING: Final = 4000
"""Passages that are ranked for one question over everything: some 15 ms of the server's time."""

TOO_MANY: Final = 3 * DRIVING
"""Passages of the rarest word asked for that are too many to rank: then the newest ones are."""

LOOKED_AT: Final = 5 * DRIVING
"""The newest passages among which these are found: some 35 ms."""

LEAST_IDF: Final = 1e-6
"""Of a word that more than half of all passages have (as FTS5 has it)."""

OWN_LABELS: Final = "ABD"
"""What a passage says itself: without its context."""


def scored(
    passages: str, *, asked: str, idfs: str, weights: str, unit: str, mean: str, most: str
) -> str:
    """Return the SQL that ranks passages, each value as it is named or marked there.

    BM25 with k1 = 1.2 and b = 0.75, as SQLite's FTS5 has it: of a single term ``ts_rank_cd`` is the
    sum of the weights of its places, which is what FTS5 counts. It takes no weight above 1: they
    are so many times the ``unit``. In one statement: a function's call a passage takes three times
    as long.
    """
    return (
        f"SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / {mean}))) "
        f"AS score FROM ({passages}) AS passage "
        f"JOIN unnest({asked}, {idfs}) AS asked(query, idf) ON passage.words @@ query "
        f"CROSS JOIN LATERAL (SELECT ts_rank_cd({weights}, passage.words, query) * {unit}) "
        f"AS counted(f) GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT {most}"
    )


_MARKS: Final = {
    "asked": "CAST(? AS tsquery[])",
    "idfs": "CAST(? AS float8[])",
    "weights": "CAST(? AS float4[])",
    "unit": "?",
    "mean": "?",
    "most": "?",
}
_WITHIN: Final = scored(
    "SELECT id, size, words FROM chunk WHERE id BETWEEN ? AND ? AND words @@ CAST(? AS tsquery)",
    **_MARKS,
)
"""Ranks the passages of one session or document."""

_NEWEST: Final = scored(
    "SELECT id, size, words FROM (SELECT id, size, words "
    "FROM (SELECT num FROM session ORDER BY num DESC) AS one "
    "CROSS JOIN LATERAL (SELECT id, size, words FROM chunk "
    f"WHERE id >= num << {CHUNK_BITS} AND id < (num + 1) << {CHUNK_BITS} OFFSET 0) AS its "
    f"LIMIT {LOOKED_AT}) AS newest WHERE words @@ CAST(? AS tsquery) LIMIT {DRIVING}",
    **_MARKS,
)
"""Ranks passages of the newest sessions or documents. Without the OFFSET the server compares every
passage with every session."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's words as tsqueries, each with its weight, and how long passages are."""

    queries: list[str]
    idfs: list[float]
    driving: str
    mean: float
    too_many: bool
    """Even the rarest stands in more passages than can be ranked."""


class PostgresSearch:
    """Finding passages by their words and names."""

    database: Tenancy

    def __init__(self) -> None:
        self._forms = WordForms()
        self._common: dict[str, int] = {}

    def search_words(
        self, words: Sequence[str], within: str | None = None, *, limit: int, weights: Weights
    ) -> tuple[Scored, ...]:
        """Rank the passages that have any of the words."""
        return self._match(self._queries(words), within, limit=limit, weights=weights)

    def search_identifiers(
        self, identifiers: Sequence[str], within: str | None = None, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank the passages that have any of the identifiers, in any spelling."""
        queries = self._queries(joined_forms(identifiers), "D")
        return self._match(queries, within, limit=limit, weights=IDENTIFIER_WEIGHTS)

    def occurrences(
        self, terms: Sequence[Sequence[str]], session_id: str, *, limit: int
    ) -> tuple[dict[int, int], ...]:
        """Return for each term the passages of a session that say it, and their tokens."""
        found: list[dict[int, int]] = []
        with self.database.read() as connection:
            number = session_number(connection, session_id, self.database.place)
            for words in terms:
                asked = any_of(self._queries(words, OWN_LABELS))
                rows = connection.execute(
                    "SELECT id, tokens FROM chunk WHERE id BETWEEN ? AND ? "
                    "AND words @@ CAST(? AS tsquery) ORDER BY id DESC LIMIT ?",
                    (*range_of(number), asked, limit),
                ).fetchall()
                found.append(dict(rows))
        return tuple(found)

    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return in how many passages each word occurs: of several terms, the rarest counts."""
        terms = {word: [question((term,)) for term in self._forms(word)] for word in words}
        with self.database.read() as connection:
            counts = self._frequencies(connection, [*chain.from_iterable(terms.values())])
        return {
            word: min((counts[one] for one in found), default=0) for word, found in terms.items()
        }

    def _queries(self, words: Sequence[str], labels: str = "") -> list[str]:
        cut = (self._forms(word.replace("\x00", "")) for word in words)
        # Two words of one term count twice, as they do in a file.
        return [question(terms, labels) for terms in cut if terms]

    def _frequencies(self, connection: Connection, queries: Sequence[str]) -> dict[str, int]:
        """Count the passages; counts of common words are kept, as they are for a file."""
        asked = [one for one in dict.fromkeys(queries) if one not in self._common]
        counts: dict[str, int] = {}
        if asked:
            rows = connection.execute(
                "SELECT passages FROM frequencies(CAST(? AS tsquery[]))", (asked,)
            )
            counts = {one: int(row[0]) for one, row in zip(asked, rows, strict=True)}
            self._common |= {one: count for one, count in counts.items() if count >= COMMON}
        return counts | self._common

    def _match(
        self, queries: list[str], within: str | None, *, limit: int, weights: Weights
    ) -> tuple[Scored, ...]:
        labelled = in_units(weights)
        with self.database.read() as connection:
            number = None
            if within is not None:
                number = session_number(connection, within, self.database.place)
            if not queries or limit < 1:
                return ()
            asked = self._asked(connection, queries)
            *four, unit = labelled
            values = (any_of(queries), asked.queries, asked.idfs, four, unit)
            if number is not None:
                rows = connection.execute(
                    _WITHIN, (asked.mean, *range_of(number), *values, limit)
                ).fetchall()
            elif asked.too_many:
                rows = connection.execute(_NEWEST, (asked.mean, *values, limit)).fetchall()
            else:
                rows = connection.execute(
                    "SELECT id, score FROM ranked(CAST(? AS tsquery), CAST(? AS tsquery[]), "
                    "?, CAST(? AS float4[]), ?, ?)",
                    (asked.driving, asked.queries, asked.idfs, labelled, asked.mean, limit),
                ).fetchall()
        return tuple(Scored(chunk_id, score) for chunk_id, score in rows)

    def _asked(self, connection: Connection, queries: list[str]) -> Asked:
        passages, words = connection.execute(
            "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(word_count), 0) FROM session"
        ).fetchone()
        counts = self._frequencies(connection, queries)
        idfs = [
            max(LEAST_IDF, log((max(passages - counts[one], 0) + 0.5) / (counts[one] + 0.5)))
            for one in queries
        ]
        mean = max(float(words) / max(passages, 1), 1.0)
        too_many = min(counts.values()) > TOO_MANY
        return Asked(queries, idfs, any_of(driving(counts)), mean, too_many)


def in_units(weights: Weights) -> list[float]:
    """Return the weights as `scored` takes them: of D, C, B and A, at most 1, and what 1 counts.

    A power of two, so that nothing is lost by it.

    >>> in_units((1.0, 1.0, 0.25, 1.5))
    [0.75, 0.125, 0.5, 0.5, 2.0]
    """
    unit = 2.0 ** ceil(log2(max(1.0, *weights)))
    return [*(weight / unit for weight in reversed(weights)), unit]


def driving(counts: dict[str, int]) -> list[str]:
    """Return the rarest words that stand in DRIVING passages together; one at least.

    >>> driving({"'the'": 90_000, "'fab'": 12, "'button'": 3000})
    ["'fab'", "'button'"]
    """
    chosen: list[str] = []
    total = 0
    for one in sorted(counts, key=lambda one: counts[one]):
        total += counts[one]
        if chosen and total > DRIVING:
            break
        chosen.append(one)
    return chosen
