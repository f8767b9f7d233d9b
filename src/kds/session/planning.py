"""What a message comes to: which agents are to serve it, or what is said instead.

The message is logged here, in any case, before a model is asked. Where the work goes is decided
from the prompt files and from what was said.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from kds.agents.agent import Agent, prompt_named
from kds.agents.reply import AgentReply
from kds.brain.context.work import Halted, Offer, Work, WorkInMemory, WorkStore
from kds.brain.errors import DispatchError, MessageError
from kds.brain.message import clean_message, one_line
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.router.discourse.consent import goes_ahead, goes_on, reaction
from kds.router.discourse.reply import closing_question, proposes
from kds.router.log import entry_of
from kds.router.prompts.library import PromptLibrary
from kds.session.conversation import NearestConversations
from kds.session.memory import Said, SessionMemory

AMNESIA: Final = "AMNESIA"
"""The one intent that is known by name here: what follows a yes is done by KDS itself, not by a
model that follows a prompt, so no prompt file can say it (`kds.session.exchange`)."""

MAX_CHAIN: Final = 5
"""Agents that serve one message without the user saying anything: PLAN, EXECUTE, TEST and two
more of a project's own."""

_QUOTED: Final = 80


@dataclass(frozen=True, slots=True)
class Course:
    """The agents of one workspace, and the rules of passing work on."""

    library: PromptLibrary
    workspace: str

    def agent(self, intent: str) -> Agent:
        """The agent of an intent. Raises DispatchError."""
        return Agent.named(intent, self.library, workspace=self.workspace)

    def must_confirm(self, intent: str) -> bool:
        """Tell whether the user has to say yes before the agent of ``intent`` begins."""
        return intent in _always_confirmed() or self.agent(intent).prompt.confirm

    def corrects(self, intent: str) -> bool:
        """Tell whether messages of ``intent`` say that something is wrong."""
        return intent in self.library.corrections()

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
        mine = replace(
            turn,
            intent=intent,
            confidence=turn.confidence if turn.intent == intent else 1.0,
            alternatives=turn.alternatives if turn.intent == intent else (),
            secondary_intents=tuple(rest),
            action="abstain" if intent == UNKNOWN else "route",
            agent=agent.name,
            prompt_file=agent.prompt.ref,
        )
        return replace(mine, prompt=agent.render(mine))

    def offers(self, intent: str, reply: AgentReply | None = None) -> tuple[Offer, ...]:
        """Where the work of an agent may go next: what its model chose, then its prompt file."""
        chosen = {one.intent: one.reason for one in (reply.handoffs if reply else ())}
        # What UNKNOWN could hand on to is every agent: nothing that is worth an offer.
        listed = () if intent == UNKNOWN else self.agent(intent).prompt.handoffs
        names = dict.fromkeys((*chosen, *listed))
        return tuple(
            Offer(one, self.agent(one).name, chosen.get(one, ""), chosen=one in chosen)
            for one in names
        )

    def next_offer(
        self, intent: str, offers: Iterable[Offer], chain: Sequence[str]
    ) -> Offer | None:
        """The offer that "go ahead" takes, or None: what was served before is not served again.

        A correction is never next: only the user can say that something is wrong.
        """
        for offer in offers:
            if offer.intent in chain or self.corrects(offer.intent):
                continue
            if offer.chosen or not self._only_looks(intent):
                return offer
        return None

    def _only_looks(self, intent: str) -> bool:
        """Whether the agent changes nothing. Its work does not go on by itself: a question does
        not order anything, so "go ahead" after one means what the router makes of it."""
        prompt = self.library.for_intent(intent)
        return prompt is not None and prompt.only_looks


@cache
def _always_confirmed() -> frozenset[str]:
    """Confirmed whatever the prompt files of a project say (issue 6): what the packaged ones ask
    for. What cannot be taken back must not begin because a cloned file leaves out one line."""
    agents = PromptLibrary.load().agents()
    return frozenset(agent.intent for agent in agents if agent.intent and agent.confirm)


HaltAll = Callable[[], tuple[str, ...]]
"""Stops what runs in this session and returns the names of the agents."""

