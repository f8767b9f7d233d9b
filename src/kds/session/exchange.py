"""One message and its answer: the agents that serve it, one after the other.

Each sees the reply of the one before. What is halted or breaks off keeps what it had said; what
is left to do is kept as work in progress, so that "continue" takes it up."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event, Lock
from time import perf_counter
from typing import Final

from kds.agents.agent import AgentReply
from kds.agents.models import ModelError
from kds.brain.context.work import Offer, Work
from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.memory.memory import PromptMemory
from kds.brain.passages.details import AgentDetails, AnswerDetails, ToolCall
from kds.brain.turn import Turn
from kds.session.agent_runs import AgentDesk, AgentRun, Assignment
from kds.session.answers import Answer, fault_of, proposal_of
from kds.session.planning import AMNESIA, TurnPlan, TurnPlanner

MAX_CHAIN: Final = 5
"""Agents that serve one message without the user saying anything: PLAN, EXECUTE, TEST and two
more of a project's own."""

BETWEEN: Final = "\n\n"
"""Between the replies of two agents, and before a question."""

HALTED: Final = "[halted]"
BROKEN_OFF: Final = "[broken off]"
"""Behind what is kept of a reply that has no end."""


class Exchange:
    """Serves one plan. `pieces` once; `halt` from any thread at any time."""

    def __init__(
        self, plan: TurnPlan, planner: TurnPlanner, desk: AgentDesk, *, follow: bool = False
    ) -> None:
        self.id = uuid.uuid4().hex
        self.turn = plan.turn
        """What the router made of the message, known before anybody answers."""
        self.said = plan.said
        """What the user said, which need not be the message of ``turn``: "yes"."""
        self._plan, self._planner, self._desk, self._follow = plan, planner, desk, follow
        self._memory = planner.memory
        self._keep = planner.memory.answered_by()
        self._begun_at = perf_counter()
        self._replies: tuple[AgentReply, ...] = ()
        self._chain = plan.chain
        self._offers: tuple[Offer, ...] = ()
        self._notes = list(plan.notes)
        self._question: str | None = None
        self._error: KdsError | None = None
        self._forgot = False
        self._told: list[PromptMemory] = []
        """What the memory told the agents."""
        self._halted, self._over, self._lock = Event(), Event(), Lock()
        self._run: AgentRun | None = None

    def pieces(self) -> Iterator[str | Answer]:
        """Yield the answer as it comes, and at last the whole of it."""
        turn, memory = self._plan.turn, self._memory
        try:
            yield from self._serve()
            self._notes += memory.take_notes()
            self._over.set()
            yield self._answer()
        finally:
            if not self._over.is_set():  # a caller that leaves early halts what runs
                self.halt()
                self._change(lambda now: now.idle() if now.exchange == self.id else now)
            if not self._forgot:
                said = BETWEEN.join(reply.text for reply in self._replies if reply.answered)
                self._keep(turn, self._details())
                memory.close_turn(turn, said, self._planner.conversation)
                if self._error is None:  # a model that fails would not summarise either
                    memory.condense()

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
        plan, planner = self._plan, self._planner
        if not plan.legs:
            self._question = plan.says if plan.asks else None
            self._memory.reply(plan.says)
            yield plan.says
            return
        self._change(lambda now: replace(
            now.idle(), turn=_kept(plan.turn), exchange=self.id, rest=plan.legs[1:],
            chain=(*plan.chain, plan.legs[0]),  # a process that is killed can be asked again
            halted=plan.stopped or now.halted, session=self._memory.session,
        ))  # fmt: skip
        turn, legs, confirmed = plan.turn, plan.legs, plan.confirmed
        while legs and not self._halted.is_set():
            intent, rest = legs[0], legs[1:]
            if self._replies:
                yield BETWEEN
                turn = planner.turn_for(turn, intent, rest)
            if planner.must_confirm(intent) and not confirmed:
                yield self._ask_first(turn, intent, rest)
                return
            confirmed = False
            self._chain = (*self._chain, intent)
            yield from self._forget(turn) if intent == AMNESIA else self._serve_one(turn, intent)
            legs = self._next_legs(legs)

    def _serve_one(self, turn: Turn, intent: str) -> Iterator[str]:
        """Have the agent of ``intent`` answer."""
        previous = self._replies[-1] if self._replies else None
        own = None if previous else self._plan.agent
        agent = own or self._planner.agent(intent)
        assignment = Assignment.of(self._plan, turn, agent, self._memory, previous)
        self._told.append(assignment.memory)
        with self._lock:
            if self._halted.is_set():
                return
            run = self._run = self._desk.start(assignment)
        yield from run
        if run.reply is None:
            note = f"{run.agent}: {run.error.message}" if run.error else f"halted: {run.agent}"
            text = run.text if run.text.strip() else turn.prompt
            reply = AgentReply(run.agent, turn.intent, text, turn.prompt, turn, notes=(note,))
            self._notes.append(note)
            self._replies, self._error = (*self._replies, reply), run.error
            if run.outcome == "failed":
                self._keep_part(run, BROKEN_OFF)
            return
        reply = run.reply
        if not run.text and reply.text:
            yield reply.text
        if reply.answered and not (reply.text.strip() or reply.handoffs or reply.data):
            # No answer at all: the same as a model that fails, and it can be asked again.
            hint = "try again, or another model"
            self._error = ModelError(f"{reply.model} gave no text", kind="garbage", hint=hint)
            reply = replace(reply, text=reply.prompt, answered=False)
        self._notes += [f"{reply.agent}: {note}" for note in reply.notes]
        self._replies = (*self._replies, reply)
        self._offers = self._planner.offers(intent, reply)
        if reply.answered:
            self._memory.reply(reply.text, agent=reply.agent)

    def _forget(self, turn: Turn) -> Iterator[str]:
        """Forget, after a backup. No model is asked: what is deleted is for KDS to say."""
        from kds.forget import forget  # few sessions forget

        try:
            self._memory.begin_anew()
            report = forget(self._planner.conversations.workspace, clock=self._memory.clock)
        except KdsError as error:  # then everything is as before
            self._notes.append(f"{turn.agent}: {error.message}")
            self._error = error
            return
        self._forgot = True
        text = "There was nothing to forget."
        if report.backup is not None:
            restore = "`kds forget --restore` brings it back."
            items = (f"- {item}" for item in report.forgotten.items)
            text = "\n".join(("Forgotten:", *items, f"Backup: {report.backup}", restore))
        yield text
        reply = AgentReply(turn.agent or "", AMNESIA, text, turn.prompt, turn, answered=True)
        self._replies = (*self._replies, reply)

    def _ask_first(self, turn: Turn, intent: str, rest: tuple[str, ...]) -> str:
        """Keep what waits for a yes, and return the question. Raises StoreError."""
        detail = ""
        if intent == AMNESIA:
            from kds.forget import survey  # few sessions forget

            workspace = self._planner.conversations.workspace
            found = survey(workspace)
            goes = (f"- {item}" for item in found.items or ["nothing is remembered"])
            heading = f"Forgotten in {workspace.root}, after a backup:"
            stays = (f"- {item}" for item in found.stays)
            detail = "\n".join((heading, *goes, "It leaves alone:", *stays))
        self._question = self._planner.question(intent, turn, detail)
        self._offers = ()
        self._planner.work.change(lambda now: replace(
            now, turn=_kept(turn), confirm=intent, rest=rest, offers=(), chain=self._chain,
            exchange=self.id,
        ))  # fmt: skip
        self._memory.reply(self._question)
        return self._question

    def _next_legs(self, legs: tuple[str, ...]) -> tuple[str, ...]:
        """What is still to serve, when the agent of the first of ``legs`` is done; kept, too.

        It is nothing when another process has dropped the rest.
        """
        rest = legs if self._error else legs[1:]  # "continue" asks again

        def progress(now: Work) -> Work:
            if now.exchange != self.id or self._halted.is_set():
                return now
            return replace(now, rest=rest, chain=self._chain, offers=self._offers)

        before = self._change(progress)
        if before is not None and before.halted and before.halted.exchange == self.id:
            self._halted.set()
            self._notes.append("halted from outside: what was left was dropped")
        if self._error or self._halted.is_set():
            return ()
        if rest or not self._follow:
            return rest
        if not self._replies[-1].answered:
            self._notes.append("nothing was handed over: there is no reply to hand on")
            return ()
        offer = self._planner.next_offer(self._offers, self._chain)
        if offer is None or len(self._chain) >= MAX_CHAIN:
            return ()
        return () if self._planner.must_confirm(offer.intent) else (offer.intent,)

    def _answer(self) -> Answer:
        plan, halted = self._plan, self._halted.is_set()
        says = self._question or ("" if plan.legs else plan.says)
        first = self._planner.next_offer(self._offers, self._chain)
        return Answer(
            turn=plan.turn,
            replies=self._replies,
            text=BETWEEN.join(filter(None, (*(one.text for one in self._replies), says))),
            question=self._question,
            handoffs=()
            if self._error or halted
            else tuple(sorted(self._offers, key=lambda one: one != first)),
            notes=tuple(dict.fromkeys(self._notes)),
            halted=halted,
            stopped=plan.stopped,
            error=self._error,
            session=self._memory.session,
        )

    def _details(self) -> AnswerDetails:
        """How it was answered, as it is kept: without what can be found elsewhere."""
        profile = (line for one in self._told for line in one.profile)
        passages = dict.fromkeys(passage for one in self._told for passage in one.passages)
        return AnswerDetails(
            agents=tuple(_agent_details(reply, self.turn) for reply in self._replies),
            notes=tuple(dict.fromkeys(self._notes)),
            error=fault_of(self._error),
            halted=self._halted.is_set(),
            proposal=bool(proposal_of(self._replies)),
            profile=tuple(dict.fromkeys(profile)),
            quotes=self._memory.quotes(passages),
            ms=(perf_counter() - self._begun_at) * 1000,
        )

    def _keep_part(self, run: AgentRun, why: str) -> None:
        if run.text.strip():
            self._memory.reply(f"{run.text.rstrip()}{BETWEEN}{why}", agent=run.agent)

    def _change(self, edit: Callable[[Work], Work]) -> Work | None:
        """Change the work in progress; when that fails, the answer goes on, with a note."""
        try:
            return self._planner.work.change(edit).work
        except (StoreError, WorkspaceError) as error:
            self._notes.append(f"what comes next is not kept: {error.message}")
            return None


def _agent_details(reply: AgentReply, turn: Turn) -> AgentDetails:
    tools = (
        ToolCall(one.name, json.dumps(one.arguments, default=str, ensure_ascii=False), one.failed)
        for one in reply.tools
    )
    prompt = "" if reply.answered or reply.turn.prompt == turn.prompt else reply.turn.prompt
    tokens = reply.usage.total_tokens if reply.usage else 0
    return AgentDetails(reply.agent, reply.answered, prompt, reply.model, tokens, tuple(tools))


def _kept(turn: Turn) -> Turn:
    """A turn as it is kept with the work: what can be made anew is not."""
    return replace(turn, prompt="", records=())
