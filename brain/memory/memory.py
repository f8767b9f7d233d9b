"""`ConversationMemory`: what a chat needs of the memory.

A chat adds what is said, asks for the window to send with a question, recalls what was said long
ago. Settings may change between two calls. With the memory off nothing is stored and nothing
found, and the chat goes on.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from threading import RLock
from typing import Final, Unpack

from kds.brain.clock import Clock, utc_now
from kds.brain.encoder import NAME as SHIPPED
from kds.brain.encoder import ShippedEmbedder, shared_encoder
from kds.brain.errors import KdsError, UnknownNameError
from kds.brain.memory.entities import EntityTerm
from kds.brain.memory.memory_store import TURN, MemoryPlace, MemoryStore, log_recall
from kds.brain.memory.profile import content_stems, fitting_lines
from kds.brain.memory.sessions import Beside, Session, SessionTable, new_id
from kds.brain.memory.summaries import Later
from kds.brain.memory.summarizer import Summarizer
from kds.brain.memory.window import Window, Windows, window_of
from kds.brain.passages.question import Question, read_question
from kds.brain.passages.recall import (
    Assembled,
    Hit,
    Recall,
    assemble,
    recall,
)
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Message, Passage, Role, Summary
from kds.brain.settings import LiveConfig, MemorySettings
from kds.brain.words.terms import TokenCounter, estimate_tokens
from kds.brain.workspace import Workspace

CLOSING_S: Final = 10.0
"""Seconds that closing waits for a model to end its summary: what one on the user's own machine
takes for 200 words."""

PROMPTING: Final = "put into a prompt"
"""What the audit log of the consent says of a use."""

PROMPT_MEANING: Final = 8000
"""Passages up to which those of a prompt are searched by meaning too: a process that ends with its
answer reads the vectors of so many in 20 ms."""

PROMPT_PASSAGES: Final = 5
"""Passages that are looked at for a prompt; those that are about the message are quoted."""

PROMPT_FOUND: Final = 40
"""Passages that are searched for: those of the conversation itself often come first."""

SHARED_WORDS: Final = 2
"""Words that a message and a passage share at least, unless they share an identifier."""

SHARED_WEIGHT: Final = 0.35
"""Least share of the message's words that the passage has, each weighted by how rare it is. Over
189 questions about past sessions, .35 quotes a right passage for .57 of those that have an answer
and something for .59 of those that have none; .45 for .40 and .24."""

COUNTED_WORDS: Final = 5
"""Words of a message, the rarest, that the share is one of: people add to long messages what has
nothing to do with the matter."""

LONG_MESSAGE: Final = 8
"""Words of a message beyond which two shared ones may be chance, and it takes three."""

PRIOR: Final = 30.0
"""Passages that every word is taken to stand in beforehand: in a small memory no word is rare."""


@dataclass(frozen=True, slots=True)
class MemoryPassage:
    """A passage of an earlier conversation, and where it comes from."""

    citation: str
    """The day, the session and the speaker."""
    text: str
    message: str = ""
    """The id of the message that it is a part of."""


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """What the memory adds to a prompt; empty when it has nothing on the message."""

    profile: tuple[str, ...] = ()
    """Lines such as "Role: backend developer"."""
    passages: tuple[MemoryPassage, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.profile or self.passages)


class Citations:
    """Says where passages of a store come from: "2026-11-20, session 'Staging', user"."""

    def __init__(self, store: SessionTable) -> None:
        self._store = store
        self._titles: dict[str, str] = {}

    def __call__(self, passage: Passage | Message) -> str:
        """Return the day, the session by its title, and the speaker. Raises StoreError."""
        session = passage.session_id
        if session not in self._titles:
            found = self._store.find_session(session)
            self._titles[session] = (found.title if found else "") or session
        speaker = passage.speaker or passage.role
        return f"{passage.at:%Y-%m-%d}, session '{self._titles[session]}', {speaker}"

    def quote(self, passage: Passage) -> str:
        """Return the passage behind its citation."""
        return f"[{self(passage)}]\n{passage.body.strip()}"


def passages_about(found: Recall, total: int, *, said: Iterable[str] = ()) -> tuple[Hit, ...]:
    """Return the hits that a prompt about their question is better for, best first.

    ``total``: passages of the store. ``said`` is what the prompt has already.
    """
    weights = {
        word: math.log1p((total + PRIOR) / (count + PRIOR))  # how rare each word is
        for word, count in found.frequencies.items()
    }
    known = tuple(said)
    best: dict[str, Hit] = {}  # of those that say the same
    for hit in found.hits:
        body = hit.passage.body.strip()
        if not any(body in one for one in known):
            best.setdefault(body, hit)
    looked = list(best.values())[:PROMPT_PASSAGES]
    return tuple(hit for hit in looked if _is_about(found.question, hit, weights))


def _is_about(question: Question, hit: Hit, weights: Mapping[str, float]) -> bool:
    if hit.parts.code > 0.0 and question.asks_for_code:
        return True
    here = content_stems(f"{hit.passage.header} {hit.passage.body}")
    shared = [term.word for term in question.terms if term.stems & here]
    least = SHARED_WEIGHT * sum(sorted(weights.values(), reverse=True)[:COUNTED_WORDS])
    enough = len(shared) >= SHARED_WORDS + (len(question.terms) > LONG_MESSAGE)
    return enough and sum(weights[word] for word in shared) >= least


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was recalled, put into the tokens there are."""

    recall: Recall
    assembled: Assembled
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    """What a memory works with; everything has a default that needs no model."""

    summarizer: Summarizer | None = None
    find_summarizer: Callable[[], Summarizer | None] = lambda: None
    """Finds the one of the moment where ``summarizer`` is None; asked each time."""
    embedder: Embedder | None = None
    count_tokens: TokenCounter = estimate_tokens
    clock: Clock = utc_now
    on_by_default: bool = True
    """Whether this surface remembers when the settings do not say."""
    surface: str = "chat"
    """Its name in the measurements."""


