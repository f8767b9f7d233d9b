"""One message and its answer: the agents that serve it, one after the other.

Each sees the reply of the one before. What is halted or breaks off keeps what it had said; what
is left to do is kept as work in progress, so that "continue" takes it up.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Final

from kds.agents.agent import Agent
from kds.agents.reply import AgentReply
from kds.brain.context.work import Work, WorkStore
from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.turn import Turn
from kds.session.answer import Answer
from kds.session.confirmed_amnesia import Forgetting
from kds.session.course import AMNESIA, Course
from kds.session.opening import Opening
from kds.session.run import AgentRun
from kds.session.served import BETWEEN, Served
from kds.session.serving_agents import AgentDesk, Assignment, first_assignment, memory_for
from kds.session.session_memory import Said, SessionMemory

HALTED: Final = "[halted]"
BROKEN_OFF: Final = "[broken off]"
"""Behind what is kept of a reply that has no end."""


@dataclass(frozen=True, slots=True)
class Means:
    """With what the messages of one conversation are served."""

    desk: AgentDesk
    course: Course
    memory: SessionMemory
    work: WorkStore
    forgetting: Forgetting
    conversation: str | None = None


class Exchange:
    """Serves one opening. `pieces` once; `halt` from any thread at any time."""

    def __init__(self, opening: Opening, means: Means, *, follow: bool = False) -> None:
        self.id = uuid.uuid4().hex
        self.turn = opening.turn
        """What the router made of the message, known before anybody answers."""
        self.said = opening.said
        """What the user said, which need not be the message of ``turn``: "yes"."""
        self._opening = opening
        self._means = means
        self._follow = follow
        self._served = Served(chain=opening.chain, notes=opening.notes)
        self._halted = Event()
        self._over = Event()
        self._lock = Lock()
        self._run: AgentRun | None = None

    def pieces(self) -> Iterator[str | Answer]:
        """Yield the answer as it comes, and at last the whole of it."""
        opening, means = self._opening, self._means
        try:
            yield from self._serve()
            served = self._served.noted(*means.memory.take_notes())
            self._over.set()
            yield served.as_answer(
                opening, means.course, halted=self._halted.is_set(), session=means.memory.session
            )
        finally:
            if not self._over.is_set():  # whoever leaves in the middle halts what runs
                self.halt()
                self._change(lambda now: now.idle() if now.exchange == self.id else now)
            if not self._served.forgot:
                means.memory.close_turn(opening.turn, self._served.said, means.conversation)
                if self._served.error is None:  # a model that fails would not summarise either
                    means.memory.condense()

    def halt(self) -> str | None:
        """Stop it; returns the name of the agent that was running, if one was.

        What the agent had said is remembered before this returns.
        """
        if self._over.is_set():
            return None
        with self._lock:
            self._halted.set()
            run = self._run
        if run is None or not run.halt():
            return None
        self._keep_part(run, HALTED)
        return run.agent

    def _serve(self) -> Iterator[str]:
        opening = self._opening
        if not opening.legs:
            asked = opening.says if opening.asks else None
            self._served = replace(self._served, question=asked)
            self._means.memory.reply(opening.says)
            yield opening.says
            return
        self._change(self._begun)
        turn, legs, confirmed = opening.turn, opening.legs, opening.confirmed
        while legs and not self._halted.is_set():
            intent, *rest = legs
            if self._served.replies:
                yield BETWEEN
                turn = self._means.course.turn_for(turn, intent, rest)
            if self._means.course.must_confirm(intent) and not confirmed:
                yield self._ask_first(turn, intent, tuple(rest))
                return
            confirmed = False
            yield from self._serve_one(turn, intent)
            legs = self._next_legs(legs)

    def _begun(self, now: Work) -> Work:
        """What is under way: nothing of the exchange before is, whatever was left."""
        opening = self._opening
        return replace(
            now.idle(),
            turn=_kept(opening.turn),
            exchange=self.id,
            rest=opening.legs[1:],
            chain=opening.chain,
            halted=opening.stopped or now.halted,
            session=self._means.memory.session,
        )

    def _serve_one(self, turn: Turn, intent: str) -> Iterator[str]:
        self._served = replace(self._served, chain=(*self._served.chain, intent))
        if intent == AMNESIA:
            yield from self._amnesia(turn)
            return
        run = self._start(turn, self._means.course.agent(intent))
        if run is None:
            return
        yield from run
        if run.reply is None:
            self._served = self._served.broken_off(run, turn)
            if run.outcome == "failed":
                self._keep_part(run, BROKEN_OFF)
            return
        if not run.text and run.reply.text:
            yield run.reply.text
        self._served = self._served.replied(run.reply, self._means.course)
        reply = self._served.replies[-1]
        if reply.answered:
            self._means.memory.reply(reply.text, agent=reply.agent)

    def _start(self, turn: Turn, agent: Agent) -> AgentRun | None:
        assignment = self._assignment(turn, agent)
        with self._lock:
            if self._halted.is_set():
                return None
            self._run = self._means.desk.start(assignment)
            return self._run

    def _assignment(self, turn: Turn, agent: Agent) -> Assignment:
        opening, memory = self._opening, self._means.memory
        if not self._served.replies:
            return replace(first_assignment(opening, agent, memory), turn=turn)
        before = self._served.replies[-1]
        said = Said("assistant", before.text, before.agent) if before.answered else None
        earlier = memory.earlier("")
        known = memory_for(agent, turn, memory, earlier)
        return Assignment(
            agent, turn, earlier=earlier, memory=known, before=said, asked=opening.said
        )

    def _keep_part(self, run: AgentRun, why: str) -> None:
        if run.text.strip():
            self._means.memory.reply(f"{run.text.rstrip()}{BETWEEN}{why}", agent=run.agent)

    def _amnesia(self, turn: Turn) -> Iterator[str]:
        """Forget. No model is asked: what is deleted is for KDS to say."""
        try:
            text = self._means.forgetting.forget()
        except KdsError as error:
            failed = self._served.noted(f"{turn.agent}: {error.message}")
            self._served = replace(failed, error=error)
            return
        self._served = replace(self._served, forgot=True)
        yield text
        reply = AgentReply(turn.agent or "", AMNESIA, text, turn.prompt, turn, answered=True)
        self._served = replace(self._served, replies=(*self._served.replies, reply))

    def _ask_first(self, turn: Turn, intent: str, rest: tuple[str, ...]) -> str:
        """Keep what waits for a yes, and return the question. Raises StoreError."""
        means = self._means
        detail = means.forgetting.preview() if intent == AMNESIA else ""
        question = means.course.question(intent, turn, detail)
        chain = self._served.chain
        means.work.change(
            lambda now: replace(
                now, turn=_kept(turn), confirm=intent, rest=rest, offers=(), chain=chain,
                exchange=self.id,
            )
        )  # fmt: skip
        means.memory.reply(question)
        self._served = replace(self._served, question=question, offers=())
        return question

    def _next_legs(self, legs: tuple[str, ...]) -> tuple[str, ...]:
        """What is still to serve, when the agent of the first of ``legs`` is done; noted, too."""
        failed = self._served.error is not None
        rest = legs if failed else legs[1:]  # "continue" asks again
        self._progress(rest)
        if failed or self._halted.is_set():
            return ()
        return rest or (self._following() if self._follow else ())

    def _progress(self, rest: tuple[str, ...]) -> None:
        """Keep how far the work has come; halted when another process has dropped the rest."""
        served = self._served

        def progress(now: Work) -> Work:
            if now.exchange != self.id or self._halted.is_set():
                return now
            return replace(now, rest=rest, chain=served.chain, offers=served.offers)

        before = self._change(progress)
        if before is not None and before.halted and before.halted.exchange == self.id:
            self._halted.set()
            self._note("halted from outside: what was left was dropped")

    def _following(self) -> tuple[str, ...]:
        """The agent that takes over by itself, if one does."""
        if not self._served.replies[-1].answered:
            self._note("nothing was handed over: there is no reply to hand on")
            return ()
        offer = self._served.next_offer(self._means.course)
        return () if offer is None else (offer.intent,)

    def _change(self, edit: Callable[[Work], Work]) -> Work | None:
        """Change the work in progress; when that fails, the answer goes on and says so."""
        try:
            return self._means.work.change(edit).work
        except (StoreError, WorkspaceError) as error:
            self._note(f"what comes next is not kept: {error.message}")
            return None

    def _note(self, note: str) -> None:
        self._served = self._served.noted(note)


def _kept(turn: Turn) -> Turn:
    """A turn as it is kept with the work: what can be made anew is not."""
    return replace(turn, prompt="", records=())
