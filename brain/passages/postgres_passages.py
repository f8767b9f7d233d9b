"""Passages and vectors of one tenant on a server.

Vectors are pgvector's, in half precision, with an HNSW index a width. Full text is BM25 as SQLite's
FTS5 ranks it, over terms that KDS cuts itself: the server's own parsers and dictionaries differ by
version and locale, and with `PORTER` both engines find the same words. Over everything, only
passages with one of the rarer words are ranked once the words of a question stand in more than
DRIVING passages, and in a large memory it is estimated how common a word is (schema/recall.sql).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import ceil, log, log2
from typing import Any, ClassVar, Final, Self

from kds.brain.passages.store import (
    CHUNK_BITS,
    PassageStore,
    Weights,
    backfill,
    ids_within,
    range_of,
    searched_model,
)
from kds.brain.passages.values import Scores
from kds.brain.store.engine import Connection
from kds.brain.store.maintenance import Check
from kds.brain.store.tenancy import CONVERSATIONS, Area, Tenancy, tenant_number
from kds.brain.words.terms import PORTER, TokenCounter, estimate_tokens
from kds.brain.workspace import SharedDatabase

LONGEST_TERM: Final = 500
"""Characters: PostgreSQL takes 2,046 bytes, and no word is that long."""

LAST_PLACE: Final = 16_383
"""The last place that a tsvector tells apart from those behind it."""

GAP: Final = 8
"""Places between two columns, so that no phrase goes from one to the other."""

LABELS: Final = "ABCD"
"""Of the columns header, body, context and idents."""

OWN_LABELS: Final = "ABD"
"""What a passage says itself: without its context."""

DRIVING: Final = 4000
"""Passages that are ranked for one question over everything: some 15 ms of the server's time."""

LEAST_IDF: Final = 1e-6
"""Of a word that more than half of all passages have (as FTS5 has it)."""

WIDEST: Final = 4000
"""Numbers of a vector that HNSW takes in half precision; wider ones are all compared."""

SEARCHED: Final = 100
"""Vectors that HNSW keeps in view (``ef_search``); with the filter of the tenant it goes on."""

_WITHIN: Final = (
    "SELECT passage.id, sum(idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * size / ?))) AS score "
    "FROM (SELECT id, size, words FROM chunk WHERE id BETWEEN ? AND ? "
    "AND words @@ CAST(? AS tsquery)) AS passage "
    "JOIN unnest(CAST(? AS tsquery[]), CAST(? AS float8[])) AS asked(query, idf) "
    "ON passage.words @@ query "
    "CROSS JOIN LATERAL (SELECT ts_rank_cd(CAST(? AS float4[]), passage.words, query) * ?) "
    "AS counted(f) GROUP BY passage.id ORDER BY score DESC, passage.id LIMIT ?"
)
"""Ranks the passages of one session or document by BM25 with FTS5's k1 = 1.2 and b = 0.75: of a
single term ``ts_rank_cd`` is the sum of the weights of its places. It takes no weight above 1: they
are so many times a unit. `ranked` in schema/passages.sql is the same over everything."""

_RANKED: Final = (
    "SELECT id, score FROM ranked(CAST(? AS tsquery), CAST(? AS tsquery[]), "
    "?, CAST(? AS float4[]), ?, ?)"
)


