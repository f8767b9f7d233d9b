"""One message and its answer: the agents that serve it, one after the other.

Each sees the reply of the one before. What is halted or breaks off keeps what it had said; what
is left to do is kept as work in progress, so that "continue" takes it up.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Event, Lock
from typing import Final

from kds.agents.agent import Agent
from kds.agents.model_error import ModelError
from kds.agents.reply import AgentReply
from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.turn import Turn
from kds.brain.work import Offer, Work, WorkStore
from kds.session.agents import AgentDesk, Assignment, first_assignment
from kds.session.answer import Answer
from kds.session.course import AMNESIA, MAX_CHAIN, Course
from kds.session.forgetting import Forgetting
from kds.session.memory import Said, SessionMemory
from kds.session.opening import Opening
from kds.session.run import AgentRun

HALTED: Final = "[halted]"
BROKEN_OFF: Final = "[broken off]"
"""Behind what is kept of a reply that has no end."""

BETWEEN: Final = "\n\n"
"""Between the replies of two agents, and before a question."""


class Exchange:
    """Serves one opening. `pieces` once; `halt` from any thread at any time."""

    def __init__(
        self,
        opening: Opening,
        *,
        desk: AgentDesk,
        course: Course,
        memory: SessionMemory,
        work: WorkStore,
        forgetting: Forgetting,
        conversation: str | None = None,
        follow: bool = False,
    ) -> None:
        self.id = uuid.uuid4().hex
        self._opening = opening
        self._desk = desk
        self._course = course
        self._memory = memory
        self._work = work
        self._forgetting = forgetting
        self._conversation = conversation
        self._follow = follow
        self._halted = Event()
        self._over = Event()
        self._lock = Lock()
        self._run: AgentRun | None = None
        self._replies: list[AgentReply] = []
        self._notes: list[str] = [*opening.notes]
        self._chain: list[str] = [*opening.chain]
        self._offers: tuple[Offer, ...] = ()
        self._question: str | None = None
        self._error: KdsError | None = None
        self._forgot = False

    def pieces(self) -> Iterator[str | Answer]:
        """Yield the answer as it comes, and at last the whole of it."""
        try:
            yield from self._serve()
            answer = self._answer()
            self._over.set()
            yield answer
        finally:
            if not self._over.is_set():  # whoever leaves in the middle halts what runs
                self.halt()
                self._change(lambda now: now.idle() if now.exchange == self.id else now)
            if not self._forgot:
                self._memory.close_turn(self._opening.turn, self._said(), self._conversation)

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
        if run.text.strip():
            self._memory.reply(f"{run.text.rstrip()}{BETWEEN}{HALTED}", agent=run.agent)
        return run.agent

    def _serve(self) -> Iterator[str]:
        opening = self._opening
        if not opening.legs:
            self._question = opening.says if opening.asks else None
            self._memory.reply(opening.says)
            yield opening.says
            return
        self._begin()
        turn, legs, confirmed = opening.turn, list(opening.legs), opening.confirmed
        while legs and not self._halted.is_set():
            intent = legs.pop(0)
            if self._replies:
                yield BETWEEN
                turn = self._course.turn_for(turn, intent, legs)
            if self._course.must_confirm(intent) and not confirmed:
                yield self._ask_first(turn, intent, legs)
                return
            confirmed = False
            yield from self._serve_one(turn, intent)
            if self._error:  # "continue" asks again
                legs.insert(0, intent)
            if not self._goes_on(legs) or self._error or self._halted.is_set():
                return
            if not legs and self._follow and (following := self._following(intent)):
                legs.append(following.intent)

    def _begin(self) -> None:
        """Note what is under way: nothing of the exchange before is, whatever was left."""
        opening = self._opening
        kept = replace(opening.turn, prompt="", records=())

        def begun(now: Work) -> Work:
            return replace(
                now.idle(),
                turn=kept,
                exchange=self.id,
                rest=opening.legs[1:],
                chain=opening.chain,
                halted=opening.stopped or now.halted,
                session=self._memory.session,
            )

        self._change(begun)

    def _serve_one(self, turn: Turn, intent: str) -> Iterator[str]:
        self._chain.append(intent)
        if intent == AMNESIA:
            yield from self._amnesia(turn)
            return
        run = self._start(turn, intent)
        if run is None:
            return
        yield from run
        if run.reply is not None:
            if not run.text and run.reply.text:
                yield run.reply.text
            self._finish(intent, run.reply)
        else:
            self._break_off(run, turn)

    def _start(self, turn: Turn, intent: str) -> AgentRun | None:
        assignment = self._assignment(turn, self._course.agent(intent))
        with self._lock:
            if self._halted.is_set():
                return None
            self._run = self._desk.start(assignment)
            return self._run

    def _assignment(self, turn: Turn, agent: Agent) -> Assignment:
        if not self._replies:
            return replace(first_assignment(self._opening, agent, self._memory), turn=turn)
        before = self._replies[-1]
        said = Said("assistant", before.text, before.agent) if before.answered else None
        return Assignment(
            agent, turn, earlier=self._memory.earlier(""), before=said, asked=self._opening.said
        )

    def _finish(self, intent: str, reply: AgentReply) -> None:
        if reply.answered and not (reply.text.strip() or reply.handoffs or reply.data):
            # No answer at all: the same as a model that fails, and it can be asked again.
            self._error = ModelError(
                f"{reply.model} gave no text", kind="garbage", hint="try again, or another model"
            )
            reply = replace(reply, text=reply.prompt, answered=False)
        if reply.answered:
            self._memory.reply(reply.text, agent=reply.agent)
        self._replies.append(reply)
        self._notes += [f"{reply.agent}: {note}" for note in reply.notes]
        self._offers = self._course.offers(intent, reply)

    def _break_off(self, run: AgentRun, turn: Turn) -> None:
        """Keep what there is of a reply that did not come to its end."""
        self._error = run.error
        why = HALTED if run.outcome == "halted" else BROKEN_OFF
        said = run.text.strip()
        if said and run.outcome == "failed":
            self._memory.reply(f"{run.text.rstrip()}{BETWEEN}{why}", agent=run.agent)
        note = f"halted: {run.agent}" if run.error is None else f"{run.agent}: {run.error.message}"
        self._notes.append(note)
        self._replies.append(
            AgentReply(
                agent=run.agent,
                intent=turn.intent,
                text=run.text if said else turn.prompt,
                prompt=turn.prompt,
                turn=turn,
                notes=(note,),
            )
        )

    def _amnesia(self, turn: Turn) -> Iterator[str]:
        """Forget. No model is asked: what is deleted is for KDS to say."""
        try:
            text = self._forgetting.forget()
            self._forgot = True
        except KdsError as error:
            self._error = error
            self._notes.append(f"{turn.agent}: {error.message}")
            return
        yield text
        reply = AgentReply(
            agent=turn.agent or "", intent=AMNESIA, text=text, prompt=turn.prompt, turn=turn,
            answered=True,
        )  # fmt: skip
        self._replies.append(reply)

    def _ask_first(self, turn: Turn, intent: str, legs: Sequence[str]) -> str:
        """Keep what waits for a yes, and return the question. Raises StoreError."""
        detail = self._forgetting.preview() if intent == AMNESIA else ""
        question = self._course.question(intent, turn, detail)
        kept = replace(turn, prompt="", records=())

        def pending(now: Work) -> Work:
            return replace(
                now, turn=kept, confirm=intent, rest=tuple(legs), offers=(),
                chain=tuple(self._chain), exchange=self.id,
            )  # fmt: skip

        self._work.change(pending)
        self._memory.reply(question)
        self._question, self._offers = question, ()
        return question

    def _goes_on(self, legs: Sequence[str]) -> bool:
        """Note that an agent is done; False when another process has halted the rest."""
        done = tuple(self._chain)

        def progress(now: Work) -> Work:
            if now.exchange != self.id or self._halted.is_set():
                return now
            return replace(now, rest=tuple(legs), chain=done, offers=self._offers)

        before = self._change(progress)
        if before is None or before.halted is None or before.halted.exchange != self.id:
            return True
        self._halted.set()
        self._notes.append("halted from outside: what was left was dropped")
        return False

    def _following(self, intent: str) -> Offer | None:
        """The agent that takes over by itself, when the work is to be followed."""
        if not self._replies[-1].answered:
            self._notes.append("nothing was handed over: there is no reply to hand on")
            return None
        offer = self._course.next_offer(intent, self._offers, self._chain)
        if offer is None or len(self._chain) >= MAX_CHAIN:
            return None
        return None if self._course.must_confirm(offer.intent) else offer

    def _change(self, edit: Callable[[Work], Work]) -> Work | None:
        """Change the work in progress; when that fails, the answer goes on and says so."""
        try:
            return self._work.change(edit).work
        except (StoreError, WorkspaceError) as error:
            self._notes.append(f"what comes next is not kept: {error.message}")
            return None

    def _said(self) -> str:
        return BETWEEN.join(reply.text for reply in self._replies if reply.answered)

    def _answer(self) -> Answer:
        opening = self._opening
        texts = [reply.text for reply in self._replies]
        said = self._question if self._question else ("" if opening.legs else opening.says)
        self._notes += [*self._memory.take_notes()]
        with suppress(IndexError):
            self._offers = self._next_first(self._replies[-1].intent)
        return Answer(
            turn=opening.turn,
            replies=tuple(self._replies),
            text=BETWEEN.join(filter(None, (*texts, said))),
            question=self._question,
            handoffs=() if self._error or self._halted.is_set() else self._offers,
            notes=tuple(dict.fromkeys(self._notes)),
            halted=self._halted.is_set(),
            stopped=opening.stopped,
            error=self._error,
            session=self._memory.session,
        )

    def _next_first(self, intent: str) -> tuple[Offer, ...]:
        first = self._course.next_offer(intent, self._offers, self._chain)
        others = tuple(one for one in self._offers if one != first)
        return self._offers if first is None else (first, *others)
