"""What a message comes to: which agents are to serve it, or what is said instead.

The message is routed and logged here, before a model is asked. Where the work goes is decided
from the prompt files and from what was said.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol, Unpack

from kds.agents.agent import Agent, AgentReply, prompt_named
from kds.api.conversations import Records
from kds.brain.context.journal import Contexts
from kds.brain.context.work import Halted, Offer, Work, WorkStore
from kds.brain.errors import DispatchError, MessageError
from kds.brain.message import clean_message, one_line
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.discourse.consent import goes_ahead, goes_on, reaction
from kds.router.discourse.reply import closing_question, proposes
from kds.router.log import entry_of
from kds.router.prompts.library import PromptLibrary
from kds.service.service_client import How
from kds.session.memory import SessionMemory

AMNESIA: Final = "AMNESIA"
"""The one intent that is known by name: KDS itself does what follows a yes, so no prompt file
can say it (`kds.session.exchange`)."""

REWRITER_MESSAGES: Final = 6
"""What a model that rewrites a message gets to see."""

_QUOTED: Final = 80
"""Characters of the message that a question for confirmation quotes."""

_ALIKE: Final = 40
"""Characters by which a reply that was cut is recognised."""

_WORD: Final = re.compile(r"[\w']+")


class Routes(Protocol):
    """Routes the messages of a session: in this process, or by asking the service."""

    @property
    def alone(self) -> bool:
        """Whether there was no service that could have been asked."""
        ...

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""
        ...


class NearestConversations(Records):
    """The contexts of a workspace for one session, whose messages ``client`` routes."""

    def __init__(
        self,
        workspace: Workspace,
        library: PromptLibrary,
        client: Routes,
        *,
        memory: SessionMemory,
        origin: str | None = None,
    ) -> None:
        """``origin``: where its messages are typed (`kds.brain.context.names`)."""
        contexts = Contexts(workspace, clock=memory.clock)
        super().__init__(workspace, library, contexts, memory, origin=origin)
        self.client = client

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`."""
        how.setdefault("origin", self.origin)
        return self.client.route(message, **how)


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """How an exchange begins. Without ``legs`` there is only something to say."""

    turn: Turn
    said: str = ""
    """What the user said, which need not be the message of ``turn``: "yes"."""
    legs: tuple[str, ...] = ()
    """Intents to serve, in order; the first one is that of ``turn``."""
    confirmed: bool = False
    """Whether the first one may begin although it has to be confirmed."""
    says: str = ""
    asks: bool = False
    """Whether ``says`` is a question."""
    handed: str = ""
    """The message before, when its answer is what the first agent builds on."""
    chain: tuple[str, ...] = ()
    """Intents that served this piece of work before."""
    stopped: Halted | None = None
    notes: tuple[str, ...] = ()
    agent: Agent | None = None
    """Who serves it in the place of the first one."""


HaltAll = Callable[[], tuple[str, ...]]
"""Stops what runs in this session and returns the names of the agents."""