class ConversationMemory:
    """The conversations of one workspace, for any number of threads. Make it with `open`."""

    def __init__(
        self, workspace: Workspace, config: LiveConfig, tools: Tools, environ: Mapping[str, str]
    ) -> None:
        self.config = config
        self.tools = tools
        self._workspace, self._environ = workspace, environ
        self._lock = RLock()
        self._store: MemoryStore | None = None
        self._later = Later()

    @classmethod
    def open(
        cls,
        workspace: Workspace,
        tools: Tools | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
    ) -> "ConversationMemory":
        """Open the memory of a workspace; the file is made when something is first stored.

        Raises SettingsError when the settings are wrong.
        """
        config = LiveConfig(workspace, environ=environ)
        config.current()
        return cls(workspace, config, tools or Tools(), environ)

    @property
    def _place(self) -> MemoryPlace:
        return MemoryPlace.of(self._workspace, environ=self._environ)

    @property
    def flags(self) -> MemorySettings:
        """What is switched on at this moment; ``enabled`` is never None."""
        memory = self.config.settings.memory
        if memory.enabled is not None:
            return memory
        return memory.model_copy(update={"enabled": self.tools.on_by_default})

    @property
    def store(self) -> MemoryStore:
        """The store; opened at first use. Raises StoreError."""
        with self._lock:
            if self._store is None:
                tools = self.tools
                store = self._place.open(clock=tools.clock, count_tokens=tools.count_tokens)
                if tools.embedder is not None:
                    store.use_model(tools.embedder.name)
                self._store = store
            return self._store

    @property
    def store_for_writing(self) -> MemoryStore:
        """The store. Raises StoreError, and ExposedError when git would commit what is stored."""
        self._place.prepare()
        return self.store

    @property
    def exists(self) -> bool:
        """Whether anything may be remembered: looking makes no file."""
        return self._place.exists

    @cached_property
    def _windows(self) -> Windows:
        """What makes windows and summaries."""
        return Windows(self.store, self.tools.count_tokens)

    def begin(
        self, session: str | None = None, *, title: str | None = None, document: str | None = None
    ) -> Session:
        """Resume a session, or begin one. With the memory off it is one that is not stored."""
        if not self.flags.enabled:
            now = self.tools.clock()
            name = session or new_id()
            return Session(id=name, title=title or "", created_at=now, updated_at=now,
                           document_context=document)  # fmt: skip
        found = self.store.find_session(session) if session is not None else None
        return found or self.store.create_session(
            title=title, document_context=document, session_id=session
        )

    def add(
        self,
        session: str,
        role: Role,
        content: str,
        *,
        summarise: bool = True,
        **beside: Unpack[Beside],
    ) -> Message | None:
        """Store a message, and after a reply bring the summaries up to date.

        It is stored before anything is summarised. With a model as summariser that may take its
        time: add with ``summarise=False``, and call `catch_up_later` after the answer. None when
        the memory is off. Raises StoreError, and ExposedError when git would commit the message.
        """
        flags = self.flags
        if not flags.enabled:
            return None
        self._place.prepare()
        try:
            message = self.store.append(session, role, content, **beside)
        except UnknownNameError:
            self.begin(session)
            message = self.store.append(session, role, content, **beside)
        if summarise and role == "assistant":
            self._windows.catch_up(session, message, flags, self.summarizer)
        return message

    def note_turn(
        self,
        session: str,
        message: str,
        figures: Mapping[str, object],
        *,
        at: datetime,
        about: str,
        terms: Iterable[str] = (),
        fresh: bool = False,
    ) -> None:
        """Store what the user said, what was measured, and the ``terms`` that the conversation
        ``about`` refers to, all of it or nothing; ``fresh`` as for `remember_turn`.

        Raises StoreError, and ExposedError when git would commit the message.
        """
        flags = self.flags
        if not flags.enabled:
            return
        self._place.prepare()
        store = self.store
        notes = [lambda within: store.metrics.add(TURN, figures, at=at, within=within)]
        if flags.enable_session_memory:
            notes.append(
                lambda within: store.entities.remember_turn(
                    about, terms, fresh=fresh, ttl=flags.ttl, within=within
                )
            )
        store.note_turn(session, store.draft("user", message, at=at), *notes)

    @property
    def summarizer(self) -> Summarizer | None:
        """The model that summarises at this moment, if one does."""
        if self.config.settings.memory.summaries != "auto":
            return None
        return self.tools.summarizer or self.tools.find_summarizer()

    def catch_up_later(self, session: str) -> None:
        """Make the summaries that are due; nobody waits for a model, which is asked in a thread.

        `close` waits a moment for it; what is not there then is summarised without the model.
        Raises StoreError when there is no model.
        """
        model = self.summarizer
        if model is None:
            self._catch_up(session, None)
        else:
            self._later.run(session, lambda: self._catch_up(session, model))

    def summarise_now(self, session: str) -> Summary | None:
        """Store a summary of what was said since the last periodic one; None: nothing was.

        Waits for the model where there is one. Raises StoreError.
        """
        if not self.flags.enabled or self.flags.summaries == "off":
            return None
        newest = self.store.session(session).message_count
        return self._windows.periodic(session, newest, replies=0, model=self.summarizer)

    def _catch_up(self, session: str, model: Summarizer | None) -> None:
        flags = self.flags
        if not flags.enabled or self.store.find_session(session) is None:
            return
        if newest := self.store.messages(session, last=1):
            self._windows.catch_up(session, newest[0], flags, model)

    def window(self, session: str, query: str = "") -> Window:
        """Return what to send with ``query``, within the budget; never asks a model.

        When ``query`` was added already, it is not sent twice. Raises StoreError.
        """
        flags = self.flags
        if not flags.enabled or self.store.find_session(session) is None:
            return window_of((), query, flags, self.tools.count_tokens)
        return self._windows.make(session, query, flags)

    def window_of(self, said: Sequence[tuple[Role, str]], query: str) -> Window:
        """As `window`, of a conversation that is not stored: what a client sent along."""
        now, count = self.tools.clock(), self.tools.count_tokens
        messages = tuple(
            Message("", "", seq, role, text, now, count(text))
            for seq, (role, text) in enumerate(said, start=1)
        )
        return window_of(messages, query, self.flags, count)

    def _recalled(
        self,
        query: str,
        limit: int,
        embedder: Embedder | None,
        session: str | None = None,
        document: str | None = None,
    ) -> Recall:
        return recall(
            self.store,
            query,
            session=session,
            document=document,
            limit=limit,
            options=self.config.settings.recall,
            embedder=embedder,
            now=self.tools.clock(),
        )

    def _logged(self, found: Recall, text: Assembled, profile: int = 0) -> Recall:
        return log_recall(
            self.store,
            found,
            surface=self.tools.surface,
            budget_tokens=text.budget_tokens,
            used_tokens=text.tokens,
            profile=profile,
        )

    def recall(
        self,
        query: str,
        *,
        session: str | None = None,
        document: str | None = None,
        limit: int = 10,
        budget_tokens: int | None = None,
    ) -> Remembered:
        """Find what was said about ``query``, in the session first, and log how that went.

        Raises StoreError.
        """
        given = self.config.settings.recall.token_budget
        budget = given if budget_tokens is None else budget_tokens
        if not self.flags.enabled:
            nothing = Recall(read_question(query), (), (), ("the memory is off",), {}, {}, {})
            return Remembered(nothing, assemble(query, (), budget_tokens=budget))
        found = self._recalled(query, limit, self.tools.embedder, session, document)
        text = assemble(query, found.hits, budget_tokens=budget, count=self.tools.count_tokens)
        found = self._logged(found, text)
        notes = (*self.store.take_warnings(), *found.notes, *text.notes)
        return Remembered(found, text, notes)

    def for_prompt(
        self, message: str, *, said: Sequence[str] = (), passages: bool = True
    ) -> PromptMemory:
        """Return what a prompt about ``message`` gets: the profile, by consent, and passages.

        Passages come from every conversation, but for what the prompt has already (``said``, and
        the message), within `recall.token_budget`. Nothing with the memory off. Raises StoreError.
        """
        if not self.flags.enabled or not self.exists:
            return PromptMemory()
        profile = self._profile(message)
        quoted = self._quoted(message, said, len(profile)) if passages else ()
        return PromptMemory(profile, quoted)

    def _quoted(self, message: str, said: Sequence[str], lines: int) -> tuple[MemoryPassage, ...]:
        settings = self.config.settings.recall
        if not settings.token_budget:
            return ()
        cite = Citations(self.store)
        total, _ = self.store.measure()
        embedder = self.tools.embedder
        # The encoder that routed the message already, where searching with it takes no time.
        shipped = (settings.embeddings or SHIPPED) == SHIPPED and total <= PROMPT_MEANING
        if embedder is None and shipped and shared_encoder().available:
            embedder = ShippedEmbedder()
        found = self._recalled(message, PROMPT_FOUND, embedder)
        hits = passages_about(found, total, said=(message, *said))
        text = assemble(
            message,
            hits,
            budget_tokens=settings.token_budget,
            count=self.tools.count_tokens,
            quote=cite.quote,
        )
        self._logged(replace(found, hits=hits), text, lines)
        quoted = (hit.passage for hit in text.used)
        return tuple(MemoryPassage(cite(one), one.body.strip(), one.message_id) for one in quoted)

    def _profile(self, message: str) -> tuple[str, ...]:
        """The lines of the profile that fit; looking where there is no consent logs nothing."""
        table = self.store.profile
        profile = table.use(PROMPTING) if table.is_set else None
        if profile is None:
            return ()
        return fitting_lines(profile, message, count=self.tools.count_tokens)

    def remember_turn(
        self,
        session: str,
        terms: Iterable[str],
        *,
        answer: str = "",
        documents: Sequence[str] | None = None,
        sections: Sequence[str] | None = None,
        fresh: bool = False,
    ) -> None:
        """Note what a turn referred to; nothing with the session memory off.

        ``fresh``: the topic has changed (`Turn.context_switch`), nothing from before counts.
        """
        flags = self.flags
        if flags.enabled and flags.enable_session_memory:
            self.store.entities.remember_turn(
                session,
                terms,
                answer=answer,
                documents=documents,
                sections=sections,
                fresh=fresh,
                ttl=flags.ttl,
            )

    def antecedents(self, session: str) -> tuple[EntityTerm, ...]:
        """Return what the last turns referred to, the oldest first; for `Router`'s ``known``."""
        flags = self.flags
        if not (flags.enabled and flags.enable_session_memory):
            return ()
        known = self.store.entities.load(session, ttl=flags.ttl)
        return known.recent if known else ()

    def close(self, *, wait_s: float | None = None) -> None:
        """Let go of the store, once the summaries are made. Closing twice is fine."""
        for session in self._later.end(CLOSING_S if wait_s is None else wait_s):
            with suppress(KdsError):
                self._catch_up(session, None)
        with self._lock:
            if self._store is not None:
                self._store.close()
