"""`QueryService`: a question in, the passages that answer it out, in the light of what was said.

Where there is a model, the knowledge retriever answers from the passages; what it is told of them
is in `prompts/internal/passages-found.md`.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final, Self

from kds.agents.agent import Agent, AgentReply
from kds.agents.models import LazyModel
from kds.agents.prompting import cited, prompt_with, quoted, summarizer_of
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
from kds.query.models import EmbedderSlot, Speakers
from kds.query.reading import (
    Reader,
    Recollection,
    checked_session,
    known_before,
    recollect,
)
from kds.query.search import Library, Understood, find, warned
from kds.query.values import (
    QUERY,
    Chunk,
    Query,
    QueryReply,
    SessionTurn,
    citations_of,
    query_metric,
)
from kds.router.rewriting.writer import FindRewriter
from kds.transit.history import Message, transit

RETRIEVER: Final = "knowledge-retriever"
PASSAGES: Final = "passages-found"
"""Prompt files: of the agent that answers, and of what it is told of the passages."""

SECTIONS_KEPT: Final = 3
"""Passages whose sections and documents a session remembers of a turn."""

TERMS_SHOWN: Final = 10
"""Terms of a session that a reply names, the latest first."""

CLOSING_S: Final = 1.0
"""Seconds that a service which stops waits for a model to end a summary."""

MEMORY_OFF: Final = "the memory is switched off: nothing of the session is kept"
EARLIER_SETTINGS: Final = "wrong settings do not count"
NOTHING_FOUND: Final = "nothing was found to answer from: no model was asked"
EMPTY: Final = "the model answered with nothing"


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
        self._clock, self._team = clock, team
        tools = Tools(
            find_summarizer=lambda: summarizer_of(self._model, self._reader.parts.library),
            clock=clock,
            on_by_default=True,
            surface=QUERY,
        )
        self.memory = ConversationMemory.open(parts.workspace, tools, environ=environ)
        self.library = Library(parts.workspace, environ=environ, team=team)
        self.embedder = EmbedderSlot(lambda: model_name(self.settings.recall.embeddings))
        self.speakers = Speakers()
        """What waits for models, off the threads that others need."""
        self._lazy_model = LazyModel(self.settings.model)
        self.use(parts, rewriter=rewriter)

    @classmethod
    def open(cls, workspace: Workspace, *, clock: Clock = utc_now) -> Self:
        """Load rules, prompts and model of a workspace, without files that do not load."""
        parts = Parts.sound(workspace)
        return cls(LearnedParts(parts, LiveConfig(workspace)).now, clock=clock)

    def use(self, parts: Parts, *, rewriter: FindRewriter | None = None) -> None:
        """Use rules and prompts that were reloaded."""
        find = rewriter or RewriterSource(self.memory.config, parts.library)
        self._reader = Reader(parts, find)

    def ask(self, query: Query) -> QueryReply:
        """Do as `answered` does, in a thread without an event loop."""

        async def here(call: Callable[[], Understood | QueryReply]) -> Any:
            return call()

        return asyncio.run(self.answered(query, here))

    async def answered(
        self, query: Query, run: Callable[[Callable[[], Any]], Awaitable[Any]]
    ) -> QueryReply:
        """Do all that is to be done for a question; ``run`` runs what needs no model.

        Raises MessageError when the question, its session or its scope cannot be used. A store
        that fails is a warning of the reply, a model that fails its ``answer_error``.
        """
        found: Understood = await run(lambda: self.understand(query))
        read = await self.rewrite(found)
        found = await run(lambda: self.search(read))
        spoken = await self.answer(found)
        reply: QueryReply = await run(lambda: self.finish(spoken))
        return reply

    def understand(self, query: Query, *, remembers: bool = True) -> Understood:
        """Make the question self-contained by the rules; with a session, store it there first.

        With ``remembers=False`` nothing is stored, and no session begun. Raises MessageError.
        """
        query = replace(query, text=clean_message(query.text))
        if query.session is not None:
            checked_session(query.session)
        begun, warnings = Understood(query, Turn(query.text, self._clock())), list[str]()
        with begun.timed("session"):
            known = self._known(query, warnings, remembers=remembers)
        with begun.timed("rewriting"):
            messages = self._messages(query, known)
            turn, ask_model = self._reader.read(
                query.text,
                [Utterance(one.content, one.role) for one in messages],
                known_before(known.terms if known else (), messages),
                at=begun.turn.at,
                rewrites=self.memory.flags.enable_query_rewriting,
            )
        if not turn.english:
            warnings.append(NOT_ENGLISH)
        if not self._team and (fault := self.settings_fault):
            warnings.append(f"{EARLIER_SETTINGS}: {fault}")
        return replace(begun, turn=turn, known=known, ask_model=ask_model, warnings=tuple(warnings))

    async def rewrite(self, found: Understood) -> Understood:
        """Ask a model what the question means, where one may and the rules do not know.

        Off the event loop; the rules' reading stands when it takes too long.
        """
        if found.ask_model is None:
            return found
        with found.timed("model_rewriting"):
            try:
                turn = await self.speakers.run(
                    found.ask_model,
                    timeout_s=self.settings.rewriting.timeout_s,
                    setting="rewriting.timeout_s",
                )
                return replace(found, turn=turn, ask_model=None)
            except KdsError as error:
                warning = f"not rewritten by a model: {error.message}"
                return replace(found, ask_model=None, warnings=(*found.warnings, warning))

    def search(self, found: Understood) -> Understood:
        """Find the intent, and the passages that answer the question. Raises MessageError."""
        with found.timed("rewriting"):
            turn = self._reader.classify(found.turn)
        with found.timed("retrieval"):
            asked = replace(found, turn=turn)
            ready, now = self.embedder.ready, self._clock()
            return find(self.library, self.memory, ready, asked, now=now)

    async def answer(self, found: Understood) -> Understood:
        """Ask the model, if one is to be asked: off the event loop, within the model's timeout."""
        if not (found.chunks and self._wants_model(found.query)):
            return found
        with found.timed("answer"):
            try:
                reply = await self.speakers.run(
                    partial(self._spoken, found), timeout_s=self.settings.model.timeout_s
                )
            except KdsError as error:
                told = f"{error.message}; fix: {error.hint}" if error.hint else error.message
                return replace(found, answer_error=told, model=self._model.label)
        text = reply.text.strip()
        return replace(
            found, answer=text or None, answer_error=None if text else EMPTY, model=reply.model
        )

    def finish(self, found: Understood) -> QueryReply:
        """Remember what the question referred to and what was answered, and reply."""
        turn, chunks = found.turn, found.chunks
        warnings = [*found.warnings]
        with found.timed("memory"):
            session = self._remember(found, warnings)
        if not chunks and self._wants_model(found.query):
            warnings.append(NOTHING_FOUND)
        found.timings_ms["total"] = (perf_counter() - found.begun) * 1000.0
        reply = QueryReply(
            query=found.query.text,
            rewritten_query=turn.expanded,
            rewriting=found.rewriting,
            intent=turn.intent,
            chunks=chunks,
            citations=citations_of(chunks),
            answer=found.answer,
            answer_error=found.answer_error,
            model=found.model,
            session=session,
            timings_ms=found.timings_ms,
        )
        self._measure(found, reply, warnings)
        return replace(reply, warnings=tuple(dict.fromkeys(warnings)))

    def prompted(self, agent: Agent, found: Understood) -> Turn:
        """The turn as the model gets it: with the agent's prompt, a summary of what was said before
        and the last turns, the profile where there is consent, and the passages.

        Raises DispatchError.
        """
        query, known, memory = found.query, found.known, PromptMemory()
        history: tuple[Utterance, ...] = ()
        # Without the store the question is answered all the same, as one that stands alone.
        with suppress(StoreError):
            memory = self.memory.for_prompt(found.turn.expanded, passages=False)
            if query.context is not None:
                said = [(one.role, one.content) for one in self._messages(query, known)]
                history = self.memory.window_of(said, query.text).earlier()
            elif known is not None:
                history = self.memory.window(known.session, query.text).earlier()
        own, library = agent.taking(replace(found.turn, history=history)), agent.library
        chunks = found.chunks
        passages = [{"citation": cited(one.citation), "text": quoted(one.text)} for one in chunks]
        prompt = library.render(library.get(PASSAGES), {"passages": passages})
        return replace(own, prompt=f"{prompt_with(memory, own.prompt, library)}\n\n{prompt}")

    @property
    def settings(self) -> Settings:
        """As they are at this moment."""
        return self.memory.config.settings

    @property
    def settings_fault(self) -> str | None:
        """What is wrong with the settings as they are now; they do not count."""
        self.memory.config.current()
        problem = self.memory.config.problem
        return "; ".join(map(str.strip, str(problem).splitlines())) if problem else None

    def close(self) -> None:
        """Let go of the stores. Closing twice is fine."""
        self.memory.close(wait_s=CLOSING_S)
        self.library.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _model(self) -> LazyModel:
        """The model as it is set now, loaded once for each way in which it is set."""
        if self._lazy_model.settings != (settings := self.settings.model):
            self._lazy_model = LazyModel(settings)
        return self._lazy_model

    def _wants_model(self, query: Query) -> bool:
        return query.answer and bool(self._model)

    def _spoken(self, found: Understood) -> AgentReply:
        """What the model answers. Raises ModelError and DispatchError."""
        parts, model = self._reader.parts, self._model
        agent = Agent.named(RETRIEVER, parts.library, workspace=str(parts.workspace.root))
        speaker = agent.as_runnable(model.load(), timeout_s=model.settings.timeout_s)
        return speaker.invoke(self.prompted(agent, found))

    def _messages(self, query: Query, known: Recollection | None) -> tuple[Message, ...]:
        """What was said, within the contract: sent by the client, else remembered."""
        if query.context is not None:
            return tuple(transit(query.context, turns=self.memory.flags.history_max_turns))
        return known.messages if known else ()

    def _known(self, query: Query, warnings: list[str], *, remembers: bool) -> Recollection | None:
        """What the session remembers, the question stored in it; or None, and maybe why."""
        if query.session is None:
            return None
        if not self.memory.flags.enabled:
            warnings.append(MEMORY_OFF)
            return None
        if not (remembers or self.memory.exists):
            return None
        try:
            known = recollect(self.memory, query.session, begins=remembers)
            if known is not None and remembers:
                stored = self.memory.add(known.session, "user", query.text)
                warnings += self.memory.store.take_warnings()
                known = replace(known, asked=stored.id if stored else None)
            return known
        except StoreError as error:
            warnings.append(f"the session was not read: {error.message}")
            return None

    def _remember(self, found: Understood, warnings: list[str]) -> SessionTurn | None:
        """Store the answer, and what the question referred to; the session after that."""
        known, chunks = found.known, found.chunks
        if known is None:
            return None
        session = SessionTurn(known.session, known.turn, hit=found.hit)
        terms = self._reader.terms(found.turn)
        first = [one for one in chunks[:SECTIONS_KEPT] if one.source_path]
        documents = dict.fromkeys(one.source_path for one in first if one.source_path)
        sections = dict.fromkeys(one.section for one in first if one.section)
        with warned(warnings, "the turn was not remembered", StoreError):
            self.memory.remember_turn(
                known.session,
                terms,
                answer=found.answer or _passage_about(terms, chunks),
                documents=list(documents) or None,  # None leaves those of the turns before in place
                sections=list(sections) or None,
                fresh=found.turn.context_switch,
            )
            if found.answer:
                self.memory.add(known.session, "assistant", found.answer, summarise=False)
                self.memory.catch_up_later(known.session)
            terms = [one.term for one in self.memory.antecedents(known.session)]
            session = replace(session, memory=tuple(terms[::-1][:TERMS_SHOWN]))
        return session

    def _measure(self, found: Understood, reply: QueryReply, warnings: list[str]) -> None:
        """Note the figures of a search of conversations, and of a turn that was remembered."""
        if found.conversations is not None:
            warnings += self.memory.store.take_warnings()
            noted = log_recall(
                self.memory.store,
                found.conversations,
                surface=QUERY,
                budget_tokens=found.budget_tokens,
                used_tokens=found.used_tokens,
            )
            warnings += noted.notes[len(found.conversations.notes) :]
        if reply.session is not None:
            with warned(warnings, "not measured", StoreError):
                data = query_metric(reply, reply.session, received=len(found.query.context or ()))
                self.memory.store.metrics.add(QUERY, data)


def _passage_about(terms: Iterable[str], chunks: Iterable[Chunk]) -> str:
    """The first passage of a document for each of ``terms``; "" when one is named by none."""
    told = [one.text for one in chunks if one.origin == "document"]
    found = [
        next((text for text in told if term.casefold() in text.casefold()), "") for term in terms
    ]
    return "\n\n".join(dict.fromkeys(found)) if all(found) else ""
