"""What every store of passages can do, and where a workspace keeps its stores.

`passage_file.PassageFile` keeps passages in one SQLite file, `postgres_passages` on a server; both
pass tests/brain/passage_conformance.py. Every method raises StoreError with ``where`` and ``hint``.
``within`` is the id of the only session or document to search.

A passage is a row of `chunk`, a slice of a text that is stored once; the view `chunk_text` is what
the index knows of it. The passages of a session or document are one range of ids.

Jobs to embed passages are queued in the transaction that stores the passages, so an outage of the
embedding model costs only time. Claiming a job puts off its time: after a crash it is due again.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeVar

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import StoreError, UnknownNameError
from kds.brain.git import keep_private
from kds.brain.passages.values import EmbeddingJob, EmbeddingModel, Passage, Scores, Summary
from kds.brain.store.columns import kept_text, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.maintenance import Check
from kds.brain.words.terms import TokenCounter, estimate_tokens, joined_forms
from kds.brain.workspace import SharedDatabase, Workspace, shared_database

CHUNK_BITS: Final = 24
"""Bits of a passage's id below the number of its session or document: 16 million for each."""

LEASE: Final = timedelta(minutes=5)
"""How long a claimed job is reserved: longer than a batch takes."""

ATTEMPTS: Final = 36
"""After these a job is given up: an outage may last a day. `retry_embeddings` takes it up again.
The pause before another doubles with each failure, from two seconds up to an hour."""

WITHOUT_VECTOR: Final = (
    "SELECT count(*) FROM chunk JOIN embedding_model AS model ON model.wanted = 1 "
    "WHERE NOT EXISTS (SELECT 1 FROM embed_job WHERE chunk_id = chunk.id) "
    "AND NOT EXISTS (SELECT 1 FROM embedding "
    "WHERE chunk_id = chunk.id AND model_num = model.num)"
)
"""Counts the passages that have neither a vector nor a job: there should be none."""

Weights = tuple[float, float, float, float]
"""What a word in header, body, context and idents counts."""

IDENTIFIER_WEIGHTS: Final[Weights] = (1.0, 1.0, 0.3, 1.0)
"""Measured on LoCoMo."""

Row = tuple[Any, ...]
"""What a connection gives; the query knows the columns."""

_ERROR_LENGTH: Final = 300
_MODEL: Final = "SELECT num, dimensions, wanted FROM embedding_model WHERE name = ?"

T = TypeVar("T")


class Embedder(Protocol):
    """Makes vectors of texts: the shape of langchain-core's ``Embeddings``, with a name."""

    @property
    def name(self) -> str:
        """Under which its vectors are kept: another name is another model."""
        ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, all of one length."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        ...