REWRITER_MESSAGES: Final = 6
"""What a model that rewrites a message gets to see."""

_ALIKE: Final = 40
"""Characters by which a reply that was cut is known again."""

_WORD: Final = re.compile(r"[\w']+")


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


@dataclass(frozen=True, slots=True)
class TurnPlanner:
    """Opens the exchanges of one conversation."""

    conversations: NearestConversations
    memory: SessionMemory
    work: WorkStore
    course: Course
    conversation: str | None = None
    log: bool = True

    def open(self, message: str, *, agent: str | None, halt: HaltAll) -> TurnPlan:
        """Route and log ``message``, unless it answers what was asked or offered.

        With ``agent`` (its name, or its intent) it goes there. Raises what
        `Conversations.route` raises, and StoreError when the work cannot be read or kept.
        """
        text = _text(message)
        found = self.work.load()
        opening = None if agent else self._answering(text, found.work, halt)
        if opening is None:
            opening = self._routed(text, agent, found.work, halt)
        notice = (opening.turn.notice,) if opening.turn.notice else ()
        notes = (*found.warnings, *notice, *opening.notes, *self.conversations.take_notes())
        return replace(opening, said=text, notes=notes)

    def hand_over(self, intent: str | None) -> TurnPlan:
        """Open the exchange with the agent that was offered. Raises DispatchError."""
        work = self.work.load().work
        turn, offer = work.turn, self._offered(work, intent)
        if turn is None or offer is None:
            raise DispatchError(
                "nobody has offered to go on" if intent is None else f"{intent} was not offered",
                hint=f"offered are: {_listed(work.offers)}" if work.offers else "say what to do",
            )
        mine = self.course.turn_for(turn, offer.intent)
        return TurnPlan(mine, legs=(offer.intent,), handed=turn.message, chain=work.chain)

    def again(self) -> TurnPlan:
        """Open the exchange with the agent that answered last. Raises DispatchError."""
        work = self.work.load().work
        turn, chain = work.turn, work.chain
        if turn is None or not chain:
            raise DispatchError("there is nothing to answer again", hint="say it again")
        mine = self.course.turn_for(turn, chain[-1])
        return TurnPlan(mine, said=turn.message, legs=(chain[-1],), chain=chain[:-1])

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
        return replace(self, log=False, work=WorkInMemory(self.work.load().work))

    def _asked(self) -> str:
        """What the last reply of an agent asks or offers at its end; "" when it does neither."""
        last = self.memory.last_reply()
        return closing_question(last.text) if last else ""

    def _answering(self, text: str, work: Work, halt: HaltAll) -> TurnPlan | None:
        """The opening of a message that is about what was asked or offered, else None.

        A question that the agent asked itself is what "go ahead" answers, not the handoff of
        its prompt file: the router reads the message as the answer.
        """
        if work.turn is None:
            return None
        if work.confirm:
            return self._reacting(text, work, work.turn, work.confirm)
        asked = self._asked()
        if proposes(asked) and reaction(text) == "no":
            return self._declined(text, work, work.turn, halt)
        if work.rest and goes_on(text):
            legs = work.rest
            self._log_as(text, legs[0], work.turn)
            mine = self.course.turn_for(work.turn, legs[0], legs[1:])
        elif offer := self._taken(text, work, asked):
            legs = (offer.intent,)
            mine = self.course.turn_for(self._log_as(text, offer.intent, work.turn), offer.intent)
        else:
            return None
        return TurnPlan(mine, legs=legs, handed=work.turn.message, chain=work.chain)

    def _reacting(self, text: str, work: Work, turn: Turn, intent: str) -> TurnPlan | None:
        """A pending confirmation ends here, whatever is said: only once is it asked for."""
        verbs = _WORD.findall(self.course.agent(intent).prompt.ask or "")
        said = reaction(text, verbs=verbs)
        taken = self.work.change(lambda now: _unconfirmed(now, work))
        if taken.work.confirm != intent or taken.work.exchange != work.exchange:
            return None  # another process was faster: it is not done twice
        if said == "yes":
            self._log_as(text, intent, turn)
            mine = self.course.turn_for(turn, intent, work.rest)
            legs = (intent, *work.rest)
            return TurnPlan(mine, legs=legs, confirmed=True, chain=work.chain)
        name = self.course.agent(intent).name
        if said == "no":
            refused = self._log_as(text, UNKNOWN, turn)
            return TurnPlan(refused, says=f"{name} was not started; nothing has changed.")
        return None

    def _declined(self, text: str, work: Work, turn: Turn, halt: HaltAll) -> TurnPlan:
        """A no to what the agent proposed: it starts nothing, and halts what runs."""
        stopped = self._stop(work, halt())
        refused = self._log_as(text, UNKNOWN, turn)
        return TurnPlan(refused, says="Nothing was started; nothing has changed.", stopped=stopped)

    def _routed(self, text: str, agent: str | None, work: Work, halt: HaltAll) -> TurnPlan:
        dropped = (f"not confirmed, so {work.confirm} was dropped",) if work.confirm else ()
        turn = self._route(self._addressed(text, agent) if agent else text)
        is_correction = turn.action == "route" and self.course.corrects(turn.intent)
        # What an agent had said until now was said before the message that halts it.
        stopped = self._stop(work, halt()) if is_correction else None
        if self.log:
            turn = self.conversations.log(turn, conversation=self.conversation)
        if turn.action == "clarify":
            self.work.change(Work.idle)
            return TurnPlan(turn, says=turn.question or "", asks=True, notes=dropped)
        intent = turn.intent if turn.action == "route" else UNKNOWN
        offered = intent in {one.intent for one in work.offers}
        before = work.turn.message if work.turn else ""
        return TurnPlan(
            turn,
            legs=(intent, *turn.secondary_intents),
            handed=before if offered or is_correction else "",
            chain=work.chain if offered else (),
            stopped=stopped,
            notes=dropped,
        )

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
        offer = self._offered(work, None)
        if offer is None:
            return None
        if offer.chosen:
            return offer if goes_on(text) else None
        return self._following(work) if goes_ahead(text) and not asked else None

    def _following(self, work: Work) -> Offer | None:
        last = work.chain[-1] if work.chain else UNKNOWN
        return self.course.next_offer(last, work.offers, work.chain)

    def _offered(self, work: Work, intent: str | None) -> Offer | None:
        if intent is not None:
            wanted = self.conversations.library.intent_named(intent)
            return next((one for one in work.offers if one.intent == wanted), None)
        others = (
            one
            for one in work.offers
            if one.intent not in work.chain and not self.course.corrects(one.intent)
        )
        return self._following(work) or next(others, None)

    def _route(self, text: str) -> Turn:
        return self.conversations.route(
            text, conversation=self.conversation, log=False, history=self._history()
        )

    def _history(self) -> tuple[Utterance, ...]:
        """What was said before; the newest reply whole, since the budget of the memory may cut
        it before the question at its end."""
        earlier = self.memory.earlier("")[-REWRITER_MESSAGES:]
        last = self.memory.last_reply()
        if last is not None and (not earlier or _begins_alike(earlier[-1], last)):
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

    def _addressed(self, text: str, agent: str) -> str:
        """The message with its agent named in front, as an IDE chat writes it."""
        return f"#file:{prompt_named(agent, self.conversations.library).ref} {text}"


def _begins_alike(cut: Said, whole: Said) -> bool:
    """Whether the one is the other as the budget cut it, and not what KDS has said since."""
    return cut.role == whole.role and whole.text.startswith(cut.text[:_ALIKE])


def _text(message: object) -> str:
    """A message as it can be routed. Raises MessageError."""
    if not isinstance(message, str):
        hint = 'pass a text: session.ask("I want to add a FAB button")'
        raise MessageError(f"not a message: {type(message).__name__}", hint=hint)
    try:
        return clean_message(message)
    except MessageError as error:
        raise MessageError(error.message, hint="write what you want") from error


def _unconfirmed(now: Work, seen: Work) -> Work:
    """Take the pending confirmation out, if it is still the one that was seen."""
    same = now.exchange == seen.exchange and now.confirm == seen.confirm
    return now.idle() if same else now


def _listed(offers: tuple[Offer, ...]) -> str:
    return ", ".join(one.intent for one in offers)