class PostgresPassages(PassageStore):
    """Passages of one tenant; what they are passages of is its subclasses' business."""

    database: Tenancy
    area: ClassVar[Area] = CONVERSATIONS
    index_columns = ("words", "size")
    tables: ClassVar[tuple[str, ...]]
    """Those whose rows count as the size of the store."""

    def __init__(self, database: Tenancy, *, count_tokens: TokenCounter = estimate_tokens) -> None:
        """See the rows of a tenant; asks nothing yet."""
        self.database, self.count_tokens = database, count_tokens

    @classmethod
    def of(
        cls, shared: SharedDatabase, *, count_tokens: TokenCounter = estimate_tokens, **how: Any
    ) -> Self:
        """Open what a workspace has on its server; ``how`` as for `Tenancy`. Raises StoreError."""
        server = shared.server()
        try:
            number = tenant_number(server, shared.tenant)
        except BaseException:
            server.close()
            raise
        tenancy = Tenancy(server, number, area=cls.area, owns_server=True, **how)
        return cls(tenancy, count_tokens=count_tokens)

    def search_words(
        self,
        words: Iterable[str],
        within: str | None = None,
        *,
        limit: int,
        weights: Weights,
    ) -> Scores:
        """Rank passages with any of the words by BM25, as FTS5 does."""
        queries = self._queries(words)
        with self.database.read() as connection:
            ids = ids_within(connection, within, self.database.place)
            if not queries or limit < 1:
                return {}
            passages, total = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(word_count), 0) FROM session"
            ).fetchone()
            mean = max(float(total) / max(passages, 1), 1.0)
            counts = self._frequencies(connection, queries)
            idfs = [
                max(LEAST_IDF, log((max(passages - counts[one], 0) + 0.5) / (counts[one] + 0.5)))
                for one in queries
            ]
            unit = 2.0 ** ceil(log2(max(1.0, *weights)))  # a power of two loses nothing
            four = [weight / unit for weight in reversed(weights)]
            if within is not None:
                asked = _any_of(queries)
                values: tuple[Any, ...] = (mean, *ids, asked, queries, idfs, four, unit, limit)
            else:
                values = (_any_of(_driving(counts)), queries, idfs, [*four, unit], mean, limit)
            return dict(connection.execute(_RANKED if within is None else _WITHIN, values))

    def occurrences(
        self, terms: Sequence[Sequence[str]], within: str | None = None, *, limit: int
    ) -> tuple[dict[int, int], ...]:
        """Return the newest passages with one of each term's words, and their tokens."""
        query = "SELECT id, tokens FROM newest(CAST(? AS tsquery), ?)"
        ids: tuple[int, ...] = ()
        with self.database.read() as connection:
            if within is not None:
                query = (
                    "SELECT id, tokens FROM chunk WHERE id BETWEEN ? AND ? "
                    "AND words @@ CAST(? AS tsquery) ORDER BY id DESC LIMIT ?"
                )
                ids = ids_within(connection, within, self.database.place)
            asked = (_any_of(self._queries(words, OWN_LABELS)) for words in terms)
            found = (connection.execute(query, (*ids, one, limit)) for one in asked)
            return tuple(dict(rows.fetchall()) for rows in found)

    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return in how many passages each word occurs: of several terms, the rarest counts."""
        terms = {word: [_phrase((term,)) for term in PORTER(word)] for word in words}
        with self.database.read() as connection:
            counts = self._frequencies(connection, [*chain.from_iterable(terms.values())])
        return {
            word: min((counts[one] for one in found), default=0) for word, found in terms.items()
        }

    def _queries(self, words: Iterable[str], labels: str = "") -> list[str]:
        cut = (PORTER(word.replace("\x00", "")) for word in words)
        # Two words of one term count twice, as they do in a file.
        return [_phrase(terms, labels) for terms in cut if terms]

    def _frequencies(self, connection: Connection, queries: Sequence[str]) -> dict[str, int]:
        if not (asked := list(dict.fromkeys(queries))):
            return {}
        query = "SELECT passages FROM frequencies(CAST(? AS tsquery[]))"
        rows = connection.execute(query, (asked,))
        # None: all are gone, and the statistics do not know it yet.
        return {one: int(row[0] or 0) for one, row in zip(asked, rows, strict=True)}

    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> Scores:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""
        import numpy as np

        from kds.brain.passages.vectors import unit

        width = len(vector)
        with self.database.read() as connection:
            first, last = ids_within(connection, within, self.database.place)
            searched = searched_model(connection, model, width, self.database.place)
            if searched is None or limit < 1:
                return {}
            condition = "" if within is None else f"AND chunk_id BETWEEN {first} AND {last} "
            if within is None and width <= WIDEST:
                connection.execute(f"SET LOCAL hnsw.ef_search = {max(SEARCHED, limit)}")
                connection.execute("SET LOCAL hnsw.iterative_scan = 'relaxed_order'")
            far = f"CAST(vector AS halfvec({width})) <=> CAST(? AS halfvec({width}))"
            asked = _written(unit(np.asarray([vector], dtype=np.float32))[0])
            rows = connection.execute(
                f"SELECT chunk_id, 1 - ({far}) FROM embedding WHERE model_num = ? "
                f"AND vector_dims(vector) = {width} {condition}ORDER BY {far} LIMIT ?",
                (asked, searched, asked, limit),
            )
            return dict(sorted(rows, key=lambda row: -row[1]))

    def _keep_vectors(self, connection: Connection, model: int, blobs: Mapping[int, bytes]) -> int:
        from kds.brain.passages.vectors import from_blob  # takes numpy along

        vectors = {chunk_id: from_blob(blob) for chunk_id, blob in blobs.items()}
        if not vectors:
            return 0
        connection.execute("SELECT index_vectors(?)", (len(next(iter(vectors.values()))),))
        done = connection.executemany(
            "INSERT INTO embedding(chunk_id, model_num, vector) "
            "SELECT id, ?, CAST(? AS halfvec) FROM chunk WHERE id = ? "
            "ON CONFLICT (chunk_id, model_num) DO UPDATE SET vector = excluded.vector",
            [(model, _written(vector), chunk_id) for chunk_id, vector in vectors.items()],
        )
        return int(done.rowcount)

    def check(self) -> Check:
        """Examine the rows of this tenant; changes nothing."""
        questions = {
            "passages are not in the index": (
                "SELECT count(*) FROM chunk WHERE words = CAST('' AS tsvector)"
            ),
            f"{self.holders}s count their words wrong": (
                f"SELECT count(*) FROM {self.holders} AS one WHERE word_count <> coalesce("
                f"(SELECT sum(size) FROM chunk WHERE id >= one.num << {CHUNK_BITS} "
                f"AND id < (one.num + 1) << {CHUNK_BITS}), 0)"
            ),
        }
        with self.database.read() as connection:
            counts = {what: connection.execute(q).fetchone()[0] for what, q in questions.items()}
        return Check(tuple(f"{what}: {count}" for what, count in counts.items() if count))

    def rebuild(self) -> Check:
        """Index every passage again, queue what has no vector, and examine everything."""
        with self.database.write() as connection:
            connection.execute(f"UPDATE {self.holders} SET word_count = 0")
            for (number,) in connection.execute(f"SELECT num FROM {self.holders}").fetchall():
                self.index_range(connection, number, range_of(number))
            backfill(connection)
        return self.check()

    def index_range(self, connection: Connection, number: int, ids: tuple[int, int]) -> None:
        """Put the passages from one id to another into the index; their holder counts the words."""
        query = "SELECT id, header, body, context, idents FROM chunk_text WHERE id BETWEEN ? AND ?"
        rows = connection.execute(query, ids).fetchall()
        ready = [(*self.indexed(columns), chunk_id) for chunk_id, *columns in rows]
        connection.executemany(
            "UPDATE chunk SET words = CAST(? AS tsvector), size = ? WHERE id = ?", ready
        )
        connection.execute(
            f"UPDATE {self.holders} SET word_count = word_count + ? WHERE num = ?",
            (sum(size for _, size, _ in ready), number),
        )

    def indexed(self, texts: Sequence[str]) -> tuple[str, int]:
        """Return what the index holds of the texts of LABELS, as a tsvector, and the word count."""
        places: dict[str, list[str]] = {}
        at = size = 0
        for label, text in zip(LABELS, texts, strict=True):
            for term in PORTER.of_text(text):
                at += 1
                size += 1
                places.setdefault(term[:LONGEST_TERM], []).append(f"{min(at, LAST_PLACE)}{label}")
            at += GAP
        parts = [f"{_quoted(term)}:{','.join(where)}" for term, where in places.items()]
        return " ".join((*parts, f"'tenant:{self.database.tenant}'")), size

    def _room(self, connection: Connection) -> tuple[int, int]:
        each = (f"(SELECT coalesce(sum(pg_column_size({t})), 0) FROM {t})" for t in self.tables)
        query = f"SELECT {' + '.join(each)}, (SELECT steps FROM kds.version)"
        size, steps = connection.execute(query).fetchone()
        return int(size), int(steps)

    def close(self) -> None:
        """Let go of the tenant's rows. Closing twice is fine."""
        self.database.close()


def _phrase(terms: Sequence[str], labels: str = "") -> str:
    """Return the tsquery for a word or phrase: its terms in a row.

    >>> _phrase(("user", "name"), "D")
    "'user':D <-> 'name':D"
    """
    suffix = f":{labels}" if labels else ""
    return " <-> ".join(f"{_quoted(term[:LONGEST_TERM])}{suffix}" for term in terms)


def _any_of(queries: Iterable[str]) -> str:
    return " | ".join(f"({one})" for one in queries)


def _quoted(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _driving(counts: Mapping[str, int]) -> list[str]:
    """Return the rarest words that stand in DRIVING passages together; one at least.

    >>> _driving({"'the'": 90_000, "'fab'": 12, "'button'": 3000})
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


def _written(numbers: Iterable[float]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.6g}" for number in numbers) + "]"