class PassageStore(ABC):
    """Passages, found by words, names and vectors, and those that wait for their vectors."""

    database: Engine
    holders: ClassVar[str]
    """The table that counts passages and tokens: of sessions, or of documents."""

    def take_warnings(self) -> tuple[str, ...]:
        """Return what was found and put right, once."""
        taken, self.database.warnings = self.database.warnings, ()
        return taken

    def measure(self) -> tuple[int, float]:
        """Return about how many passages there are, and their mean size in tokens."""
        with self.database.read() as connection:
            passages, tokens = connection.execute(
                "SELECT coalesce(sum(chunk_count), 0), coalesce(sum(token_count), 0) "
                f"FROM {self.holders}"
            ).fetchone()
        return int(passages), float(tokens) / max(int(passages), 1)

    @abstractmethod
    def search_words(
        self,
        words: Iterable[str],
        within: str | None = None,
        *,
        limit: int,
        weights: Weights,
    ) -> Scores:
        """Rank passages with any of the words (or phrases) by BM25; no word is an operator."""

    def search_identifiers(
        self, identifiers: Sequence[str], within: str | None = None, *, limit: int
    ) -> Scores:
        """Rank passages that hold one of the identifiers, in whatever spelling of it."""
        words = joined_forms(identifiers)
        return self.search_words(words, within, limit=limit, weights=IDENTIFIER_WEIGHTS)

    @abstractmethod
    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return in how many passages each word occurs: of several terms, the rarest counts."""

    @abstractmethod
    def occurrences(
        self, terms: Sequence[Sequence[str]], within: str | None = None, *, limit: int
    ) -> tuple[Mapping[int, int], ...]:
        """Return the newest passages with one of each term's words, and their tokens.

        They are not ranked; what a passage's context has does not count.
        """

    @abstractmethod
    def search_dense(
        self, vector: Sequence[float], within: str | None = None, *, model: str, limit: int
    ) -> Scores:
        """Rank passages by the cosine of their vectors of ``model`` to ``vector``."""

    @abstractmethod
    def check(self) -> Check:
        """Examine the whole store; changes nothing."""

    @abstractmethod
    def rebuild(self) -> Check:
        """Rebuild the search index, queue what has no vector, and examine everything."""

    index_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of a passage that the index is in; none where it keeps itself up to date."""

    def indexed(self, texts: Sequence[str]) -> tuple[Any, ...]:
        """Return what ``index_columns`` hold for header, body, context and idents; the last
        counts the words."""
        return ()

    def index_range(  # noqa: B027  # a file has triggers for it
        self, connection: Connection, number: int, ids: tuple[int, int]
    ) -> None:
        """Put the passages from one id to another, of one holder, into the index."""

    @abstractmethod
    def _room(self, connection: Connection) -> tuple[int, int]:
        """Return how many bytes there are, and how many steps the tables have had."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store; further calls are refused. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def use_model(self, name: str | None) -> None:
        """Set the model whose vectors are wanted from now on; every passage without one is queued.

        Another model that serves goes on serving until the new one has all passages; then its
        vectors are removed. None: queue nothing any more.
        """
        with self.database.read() as connection:
            row = connection.execute("SELECT name FROM embedding_model WHERE wanted = 1").fetchone()
            if name == (row and row[0]):
                return
        with self.database.write() as connection:
            connection.execute("UPDATE embedding_model SET wanted = 0")
            connection.execute("DELETE FROM embed_job")
            if name is None:
                return
            connection.execute(
                "DELETE FROM embedding_model WHERE serving = 0 AND name <> ?", (name,)
            )
            connection.execute(
                "INSERT INTO embedding_model(name, serving, wanted) "
                "SELECT CAST(? AS text), CASE WHEN count(*) = 0 THEN 1 ELSE 0 END, 1 "
                "FROM embedding_model WHERE serving = 1 "
                "ON CONFLICT(name) DO UPDATE SET wanted = 1",
                (name,),
            )
            backfill(connection)
            self._promote(connection)

    def models(self) -> tuple[EmbeddingModel, ...]:
        """Return the models in use: the serving one first."""
        query = (
            "SELECT name, dimensions, CASE serving WHEN 1 THEN 'serving' ELSE 'building' END, "
            "(SELECT count(*) FROM embedding WHERE model_num = model.num), "
            "wanted * (SELECT count(*) FROM embed_job), "
            "wanted * (SELECT count(*) FROM embed_job WHERE next_at IS NULL), "
            "coalesce((SELECT error FROM embed_job WHERE model.wanted = 1 AND error IS NOT NULL "
            "ORDER BY attempts DESC LIMIT 1), '') "
            "FROM embedding_model AS model ORDER BY serving DESC, num"
        )
        with self.database.read() as connection:
            return tuple(EmbeddingModel(*row) for row in connection.execute(query))

    def has_vectors(self, name: str) -> bool:
        """Return whether passages have vectors of a model; a question needs none otherwise."""
        with self.database.read() as connection:
            row = connection.execute(_MODEL, (name,)).fetchone()
        return row is not None and row[1] is not None

    def awaits(self, name: str) -> bool:
        """Return whether passages wait for a model, or the store has not heard of it."""
        with self.database.read() as connection:
            row = connection.execute(_MODEL, (name,)).fetchone()
            if row is None:
                return True
            query = "SELECT 1 FROM embed_job WHERE next_at IS NOT NULL LIMIT 1"
            return bool(row[2]) and connection.execute(query).fetchone() is not None

    def pending_embeddings(self, limit: int) -> tuple[EmbeddingJob, ...]:
        """Claim up to ``limit`` passages that are due; no other process gets them for a while."""
        now = self.database.clock()
        due = "SELECT chunk_id FROM embed_job WHERE next_at <= ? ORDER BY next_at, chunk_id LIMIT ?"
        with self.database.read() as connection:  # most often there is nothing to claim
            if connection.execute(due, (to_micros(now), 1)).fetchone() is None:
                return ()
        with self.database.write(durable=False) as connection:
            claimed = connection.execute(
                f"UPDATE embed_job SET next_at = ? WHERE chunk_id IN ({due}) "
                "RETURNING chunk_id, attempts",
                (to_micros(now + LEASE), to_micros(now), limit),
            )
            attempts = dict(claimed.fetchall())
            if not attempts:  # another process was quicker
                return ()
            query = f"SELECT id, header, body FROM chunk_text WHERE id IN ({marks(attempts)})"
            rows = connection.execute(f"{query} ORDER BY id", [*attempts]).fetchall()
        return tuple(
            EmbeddingJob(one, f"{header}\n{body}" if header else body, attempts[one])
            for one, header, body in rows
        )

    def store_embeddings(self, model: str, vectors: Mapping[int, Sequence[float]]) -> int:
        """Store vectors by passage and take their jobs off the queue; returns how many.

        Those that were deleted meanwhile are passed over.
        """
        from kds.brain.passages.vectors import to_blobs  # takes numpy along

        width, blobs = to_blobs(vectors, where=self.database.place)
        with self.database.write(durable=False) as connection:
            row = connection.execute(_MODEL, (model,)).fetchone()
            if row is None:
                raise StoreError(
                    f"no vectors of the model {model!r} are wanted",
                    where=self.database.place,
                    hint="say first which model is in use",
                )
            number, known, wanted = row
            if width and known:
                _refuse_other_width(model, known, width, self.database.place)
            elif width:
                query = "UPDATE embedding_model SET dimensions = ? WHERE num = ?"
                connection.execute(query, (width, number))
            stored = self._keep_vectors(connection, number, blobs)
            if wanted:
                query = "DELETE FROM embed_job WHERE chunk_id = ?"
                connection.executemany(query, [(key,) for key in blobs])
                self._promote(connection)
        return stored

    def _keep_vectors(self, connection: Connection, model: int, blobs: Mapping[int, bytes]) -> int:
        """Write the vectors of passages that exist, within a transaction; returns how many."""
        done = connection.executemany(
            "INSERT OR REPLACE INTO embedding(chunk_id, model_num, f16) "
            "SELECT id, ?, ? FROM chunk WHERE id = ?",
            [(model, blob, chunk_id) for chunk_id, blob in blobs.items()],
        )
        return int(done.rowcount)

    def fail_embeddings(self, chunk_ids: Sequence[int], error: str) -> None:
        """Put jobs back: tried again later and later, and given up after some attempts."""
        now, text = to_micros(self.database.clock()), kept_text(error)[:_ERROR_LENGTH]
        with self.database.write(durable=False) as connection:
            connection.executemany(
                "UPDATE embed_job SET attempts = attempts + 1, error = ?, next_at = CASE "
                f"WHEN attempts + 1 >= {ATTEMPTS} THEN NULL "
                "WHEN attempts >= 11 THEN ? + 3600000000 ELSE ? + (2000000 << attempts) END "
                "WHERE chunk_id = ?",
                [(text, now, now, chunk_id) for chunk_id in chunk_ids],
            )
            self._promote(connection)

    def retry_embeddings(self) -> int:
        """Make every job due now, also those given up; returns how many."""
        with self.database.write(durable=False) as connection:
            query = "UPDATE embed_job SET next_at = 0, attempts = 0"
            return int(connection.execute(query).rowcount)

    def _promote(self, connection: Connection) -> None:
        """Let the wanted model serve once it has everything that can be had."""
        row = connection.execute(
            "SELECT name FROM embedding_model WHERE wanted = 1 AND serving = 0 "
            "AND NOT EXISTS (SELECT 1 FROM embed_job WHERE next_at IS NOT NULL)"
        ).fetchone()
        if row is not None:
            connection.execute("DELETE FROM embedding_model WHERE name <> ?", row)
            connection.execute("UPDATE embedding_model SET serving = 1")


class MessageSearch(PassageStore):
    """Finding the passages of messages, and the summaries of their conversations."""

    @abstractmethod
    def passages(self, ids: Sequence[int], *, whole: bool = False) -> tuple[Passage, ...]:
        """Return the passages that exist, in the order asked for; ``whole``: their messages."""

    @abstractmethod
    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session by the share of the words of ``query`` they have."""

    @abstractmethod
    def near_summaries(
        self, vector: Sequence[float], session_id: str, *, model: str, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the periodic summaries of one session by their meaning."""


def queue(connection: Connection, ids: tuple[int, int]) -> None:
    """Queue chunks from one id to another, within the transaction that stores them, if vectors are
    wanted."""
    connection.execute(
        "INSERT INTO embed_job(chunk_id, next_at) "
        "SELECT chunk.id, 0 FROM embedding_model JOIN chunk ON wanted = 1 "
        "WHERE chunk.id BETWEEN ? AND ? ON CONFLICT DO NOTHING",
        ids,
    )


def backfill(connection: Connection) -> int:
    """Queue every chunk without a vector of the wanted model; returns how many are new."""
    missing = WITHOUT_VECTOR.replace("count(*)", "chunk.id, 0")
    query = f"INSERT INTO embed_job(chunk_id, next_at) {missing}"
    return int(connection.execute(query).rowcount)


def searched_model(connection: Connection, name: str, width: int, place: str) -> int | None:
    """Return the number of a model, None as long as it has no vectors.

    Raises StoreError when they are not of ``width`` numbers.
    """
    row = connection.execute(_MODEL, (name,)).fetchone()
    if row is None or row[1] is None:
        return None
    _refuse_other_width(name, row[1], width, place)
    return int(row[0])


def _refuse_other_width(name: str, width: int, given: int, place: str) -> None:
    if given != width:
        raise StoreError(
            f"the model {name!r} has vectors of {width} numbers, not {given}",
            where=place,
            hint="give another model another name",
        )


def range_of(number: int) -> tuple[int, int]:
    """Return the first and the last id of the passages of a session or document."""
    return number << CHUNK_BITS, ((number + 1) << CHUNK_BITS) - 1


def in_order(
    connection: Connection, query: str, ids: Collection[int], value_of: Callable[[Row], T]
) -> tuple[T, ...]:
    """Return what ``query`` finds of these ids, in their order.

    It ends with the column that they are asked of, and its rows begin with it.
    """
    wanted = [*dict.fromkeys(map(int, ids))]
    rows = connection.execute(f"{query} IN ({marks(wanted)})", wanted)
    found = {row[0]: value_of(row) for row in rows}
    return tuple(found[one] for one in wanted if one in found)


def marks(values: Collection[object]) -> str:
    """Return the marks that stand for values in a statement, or in a list of them.

    >>> marks(["a", "b"]), marks([])
    ('?, ?', 'NULL')
    """
    return ", ".join("?" * len(values)) or "NULL"


def insert(
    connection: Connection, table: str, columns: str, rows: Iterable[Row], clash: str = ""
) -> int:
    """Insert rows, their values in the order of ``columns``; returns how many are new.

    ``clash`` is the clause for rows that are there already; without one they are an error.
    """
    values = marks(columns.split(","))
    query = f"INSERT INTO {table}({columns}) VALUES ({values}) {clash}"
    return int(connection.executemany(query, list(rows)).rowcount)


def find_number(connection: Connection, session_id: str) -> int | None:
    """Return the number of a session (or document), None when there is none."""
    row = connection.execute("SELECT num FROM session WHERE id = ?", (session_id,)).fetchone()
    return None if row is None else int(row[0])


def session_number(connection: Connection, session_id: str, place: str) -> int:
    """Return the number of a session (or document). Raises StoreError for an unknown id."""
    if (found := find_number(connection, session_id)) is None:
        raise unknown("session", session_id, place)
    return found


def ids_within(connection: Connection, session_id: str | None, place: str) -> tuple[int, int]:
    """Return the first and last id of the passages of a session, or (None) of all."""
    if session_id is None:
        return 0, 2**63 - 1
    return range_of(session_number(connection, session_id, place))


def unknown(what: str, name: str, place: str) -> StoreError:
    """Return the error for an unknown session or message."""
    shown = {"session": "which sessions there are", "message": "the messages of its session"}
    hint = f"see {shown[what]}: kds memory show"
    return UnknownNameError(f"there is no {what} {name!r}", where=place, hint=hint)


S = TypeVar("S", bound=PassageStore)


@dataclass(frozen=True, slots=True)
class Place(ABC, Generic[S]):
    """A store of a workspace, wherever that is. Looking makes nothing."""

    file_name: ClassVar[str]
    """In the `kds-brain` folder of a workspace."""
    private: ClassVar[tuple[str, ...]]
    """What in that folder no commit may hold."""
    workspace: Workspace
    shared: SharedDatabase | None = None
    """None: in the workspace's file."""

    @classmethod
    def of(cls, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Self:
        """Find the store of a workspace. Raises SettingsError when a server may be set wrong."""
        return cls(workspace, shared_database(workspace, environ=environ))

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return self.workspace.brain / self.file_name

    @property
    def exists(self) -> bool:
        """Whether something may be there: on a server that is not known unasked."""
        return self.shared is not None or self.path.exists()

    def __str__(self) -> str:
        """The file, or the server without user and password."""
        return str(self.shared or self.path)

    def if_any(self) -> S | nullcontext[None]:
        """Open the store for as long as the block runs; None when nothing was ever stored."""
        return self.open() if self.exists else nullcontext()

    def open(self, *, clock: Clock = utc_now, count_tokens: TokenCounter = estimate_tokens) -> S:
        """Open the store, made if there is none; the caller closes it.

        Raises WorkspaceError, and StoreError when the file or server cannot be used.
        """
        if not self.exists:
            self.prepare()
        return self._opened(clock=clock, count_tokens=count_tokens)

    def prepare(self) -> None:
        """Make the folder of the file, and see that git would not commit what is to be stored.

        Raises WorkspaceError, such as ExposedError.
        """
        if self.shared is None:
            keep_private(self.workspace, self.private)

    @abstractmethod
    def _opened(self, **options: Any) -> S:
        """Open the file, made if there is none, or the store of the tenant."""
