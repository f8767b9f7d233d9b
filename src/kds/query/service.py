"""`QueryService`: a question in, the passages that answer it out, in the light of what was said."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final, Self

from kds.api.embeddings import model_name
from kds.api.parts import LearnedParts, Parts, RewriterSource
from kds.brain.clock import Clock, utc_now
from kds.brain.errors import KdsError, StoreError
from kds.brain.memory.memory import ConversationMemory, PromptMemory, Tools
from kds.brain.memory.memory_store import log_recall
from kds.brain.message import clean_message
from kds.brain.settings import LiveConfig, Settings
from kds.brain.turn import NOT_ENGLISH, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.query.answer import Answerer, Speakers, Spoken, model_name_of, told
from kds.query.reading import (
    Reader,
    Reading,
    Recollection,
    checked_session,
    known_before,
    recollect,
    said_before,
    shown_terms,
    within_contract,
)
from kds.query.search import EmbedderSlot, Findings, Library, find
from kds.query.values import (
    QUERY,
    Chunk,
    Query,
    QueryReply,
    Rewriting,
    RewrittenBy,
    SessionTurn,
    citations_of,
    query_metric,
)
from kds.router.rewriting.writer import FindRewriter
from kds.transit.history import Message


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Add what the block takes to ``timings``, in milliseconds of wall time."""
    started = perf_counter()
    try:
        yield
    finally:
        timings[stage] = timings.get(stage, 0.0) + (perf_counter() - started) * 1000.0


