"""The conversation memory in one SQLite file: `store.MemoryStore`, put together of its tables.

For any number of threads and processes at once. A search index that SQLite finds damaged is made
anew on the spot, and the call that found it is repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kds.brain.clock import Clock, utc_now
from kds.brain.database import health
from kds.brain.database.database import TIMEOUT_S, Database
from kds.brain.database.database_error import is_damage
from kds.brain.database.deletion import delete_sessions, scrub_if_due
from kds.brain.errors import StoreError
from kds.brain.passages.fts_words import WordForms, words_of
from kds.brain.passages.outbox import Outbox
from kds.brain.passages.searching import TextSearch, Weights
from kds.brain.passages.store import MemoryStore
from kds.brain.passages.values import (
    EVERYWHERE,
    Archive,
    Check,
    Chunk,
    Cleanup,
    EmbeddingJob,
    EmbeddingModel,
    Message,
    Passage,
    Role,
    Scope,
    Scored,
    Session,
    Stats,
    Summary,
    SummaryKind,
)
from kds.brain.passages.vectors import VectorSearch
from kds.brain.sessions.entities import EntityTable
from kds.brain.sessions.item_table import ItemTable
from kds.brain.sessions.message_table import MessageTable
from kds.brain.sessions.metrics import MetricTable
from kds.brain.sessions.profile import ProfileTable
from kds.brain.sessions.restoring import restore
from kds.brain.sessions.session_table import SessionTable
from kds.brain.summaries.summary_table import SummaryTable
from kds.brain.words.tokens import TokenCounter, estimate_tokens

FILE_NAME: Final = "memory.db"
"""In the `kds-brain` folder of a workspace."""

T = TypeVar("T")


class SqliteStore:
    """The memory of one workspace."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        count_tokens: TokenCounter = estimate_tokens,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Open the file, or make it. Raises StoreError; `warnings` says what was put right."""
        self.database = Database(path, clock=clock, timeout_s=timeout_s)
        self.profile = ProfileTable(self.database)
        self.entities = EntityTable(self.database)
        self.metrics = MetricTable(self.database)
        self.items = ItemTable(self.database)
        self._forms = WordForms()
        self._sessions = SessionTable(self.database)
        self._messages = MessageTable(self.database, count_tokens)
        self._summaries = SummaryTable(self.database)
        self._text = TextSearch(self.database, self._forms)
        self._vectors = VectorSearch(self.database)
        self._outbox = Outbox(self.database)
        scrub_if_due(self.database)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and put right since the store was opened."""
        return self.database.warnings

    @property
    def path(self) -> Path:
        """The file."""
        return self.database.path

    def create_session(
        self,
        *,
        title: str | None = None,
        document_context: str | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session."""
        return self._sessions.create(
            title=title, document_context=document_context, session_id=session_id
        )

    def session(self, session_id: str) -> Session:
        """Return the session."""
        return self._sessions.get(session_id)

    def find_session(self, session_id: str) -> Session | None:
        """Return the session, None when there is none."""
        return self._sessions.find(session_id)

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """Return sessions, the one changed last first."""
        return self._sessions.list(limit=limit, offset=offset)

    def rename(self, session_id: str, title: str) -> Session:
        """Give the session a title that stays."""
        return self._sessions.rename(session_id, title)

    def set_document(self, session_id: str, document: str | None) -> Session:
        """Say which document the session is about."""
        return self._sessions.set_document(session_id, document)

    def delete_session(self, session_id: str) -> None:
        """Remove the session, all it holds, and its bytes."""
        delete_sessions(self.database, [self.session(session_id).num])

    def cleanup(self, older_than: timedelta, *, dry_run: bool = True) -> Cleanup:
        """Remove the sessions in which nothing happened for longer than ``older_than``."""
        found = self._sessions.changed_before(self.database.clock() - older_than)
        if not dry_run:
            delete_sessions(self.database, [session.num for session in found])
        return Cleanup(found, dry_run)

    def append(
        self,
        session_id: str,
        role: Role,
        content: str,
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        message_id: str | None = None,
    ) -> Message:
        """Store a message with its chunks, index rows and embedding jobs."""
        return self._healing(
            lambda: self._messages.append(
                session_id, role, content, at=at, speaker=speaker, message_id=message_id
            )
        )

    def messages(
        self, session_id: str, *, last: int | None = None, before_seq: int | None = None
    ) -> tuple[Message, ...]:
        """Return messages in order."""
        return self._messages.list(session_id, last=last, before_seq=before_seq)

    def message(self, message_id: str) -> Message:
        """Return one message."""
        return self._messages.get(message_id)

    def restore(self, archive: Archive) -> Session:
        """Put an archived session back as it was; ids that are taken become new ones."""
        return self.session(self._healing(lambda: restore(self.database, self._messages, archive)))

    def add_summary(
        self, session_id: str, first_seq: int, last_seq: int, text: str, *, kind: SummaryKind
    ) -> Summary:
        """Store a summary of a run of messages."""
        return self._healing(
            lambda: self._summaries.add(session_id, first_seq, last_seq, text, kind=kind)
        )

    def summaries(self, session_id: str, *, kind: SummaryKind | None = None) -> tuple[Summary, ...]:
        """Return the summaries of a session in the order they were made."""
        return self._summaries.list(session_id, kind=kind)

    def chunks(self, ids: Sequence[int]) -> tuple[Chunk, ...]:
        """Return the chunks with these ids that exist, in the order asked for."""
        return self._messages.chunks(ids)

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return the chunks with these ids that exist as passages, in the order asked for."""
        return self._messages.passages(ids)

    def chunk_count(self) -> int:
        """Return about how many chunks there are."""
        return self._messages.chunk_count()

    def message_chunks(self, message_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a message in order."""
        return self._messages.chunks_of(message_id)

    def search_lexical(
        self,
        query: str,
        scope: Scope = EVERYWHERE,
        *,
        limit: int,
        weights: Weights | None = None,
    ) -> tuple[Scored, ...]:
        """Rank chunks that share words with ``query`` by BM25."""
        return self.search_words(words_of(query), scope, limit=limit, weights=weights)

    def search_words(
        self,
        words: Sequence[str],
        scope: Scope = EVERYWHERE,
        *,
        limit: int,
        weights: Weights | None = None,
    ) -> tuple[Scored, ...]:
        """Rank chunks that have any of the words by BM25."""
        return self._healing(lambda: self._text.words(words, scope, limit=limit, weights=weights))

    def occurrences(
        self, terms: Sequence[Sequence[str]], session_id: str, *, limit: int
    ) -> tuple[Mapping[int, int], ...]:
        """Return for each term the chunks of a session that have one of its words, not ranked."""
        return self._healing(lambda: self._text.occurrences(terms, session_id, limit=limit))

    def search_identifiers(
        self, identifiers: Sequence[str], scope: Scope = EVERYWHERE, *, limit: int
    ) -> tuple[Scored, ...]:
        """Rank chunks that hold one of the identifiers, in whatever spelling of it."""
        return self._healing(lambda: self._text.identifiers(identifiers, scope, limit=limit))

    def search_dense(
        self,
        vector: Sequence[float],
        *,
        model: str,
        scope: Scope = EVERYWHERE,
        limit: int,
    ) -> tuple[Scored, ...]:
        """Rank chunks by the cosine of their vectors of ``model`` to ``vector``."""
        return self._vectors.search(vector, model=model, scope=scope, limit=limit)

    def search_summaries(
        self, query: str, session_id: str, *, limit: int
    ) -> tuple[tuple[Summary, float], ...]:
        """Rank the summaries of one session that share words with ``query``."""
        return self._healing(lambda: self._text.summaries(words_of(query), session_id, limit=limit))

    def document_frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Return for each word in how many chunks of the whole store it occurs."""
        return self._healing(lambda: self._text.frequencies(words))

    def use_model(self, name: str | None) -> None:
        """Say whose vectors are wanted from now on."""
        self._outbox.use(name)

    def models(self) -> tuple[EmbeddingModel, ...]:
        """Return the models in use: the serving one first."""
        return self._outbox.models()

    def pending_embeddings(self, limit: int) -> tuple[EmbeddingJob, ...]:
        """Claim up to ``limit`` chunks that are due."""
        return self._outbox.claim(limit)

    def store_embeddings(self, model: str, vectors: Mapping[int, Sequence[float]]) -> int:
        """Store vectors by chunk id and take their jobs off the queue."""
        return self._outbox.store(model, vectors)

    def fail_embeddings(self, chunk_ids: Sequence[int], error: str) -> None:
        """Put jobs back: tried again later and later, and given up after some attempts."""
        self._outbox.fail(chunk_ids, error)

    def retry_embeddings(self) -> int:
        """Make every job due now, also those given up."""
        return self._outbox.retry()

    def stats(self) -> Stats:
        """Return how much is stored."""
        return health.read_stats(self.database)

    def check(self) -> Check:
        """Examine the whole store; changes nothing."""
        return health.check(self.database)

    def rebuild(self) -> Check:
        """Make the search index anew, queue what has no vector, and examine everything."""
        return health.rebuild(self.database)

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self._forms.close()
        self.database.close()

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _healing(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except StoreError as error:
            if not is_damage(error.__cause__) or not health.mend_index(self.database):
                raise
        return call()


if TYPE_CHECKING:
    # What the protocol asks for is here, with the types it asks for.
    _checked: type[MemoryStore] = SqliteStore
