"""What a message comes to: which agents are to serve it, or what is said instead.

The message is routed and logged here, before a model is asked. Where the work goes is decided
from the prompt files and from what was said.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kds.agents.agent import Agent, prompt_named
from kds.brain.context.work import Halted, Work
from kds.brain.turn import UNKNOWN, Turn, Utterance
from kds.router.discourse.consent import goes_ahead, goes_on, reaction
from kds.router.discourse.reply import closing_question, proposes
from kds.router.prompts.library import PromptLibrary
from kds.router.remembering import entry_of

if TYPE_CHECKING:
    from kds.session.session import Session

REWRITER_MESSAGES: Final = 6
"""What a model that rewrites a message gets to see."""

_ALIKE: Final = 40
"""Characters by which a reply that was cut is recognised."""

_WORD: Final = re.compile(r"[\w']+")

Halt = Callable[[], tuple[str, ...]]
"""Stops what runs in a session and returns the names of the agents."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a message comes to. Without ``legs`` there is only something to say."""

    turn: Turn
    legs: tuple[str, ...] = ()
    """Intents to serve, in order; the first one is that of ``turn``."""
    said: str = ""
    """What the user said, which need not be the message of ``turn``: "yes"."""
    says: str = ""
    confirmed: bool = False
    """Whether the first one may begin although it has to be confirmed."""
    handed: str = ""
    """The message before, when its answer is what the first agent builds on."""
    chain: tuple[str, ...] = ()
    """Intents that served this piece of work before."""
    stopped: Halted | None = None
    notes: tuple[str, ...] = ()
    agent: Agent | None = None
    """Who serves it in the place of the first one."""


def plan_message(session: "Session", text: str, agent: str | None, halt: Halt) -> Plan:
    """Route and log ``text``, unless it answers what was asked or offered.

    With ``agent`` (its name, or its intent) it goes there. Raises what `Conversations.route`
    raises, and StoreError when the work cannot be read or kept.
    """
    found = session.store.load()
    plan = None if agent else _answering(session, text, found.work, halt)
    plan = plan or _routed(session, text, agent, found.work, halt)
    notice = (plan.turn.notice,) if plan.turn.notice else ()
    return replace(plan, said=text, notes=(*found.warnings, *notice, *plan.notes))


def going_on(session: "Session", work: Work, about: Turn, legs: tuple[str, ...]) -> Plan:
    """The plan by which the agents of ``legs`` build on the last answer; ``about`` is the turn."""
    handed = work.turn.message if work.turn else ""
    return Plan(session.turn_for(about, legs[0], legs[1:]), legs, handed=handed, chain=work.chain)


def _answering(session: "Session", text: str, work: Work, halt: Halt) -> Plan | None:
    """The plan for a message that is about what was asked or offered, else None.

    A question that the agent asked itself is what "go ahead" answers, not the handoff of
    its prompt file: the router reads the message as the answer. "Continue" means the next task
    of the plan, unless a model has said where the work goes next.
    """
    if work.turn is None:
        return None
    if work.confirm:
        return _confirmed(session, text, work, work.turn, work.confirm)
    last = session.memory.last_reply()
    asked = closing_question(last.text) if last else ""
    if proposes(asked) and reaction(text) == "no":
        stopped = session.stop(work, halt(), Work.idle)
        refused = _log_as(session, text, UNKNOWN, work.turn)
        return Plan(refused, says="Nothing was started; nothing has changed.", stopped=stopped)
    if work.rest and goes_on(text):
        _log_as(session, text, work.rest[0], work.turn)
        return going_on(session, work, work.turn, work.rest)
    offer = session.next_offer(work.offers, work.chain)
    if offer and (goes_on(text) if offer.chosen else goes_ahead(text) and not asked):
        about = _log_as(session, text, offer.intent, work.turn)
        return going_on(session, work, about, (offer.intent,))
    return None


