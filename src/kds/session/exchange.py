"""One message and its answer: the agents that serve it, one after the other.

Each sees the reply of the one before. What is halted or breaks off keeps what it had said; what
is left to do is kept as work in progress, so that "continue" takes it up."""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import Event, Lock
from time import perf_counter
from typing import Final

from kds.agents.agent import Agent
from kds.agents.models import ModelError
from kds.agents.reply import AgentReply
from kds.brain.clock import Clock, utc_now
from kds.brain.context.work import Halted, Offer, Work, WorkStore
from kds.brain.errors import KdsError, StoreError, WorkspaceError
from kds.brain.memory.memory import PromptMemory
from kds.brain.passages.details import AgentDetails, AnswerDetails, Fault, ToolCall
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.discourse.reply import closing_question, proposes
from kds.session.agent_runs import AgentDesk, AgentRun, Assignment, first_assignment, memory_for
from kds.session.memory import Said, SessionMemory
from kds.session.planning import AMNESIA, MAX_CHAIN, Course, TurnPlan


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one message.

    ``text`` is what the user reads: the replies one after the other; a question; or, where no
    model answers, the rendered prompt. ``question`` is set when KDS waits for an answer: to
    choose what was meant, or to confirm. ``notes`` say what else happened.
    """

    turn: Turn
    replies: tuple[AgentReply, ...] = ()
    text: str = ""
    question: str | None = None
    handoffs: tuple[Offer, ...] = ()
    """Agents that may go on with the work; `Session.hand_over` takes the first, and so does
    "go ahead" unless there is a `proposal`."""
    notes: tuple[str, ...] = ()
    halted: bool = False
    """Whether a correction or the user stopped this answer: the last reply is only a beginning."""
    stopped: Halted | None = None
    """What this message halted, if it was a correction."""
    error: KdsError | None = None
    """Why the last agent has no (whole) reply; its message is kept, and can be asked again."""
    session: str | None = None
    """Under which id the conversation is remembered; None: the memory is off."""

    @property
    def answered(self) -> bool:
        """Whether every agent that was asked has answered, by a model."""
        return bool(self.replies) and all(reply.answered for reply in self.replies)

    @property
    def proposal(self) -> str:
        """What the last reply proposes at its end, which "yes" or "go ahead" takes; else ""."""
        if not self.replies or not self.replies[-1].answered:
            return ""
        asked = closing_question(self.replies[-1].text)
        return asked if proposes(asked) else ""

    def as_dict(self) -> Mapping[str, object]:
        """The answer as JSON values, as `kds ask --json` prints it."""
        return {
            "turn": dict(self.turn.as_dict()),
            "text": self.text,
            "question": self.question,
            "answered": self.answered,
            "replies": [_reply(reply) for reply in self.replies],
            "handoffs": [
                {"intent": one.intent, "agent": one.agent, "reason": one.reason}
                for one in self.handoffs
            ],
            "halted": self.halted,
            "stopped": None if self.stopped is None else {
                "agents": list(self.stopped.agents), "dropped": list(self.stopped.dropped),
            },
            "notes": list(self.notes),
            "error": None if self.error is None else {
                "message": self.error.message, "where": self.error.where, "hint": self.error.hint,
            },
            "session": self.session,
        }  # fmt: skip


def _reply(reply: AgentReply) -> dict[str, object]:
    """A reply without its turn, which is that of the answer but for what `intent` says."""
    return {key: value for key, value in reply.as_dict().items() if key != "turn"}


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What a confirmed AMNESIA does: forget what is remembered of the application, after a backup.

    Its methods raise StoreError when files cannot be used: then everything is as before.
    """

    workspace: Workspace
    memory: SessionMemory
    clock: Clock = utc_now

    def preview(self) -> str:
        """What would be forgotten and what would stay, for the question."""
        from kds.forget import survey  # few sessions forget

        found = survey(self.workspace)
        goes = _listed(found.items or ["nothing is remembered"])
        heading = f"Forgotten in {self.workspace.root}, after a backup:"
        return "\n".join((heading, *goes, "It leaves alone:", *_listed(found.stays)))

    def forget(self) -> str:
        """Do it, and say what was done."""
        from kds.forget import forget

        self.memory.begin_anew()
        report = forget(self.workspace, clock=self.clock)
        if report.backup is None:
            return "There was nothing to forget."
        restore = "`kds forget --restore` brings it back."
        items = _listed(report.forgotten.items)
        return "\n".join(("Forgotten:", *items, f"Backup: {report.backup}", restore))


