"""Finding the passages that answer a question: in documents, in remembered conversations."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from time import perf_counter
from typing import Final

from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import ALL, DocumentHit, DocumentRecall
from kds.brain.errors import KdsError, MessageError, StoreError
from kds.brain.memory.memory import Citations, ConversationMemory
from kds.brain.passages.recall import FEW, Hit, Recall, assemble, recall
from kds.brain.passages.store import Embedder
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.query.reading import Recollection
from kds.query.values import Chunk, Query, Rewriting

MEMORY_SHARE: Final = 3
"""In the scope "all" one place in this many is for remembered conversations, at the end of the
list: the scores of documents and of conversations do not compare, and a question that was asked
before always looks most like itself."""

FIRST: Final = 3
"""Ranks whose order tells whether the session steered a search."""

LEANS: Final = 0.35
"""How likely a question must need what was said before to be searched with the question before it.

Of the follow-ups over documents (tests/documents), none of them rewritten, .43 in place of .28 find
their passage first, and no question that stands alone finds less; at .2 some do.
"""


class Library:
    """Searches the document store of a workspace; looking makes no file."""

    def __init__(
        self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ, team: bool = False
    ) -> None:
        """With ``team`` the documents that everybody in the project shares are searched, too."""
        self._root, self._team = workspace.root, team
        self._at = DocumentPlace.of(workspace, environ=environ)
        self._lock = Lock()
        self._store: Documents | None = None

    @property
    def store(self) -> Documents | None:
        """The store; None when no document was ever added. Raises StoreError."""
        with self._lock:
            if self._store is None and self._at.exists:
                if self._team and self._at.shared is not None:
                    from kds.brain.documents.postgres_documents import PostgresDocuments  # psycopg

                    self._store = PostgresDocuments.of_member(self._at.shared)
                else:
                    self._store = self._at.open()
            return self._store

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
        for name in map(self._path, near):
            with suppress(StoreError):  # a name that several documents have prefers none of them
                document = store.find(name)
                preferred.append(document.id if document else name)
        scope = ALL if only is None else self._path(only)
        found = store.search(text, limit=limit, document=preferred, scope=scope, embedder=embedder)
        return replace(found, notes=(*store.take_warnings(), *found.notes))

    def close(self) -> None:
        """Let go of the store; the next search opens it again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _path(self, name: str) -> str:
        """A path from the root of the workspace as the store has it; any other name as it is."""
        # No name of a file at all, or links in a circle: Python 3.11 has a RuntimeError for them.
        with suppress(OSError, ValueError, RuntimeError):
            path = (self._root / name).resolve()
            if path.is_file():
                return str(path)
        return name


