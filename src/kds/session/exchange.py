"""One message and its answer: the agents that serve it, one after the other.

Each sees the reply of the one before. What is halted or breaks off keeps what it had said; what
is left to do is kept as work in progress, so that "continue" takes it up."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import Event, RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from kds.agents.agent import Agent, AgentReply
from kds.agents.models import ModelError
from kds.agents.prompting import prompt_with
from kds.brain.context.work import Edit, Halted, Offer, Work
from kds.brain.errors import KdsError
from kds.brain.memory.memory import PromptMemory
from kds.brain.message import one_line
from kds.brain.passages.details import AgentDetails, AnswerDetails, Fault, ToolCall
from kds.brain.timeouts import Deadline
from kds.brain.turn import UNKNOWN, Turn, Utterance, plain
from kds.router.discourse.reply import closing_question, proposes
from kds.session.memory import Reply, SessionMemory
from kds.session.planning import Plan, must_confirm

if TYPE_CHECKING:
    from kds.session.session import Session

Speech = Iterator[str | AgentReply]
"""What an agent says: pieces of text as they come, and at last the whole reply."""

Heard = Generator[str, None, AgentReply | None]
"""The same as it is heard: the reply is what it returns, if there is one."""

AMNESIA: Final = "AMNESIA"
"""The one intent that is known by name: KDS itself does what follows a yes, so no prompt file
can say it."""

QUOTED: Final = 80
"""Characters of the message that a question for confirmation quotes."""

BETWEEN: Final = "\n\n"
"""Between the replies of two agents, and before a question."""

HALTED: Final = "[halted]"
BROKEN_OFF: Final = "[broken off]"
"""Behind what is kept of a reply that has no end."""

HANDOVER: Final = "agent-handover"
"""The prompt file with what an agent is told about the one before it."""

LOADING_S: Final = 60.0
"""How much longer than its time an agent may take in all: some seconds to load the model's client,
on a cold disk more. Within its time it ends by itself."""


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
    """Agents that may go on with the work; `Session.begin_hand_over` takes the first, and so does
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
        last = self.replies[-1] if self.replies else None
        asked = closing_question(last.text) if last and last.answered else ""
        return asked if proposes(asked) else ""

    @property
    def fault(self) -> Fault | None:
        """The error as it is kept."""
        error = self.error
        return None if error is None else Fault(error.message, error.where, error.hint)

    def as_dict(self) -> Mapping[str, object]:
        """The answer as JSON values, as `kds ask --json` prints it."""
        replies = (reply.as_dict().items() for reply in self.replies)
        names = "text question answered handoffs halted stopped notes session".split()
        return {name: plain(getattr(self, name)) for name in names} | {
            "turn": dict(self.turn.as_dict()),
            "replies": [{key: value for key, value in one if key != "turn"} for one in replies],
            "error": plain(self.fault),
        }

    def details(self, ms: float = 0.0) -> AnswerDetails:
        """How it was answered, as it is kept: without what can be found elsewhere."""
        return AnswerDetails(
            agents=tuple(_agent_details(reply, self.turn) for reply in self.replies),
            notes=self.notes,
            error=self.fault,
            halted=self.halted,
            proposal=bool(self.proposal),
            ms=ms,
        )


def _agent_details(reply: AgentReply, turn: Turn) -> AgentDetails:
    tools = (
        ToolCall(one.name, json.dumps(one.arguments, default=str, ensure_ascii=False), one.failed)
        for one in reply.tools
    )
    prompt = "" if reply.answered or reply.turn.prompt == turn.prompt else reply.turn.prompt
    tokens = reply.usage.total_tokens if reply.usage else 0
    return AgentDetails(reply.agent, reply.answered, prompt, reply.model, tokens, tuple(tools))


