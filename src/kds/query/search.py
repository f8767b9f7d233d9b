"""Finding the passages that answer a question: in documents, in remembered conversations."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Final

from kds.api.embeddings import EmbeddingsError, load_embedder
from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import ALL, DocumentHit, DocumentRecall, Holdings
from kds.brain.errors import KdsError, MessageError, StoreError
from kds.brain.memory.memory import Citations, ConversationMemory
from kds.brain.passages.recall import Hit, Recall, assemble, recall
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scope as Where
from kds.brain.timeouts import Deadline
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.query.reading import Recollection
from kds.query.values import Chunk, Query


class Library:
    """Searches the document store of a workspace; looking makes no file."""

    def __init__(
        self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ, team: bool = False
    ) -> None:
        """With ``team`` the documents that everybody in the project shares are searched, too."""
        self.workspace = workspace
        self._team = team
        self.place = DocumentPlace.of(workspace, environ=environ)
        self._lock = Lock()
        self._store: Documents | None = None

    @property
    def store(self) -> Documents | None:
        """The store; None when no document was ever added. Raises StoreError."""
        with self._lock:
            if self._store is None and self.place.exists:
                self._store = self._opened()
            return self._store

    def _opened(self) -> Documents:
        if not self._team or self.place.shared is None:
            return self.place.open()
        from kds.brain.documents.postgres_documents import PostgresDocuments  # takes psycopg along

        return PostgresDocuments.of_member(self.place.shared)

    def search(
        self,
        text: str,
        *,
        near: Sequence[str] = (),
        only: str | None = None,
        limit: int,
        embedder: Embedder | None = None,
    ) -> DocumentRecall | None:
        """Find passages; None when no document was ever added.

        Those of the documents ``near`` count more; with ``only`` no other is looked at. Each is a
        path (from the root of the workspace, too), a file's name, a title or an id. Raises
        StoreError, such as when there is no document ``only``.
        """
        if (store := self.store) is None:
            return None
        preferred: list[str] = []
        for name in map(self._place, near):
            with suppress(StoreError):  # a name that several documents have prefers none of them
                document = store.find(name)
                preferred.append(document.id if document else name)
        scope = ALL if only is None else self._place(only)
        found = store.search(text, limit=limit, document=preferred, scope=scope, embedder=embedder)
        return replace(found, notes=(*store.take_warnings(), *found.notes))

    def holdings(self) -> Holdings | None:
        """How much there is; None when no document was ever added. Raises StoreError."""
        store = self.store
        return None if store is None else store.holdings()

    def note_on(self, name: str) -> str | None:
        """Say why the document ``name`` cannot be preferred; None when it can.

        What keeps the store from being read is such a reason, too.
        """
        try:
            store = self.store
            if store is not None and store.find(self._place(name)) is not None:
                return None
        except StoreError as error:
            return f"{error.message}: none is preferred"
        return f"no document '{name}' is in the store: none is preferred"

    def close(self) -> None:
        """Let go of the store; the next search opens it again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _place(self, name: str) -> str:
        """A path from the root of the workspace as the store has it; any other name as it is."""
        # No name of a file at all, or links in a circle: Python 3.11 has a RuntimeError for them.
        with suppress(OSError, ValueError, RuntimeError):
            path = (self.workspace.root / name).resolve()
            if path.is_file():
                return str(path)
        return name


QUESTION_S: Final = 1.0
"""Seconds that the vector of one question may take: a model in the process takes 10-30 ms, one
elsewhere 100-300 ms. Without it the words are searched all the same."""

REST_S: Final = 30.0
"""Seconds that a model is left alone after it failed: each try would cost every query its time."""


