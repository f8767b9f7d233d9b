"""The short-term window: what of a conversation goes to the model with the next question.

The last turns verbatim, replies shortened, before them a summary of everything older, then the
question. Pure functions of messages; who makes the summary is `condensation`'s business. No
window ever has more tokens than its budget.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.memory.shortening import CUT, fit, fits, shorten
from kds.brain.passages.values import Message, Role
from kds.brain.turn import Utterance
from kds.brain.words.tokens import TokenCounter

TURNS: Final = 4
"""Turns that go verbatim (issue 5). A turn begins with what the user says."""

LABEL: Final = "Earlier in this conversation:"
"""Stands before the summary, so that a model does not take it for an instruction."""

SMALLEST_CUT: Final = 16
"""Tokens below which the rest of a message is not worth sending."""


@dataclass(frozen=True, slots=True)
class WindowTokens:
    """Tokens of a window by part."""

    summary: int = 0
    verbatim: int = 0
    query: int = 0

    @property
    def total(self) -> int:
        """Tokens of the whole window."""
        return self.summary + self.verbatim + self.query


@dataclass(frozen=True, slots=True)
class Budget(WindowTokens):
    """Tokens for each part; ``total`` is never exceeded (issue 5: 1,100).

    A longer question takes what it needs from the two others, in proportion.
    """

    summary: int = 200
    verbatim: int = 800
    query: int = 100

    def beside(self, query: int) -> "Budget":
        """Return what is left for the others beside a question of that many tokens."""
        if query <= self.query:
            return self
        left = self.total - query
        others = self.summary + self.verbatim
        summary = left * self.summary // others if others else 0
        return Budget(summary, left - summary, query)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it goes to the model. ``seq`` is its place in the session, if it has one."""

    role: Role
    content: str
    tokens: int
    seq: int | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """What to send: the summary as a system message, the last turns, the question."""

    messages: tuple[Sent, ...]
    summary: str
    """Of the messages before ``first_seq``; "" when there is none."""
    tokens: WindowTokens
    budget: Budget
    first_seq: int
    """The first message that is sent verbatim; all before it are in the summary."""
    notes: tuple[str, ...] = ()

    def earlier(self) -> tuple[Utterance, ...]:
        """What stands before the question, for a turn. The summary is told as the user's: some
        providers take one system message, and no more."""
        before = self.messages[:-1] if self.tokens.query else self.messages
        return tuple(
            Utterance(one.content, "assistant" if one.role == "assistant" else "user")
            for one in before
        )

    def as_metric(self) -> dict[str, object]:
        """The record for the log of metrics: figures only."""
        return {
            "tokens": self.tokens.total,
            "summary_tokens": self.tokens.summary,
            "verbatim_tokens": self.tokens.verbatim,
            "query_tokens": self.tokens.query,
            "budget": self.budget.total,
            "messages": len(self.messages),
            "cut": sum(message.cut for message in self.messages),
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """A window without its summary."""

    budget: Budget
    room: Budget
    """What each part may have beside this question."""
    verbatim: tuple[Sent, ...]
    query: Sent | None
    first_seq: int
    notes: tuple[str, ...] = ()

    def summary_room(self, count: TokenCounter) -> int:
        """Tokens that a summary may have beside its label."""
        return max(self.room.summary - count(f"{LABEL}\n"), 0)

    def window(self, summary: str, count: TokenCounter, *notes: str) -> Window:
        """Put the summary in front; one that has no room after all is left out."""
        content = f"{LABEL}\n{summary}" if summary else ""
        tokens = count(content) if content else 0
        if tokens > self.room.summary:
            summary, content, tokens = "", "", 0
            notes = (*notes, "no room for the summary")
        head = (Sent("system", content, tokens),) if content else ()
        tail = (self.query,) if self.query else ()
        verbatim = sum(message.tokens for message in self.verbatim)
        return Window(
            messages=(*head, *self.verbatim, *tail),
            summary=summary,
            tokens=WindowTokens(tokens, verbatim, self.query.tokens if self.query else 0),
            budget=self.budget,
            first_seq=self.first_seq,
            notes=(*self.notes, *notes),
        )


def lay_out(
    messages: Sequence[Message],
    query: str,
    *,
    count: TokenCounter,
    budget: Budget,
    turns: int | None = TURNS,
    whole: bool = False,
) -> Layout:
    """Choose what of the newest ``messages`` of a session goes verbatim, and fit in the question.

    ``turns`` None: as many as fit. ``whole``: replies are not shortened, and the tokens that
    were counted when a message was stored stand.
    """
    asked = _query(query, budget, count)
    room = budget.beside(asked.tokens) if asked else budget
    chosen: tuple[Sent, ...] = ()
    left = room.verbatim
    for index, turn in enumerate(_newest_turns(messages)):
        if turns is not None and index >= turns:
            break
        sent = tuple(_sent(message, left, count, whole=whole) for message in turn)
        cost = sum(one.tokens for one in sent)
        if cost > left:
            if not chosen:
                chosen = _tail(sent, left, count)
            break
        chosen, left = (*sent, *chosen), left - cost
    first = chosen[0].seq if chosen else None
    after_all = messages[-1].seq + 1 if messages else 1
    notes = ("the question is longer than the budget and was cut",) if asked and asked.cut else ()
    return Layout(budget, room, chosen, asked, after_all if first is None else first, notes)


def turns_of(messages: Iterable[Message]) -> Iterator[tuple[Message, ...]]:
    """Yield the turns of messages, oldest first; the first may lack its beginning."""
    turn: list[Message] = []
    for message in messages:
        if message.role == "user" and turn:
            yield tuple(turn)
            turn = []
        turn.append(message)
    if turn:
        yield tuple(turn)


def _newest_turns(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    found = list(turns_of(messages))
    begun_before = bool(messages) and messages[0].seq > 1 and messages[0].role != "user"
    if begun_before and len(found) > 1:
        found = found[1:]
    return reversed(found)


def _query(query: str, budget: Budget, count: TokenCounter) -> Sent | None:
    if not query.strip():
        return None
    content = fit(query, budget.total, count)
    return Sent("user", content, count(content), cut=content != query) if content else None


def _sent(message: Message, room: int, count: TokenCounter, *, whole: bool) -> Sent:
    if whole:
        return Sent(message.role, message.content, message.tokens, message.seq)
    is_reply = message.role in ("assistant", "tool")
    content = shorten(message.content) if is_reply else message.content
    may_fit = fits(content, room, lambda _: 0)  # what is far too long need not be counted
    tokens = count(content) if may_fit else room + 1
    return Sent(message.role, content, tokens, message.seq, cut=content != message.content)


def _tail(sent: Sequence[Sent], room: int, count: TokenCounter) -> tuple[Sent, ...]:
    """Keep the newest messages of a turn that does not fit, the first of them cut."""
    kept: tuple[Sent, ...] = ()
    for one in reversed(sent):
        if one.tokens <= room:
            kept, room = (one, *kept), room - one.tokens
            continue
        content = fit(one.content, room, count) if room >= SMALLEST_CUT else ""
        if content.strip(CUT):
            kept = (Sent(one.role, content, count(content), one.seq, cut=True), *kept)
        break
    return kept