def briefed(
    memory: SessionMemory, plan: Plan, turn: Turn, agent: Agent, previous: AgentReply | None = None
) -> tuple[Turn, PromptMemory]:
    """``turn`` with what was said before and with the reply that ``agent`` builds on, which is that
    of the ``previous`` one; and what the memory adds to its prompt."""
    stopped, asked = Halted(), plan.said
    if previous is None:
        stopped, asked = plan.stopped or stopped, plan.handed
        earlier = memory.earlier(plan.said)
        before = memory.last_reply() if plan.handed else None
    else:
        earlier = memory.earlier()
        before = Reply(previous.text, previous.agent) if previous.answered else None
    if before is not None:
        # The window has the beginning of that reply, if it has it: here is the whole.
        if earlier and earlier[-1].role == "assistant":
            earlier = earlier[:-1]
        earlier = (*(earlier or (Utterance(asked),)), Utterance(before.text, "assistant"))
    prompt = turn.prompt
    if before or stopped.agents or stopped.dropped:
        values = {
            "previous": before.agent or "the agent before" if before else "", "agent": agent.name,
            "halted": list(stopped.agents), "dropped": list(stopped.dropped),
        }  # fmt: skip
        prompt += "\n\n" + agent.library.render(agent.library.get(HANDOVER), values)
    known = memory.for_prompt(turn, earlier) if agent.prompt.memory else PromptMemory()
    return replace(turn, prompt=prompt, history=earlier), known