@dataclass(frozen=True, slots=True)
class Understood:
    """A question on its way: what it means, and what its session knew."""

    query: Query
    reading: Reading
    known: Recollection | None
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Of all its stages: each adds its own."""
    warnings: tuple[str, ...] = ()
    begun: float = 0.0
    findings: Findings = field(default_factory=Findings)
    spoken: Spoken = field(default_factory=Spoken)

    @property
    def turn(self) -> Turn:
        """The question as it was read."""
        return self.reading.turn

    @property
    def may_be_rewritten(self) -> bool:
        """Whether a model is to be asked what the question means: see `QueryService.rewrite`."""
        return self.reading.rewriter is not None


def resolved_by_session(query: Query, turn: Turn, known: Recollection | None) -> bool:
    """Whether a reference points to something that the session remembered."""
    if known is None or not turn.references:
        return False
    if query.context is None:  # there was nothing else to resolve it with
        return True
    remembered = {term.casefold() for term in known.terms}
    return any(one.target.casefold() in remembered for one in turn.references)


def rewriting_of(turn: Turn) -> Rewriting:
    """Who made a question self-contained, and why it was taken so."""
    by: RewrittenBy = "rules" if turn.expanded != turn.message else "nobody"
    if turn.rewriting is not None and turn.rewriting.outcome == "used":
        by = "model"
    return Rewriting(by, turn.references, turn.why)


MEMORY_OFF: Final = "the memory is switched off: nothing of the session is kept"

SECTIONS_KEPT: Final = 3
"""Passages whose sections and documents a session remembers of a turn."""


def _passage_about(terms: Iterable[str], chunks: Iterable[Chunk]) -> str:
    """The first passage of a document for each of ``terms``; "" when one is named by none."""
    told = [one.text for one in chunks if one.origin == "document"]
    found = [
        next((text for text in told if term.casefold() in text.casefold()), "") for term in terms
    ]
    return "\n\n".join(dict.fromkeys(found)) if all(found) else ""


def _first_found(findings: Findings) -> dict[str, list[str] | None]:
    """The documents and sections to remember; None leaves those of the turns before in place."""
    first = [one for one in findings.chunks[:SECTIONS_KEPT] if one.source_path]
    documents = dict.fromkeys(one.source_path for one in first if one.source_path)
    sections = dict.fromkeys(one.section for one in first if one.section)
    return {"documents": list(documents) or None, "sections": list(sections) or None}


CLOSING_S: Final = 1.0
"""Seconds that a service which stops waits for a model to end a summary."""

EARLIER_SETTINGS: Final = "wrong settings do not count"

NOTHING_FOUND: Final = "nothing was found to answer from: no model was asked"


class QueryService:
    """Answers questions about the documents and conversations of one workspace.

    For any number of threads, but `understand` and `search` best from one: they are CPU-bound.
    """

    def __init__(
        self,
        parts: Parts,
        *,
        rewriter: FindRewriter | None = None,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
        team: bool = False,
    ) -> None:
        """``rewriter`` finds the model that rewrites; None: the one that the settings name.

        With ``team`` the documents that everybody in the project shares are searched, too.
        """
        self._clock = clock
        tools = Tools(
            find_summarizer=lambda: self._answerer.summarizer(),
            clock=clock,
            on_by_default=True,
            surface=QUERY,
        )
        self.memory = ConversationMemory.open(parts.workspace, tools, environ=environ)
        self._team = team
        self.library = Library(parts.workspace, environ=environ, team=team)
        self.embedder = EmbedderSlot(lambda: model_name(self._settings().recall.embeddings))
        self._answerer = Answerer(
            parts.library, str(parts.workspace.root), lambda: self._settings().model
        )
        self.speakers = Speakers()
        """What waits for models, off the threads that others need."""
        self.use(parts, rewriter=rewriter)

    @classmethod
    def open(cls, workspace: Workspace, *, clock: Clock = utc_now) -> Self:
        """Load rules, prompts and model of a workspace, without files that do not load."""
        parts = Parts.sound(workspace, may_write=workspace.brain.is_dir())
        return cls(LearnedParts(parts, LiveConfig(workspace)).now, clock=clock)

    def use(self, parts: Parts, *, rewriter: FindRewriter | None = None) -> None:
        """Use rules and prompts that were reloaded."""
        find = rewriter or RewriterSource(LiveConfig(parts.workspace), parts.library)
        self._reader = Reader(parts, find)
        self._answerer.library = parts.library

    def ask(self, query: Query) -> QueryReply:
        """Do all that is to be done for a question; not for a thread with an event loop.

        Raises MessageError when the question, its session or its scope cannot be used. A store
        that fails is a warning of the reply, a model that fails its ``answer_error``.
        """

        async def answered() -> Understood:
            found = self.search(await self.rewrite(self.understand(query)))
            return await self.answer(found)

        return self.finish(asyncio.run(answered()))

    def understand(self, query: Query, *, remembers: bool = True) -> Understood:
        """Make the question self-contained by the rules; with a session, store it there first.

        With ``remembers=False`` nothing is stored, and no session begun. Raises MessageError.
        """
        begun = perf_counter()
        query = replace(query, text=clean_message(query.text))
        if query.session is not None:
            checked_session(query.session)
        timings: dict[str, float] = {}
        warnings: list[str] = []
        with timed(timings, "session"):
            known = self._known(query, warnings, remembers=remembers)
        with timed(timings, "rewriting"):
            messages = self._messages(query, known)
            reading = self._reader.read(
                query.text,
                said_before(messages),
                known_before(known.terms if known else (), messages),
                at=self._clock(),
                rewrites=self.memory.flags.enable_query_rewriting,
            )
        if not reading.turn.english:
            warnings.append(NOT_ENGLISH)
        if not self._team and (fault := self.settings_fault):
            warnings.append(f"{EARLIER_SETTINGS}: {fault}")
        return Understood(query, reading, known, timings, tuple(warnings), begun)

    async def rewrite(self, understood: Understood) -> Understood:
        """Ask a model what the question means, where one may and the rules do not know.

        Off the event loop; the rules' reading stands when it takes too long.
        """
        if not understood.may_be_rewritten:
            return understood
        reading, warnings = Reading(understood.turn), understood.warnings
        with timed(understood.timings_ms, "model_rewriting"):
            try:
                turn = await self.speakers.run(
                    lambda: self._reader.ask_model(understood.reading),
                    timeout_s=self.rewriting_s,
                    setting="rewriting.timeout_s",
                )
                reading = Reading(turn)
            except KdsError as error:
                warnings = (*warnings, f"not rewritten by a model: {error.message}")
        return replace(understood, reading=reading, warnings=warnings)

    def search(self, understood: Understood) -> Understood:
        """Find the intent and the passages. Raises MessageError when the scope names nothing."""
        timings = understood.timings_ms
        with timed(timings, "rewriting"):
            reading = Reading(self._reader.classify(understood.turn))
        with timed(timings, "retrieval"):
            findings = find(
                self.library, self.memory, self.embedder.ready,
                understood.query, reading.turn, understood.known, now=self._clock(),
            )  # fmt: skip
        return replace(understood, reading=reading, findings=findings)

    async def answer(self, found: Understood) -> Understood:
        """Ask the model, if one is to be asked: off the event loop, within the model's timeout."""
        if not (found.findings.chunks and self._wants_model(found.query)):
            return found
        settings, memory = self._settings().model, PromptMemory()
        with suppress(StoreError):  # the profile, where there is consent
            memory = self.memory.for_prompt(found.turn.expanded, passages=False)
        turn = self._with_window(found)
        with timed(found.timings_ms, "answer"):
            try:
                spoken = await self.speakers.run(
                    lambda: self._answerer.speak(turn, found.findings.chunks, memory),
                    timeout_s=settings.timeout_s,
                )
            except KdsError as error:
                spoken = Spoken(error=told(error), model=model_name_of(settings))
        return replace(found, spoken=spoken)

    def finish(self, found: Understood) -> QueryReply:
        """Remember what the question referred to and what was answered, and reply."""
        said, timings = found.spoken, found.timings_ms
        turn, chunks = found.turn, found.findings.chunks
        warnings = [*found.warnings, *found.findings.notes]
        with timed(timings, "memory"):
            session = self._remember(found, warnings)
        if not chunks and self._wants_model(found.query):
            warnings.append(NOTHING_FOUND)
        timings["total"] = (perf_counter() - found.begun) * 1000.0
        reply = QueryReply(
            query=found.query.text,
            rewritten_query=turn.expanded,
            rewriting=rewriting_of(turn),
            intent=turn.intent,
            chunks=chunks,
            citations=citations_of(chunks),
            answer=said.text,
            answer_error=said.error,
            model=said.model,
            session=session,
            timings_ms=timings,
        )
        self._measure(found, reply, warnings)
        return replace(reply, warnings=tuple(dict.fromkeys(warnings)))

    @property
    def rewriting_s(self) -> float:
        """Seconds that a model has to rewrite a question."""
        return self._settings().rewriting.timeout_s

    @property
    def settings_fault(self) -> str | None:
        """What is wrong with the settings as they are now; they do not count."""
        self.memory.config.current()
        problem = self.memory.config.problem
        return "; ".join(map(str.strip, str(problem).splitlines())) if problem else None

    def stop(self) -> None:
        """Let everybody go who waits for a model."""
        self.speakers.stop()

    def close(self) -> None:
        """Let go of the stores. Closing twice is fine."""
        self.memory.close(wait_s=CLOSING_S)
        self.library.close()

    def __enter__(self) -> Self:
        """Close at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settings(self) -> Settings:
        return self.memory.config.settings

    def _wants_model(self, query: Query) -> bool:
        return query.answer and self._answerer.configured

    def _with_window(self, found: Understood) -> Turn:
        """The turn as the model gets it: a summary of what was said before, and the last turns."""
        query, known = found.query, found.known
        history: tuple[Utterance, ...] = ()
        # Without the store the question is answered all the same, as one that stands alone.
        with suppress(StoreError):
            if query.context is not None:
                said = [(one.role, one.content) for one in self._messages(query, known)]
                history = self.memory.window_of(said, query.text).earlier()
            elif known is not None:
                history = self.memory.window(known.session, query.text).earlier()
        return replace(found.turn, history=history)

    def _messages(self, query: Query, known: Recollection | None) -> tuple[Message, ...]:
        """What was said: sent by the client, else remembered."""
        if query.context is not None:
            return within_contract(query.context, turns=self.memory.flags.history_max_turns)
        return known.messages if known else ()

    def _known(self, query: Query, warnings: list[str], *, remembers: bool) -> Recollection | None:
        """What the session remembers, the question stored in it; or None, and maybe why."""
        if query.session is None:
            return None
        if not self.memory.flags.enabled:
            warnings.append(MEMORY_OFF)
            return None
        if not remembers and not self.memory.exists:
            return None
        found: Recollection | None = None
        with _warned(warnings, "the session was not read"):
            known = recollect(self.memory, query.session, begins=remembers)
            if known is not None and remembers:
                stored = self.memory.add(known.session, "user", query.text)
                warnings += self.memory.store.take_warnings()
                known = replace(known, asked=stored.id if stored else None)
            found = known
        return found

    def _remember(self, found: Understood, warnings: list[str]) -> SessionTurn | None:
        """Store the answer, and what the question referred to; the session after that."""
        known, answer = found.known, found.spoken.text
        if known is None:
            return None
        hit = found.findings.steered or resolved_by_session(found.query, found.turn, known)
        session = SessionTurn(known.session, known.turn, (), hit)
        terms = self._reader.terms(found.turn)
        with _warned(warnings, "the turn was not remembered"):
            self.memory.remember_turn(
                known.session,
                terms,
                answer=answer or _passage_about(terms, found.findings.chunks),
                **_first_found(found.findings),
                fresh=found.turn.context_switch,
            )
            if answer:
                self.memory.add(known.session, "assistant", answer, summarise=False)
                self.memory.catch_up_later(known.session)
            session = replace(session, memory=shown_terms(self.memory, known.session))
        return session

    def _measure(self, found: Understood, reply: QueryReply, warnings: list[str]) -> None:
        """Note the figures of a search of conversations, and of a turn that was remembered."""
        findings = found.findings
        if findings.conversations is not None:
            warnings += self.memory.store.take_warnings()
            noted = log_recall(
                self.memory.store,
                findings.conversations,
                surface=QUERY,
                budget_tokens=findings.budget_tokens,
                used_tokens=findings.used_tokens,
            )
            warnings += noted.notes[len(findings.conversations.notes) :]
        if reply.session is not None:
            with _warned(warnings, "not measured"):
                data = query_metric(reply, received=len(found.query.context or ()))
                self.memory.store.metrics.add(QUERY, data)


@contextmanager
def _warned(warnings: list[str], what: str) -> Iterator[None]:
    """Make a warning of a store that fails."""
    try:
        yield
    except StoreError as error:
        warnings.append(f"{what}: {error.message}")
