"""A conversation as the page shows it: its messages, what KDS made of them, what may come next."""

from dataclasses import dataclass
from typing import Final

from kds.brain.context.work import Offer
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.records import Session
from kds.brain.passages.values import Message
from kds.brain.turn import Turn
from kds.session.memory import KDS
from kds.web.talks import Talk, Telling
from kds.web.turn_view import Choice, TurnView, choices_of, view_of

PAGE: Final = 50
"""Messages of a page; a session may have ten thousand."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message as the page shows it."""

    role: str
    text: str
    seq: int = 0
    """Its number in the session; 0: it is not kept."""
    speaker: str | None = None
    view: TurnView | None = None
    """What KDS made of it, as far as this service still knows."""

    @property
    def is_kds(self) -> bool:
        """Whether no agent said it, but KDS itself: a question."""
        return self.speaker == KDS


@dataclass(frozen=True, slots=True)
class Tail:
    """What stands behind the last message."""

    telling: Telling | None = None
    """The last answer."""
    running: bool = False
    """Whether it was on its way before the messages were read: if not, it is among them."""
    confirm: bool = False
    """Whether something waits for a yes."""
    proposal: bool = False
    """Whether the answer proposes something, which a yes takes."""
    choices: tuple[Choice, ...] = ()
    """What a question of KDS gives to choose from."""
    offers: tuple[Offer, ...] = ()
    """Agents that may go on with the work."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of a conversation; ``tail`` unless it is an earlier one."""

    lines: tuple[Line, ...] = ()
    earlier: int | None = None
    """The number of the message before which there are more."""
    tail: Tail = Tail()
    after: int = 0
    """The number of the last message that there is."""


def earlier_page(store: MemoryStore, talk: Talk, session: Session, before: int) -> Shown:
    """The messages before one of them, as many as a page holds."""
    messages = store.messages(session.id, last=PAGE, before_seq=before)
    first = messages[0].seq if messages else 1
    return Shown(_lines(messages, talk), first if first > 1 else None)


def newest_page(store: MemoryStore, talk: Talk, session: Session, after: int = 0) -> Shown:
    """The newest messages, as many as a page holds, of those behind one that is shown already."""
    tail = tail_of(talk)
    messages = store.messages(session.id, last=PAGE)
    new = tuple(one for one in messages if one.seq > after)
    first = new[0].seq if new else 1
    end = messages[-1].seq if messages else after
    return Shown(_lines(new, talk), first if first > 1 and not after else None, tail, end)


def unkept(talk: Talk, said: str = "") -> Shown:
    """What was said last where the memory is off: the user's message, or the answers to it."""
    tail, turn = tail_of(talk), talk.latest
    lines = [Line("user", said, view=view_of(turn))] if said and turn is not None else []
    answer = None if tail.telling is None or tail.running else tail.telling.answer
    if answer is not None:
        lines += [Line("assistant", one.text, 0, one.agent) for one in answer.replies
                  if one.answered]  # fmt: skip
        lines += [Line("assistant", answer.question, 0, KDS)] if answer.question else []
    return Shown(tuple(lines), tail=tail)


def tail_of(talk: Talk) -> Tail:
    """What may come next. Raises StoreError when the work in progress cannot be read."""
    running, latest, telling = talk.running is not None, talk.latest, talk.telling
    work = talk.session.work
    asks = latest is not None and latest.action == "clarify" and not work.confirm
    library = talk.session.conversations.library
    choices = choices_of(library, latest.candidates) if asks and latest else []
    answer = telling.answer if telling is not None else None
    failed = answer is not None and answer.error
    offers = () if failed else tuple(one for one in work.offers if one.intent not in work.chain)
    proposal = answer is not None and bool(answer.proposal)
    return Tail(telling, running, bool(work.confirm), proposal, tuple(choices), offers)


def _lines(messages: tuple[Message, ...], talk: Talk) -> tuple[Line, ...]:
    heard = (one for one in messages if one.role != "system")
    return tuple(_line(one, talk.turns.get(one.at)) for one in heard)


def _line(message: Message, turn: Turn | None) -> Line:
    """A message beside its turn. Where a secret was marked, the words have other places."""
    same = turn is not None and turn.message == message.content
    view = view_of(turn) if turn is not None and same else None
    return Line(message.role, message.content, message.seq, message.speaker, view)