class Exchange:
    """Serves one plan. `pieces` once; `halt` from any thread at any time."""

    def __init__(self, plan: Plan, session: Session) -> None:
        self.id = uuid.uuid4().hex
        self.plan = plan
        """What the message comes to, known before anybody answers."""
        self._session, self._memory = session, session.memory
        self._noted, self._memory.noted = self._memory.noted, None
        self._timeout_s = session.model.settings.timeout_s
        self._begun_at = perf_counter()
        self._chain = plan.chain
        self._answer = Answer(plan.turn, notes=plan.notes, stopped=plan.stopped)
        """What there is of it; its text is what KDS says itself."""
        self._forgot = False
        self._told: list[PromptMemory] = []
        """What the memory told the agents."""
        self._halted, self._over, self._lock = Event(), Event(), RLock()
        self._running: str | None = None
        """The agent at work, what it has said so far, and through what it is heard."""
        self._heard: list[str] = []
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def pieces(self) -> Iterator[str | Answer]:
        """Yield the answer as it comes, and at last the whole of it."""
        try:
            yield from self._serve()
            self._note(*self._memory.take_notes())
            self._over.set()
            yield self._whole()
        finally:
            if not self._over.is_set():  # a caller that leaves early halts what runs
                self.halt()
                self._change(lambda now: now.idle() if now.exchange == self.id else now)
            if not self._forgot:
                self._keep(self._whole())

    def halt(self) -> str | None:
        """Stop it; returns the name of the agent that was running, if one was.

        What the agent had said is remembered before this returns.
        """
        if self._over.is_set():
            return None
        self._halted.set()
        agent = self._end(HALTED)
        self._queue.put(None)  # wakes the thread that waits
        return agent

    def _serve(self) -> Iterator[str]:
        plan, session = self.plan, self._session
        if not plan.legs:
            asks = plan.turn.action == "clarify"
            self._grow(text=plan.says, question=plan.says if asks else None)
            self._memory.reply(plan.says)
            yield plan.says
            return
        self._change(lambda now: replace(
            now.idle(), turn=plan.turn, exchange=self.id, rest=plan.legs[1:],
            chain=(*plan.chain, plan.legs[0]),  # a process that is killed can be asked again
            halted=plan.stopped or now.halted, session=self._memory.session,
        ))  # fmt: skip
        turn, legs, confirmed = plan.turn, plan.legs, plan.confirmed
        while legs and not self._halted.is_set():
            intent, rest = legs[0], legs[1:]
            if self._answer.replies:
                yield BETWEEN
                turn = session.turn_for(turn, intent, rest)
            agent = session.agent(intent)
            if must_confirm(agent) and not confirmed:
                yield self._ask_first(turn, agent, rest)
                return
            confirmed = False
            self._chain = (*self._chain, intent)
            serve = self._forget if intent == AMNESIA else self._serve_one
            yield from serve(turn, agent)
            legs = self._next_legs(legs)

    def _serve_one(self, turn: Turn, agent: Agent) -> Iterator[str]:
        """Have an agent answer."""
        previous = next(reversed(self._answer.replies), None)
        intent, agent = agent.intent, (None if previous else self.plan.agent) or agent
        turn, known = briefed(self._memory, self.plan, turn, agent, previous)
        self._told.append(known)
        reply = yield from self._listen(agent, partial(self._speech, agent, turn, known))
        if reply is None:
            error, text = self._answer.error, "".join(self._heard)
            note = f"{agent.name}: {error.message}" if error else f"halted: {agent.name}"
            reply = AgentReply(agent.name, turn.intent, text if text.strip() else turn.prompt,
                               turn.prompt, turn, notes=(note,))  # fmt: skip
            self._note(note)
        else:
            if reply.answered and not (reply.text.strip() or reply.handoffs):
                # No answer at all: the same as a model that fails, and it can be asked again.
                hint = "try again, or another model"
                error = ModelError(f"{reply.model} gave no text", kind="garbage", hint=hint)
                self._grow(error=error)
                reply = replace(reply, text=reply.prompt, answered=False)
            self._note(*(f"{reply.agent}: {note}" for note in reply.notes))
            self._grow(handoffs=self._offered(intent, reply))
            if reply.answered:
                self._memory.reply(reply.text, agent=reply.agent)
        self._grow(replies=(*self._answer.replies, reply))

    def _speech(self, agent: Agent, turn: Turn, known: PromptMemory) -> Speech:
        """Ask the model; without one the prompt is what is said."""
        model, prompt = self._session.model.load(), prompt_with(known, turn.prompt, agent.library)
        if model is None:
            yield prompt
            yield AgentReply(agent.name, turn.intent, prompt, prompt, turn)
            return
        from kds.agents.tools import workspace_tools  # LangChain: for who has a model

        tools, timeout_s = workspace_tools(self._session.workspace), self._timeout_s
        runnable = agent.as_runnable(model, tools=tools, timeout_s=timeout_s)
        whole: AgentReply | None = None
        for piece in runnable.stream(replace(turn, prompt=prompt)):
            yield piece.text
            whole = piece if whole is None else whole + piece
        if whole is not None:
            yield replace(whole, turn=turn)

    def _listen(self, agent: Agent, speech: Callable[[], Speech]) -> Heard:
        """Have an agent speak in a thread of its own; it has no reply when it was halted, or failed
        (`Answer.error`)."""
        with self._lock:
            self._heard, self._running, self._queue = [], agent.name, SimpleQueue()
            if self._halted.is_set():
                self._running = None
                return None
        error: KdsError = KdsError(f"{agent.name} ended without a reply")
        limit = Deadline(LOADING_S + self._timeout_s)
        try:
            with closing(limit.each(speech, self._queue)) as items:
                for item in items:
                    with self._lock:
                        if not self._running:
                            return None
                        if isinstance(item, AgentReply):
                            self._running = None
                            return item
                        self._heard.append(item)
                    if item:
                        yield item
        except KdsError as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001  # foreign code: a model's client, a tool
            error = KdsError(f"{agent.name} failed: {type(raised).__name__}: {raised}")
        if self._end(BROKEN_OFF):
            self._grow(error=error)
        return None

    def _end(self, why: str) -> str | None:
        """Hear no more of the agent at work, and remember what it has said; returns its name."""
        with self._lock:
            agent, self._running = self._running, None
            text = "".join(self._heard)
        if agent and text.strip():
            self._memory.reply(f"{text.rstrip()}{BETWEEN}{why}", agent=agent)
        return agent

    def _forget(self, turn: Turn, agent: Agent) -> Iterator[str]:
        """Forget, after a backup. No model is asked: what is deleted is for KDS to say."""
        from kds.forget import forget  # few sessions forget

        try:
            self._memory.begin_anew()
            report = forget(self._session.workspace, clock=self._memory.clock)
        except KdsError as error:  # then everything is as before
            self._note(f"{agent.name}: {error.message}")
            self._grow(error=error)
            return
        self._forgot, text = True, "There was nothing to forget."
        if report.backup is not None:
            items = "".join(f"- {item}\n" for item in report.forgotten.items)
            restore = "`kds forget --restore` brings it back."
            text = f"Forgotten:\n{items}Backup: {report.backup}\n{restore}"
        yield text
        reply = AgentReply(agent.name, AMNESIA, text, turn.prompt, turn, answered=True)
        self._grow(replies=(*self._answer.replies, reply))

    def _ask_first(self, turn: Turn, agent: Agent, rest: tuple[str, ...]) -> str:
        """Keep what waits for a yes; returns the question: what will happen, to which message."""
        said = one_line(turn.expanded or turn.message)
        quoted = said if len(said) <= QUOTED else f"{said[: QUOTED - 1].rstrip()}…"
        lines = [f'"{quoted}" goes to {agent.name}: {agent.prompt.description}']
        if agent.intent == AMNESIA:
            from kds.forget import survey  # few sessions forget

            found = survey(workspace := self._session.workspace)
            lines.append(f"Forgotten in {workspace.root}, after a backup:")
            lines += (f"- {item}" for item in found.items or ["nothing is remembered"])
            lines += ("It leaves alone:", *(f"- {item}" for item in found.stays))
        lines.append(f"Shall it {agent.prompt.phrase}? Yes does it; anything else drops it.")
        asked = "\n".join(lines)
        self._grow(text=asked, question=asked, handoffs=())
        self._change(lambda now: replace(
            now, turn=turn, confirm=agent.intent, rest=rest, offers=(), chain=self._chain,
            exchange=self.id,
        ))  # fmt: skip
        self._memory.reply(asked)
        return asked

    def _next_legs(self, legs: tuple[str, ...]) -> tuple[str, ...]:
        """What is still to serve, when the agent of the first of ``legs`` is done; kept, too."""
        error = self._answer.error
        rest = legs if error else legs[1:]  # "continue" asks again

        def progress(now: Work) -> Work:
            if now.exchange != self.id or self._halted.is_set():
                return now
            return replace(now, rest=rest, chain=self._chain, offers=self._answer.handoffs)

        before = self._change(progress)
        if before.halted and before.halted.exchange == self.id:
            self._halted.set()
            self._note("halted from outside: what was left was dropped")
        return () if error or self._halted.is_set() else rest

    def _offered(self, intent: str, reply: AgentReply) -> tuple[Offer, ...]:
        """Where the work of an agent may go next: what its model chose, then its prompt file; what
        would go in a circle last."""
        chosen = {one.intent: one.reason for one in reply.handoffs}
        # What UNKNOWN could hand on to is every agent: nothing that is worth an offer.
        listed = () if intent == UNKNOWN else self._session.agent(intent).prompt.handoffs
        found = [
            Offer(one, self._session.agent(one).name, chosen.get(one, ""), chosen=one in chosen)
            for one in dict.fromkeys((*chosen, *listed))
        ]
        first = self._session.next_offer(found, self._chain)
        return tuple(sorted(found, key=lambda one: one != first))

    def _grow(self, **more: Any) -> None:
        self._answer = replace(self._answer, **more)

    def _note(self, *notes: str) -> None:
        self._grow(notes=tuple(dict.fromkeys((*self._answer.notes, *notes))))

    def _whole(self) -> Answer:
        answer, halted = self._answer, self._halted.is_set()
        said = (*(one.text for one in answer.replies), answer.text)
        return replace(
            answer,
            text=BETWEEN.join(filter(None, said)),
            handoffs=() if answer.error or halted else answer.handoffs,
            halted=halted,
            session=self._memory.session,
        )

    def _keep(self, answer: Answer) -> None:
        """Remember how it was answered, and what the turn and the answer referred to."""
        details = answer.details((perf_counter() - self._begun_at) * 1000)
        said = BETWEEN.join(reply.text for reply in answer.replies if reply.answered)
        conversation = self._session.conversation
        self._memory.finish(self._noted, answer.turn, details, said, self._told, conversation)

    def _change(self, edit: Edit) -> Work:
        """Change the work in progress; returns it as it was before."""
        found = self._session.store.change(edit)
        self._note(*found.warnings)
        return found.work