@dataclass(slots=True)
class PatientEmbedder:
    """An embedder whose questions have a time limit; after a failure it rests."""

    inner: Embedder
    limit_s: float = QUESTION_S
    clock: Callable[[], float] = monotonic
    """Returns seconds."""
    _rest: Deadline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rest = Deadline(0.0, clock=self.clock)

    @property
    def name(self) -> str:
        """Under which its vectors are kept."""
        return self.inner.name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, however long that takes."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question. Raises EmbeddingsError, or what the model raises."""
        if left_s := self._rest.left_s:
            raise EmbeddingsError(f"it failed, and is tried again in {left_s:.0f} s")
        try:
            return Deadline(self.limit_s).call(lambda: self.inner.embed_query(text))
        except BaseException:
            self._rest.renew(REST_S)
            raise


class EmbedderSlot:
    """Holds the model that the settings name, once it is loaded."""

    def __init__(self, wanted: Callable[[], str | None]) -> None:
        self._wanted = wanted
        self._lock = Lock()
        self._held: PatientEmbedder | None = None

    @property
    def ready(self) -> PatientEmbedder | None:
        """The model, if it is the one that is wanted and is loaded; never waits."""
        held = self._held
        return held if held is not None and held.name == self._wanted() else None

    def load(self) -> PatientEmbedder | None:
        """Load the model that is wanted; None when none is. Raises EmbeddingsError.

        May take seconds: not for the thread that routes.
        """
        name = self._wanted()
        with self._lock:
            if name is not None and (self._held is None or self._held.name != name):
                self._held = PatientEmbedder(load_embedder(name))
            return self._held if name is not None else None


MEMORY_SHARE: Final = 3
"""In the scope "all" one place in this many is for remembered conversations, at the end of the
list: the scores of documents and of conversations do not compare, and a question that was asked
before always looks most like itself."""

FIRST: Final = 3
"""Ranks whose order tells whether the session steered a search."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the searches found; None where a search was not made."""

    chunks: tuple[Chunk, ...] = ()
    documents: DocumentRecall | None = None
    conversations: Recall | None = None
    steered: bool = False
    """Whether the document that the session is about changed what comes first."""
    notes: tuple[str, ...] = ()
    budget_tokens: int | None = None
    """Of passages of conversations, and how much of it was used."""
    used_tokens: int = 0


LEANS: Final = 0.35
"""How likely a question must need what was said before to be searched with the question before it.

Of the follow-ups over documents (tests/documents), none of them rewritten, .43 in place of .28 find
their passage first, and no question that stands alone finds less; at .2 some do.
"""


def searched(turn: Turn) -> str:
    """What is searched for: the question, behind the one before where it leans on what is unnamed.

    >>> from kds.brain.turn import Utterance
    >>> turn = Turn("and abroad?", datetime.min, expanded="and abroad?", needs_context=0.8)
    >>> searched(replace(turn, history=(Utterance("What is the fee?"),)))
    'What is the fee? and abroad?'
    """
    asked = [one.text for one in turn.history if one.role == "user"]
    leans = turn.needs_context >= LEANS and turn.expanded == turn.message
    return " ".join([*asked[-1:], turn.expanded]) if leans else turn.expanded