def _listed(lines: Iterable[object]) -> list[str]:
    return [f"- {line}" for line in lines]


BETWEEN: Final = "\n\n"
"""Between the replies of two agents, and before a question."""


@dataclass(frozen=True, slots=True)
class ExchangeResult:
    """The replies to one message, and what they lead to."""

    replies: tuple[AgentReply, ...] = ()
    chain: tuple[str, ...] = ()
    """Intents that served this piece of work."""
    offers: tuple[Offer, ...] = ()
    notes: tuple[str, ...] = ()
    question: str | None = None
    error: KdsError | None = None
    forgot: bool = False
    """Whether nothing of it is to be remembered: AMNESIA was served."""

    @property
    def said(self) -> str:
        """What agents have answered."""
        return BETWEEN.join(reply.text for reply in self.replies if reply.answered)

    def noted(self, *notes: str) -> "ExchangeResult":
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def replied(self, reply: AgentReply, course: Course) -> "ExchangeResult":
        """The same with the whole reply of an agent, and where that leads."""
        error = None
        if reply.answered and not (reply.text.strip() or reply.handoffs or reply.data):
            # No answer at all: the same as a model that fails, and it can be asked again.
            hint = "try again, or another model"
            error = ModelError(f"{reply.model} gave no text", kind="garbage", hint=hint)
            reply = replace(reply, text=reply.prompt, answered=False)
        return replace(
            self.noted(*(f"{reply.agent}: {note}" for note in reply.notes)),
            replies=(*self.replies, reply),
            offers=course.offers(self.chain[-1], reply),
            error=error,
        )

    def broken_off(self, run: AgentRun, turn: Turn) -> "ExchangeResult":
        """The same with what there is of a reply that did not come to its end."""
        note = f"{run.agent}: {run.error.message}" if run.error else f"halted: {run.agent}"
        text = run.text if run.text.strip() else turn.prompt
        reply = AgentReply(run.agent, turn.intent, text, turn.prompt, turn, notes=(note,))
        return replace(self.noted(note), replies=(*self.replies, reply), error=run.error)

    def next_offer(self, course: Course) -> Offer | None:
        """The agent that takes over by itself, when the work is to be followed."""
        offer = course.next_offer(self.chain[-1], self.offers, self.chain)
        if offer is None or len(self.chain) >= MAX_CHAIN or course.must_confirm(offer.intent):
            return None
        return offer

    def as_answer(
        self, opening: TurnPlan, course: Course, *, halted: bool, session: str | None
    ) -> Answer:
        """All of it, for the user."""
        says = self.question or ("" if opening.legs else opening.says)
        texts = (*(reply.text for reply in self.replies), says)
        return Answer(
            turn=opening.turn,
            replies=self.replies,
            text=BETWEEN.join(filter(None, texts)),
            question=self.question,
            handoffs=() if self.error or halted else self._next_first(course),
            notes=tuple(dict.fromkeys(self.notes)),
            halted=halted,
            stopped=opening.stopped,
            error=self.error,
            session=session,
        )

    def _next_first(self, course: Course) -> tuple[Offer, ...]:
        if not self.replies:
            return self.offers
        first = course.next_offer(self.replies[-1].intent, self.offers, self.chain)
        others = tuple(one for one in self.offers if one != first)
        return self.offers if first is None else (first, *others)