@dataclass(frozen=True, slots=True)
class TurnPlanner:
    """Plans the exchanges of one conversation, and knows the rules of passing work on."""

    conversations: NearestConversations
    memory: SessionMemory
    work: WorkStore
    conversation: str | None = None
    log: bool = True

    def agent(self, intent: str) -> Agent:
        """The agent of an intent. Raises DispatchError."""
        found = self.conversations
        return Agent.named(intent, found.library, workspace=str(found.workspace.root))

    def must_confirm(self, intent: str) -> bool:
        """Whether the user has to say yes before the agent of ``intent`` begins."""
        return intent in _always_confirmed() or self.agent(intent).prompt.confirm

    def question(self, intent: str, turn: Turn, detail: str = "") -> str:
        """The question for confirmation: what will happen, and what the message was."""
        agent = self.agent(intent)
        said = one_line(turn.expanded or turn.message)
        quoted = said if len(said) <= _QUOTED else f"{said[: _QUOTED - 1].rstrip()}…"
        happens = f'"{quoted}" goes to {agent.name}: {agent.prompt.description}'
        asks = f"Shall it {agent.prompt.phrase}? Yes does it; anything else drops it."
        return "\n".join(filter(None, (happens, detail, asks)))

    def turn_for(self, turn: Turn, intent: str, rest: Sequence[str] = ()) -> Turn:
        """``turn`` as the agent of ``intent`` gets it, with its prompt; ``rest`` comes later."""
        agent = self.agent(intent)
        if turn.intent != intent:
            turn = replace(turn, intent=intent, confidence=1.0, alternatives=())
        mine = replace(
            turn,
            secondary_intents=tuple(rest),
            action="abstain" if intent == UNKNOWN else "route",
            agent=agent.name,
            prompt_file=agent.prompt.ref,
        )
        return replace(mine, prompt=agent.render(mine))

    def offers(self, intent: str, reply: AgentReply) -> tuple[Offer, ...]:
        """Where the work of an agent may go next: what its model chose, then its prompt file."""
        chosen = {one.intent: one.reason for one in reply.handoffs}
        # What UNKNOWN could hand on to is every agent: nothing that is worth an offer.
        listed = () if intent == UNKNOWN else self.agent(intent).prompt.handoffs
        return tuple(
            Offer(one, self.agent(one).name, chosen.get(one, ""), chosen=one in chosen)
            for one in dict.fromkeys((*chosen, *listed))
        )

    def next_offer(self, offers: Iterable[Offer], chain: Sequence[str]) -> Offer | None:
        """The offer that "go ahead" takes, if any; no agent serves the same work twice.

        A correction is never next: only the user can say that something is wrong. The work of an
        agent that changes nothing does not go on by itself, unless its model says so.
        """
        prompt = self.conversations.library.for_intent(chain[-1] if chain else UNKNOWN)
        only_looks = prompt is not None and prompt.only_looks
        return next((one for one in self._new(offers, chain) if one.chosen or not only_looks), None)

    def open(self, message: str, *, agent: str | None, halt: HaltAll) -> TurnPlan:
        """Route and log ``message``, unless it answers what was asked or offered.

        With ``agent`` (its name, or its intent) it goes there. Raises what
        `Conversations.route` raises, and StoreError when the work cannot be read or kept.
        """
        if not isinstance(message, str):
            raise MessageError(
                f"not a message: {type(message).__name__}",
                hint='pass a text: session.ask("I want to add a FAB button")',
            )
        text = clean_message(message)
        found = self.work.load()
        plan = None if agent else self._answering(text, found.work, halt)
        plan = plan or self._routed(text, agent, found.work, halt)
        notice = (plan.turn.notice,) if plan.turn.notice else ()
        return replace(plan, said=text, notes=(*found.warnings, *notice, *plan.notes))

    def hand_over(self, intent: str | None) -> TurnPlan:
        """Open the exchange with the agent that was offered. Raises DispatchError."""
        work = self.work.load().work
        if intent is None:
            offer = self._first_offer(work)
        else:
            wanted = self.conversations.library.intent_named(intent)
            offer = next((one for one in work.offers if one.intent == wanted), None)
        if work.turn is None or offer is None:
            listed = ", ".join(one.intent for one in work.offers)
            raise DispatchError(
                "nobody has offered to go on" if intent is None else f"{intent} was not offered",
                hint=f"offered are: {listed}" if listed else "say what to do",
            )
        mine = self.turn_for(work.turn, offer.intent)
        return TurnPlan(mine, legs=(offer.intent,), handed=work.turn.message, chain=work.chain)

    def again(self) -> TurnPlan:
        """Open the exchange with the agent that answered last. Raises DispatchError."""
        work = self.work.load().work
        if work.turn is None or not work.chain:
            raise DispatchError("there is nothing to answer again", hint="say it again")
        *before, last = work.chain
        mine = self.turn_for(work.turn, last)
        return TurnPlan(mine, said=work.turn.message, legs=(last,), chain=tuple(before))

    def run(self, turn: Turn, agent: Agent, prompt: str) -> TurnPlan:
        """Open the exchange that answers ``turn`` by another prompt than that of its intent."""
        action = "abstain" if turn.action == "clarify" else turn.action
        mine = replace(
            turn, action=action, agent=agent.name, prompt_file=agent.prompt.ref, prompt=prompt,
            question=None, candidates=(), secondary_intents=(),
        )  # fmt: skip
        return TurnPlan(mine, said=turn.message, legs=(UNKNOWN,), agent=agent)

    def rehearsed(self) -> "TurnPlanner":
        """The same, leaving no trace: it works on a copy of what is under way now."""
        return replace(self, log=False, work=WorkStore(work=self.work.load().work))

    def _answering(self, text: str, work: Work, halt: HaltAll) -> TurnPlan | None:
        """The plan for a message that is about what was asked or offered, else None.

        A question that the agent asked itself is what "go ahead" answers, not the handoff of
        its prompt file: the router reads the message as the answer.
        """
        if work.turn is None:
            return None
        if work.confirm:
            return self._reacting(text, work, work.turn, work.confirm)
        last = self.memory.last_reply()
        asked = closing_question(last.text) if last else ""
        if proposes(asked) and reaction(text) == "no":
            stopped = self._stop(work, halt())
            refused = self._log_as(text, UNKNOWN, work.turn)
            says = "Nothing was started; nothing has changed."
            return TurnPlan(refused, says=says, stopped=stopped)
        if work.rest and goes_on(text):
            legs, about = work.rest, work.turn
            self._log_as(text, legs[0], about)
        elif offer := self._taken(text, work, asked):
            legs, about = (offer.intent,), self._log_as(text, offer.intent, work.turn)
        else:
            return None
        mine = self.turn_for(about, legs[0], legs[1:])
        return TurnPlan(mine, legs=legs, handed=work.turn.message, chain=work.chain)

    def _reacting(self, text: str, work: Work, turn: Turn, intent: str) -> TurnPlan | None:
        """A pending confirmation ends here, whatever is said: only once is it asked for."""
        agent = self.agent(intent)
        said = reaction(text, verbs=_WORD.findall(agent.prompt.ask or ""))
        pending = (work.exchange, intent)
        taken = self.work.change(
            lambda now: now.idle() if (now.exchange, now.confirm) == pending else now
        ).work
        if (taken.exchange, taken.confirm) != pending:
            return None  # another process was faster: it is not done twice
        if said == "yes":
            self._log_as(text, intent, turn)
            mine = self.turn_for(turn, intent, work.rest)
            return TurnPlan(mine, legs=(intent, *work.rest), confirmed=True, chain=work.chain)
        if said == "no":
            refused = self._log_as(text, UNKNOWN, turn)
            return TurnPlan(refused, says=f"{agent.name} was not started; nothing has changed.")
        return None

    def _routed(self, text: str, agent: str | None, work: Work, halt: HaltAll) -> TurnPlan:
        notes = (f"not confirmed, so {work.confirm} was dropped",) if work.confirm else ()
        if agent:  # named in front, as an IDE chat writes it
            text = f"#file:{prompt_named(agent, self.conversations.library).ref} {text}"
        turn = self.conversations.route(
            text, conversation=self.conversation, log=False, history=self._history()
        )
        is_correction = turn.action == "route" and self._corrects(turn.intent)
        # What an agent had said until now was said before the message that halts it.
        stopped = self._stop(work, halt()) if is_correction else None
        if self.log:
            turn = self.conversations.log(turn, conversation=self.conversation)
        if turn.action == "clarify":
            self.work.change(Work.idle)
            return TurnPlan(turn, says=turn.question or "", asks=True, notes=notes)
        intent = turn.intent if turn.action == "route" else UNKNOWN
        offered = intent in {one.intent for one in work.offers}
        return TurnPlan(
            turn,
            legs=(intent, *turn.secondary_intents),
            handed=work.turn.message if work.turn and (offered or is_correction) else "",
            chain=work.chain if offered else (),
            stopped=stopped,
            notes=notes,
        )

    def _corrects(self, intent: str) -> bool:
        return intent in self.conversations.library.corrections()

    def _stop(self, seen: Work, agents: tuple[str, ...]) -> Halted | None:
        """Drop what was still to come, and leave word for a process that works on it."""
        before = self.work.change(Work.idle).work
        pending = before.pending or seen.pending
        if not agents and not pending:
            return None
        stopped = Halted(agents, pending, before.exchange)
        self.work.change(lambda now: replace(now, halted=stopped))
        return stopped

    def _taken(self, text: str, work: Work, asked: str) -> Offer | None:
        """The offer that ``text`` takes. "Continue" means the next task of the plan, unless a
        model has said where the work goes next."""
        offer = self._first_offer(work)
        if offer is None:
            return None
        if offer.chosen:
            return offer if goes_on(text) else None
        return self.next_offer(work.offers, work.chain) if goes_ahead(text) and not asked else None

    def _first_offer(self, work: Work) -> Offer | None:
        new = self._new(work.offers, work.chain)
        return self.next_offer(work.offers, work.chain) or next(iter(new), None)

    def _new(self, offers: Iterable[Offer], chain: Sequence[str]) -> list[Offer]:
        return [o for o in offers if o.intent not in chain and not self._corrects(o.intent)]

    def _history(self) -> tuple[Utterance, ...]:
        """What was said before; the newest reply whole, since the budget of the memory may cut
        it before the question at its end."""
        earlier = self.memory.earlier("")[-REWRITER_MESSAGES:]
        last, cut = self.memory.last_reply(), earlier[-1] if earlier else None
        if last is not None and (
            cut is None or (cut.role == last.role and last.text.startswith(cut.text[:_ALIKE]))
        ):
            earlier = (*earlier[:-1], last)
        return tuple(one.as_utterance() for one in earlier)

    def _log_as(self, text: str, intent: str, about: Turn) -> Turn:
        """Log a "yes" or "go ahead" as what it stands for, in the session it is about."""
        turn = self.conversations.route(
            text, conversation=self.conversation, log=False, rewrite=False
        )
        turn = replace(
            turn,
            intent=intent,
            confidence=1.0,
            action="abstain" if intent == UNKNOWN else "route",
            secondary_intents=(),
            context_switch=False,
            context_ref=about.context_ref or turn.context_ref,
            session_id=about.session_id or turn.session_id,
        )
        if self.log:
            self.conversations.journal(self.conversation).log(entry_of(turn))
            self.memory.note(turn, self.conversation)
        return turn


@cache
def _always_confirmed() -> frozenset[str]:
    """Confirmed whatever the prompt files of a project say: what the packaged ones ask for. What
    cannot be taken back must not begin because a cloned file leaves out one line."""
    agents = PromptLibrary.load().agents()
    return frozenset(agent.intent for agent in agents if agent.intent and agent.confirm)
