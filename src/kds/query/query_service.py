"""`QueryService`: a question in, the passages that answer it out, in the light of what was said.

    with QueryService.open(Workspace.find()) as service:
        reply = service.ask(Query("And what happens if it falls on a weekend?", session="s1"))

A question is understood (rewritten so that it stands alone), searched for, answered where a
model is configured, and what it referred to is remembered. `ask` does all of that; who serves
many at once calls `understand`, `search` and `finish` on one thread, and between them `arewrite`
and `aanswer`, which wait for models.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Final, Self

from kds.api.rewriters import RewriterSource
from kds.api.workspace_parts import LearnedParts, Parts
from kds.brain.clock import Clock, utc_now
from kds.brain.config import LiveConfig
from kds.brain.errors import KdsError, StoreError
from kds.brain.memory.memory import ConversationMemory, PromptMemory, Tools
from kds.brain.message import clean_message
from kds.brain.settings import Settings
from kds.brain.turn import NOT_ENGLISH, Turn
from kds.brain.workspace import Workspace
from kds.query.document_library import Library
from kds.query.embedder import EmbedderSlot
from kds.query.keeper import Keeper
from kds.query.passage_answer import Answerer, Models, Spoken, told
from kds.query.passage_search import Search
from kds.query.question_history import known_before, said_before, within_contract
from kds.query.question_reading import Reader, Reading
from kds.query.recollection import Recollection, checked_session
from kds.query.speakers import Speakers
from kds.query.tally import Counter, Tally, timed
from kds.query.understood import Understood, rewriting_of
from kds.query.values import Query, QueryReply, citations_of
from kds.router.rewrite import FindRewriter

SURFACE: Final = "query"
"""The name of this surface in the memory's measurements."""

CLOSING_S: Final = 1.0
"""Seconds that a service which stops waits for a model to end a summary."""

