"""Passages and vectors of one tenant on a server.

Vectors are pgvector's, in half precision, with an HNSW index a width. Full text is BM25 as SQLite's
FTS5 ranks it, over terms that KDS cuts itself.

The server's own parsers and dictionaries differ by version and locale; with the terms of
`WordForms` both engines find the same words, and rank them alike. Over everything the ranking is
exact as long as the words of a question stand in at most DRIVING passages together; beyond that
only passages with one of the rarer words are ranked (by all words).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import ceil, log, log2
from typing import Any, ClassVar, Final, Self

from kds.brain.clock import Clock, utc_now
from kds.brain.passages.embedding_queue import backfill, searched_model
from kds.brain.passages.passage_file import WordForms
from kds.brain.passages.schema import CHUNK_BITS, ids_within, range_of
from kds.brain.passages.store import PassageStore, Weights
from kds.brain.passages.values import Scored
from kds.brain.store.engine import Connection
from kds.brain.store.health import Check
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import CONVERSATIONS, Area, Tenancy, tenant_number
from kds.brain.words.tokens import TokenCounter, estimate_tokens
from kds.brain.workspace import SharedDatabase

LONGEST_TERM: Final = 500
"""Characters: PostgreSQL takes 2,046 bytes, and no word is that long."""

LAST_PLACE: Final = 16_383
"""The last place that a tsvector tells apart from those behind it."""

GAP: Final = 8
"""Places between two columns, so that no phrase goes from one to the other."""

LABELS: Final = "ABCD"
"""Of the columns header, body, context and idents."""


def indexed(
    forms: WordForms, columns: Sequence[str], *, tenant: int | None = None
) -> tuple[str, int]:
    """Return what the index holds of a passage: a tsvector as text, and how many words it has.

    ``columns`` are in the order of LABELS.

    >>> indexed(WordForms(), ["", "Services here, services there"])
    ("'servic':9B,11B 'here':10B 'there':12B", 4)
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
    return " ".join(parts), size


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

LEAST_IDF: Final = 1e-6
"""Of a word that more than half of all passages have (as FTS5 has it)."""

OWN_LABELS: Final = "ABD"
"""What a passage says itself: without its context."""


_WITHIN: Final = (
    "SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / ?))) AS score "
    "FROM (SELECT id, size, words FROM chunk WHERE id BETWEEN ? AND ? "
    "AND words @@ CAST(? AS tsquery)) AS passage "
    "JOIN unnest(CAST(? AS tsquery[]), CAST(? AS float8[])) AS asked(query, idf) "
    "ON passage.words @@ query "
    "CROSS JOIN LATERAL (SELECT ts_rank_cd(CAST(? AS float4[]), passage.words, query) * ?) "
    "AS counted(f) GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT ?"
)
"""Ranks the passages of one session or document, by BM25 with k1 = 1.2 and b = 0.75, as SQLite's
FTS5 has it: of a single term ``ts_rank_cd`` is the sum of the weights of its places, which is what
FTS5 counts. It takes no weight above 1: they are so many times a unit. `ranked` in
schema/passages.sql is the same over everything."""

_RANKED: Final = (
    "SELECT id, score FROM ranked(CAST(? AS tsquery), CAST(? AS tsquery[]), "
    "?, CAST(? AS float4[]), ?, ?)"
)
"""Ranks all passages that have one of the driving words."""

WIDEST: Final = 4000
"""Numbers of a vector that HNSW takes in half precision; wider ones are all compared."""

SEARCHED: Final = 100
"""Vectors that HNSW keeps in view (``ef_search``); with the filter of the tenant it goes on."""

_UNINDEXED: Final = "SELECT count(*) FROM chunk WHERE words = CAST('' AS tsvector)"

_MISCOUNTED: Final = (
    "SELECT count(*) FROM {holders} AS one WHERE word_count <> coalesce((SELECT sum(size) FROM "
    f"chunk WHERE id >= one.num << {CHUNK_BITS} AND id < (one.num + 1) << {CHUNK_BITS}), 0)"
)