def _confirmed(
    session: "Session", text: str, work: Work, turn: Turn, intent: str
) -> Plan | None:  # fmt: skip
    """A pending confirmation ends here, whatever is said: only once is it asked for."""
    agent = session.agent(intent)
    said = reaction(text, verbs=_WORD.findall(agent.prompt.ask or ""))
    pending = (work.exchange, intent)
    taken = session.store.change(
        lambda now: now.idle() if (now.exchange, now.confirm) == pending else now
    ).work
    if (taken.exchange, taken.confirm) != pending or said == "other":
        return None  # another process was faster: it is not done twice
    if said == "yes":
        _log_as(session, text, intent, turn)
        mine = session.turn_for(turn, intent, work.rest)
        return Plan(mine, (intent, *work.rest), confirmed=True, chain=work.chain)
    refused = _log_as(session, text, UNKNOWN, turn)
    return Plan(refused, says=f"{agent.name} was not started; nothing has changed.")


def _routed(session: "Session", text: str, agent: str | None, work: Work, halt: Halt) -> Plan:
    library = session.records.library
    notes = (f"not confirmed, so {work.confirm} was dropped",) if work.confirm else ()
    if agent:  # named in front, as an IDE chat writes it
        text = f"#file:{prompt_named(agent, library).ref} {text}"
    turn = _route(session, text, history=_history(session))
    corrects = turn.action == "route" and turn.intent in library.corrections()
    # What an agent had said until now was said before the message that halts it.
    stopped = session.stop(work, halt(), Work.idle) if corrects else None
    if session.log:
        turn = session.records.log(turn, conversation=session.conversation)
    if turn.action == "clarify":
        session.store.change(Work.idle)
        return Plan(turn, says=turn.question or "", notes=notes)
    intent = turn.intent if turn.action == "route" else UNKNOWN
    offered = intent in {one.intent for one in work.offers}
    return Plan(
        turn,
        (intent, *turn.secondary_intents),
        handed=work.turn.message if work.turn and (offered or corrects) else "",
        chain=work.chain if offered else (),
        stopped=stopped,
        notes=notes,
    )


def _history(session: "Session") -> tuple[Utterance, ...]:
    """What was said before; the newest reply whole, since the budget of the memory may cut
    it before the question at its end."""
    earlier = session.memory.earlier()[-REWRITER_MESSAGES:]
    if (last := session.memory.last_reply()) is None:
        return earlier
    is_last = not earlier or (
        earlier[-1].role == "assistant" and last.text.startswith(earlier[-1].text[:_ALIKE])
    )
    return (*earlier[:-1], Utterance(last.text, "assistant")) if is_last else earlier


def _log_as(session: "Session", text: str, intent: str, about: Turn) -> Turn:
    """Log a "yes" or "go ahead" as what it stands for, in the session it is about."""
    turn = _route(session, text, rewrite=False)
    turn = replace(
        session.turn_for(turn, intent),
        context_switch=False,
        context_ref=about.context_ref or turn.context_ref,
        session_id=about.session_id or turn.session_id,
    )
    if session.log:
        session.records.journal(session.conversation).log(entry_of(turn))
        session.memory.note(turn, session.conversation)
    return turn


def _route(session: "Session", text: str, **how: Any) -> Turn:
    how |= {"conversation": session.conversation, "origin": session.records.origin, "log": False}
    return session.client.route(text, **how)


def must_confirm(agent: Agent) -> bool:
    """Whether the user has to say yes before ``agent`` begins."""
    return agent.prompt.confirm or agent.intent in _always_confirmed()


@cache
def _always_confirmed() -> frozenset[str]:
    """Confirmed whatever the prompt files of a project say: what the packaged ones ask for. What
    cannot be taken back must not begin because a cloned file leaves out one line."""
    agents = PromptLibrary.load().agents()
    return frozenset(agent.intent for agent in agents if agent.intent and agent.confirm)