def find(
    library: Library,
    memory: ConversationMemory,
    embedder: Embedder | None,
    query: Query,
    turn: Turn,
    known: Recollection | None,
    *,
    now: datetime,
) -> Findings:
    """Search the stores for what ``query`` was rewritten to in ``turn``; nothing changes them.

    A store that cannot be read is a note: the other one still answers. Raises MessageError
    when the scope needs a document or a session that is not named.
    """
    text = searched(turn)
    source, remembered = _nearby(query, turn, known)
    _check_scope(query, source)
    documents, recalled, notes = None, None, list[str]()
    if query.scope in ("all", "documents", "document"):
        with _noted("documents", notes):
            only = source[0] if query.scope == "document" else None
            documents = library.search(
                text, near=source, only=only, limit=query.limit, embedder=embedder
            )
            notes += documents.notes if documents else ()
    if query.scope in ("all", "memory", "conversation"):
        with _noted("conversations", notes):
            recalled = _recalled(memory, embedder, query, text, known, now=now)
            notes += recalled.notes if recalled else ()
    hits = [hit for hit in recalled.hits if _counts(hit, query, known)] if recalled else []
    budget = memory.config.settings.recall.token_budget
    quoted = assemble(turn.expanded, hits[: query.limit], budget_tokens=budget)
    found = [_of_document(hit) for hit in documents.hits] if documents else []
    said = list[Chunk]()
    if quoted.used:
        cite = Citations(memory.store)
        said = [_of_conversation(hit, cite(hit.passage)) for hit in quoted.used]
    # Documents first; conversations have the last places, if they have any.
    room = min(max(query.limit // MEMORY_SHARE, query.limit - len(found)), len(said))
    return Findings(
        chunks=(*found[: query.limit - room], *said[:room]),
        documents=documents,
        conversations=recalled,
        steered=remembered and _steered(found),
        notes=(*notes, *quoted.notes),
        budget_tokens=budget if recalled else None,
        used_tokens=quoted.tokens,
    )


def _recalled(
    memory: ConversationMemory,
    embedder: Embedder | None,
    query: Query,
    text: str,
    known: Recollection | None,
    *,
    now: datetime,
) -> Recall | None:
    """Search the remembered conversations; None when there are none. Raises StoreError."""
    inside = query.scope == "conversation"
    if not (memory.flags.enabled and memory.exists) or (inside and known is None):
        return None
    settings = memory.recall_settings
    about = query.source or "\n".join(known.about if known else ()) or None
    return recall(
        memory.store,
        text,
        scope=Where(known.session if known and inside else None, about),
        limit=query.limit + (len(known.message_ids) + 1 if known else 0),
        settings=replace(settings, few=0) if inside else settings,
        embedder=embedder,
        now=now,
    )


@contextmanager
def _noted(what: str, notes: list[str]) -> Iterator[None]:
    """Make a note of a store that cannot be read."""
    try:
        yield
    except KdsError as error:
        notes.append(f"{what} not searched: {error.message}")


def _nearby(query: Query, turn: Turn, known: Recollection | None) -> tuple[tuple[str, ...], bool]:
    """The documents whose passages count more, and whether only the session knew of them.

    What the turns before were answered from no longer counts when the topic changes.
    """
    if query.source is not None:
        return (query.source,), False
    if known is None:
        return (), False
    found = known.about or (() if turn.context_switch else known.documents[:1])
    return found, bool(found)


def _check_scope(query: Query, source: Sequence[str]) -> None:
    if query.scope == "document" and not source:
        raise MessageError(
            "the scope 'document' needs a document",
            where="source_path",
            hint="send its path, or search all documents with the scope 'documents'",
        )
    if query.scope == "conversation" and query.session is None:
        raise MessageError(
            "the scope 'conversation' needs a session",
            where="session_id",
            hint="send its id, or search all conversations with the scope 'memory'",
        )


def _steered(chunks: Sequence[Chunk]) -> bool:
    """Whether the best passages would be others without the bias."""
    lifted = sorted(chunks, key=lambda one: -one.score)[:FIRST]
    plain = sorted(chunks, key=lambda one: -one.score / one.bias)[:FIRST]
    return any(one is not other for one, other in zip(lifted, plain, strict=True))


def _counts(hit: Hit, query: Query, known: Recollection | None) -> bool:
    """Whether it is neither the question itself nor, unless asked for, what was just said."""
    message = hit.passage.message_id
    if known is None or message == known.asked:
        return known is None
    return query.scope == "conversation" or message not in known.message_ids


def _of_document(hit: DocumentHit) -> Chunk:
    passage = hit.passage
    return Chunk(
        text=passage.text,
        score=hit.score,
        bias=hit.bias,
        citation=hit.citation,
        document=passage.title,
        section=passage.section[-1] if passage.section else None,
        page=passage.page,
        source_path=passage.path,
        line=passage.first_line,
        why=hit.why,
    )


def _of_conversation(hit: Hit, citation: str) -> Chunk:
    passage = hit.passage
    return Chunk(
        text=passage.body,
        score=hit.score,
        bias=1.0,
        citation=citation,
        section=passage.header or None,
        origin="conversation",
        session=passage.session_id,
        message=passage.message_id,
        why=hit.why,
    )