@dataclass(frozen=True, slots=True)
class Understood:
    """A question on its way: what it means, what its session knew, and what was found so far."""

    query: Query
    turn: Turn
    known: Recollection | None = None
    ask_model: Callable[[], Turn] | None = None
    """What the question means, by a model, where one is to be asked: `QueryService.rewrite`."""
    warnings: tuple[str, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Of all its stages: each adds its own."""
    begun: float = field(default_factory=perf_counter)
    chunks: tuple[Chunk, ...] = ()
    """What was found, the best first."""
    documents: DocumentRecall | None = None
    conversations: Recall | None = None
    """The searches; None where one was not made."""
    steered: bool = False
    """Whether the document that the session is about changed what comes first."""
    budget_tokens: int | None = None
    """Of passages of conversations, and how much of it was used."""
    used_tokens: int = 0
    answer: str | None = None
    answer_error: str | None = None
    model: str | None = None

    @property
    def rewriting(self) -> Rewriting:
        """Who made the question self-contained, and why it was taken so."""
        turn, by_model = self.turn, self.turn.rewriting
        if by_model is not None and by_model.outcome == "used":
            return Rewriting("model", turn.references, turn.why)
        changed = turn.expanded != turn.message
        return Rewriting("rules" if changed else "nobody", turn.references, turn.why)

    @property
    def hit(self) -> bool:
        """Whether what the session remembered served the question."""
        if self.known is None:
            return False
        targets = {one.target.casefold() for one in self.turn.references}
        if self.query.context is not None:  # it may be what resolved them
            targets &= {term.casefold() for term in self.known.terms}
        return self.steered or bool(targets)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what the block takes to the timings, in milliseconds of wall time."""
        started = perf_counter()
        try:
            yield
        finally:
            took_ms = (perf_counter() - started) * 1000.0
            self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + took_ms


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
    asked: Understood,
    *,
    now: datetime,
) -> Understood:
    """Search the stores for what was ``asked``; nothing changes them.

    A store that cannot be read is a warning: the other one still answers. Raises MessageError
    when the scope needs a document or a session that is not named.
    """
    query, turn, known = asked.query, asked.turn, asked.known
    text, limit, notes = searched(turn), query.limit, list[str]()
    about = known.about or (() if turn.context_switch else known.documents[:1]) if known else ()
    near = about if query.source is None else (query.source,)
    _check_scope(query, near)
    documents, recalled = None, None
    if query.scope in ("all", "documents", "document"):
        with warned(notes, "documents not searched"):
            only = near[0] if query.scope == "document" else None
            documents = library.search(text, near=near, only=only, limit=limit, embedder=embedder)
    inside = query.scope == "conversation"
    if query.scope in ("all", "memory") or (inside and known is not None):
        with warned(notes, "conversations not searched"):
            if memory.flags.enabled and memory.exists:
                about_now = query.source or "\n".join(known.about if known else ()) or None
                recalled = recall(
                    memory.store,
                    text,
                    session=known.session if known and inside else None,
                    document=about_now,
                    limit=limit + (len(known.message_ids) + 1 if known else 0),
                    options=memory.config.settings.recall,
                    few=0 if inside else FEW,
                    embedder=embedder,
                    now=now,
                )
    hits = recalled.hits if recalled else ()
    if known is not None:  # neither the question itself nor, unless asked for, what was just said
        sent = {known.asked} if inside else {known.asked, *known.message_ids}
        hits = tuple(hit for hit in hits if hit.passage.message_id not in sent)
    budget = memory.config.settings.recall.token_budget
    quoted = assemble(turn.expanded, hits[:limit], budget_tokens=budget)
    found = [_of_document(hit) for hit in documents.hits] if documents else []
    said = list[Chunk]()
    if quoted.used:
        cite = Citations(memory.store)
        said = [_of_conversation(hit, cite(hit.passage)) for hit in quoted.used]
    # Documents first; conversations have the last places, if they have any.
    room = min(max(limit // MEMORY_SHARE, limit - len(found)), len(said))
    for one in (documents, recalled):
        notes += one.notes if one else ()
    return replace(
        asked,
        chunks=(*found[: limit - room], *said[:room]),
        documents=documents,
        conversations=recalled,
        steered=query.source is None and bool(near) and _steered(found),
        warnings=(
            *asked.warnings,
            *notes,
            *quoted.notes,
        ),
        budget_tokens=budget if recalled else None,
        used_tokens=quoted.tokens,
    )


@contextmanager
def warned(warnings: list[str], what: str, errors: type[KdsError] = KdsError) -> Iterator[None]:
    """Make a warning of a store that fails."""
    try:
        yield
    except errors as error:
        warnings.append(f"{what}: {error.message}")


def _check_scope(query: Query, near: Sequence[str]) -> None:
    needed = {"document": ("source_path", near), "conversation": ("session_id", query.session)}
    field, value = needed.get(query.scope, ("", True))
    if not value:
        raise MessageError(
            f"the scope '{query.scope}' needs to know which one",
            where=field,
            hint=f"send {field}, or search all of them: 'documents', 'memory'",
        )


def _steered(chunks: Sequence[Chunk]) -> bool:
    """Whether the best passages would be others without the bias."""
    lifted = sorted(chunks, key=lambda one: -one.score)[:FIRST]
    plain = sorted(chunks, key=lambda one: -one.score / one.bias)[:FIRST]
    return any(one is not other for one, other in zip(lifted, plain, strict=True))


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