class PostgresPassages(PassageStore):
    """Passages of one tenant; what they are passages of is its subclasses' business."""

    database: Tenancy
    area: ClassVar[Area] = CONVERSATIONS
    texts: ClassVar[str]
    """Asks for id, header, body, context and idents of each passage: what the index knows of it."""
    contradictions: ClassVar[Mapping[str, str]]
    """What may not be, and the question that counts how often it is."""

    def __init__(
        self,
        server: Server,
        tenant: int,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        owns_server: bool = False,
    ) -> None:
        """See the rows of ``tenant``; the tables were made by `upgrade`. Asks nothing yet.

        Who ``owns_server`` closes it along with the store.
        """
        self.count_tokens = count_tokens
        self.database = Tenancy(server, tenant, area=self.area, clock=clock)
        self._owns_server = owns_server
        self._forms = WordForms()

    @classmethod
    def of(cls, shared: SharedDatabase, **options: Any) -> Self:
        """Open what a workspace has on its server. Raises StoreError."""
        server = shared.server()
        try:
            tenant = tenant_number(server, shared.tenant)
        except BaseException:
            server.close()
            raise
        return cls(server, tenant, **options, owns_server=True)

    def _ranked(
        self,
        words: Iterable[str],
        within: str | None,
        *,
        limit: int,
        weights: Weights,
        names: bool = False,
    ) -> tuple[Scored, ...]:
        queries = self._queries(words, "D" if names else "")
        with self.database.read() as connection:
            ids = ids_within(connection, within, self.database.place)
            if not queries or limit < 1:
                return ()
            mean, counts, idfs = self._counted(connection, queries)
            *four, unit = labelled = in_units(weights)
            if within is not None:
                asked = (mean, *ids, any_of(queries), queries, idfs, four, unit, limit)
                rows = connection.execute(_WITHIN, asked)
            else:
                found = (any_of(driving(counts)), queries, idfs, labelled, mean, limit)
                rows = connection.execute(_RANKED, found)
            return tuple(Scored(chunk_id, score) for chunk_id, score in rows.fetchall())

    def _counted(
        self, connection: Connection, queries: Sequence[str]
    ) -> tuple[float, dict[str, int], list[float]]:
        """Return the mean size of passages, and of each query how many have it and its weight."""
        passages, words = connection.execute(
            "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(word_count), 0) FROM session"
        ).fetchone()
        counts = self._frequencies(connection, queries)
        idfs = [
            max(LEAST_IDF, log((max(passages - counts[one], 0) + 0.5) / (counts[one] + 0.5)))
            for one in queries
        ]
        return max(float(words) / max(passages, 1), 1.0), counts, idfs

    def occurrences(
        self, terms: Sequence[Sequence[str]], within: str | None = None, *, limit: int
    ) -> tuple[dict[int, int], ...]:
        """Return for each term the passages that say it, and their tokens."""
        found: list[dict[int, int]] = []
        with self.database.read() as connection:
            ids = ids_within(connection, within, self.database.place)
            for words in terms:
                asked = any_of(self._queries(words, OWN_LABELS))
                rows = connection.execute(
                    "SELECT id, tokens FROM chunk WHERE id BETWEEN ? AND ? "
                    "AND words @@ CAST(? AS tsquery) ORDER BY id DESC LIMIT ?",
                    (*ids, asked, limit),
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

    def _queries(self, words: Iterable[str], labels: str = "") -> list[str]:
        cut = (self._forms(word.replace("\x00", "")) for word in words)
        # Two words of one term count twice, as they do in a file.
        return [question(terms, labels) for terms in cut if terms]

    def _frequencies(self, connection: Connection, queries: Sequence[str]) -> dict[str, int]:
        """Count the passages of each query."""
        asked = list(dict.fromkeys(queries))
        if not asked:
            return {}
        rows = connection.execute(
            "SELECT passages FROM frequencies(CAST(? AS tsquery[]))", (asked,)
        )
        return {one: int(row[0]) for one, row in zip(asked, rows, strict=True)}

    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> tuple[Scored, ...]:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""
        import numpy as np

        from kds.brain.passages.vectors import unit

        width = len(vector)
        with self.database.read() as connection:
            first, last = ids_within(connection, within, self.database.place)
            searched = searched_model(connection, model, width, self.database.place)
            if searched is None or limit < 1:
                return ()
            condition = "" if within is None else f"AND chunk_id BETWEEN {first} AND {last} "
            if within is None and width <= WIDEST:
                connection.execute(f"SET LOCAL hnsw.ef_search = {max(SEARCHED, limit)}")
                connection.execute("SET LOCAL hnsw.iterative_scan = 'relaxed_order'")
            far = f"CAST(vector AS halfvec({width})) <=> CAST(? AS halfvec({width}))"
            asked = written(unit(np.asarray([vector], dtype=np.float32))[0])
            rows = connection.execute(
                f"SELECT chunk_id, 1 - ({far}) FROM embedding WHERE model_num = ? "
                f"AND vector_dims(vector) = {width} {condition}ORDER BY {far} LIMIT ?",
                (asked, searched, asked, limit),
            ).fetchall()
        hits = [Scored(chunk_id, score) for chunk_id, score in rows]
        return tuple(sorted(hits, key=lambda hit: -hit.score))

    def keep_vectors(self, connection: Connection, model: int, blobs: Mapping[int, bytes]) -> int:
        """Write the vectors of passages that exist, within a transaction; returns how many."""
        from kds.brain.passages.vectors import from_blob  # takes numpy along

        vectors = {chunk_id: from_blob(blob) for chunk_id, blob in blobs.items()}
        if not vectors:
            return 0
        connection.execute("SELECT index_vectors(?)", (len(next(iter(vectors.values()))),))
        return connection.executemany(
            "INSERT INTO embedding(chunk_id, model_num, vector) "
            "SELECT id, ?, CAST(? AS halfvec) FROM chunk WHERE id = ? "
            "ON CONFLICT (chunk_id, model_num) DO UPDATE SET vector = excluded.vector",
            [(model, written(vector), chunk_id) for chunk_id, vector in vectors.items()],
        ).rowcount

    def check(self) -> Check:
        """Examine the rows of this tenant; changes nothing."""
        questions = {
            **self.contradictions,
            "passages are not in the index": _UNINDEXED,
            f"{self.holders}s count their words wrong": _MISCOUNTED.format(holders=self.holders),
        }
        problems = []
        with self.database.read() as connection:
            for what, query in questions.items():
                if count := connection.execute(query).fetchone()[0]:
                    problems.append(f"{what}: {count}")
        return Check(tuple(problems))

    def rebuild(self) -> Check:
        """Index every passage again, queue what has no vector, and examine everything."""
        with self.database.write() as connection:
            numbers = connection.execute(f"SELECT num FROM {self.holders} ORDER BY num").fetchall()
            for (number,) in numbers:
                connection.execute(
                    f"UPDATE {self.holders} SET word_count = 0 WHERE num = ?", (number,)
                )
                self.index_range(connection, number, range_of(number))
            backfill(connection)
        return self.check()

    def index_range(self, connection: Connection, number: int, ids: tuple[int, int]) -> None:
        """Put the passages from one id to another into the index; their holder counts the words."""
        rows = connection.execute(
            f"SELECT * FROM ({self.texts}) AS text WHERE id BETWEEN ? AND ?", ids
        ).fetchall()
        ready = []
        for chunk_id, *columns in rows:
            ready.append((*indexed(self._forms, columns, tenant=self.database.tenant), chunk_id))
        connection.executemany(
            "UPDATE chunk SET words = CAST(? AS tsvector), size = ? WHERE id = ?", ready
        )
        connection.execute(
            f"UPDATE {self.holders} SET word_count = word_count + ? WHERE num = ?",
            (sum(size for _, size, _ in ready), number),
        )

    def close(self) -> None:
        """Let go of the tenant's rows, and of a server of its own. Closing twice is fine."""
        self._forms.close()
        self.database.close()
        if self._owns_server:
            self._owns_server = False
            self.database.server.close()


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


def written(numbers: Iterable[float]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.6g}" for number in numbers) + "]"


def stored_bytes(connection: Connection, tables: Sequence[str]) -> int:
    """Return how much room the rows of the tenant take in some tables."""
    each = (f"(SELECT coalesce(sum(pg_column_size({one})), 0) FROM {one})" for one in tables)
    return int(connection.execute(f"SELECT {' + '.join(each)}").fetchone()[0])


def steps_taken(connection: Connection) -> int:
    """Return which version the tables have."""
    return int(connection.execute("SELECT steps FROM kds.version").fetchone()[0])