HALTED: Final = "[halted]"
BROKEN_OFF: Final = "[broken off]"
"""Behind what is kept of a reply that has no end."""


@dataclass(frozen=True, slots=True)
class ExchangeDeps:
    """With what the messages of one conversation are served."""

    desk: AgentDesk
    course: Course
    memory: SessionMemory
    work: WorkStore
    forgetting: Forgetting
    conversation: str | None = None


class Exchange:
    """Serves one opening. `pieces` once; `halt` from any thread at any time."""

    def __init__(self, opening: TurnPlan, deps: ExchangeDeps, *, follow: bool = False) -> None:
        self.id = uuid.uuid4().hex
        self.turn = opening.turn
        """What the router made of the message, known before anybody answers."""
        self.said = opening.said
        """What the user said, which need not be the message of ``turn``: "yes"."""
        self._opening = opening
        self._deps = deps
        self._follow = follow
        self._result = ExchangeResult(chain=opening.chain, notes=opening.notes)
        self._halted = Event()
        self._over = Event()
        self._lock = Lock()
        self._run: AgentRun | None = None
        self._known = PromptMemory()
        self._begun_at = perf_counter()
        self._keep = deps.memory.answered_by()

    def pieces(self) -> Iterator[str | Answer]:
        """Yield the answer as it comes, and at last the whole of it."""
        opening, deps = self._opening, self._deps
        try:
            yield from self._serve()
            self._note(*deps.memory.take_notes())
            self._over.set()
            yield self._result.as_answer(
                opening, deps.course, halted=self._halted.is_set(), session=deps.memory.session
            )
        finally:
            if not self._over.is_set():  # a caller that leaves early halts what runs
                self.halt()
                self._change(lambda now: now.idle() if now.exchange == self.id else now)
            if not self._result.forgot:
                self._keep(opening.turn, self._details())
                deps.memory.close_turn(opening.turn, self._result.said, deps.conversation)
                if self._result.error is None:  # a model that fails would not summarise either
                    deps.memory.condense()

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
            self._result = replace(self._result, question=asked)
            self._deps.memory.reply(opening.says)
            yield opening.says
            return
        self._change(self._begun)
        turn, legs, confirmed = opening.turn, opening.legs, opening.confirmed
        while legs and not self._halted.is_set():
            intent, *rest = legs
            if self._result.replies:
                yield BETWEEN
                turn = self._deps.course.turn_for(turn, intent, rest)
            if self._deps.course.must_confirm(intent) and not confirmed:
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
            session=self._deps.memory.session,
        )

    def _serve_one(self, turn: Turn, intent: str) -> Iterator[str]:
        self._result = replace(self._result, chain=(*self._result.chain, intent))
        if intent == AMNESIA:
            yield from self._amnesia(turn)
            return
        first = None if self._result.replies else self._opening.agent
        run = self._start(turn, first or self._deps.course.agent(intent))
        if run is None:
            return
        yield from run
        if run.reply is None:
            self._result = self._result.broken_off(run, turn)
            if run.outcome == "failed":
                self._keep_part(run, BROKEN_OFF)
            return
        if not run.text and run.reply.text:
            yield run.reply.text
        self._result = self._result.replied(run.reply, self._deps.course)
        reply = self._result.replies[-1]
        if reply.answered:
            self._deps.memory.reply(reply.text, agent=reply.agent)

    def _details(self) -> AnswerDetails:
        """How it was answered, as it is kept: without what can be found elsewhere."""
        result, known = self._result, self._known
        error, last = result.error, result.replies[-1:]
        return AnswerDetails(
            agents=tuple(_agent_details(reply, self._opening.turn) for reply in result.replies),
            notes=tuple(dict.fromkeys(result.notes)),
            error=None if error is None else Fault(error.message, error.where, error.hint),
            halted=self._halted.is_set(),
            proposal=any(one.answered and proposes(closing_question(one.text)) for one in last),
            profile=known.profile,
            quotes=self._deps.memory.quotes(known.passages),
            ms=(perf_counter() - self._begun_at) * 1000,
        )

    def _start(self, turn: Turn, agent: Agent) -> AgentRun | None:
        assignment = self._assignment(turn, agent)
        with self._lock:
            if self._halted.is_set():
                return None
            self._run = self._deps.desk.start(assignment)
            return self._run

    def _assignment(self, turn: Turn, agent: Agent) -> Assignment:
        assignment = self._assigned(turn, agent)
        known, added = self._known, assignment.memory
        self._known = PromptMemory(
            tuple(dict.fromkeys((*known.profile, *added.profile))),
            tuple(dict.fromkeys((*known.passages, *added.passages))),
        )
        return assignment

    def _assigned(self, turn: Turn, agent: Agent) -> Assignment:
        opening, memory = self._opening, self._deps.memory
        if not self._result.replies:
            return replace(first_assignment(opening, agent, memory), turn=turn)
        before = self._result.replies[-1]
        said = Said("assistant", before.text, before.agent) if before.answered else None
        earlier = memory.earlier("")
        known = memory_for(agent, turn, memory, earlier)
        return Assignment(
            agent, turn, earlier=earlier, memory=known, before=said, asked=opening.said
        )

    def _keep_part(self, run: AgentRun, why: str) -> None:
        if run.text.strip():
            self._deps.memory.reply(f"{run.text.rstrip()}{BETWEEN}{why}", agent=run.agent)

    def _amnesia(self, turn: Turn) -> Iterator[str]:
        """Forget. No model is asked: what is deleted is for KDS to say."""
        try:
            text = self._deps.forgetting.forget()
        except KdsError as error:
            failed = self._result.noted(f"{turn.agent}: {error.message}")
            self._result = replace(failed, error=error)
            return
        self._result = replace(self._result, forgot=True)
        yield text
        reply = AgentReply(turn.agent or "", AMNESIA, text, turn.prompt, turn, answered=True)
        self._result = replace(self._result, replies=(*self._result.replies, reply))

    def _ask_first(self, turn: Turn, intent: str, rest: tuple[str, ...]) -> str:
        """Keep what waits for a yes, and return the question. Raises StoreError."""
        deps = self._deps
        detail = deps.forgetting.preview() if intent == AMNESIA else ""
        question = deps.course.question(intent, turn, detail)
        chain = self._result.chain
        deps.work.change(
            lambda now: replace(
                now, turn=_kept(turn), confirm=intent, rest=rest, offers=(), chain=chain,
                exchange=self.id,
            )
        )  # fmt: skip
        deps.memory.reply(question)
        self._result = replace(self._result, question=question, offers=())
        return question

    def _next_legs(self, legs: tuple[str, ...]) -> tuple[str, ...]:
        """What is still to serve, when the agent of the first of ``legs`` is done; noted, too."""
        failed = self._result.error is not None
        rest = legs if failed else legs[1:]  # "continue" asks again
        self._progress(rest)
        if failed or self._halted.is_set():
            return ()
        return rest or (self._following() if self._follow else ())

    def _progress(self, rest: tuple[str, ...]) -> None:
        """Keep how far the work has come; halted when another process has dropped the rest."""
        served = self._result

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
        if not self._result.replies[-1].answered:
            self._note("nothing was handed over: there is no reply to hand on")
            return ()
        offer = self._result.next_offer(self._deps.course)
        return () if offer is None else (offer.intent,)

    def _change(self, edit: Callable[[Work], Work]) -> Work | None:
        """Change the work in progress; when that fails, the answer goes on, with a note."""
        try:
            return self._deps.work.change(edit).work
        except (StoreError, WorkspaceError) as error:
            self._note(f"what comes next is not kept: {error.message}")
            return None

    def _note(self, *notes: str) -> None:
        self._result = self._result.noted(*notes)


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