EARLIER_SETTINGS: Final = "the settings are those before the last change"

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
    ) -> None:
        """``rewriter`` finds the model that rewrites; None: the one that the settings name."""
        self._clock = clock
        tools = Tools(
            find_summarizer=lambda: self._answerer.summarizer(),
            clock=clock,
            on_by_default=True,
            surface=SURFACE,
        )
        self.memory = ConversationMemory.open(parts.workspace, tools, environ=environ)
        self.library = Library(parts.workspace, environ=environ)
        self.embedder = EmbedderSlot(lambda: self._settings().recall.embeddings)
        self._models = Models()
        self.speakers = Speakers()
        """What waits for models, off the threads that others need."""
        self._search = Search(self.library, self.memory, self.embedder)
        self.use(parts)
        self._keeper = Keeper(self.memory)
        self._counter = Counter()

    @classmethod
    def open(cls, workspace: Workspace, *, clock: Clock = utc_now) -> Self:
        """Load rules, prompts and model of a workspace. Raises ConfigError."""
        parts = Parts.load(workspace, may_write=workspace.brain.is_dir())
        return cls(LearnedParts(parts, LiveConfig(workspace)).now, clock=clock)

    def use(self, parts: Parts, *, rewriter: FindRewriter | None = None) -> None:
        """Go on with rules and prompts that were read anew."""
        find = rewriter or RewriterSource(
            LiveConfig(parts.workspace), parts.library, parts.resolver
        )
        self._reader = Reader(parts, find)
        self._answerer = Answerer(
            parts.library,
            str(parts.workspace.root),
            lambda: self._settings().model,
            self._models,
        )

    def ask(self, query: Query) -> QueryReply:
        """Do all that is to be done for a question, on this thread.

        Raises MessageError when the question, its session or its scope cannot be used. A store
        that fails is a warning of the reply, a model that fails its ``answer_error``.
        """
        found = self.search(self.rewrite(self.understand(query)))
        return self.finish(found, self.answer(found))

    def understand(self, query: Query, *, remembers: bool = True) -> Understood:
        """Make the question self-contained by the rules; with a session, store it there first.

        With ``remembers=False`` nothing is stored, and no session begun. Raises MessageError.
        """
        begun = perf_counter()
        query = replace(query, text=clean_message(query.text))
        if query.session is not None:
            checked_session(query.session)
        timings: dict[str, float] = {}
        with timed(timings, "session"):
            known, warnings = self._keeper.known(query, remembers=remembers)
        with timed(timings, "rewriting"):
            reading = self._read(query, known)
        if not reading.turn.english:
            warnings = (*warnings, NOT_ENGLISH)
        if fault := self.settings_fault:
            warnings = (*warnings, f"{EARLIER_SETTINGS}: {fault}")
        return Understood(query, reading, known, timings, warnings, begun)

    def rewrite(self, understood: Understood) -> Understood:
        """Ask a model what the question means, where one may and the rules do not know."""
        if not understood.may_be_rewritten:
            return understood
        timings = dict(understood.timings_ms)
        with timed(timings, "model_rewriting"):
            turn = self._reader.ask_model(understood.reading)
        return replace(understood, reading=Reading(turn), timings_ms=timings)

    async def arewrite(self, understood: Understood) -> Understood:
        """The same, off the event loop; the rules' reading stands when that takes too long."""
        if not understood.may_be_rewritten:
            return understood
        try:
            return await self.speakers.run(
                lambda: self.rewrite(understood),
                timeout_s=self.rewriting_s,
                setting="rewriting.timeout_s",
            )
        except KdsError as error:
            warning = f"not rewritten by a model: {error.message}"
            return replace(understood, warnings=(*understood.warnings, warning))

    def search(self, understood: Understood) -> Understood:
        """Find the intent and the passages. Raises MessageError when the scope names nothing."""
        timings = dict(understood.timings_ms)
        with timed(timings, "rewriting"):
            reading = Reading(self._reader.classify(understood.turn))
        with timed(timings, "retrieval"):
            findings = self._search.run(
                understood.query, reading.turn, understood.known, now=self._clock()
            )
        return replace(understood, reading=reading, findings=findings, timings_ms=timings)

    def answer(self, found: Understood) -> Spoken | None:
        """Ask the model and wait for it; None when none is to be asked. Raises nothing."""
        if not self._asks(found):
            return None
        turn = self._with_window(found)
        return self._answerer.speak(turn, found.findings.chunks, self._about_user(found))

    async def aanswer(self, found: Understood) -> Spoken | None:
        """The same, off the event loop, and no longer than the model's timeout."""
        if not self._asks(found):
            return None
        answerer, started = self._answerer, perf_counter()
        memory, turn = self._about_user(found), self._with_window(found)
        try:
            return await self.speakers.run(
                lambda: answerer.speak(turn, found.findings.chunks, memory),
                timeout_s=answerer.timeout_s,
            )
        except KdsError as error:
            ms = (perf_counter() - started) * 1000.0
            return Spoken(error=told(error), model=answerer.label, ms=ms)

    def finish(self, found: Understood, spoken: Spoken | None = None) -> QueryReply:
        """Remember what the question referred to and what was answered, and reply."""
        said = spoken or Spoken()
        timings = dict(found.timings_ms)
        if spoken is not None:
            timings["answer"] = spoken.ms
        turn, chunks = found.turn, found.findings.chunks
        idle = () if chunks or not self._wants_model(found.query) else (NOTHING_FOUND,)
        with timed(timings, "memory"):
            session, warnings = self._keeper.remember(
                found, said.text, self._reader.terms(found.turn)
            )
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
            warnings=tuple(
                dict.fromkeys((*found.warnings, *found.findings.notes, *warnings, *idle))
            ),
        )
        return self._measured(reply, found)

    @property
    def rewriting_s(self) -> float:
        """Seconds that a model has to rewrite a question."""
        return self._settings().rewriting.timeout_s

    @property
    def settings_fault(self) -> str | None:
        """What is wrong with the settings as they are now; those before stay in use."""
        return self._keeper.settings_fault()

    @property
    def tally(self) -> Tally:
        """How many queries there were, and how long they took."""
        return self._counter.tally()

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

    def _asks(self, found: Understood) -> bool:
        return bool(found.findings.chunks) and self._wants_model(found.query)

    def _about_user(self, found: Understood) -> PromptMemory:
        """The profile, where there is consent; a memory that cannot be read says nothing."""
        try:
            return self.memory.for_prompt(found.turn.expanded, passages=False)
        except StoreError:
            return PromptMemory()

    def _with_window(self, found: Understood) -> Turn:
        """The turn as the model gets it: a summary of what was said before, and the last turns."""
        query, known = found.query, found.known
        try:
            if query.context is not None:
                said = within_contract(query.context, turns=self.memory.flags.history_max_turns)
                window = self.memory.window_of(
                    [(one.role, one.content) for one in said], query.text
                )
            elif known is not None:
                window = self.memory.window(known.session, query.text)
            else:
                return replace(found.turn, history=())
        except StoreError:  # the question is answered all the same, as one that stands alone
            return replace(found.turn, history=())
        return replace(found.turn, history=window.earlier())

    def _read(self, query: Query, known: Recollection | None) -> Reading:
        """What the question means after what was said: sent by the client, else remembered."""
        if query.context is not None:
            messages = within_contract(query.context, turns=self.memory.flags.history_max_turns)
        else:
            messages = known.messages if known else ()
        return self._reader.read(
            query.text,
            said_before(messages),
            known_before(known.terms if known else (), messages),
            at=self._clock(),
            rewrites=self.memory.flags.enable_query_rewriting,
        )

    def _measured(self, reply: QueryReply, found: Understood) -> QueryReply:
        self._counter.note(reply)
        if notes := self._keeper.note_recall(found.findings):
            reply = replace(reply, warnings=(*reply.warnings, *notes))
        if found.known is None or reply.session is None:
            return reply
        return self._keeper.measured(reply, received=len(found.query.context or ()))
