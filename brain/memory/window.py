"""The short-term window: what of a conversation goes to the model with the next question.

The last turns verbatim, replies shortened, before them a summary of everything older, then the
question. No window ever has more tokens than its budget. `Windows` also keeps the summaries: the
rolling one is stored after replies, in steps of some turns; what left since is added without a
model whenever a window is made.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.shortening import CUT, fit, fits, shorten
from kds.brain.memory.summarizer import (
    ExtractiveSummarizer,
    Limit,
    Made,
    Part,
    Summarizer,
    lacking,
    read,
    summarised,
)
from kds.brain.passages.values import Message, Role, Summary, SummaryKind, is_told
from kds.brain.settings import MemorySettings
from kds.brain.store.columns import kept_text
from kds.brain.turn import Utterance
from kds.brain.words.terms import TokenCounter

TURNS: Final = 4
"""Turns that go verbatim. A turn begins with what the user says."""

LABEL: Final = "Earlier in this conversation:"
"""Stands before the summary, so that a model does not take it for an instruction."""

SMALLEST_CUT: Final = 16
"""Tokens below which the rest of a message is not worth sending."""

CONDENSE_AT: Final = 0.95
"""Of the limit of a conversation that is sent whole: then the older part is condensed."""

CONDENSE_TO: Final = 0.5
"""Of the limit that stays verbatim then. Condensing costs a summary and what a provider cached
of the beginning: it must not happen at every turn."""

SUMMARY_SHARE: Final = 0.02
"""Of such a limit for the summary: 5,200 tokens of 262k."""

LEAST_SUMMARY: Final = 200
"""Tokens of the summary of a conversation that is sent whole, whatever its limit."""

LONGEST_TURN: Final = 24
"""Messages that are read for each turn of the window: what it has when tools answer many times."""

STORED_TURNS: Final = 4
"""Turns between two stored rolling summaries: a quarter of the model's work and of the disk."""

BACKLOG: Final = 5000
"""Messages that are summarised at once, the newest: 1,200 of 100 tokens take 0.7 s of CPU. Only
an imported conversation has more."""

WINDOW: Final = "window"
SUMMARY: Final = "summary"
"""Names of the measurements."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens by part; of a window the ``total`` (1,100 by default) is never exceeded.

    A longer question takes what it needs from the two others, in proportion.
    """

    summary: int = 200
    verbatim: int = 800
    query: int = 100

    @property
    def total(self) -> int:
        """Tokens of all parts."""
        return self.summary + self.verbatim + self.query

    def beside(self, query: int) -> "Budget":
        """Return what is left for the others beside a question of that many tokens."""
        if query <= self.query:
            return self
        left, others = self.total - query, self.summary + self.verbatim
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
    tokens: Budget
    budget: Budget
    first_seq: int
    """The first message that is sent verbatim; all before it are in the summary."""
    room: int
    """Tokens that a summary may have, its label included."""
    summary: str = ""
    """Of the messages before ``first_seq``; "" when there is none."""
    notes: tuple[str, ...] = ()

    def earlier(self) -> tuple[Utterance, ...]:
        """What stands before the question, for a turn. The summary is told as the user's: some
        providers take one system message, and no more."""
        before = self.messages[:-1] if self.tokens.query else self.messages
        return tuple(
            Utterance(one.content, "assistant" if one.role == "assistant" else "user")
            for one in before
        )

    def with_summary(self, summary: str, count: TokenCounter) -> "Window":
        """Put a summary in front; one that has no room after all is left out."""
        if not summary:
            return self
        content = f"{LABEL}\n{summary}"
        if (tokens := count(content)) > self.room:
            return replace(self, notes=(*self.notes, "no room for the summary"))
        head = Sent("system", content, tokens)
        filled = replace(self.tokens, summary=tokens)
        return replace(self, messages=(head, *self.messages), summary=summary, tokens=filled)

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


def lay_out(
    messages: Sequence[Message],
    query: str,
    *,
    count: TokenCounter,
    budget: Budget,
    turns: int | None = TURNS,
    whole: bool = False,
) -> Window:
    """Choose what of the newest ``messages`` of a session goes verbatim, and fit in the question.

    ``turns`` None: as many as fit. ``whole``: replies are not shortened, and the tokens that
    were counted when a message was stored stand.
    """
    content = fit(query, budget.total, count) if query.strip() else ""
    asked = (Sent("user", content, count(content), cut=content != query),) if content else ()
    room = budget.beside(asked[0].tokens) if asked else budget
    chosen: tuple[Sent, ...] = ()
    left = room.verbatim
    for turn in islice(_newest_turns(messages), turns):
        sent = tuple(_sent(message, left, count, whole=whole) for message in turn)
        cost = sum(one.tokens for one in sent)
        if cost > left:
            chosen = chosen or _tail(sent, left, count)
            break
        chosen, left = (*sent, *chosen), left - cost
    after_all = messages[-1].seq + 1 if messages else 1
    cut = any(one.cut for one in asked)
    return Window(
        messages=(*chosen, *asked),
        tokens=Budget(0, sum(one.tokens for one in chosen), sum(one.tokens for one in asked)),
        budget=budget,
        first_seq=(chosen[0].seq if chosen else None) or after_all,
        room=room.summary,
        notes=("the question is longer than the budget and was cut",) if cut else (),
    )


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
    return reversed(found[1:] if begun_before and len(found) > 1 else found)


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


class Windows:
    """The windows and summaries of the sessions of one store, for any number of threads."""

    def __init__(self, store: MemoryStore, count: TokenCounter) -> None:
        self._store = store
        self._extractive = ExtractiveSummarizer(count_tokens=count)
        self._count = count
        self._label = count(f"{LABEL}\n")

    def make(self, session_id: str, query: str, flags: MemorySettings) -> Window:
        """Return the window of a session for a question; asks no model, and stores no summary."""
        window, limit, _ = self._laid_out(session_id, query, flags)
        if flags.condenses and window.first_seq > 1:
            text = self._rolling(session_id, window.first_seq - 1, limit).text
            room = Limit(limit.words, max(window.room - self._label, 0))
            more = self._newer_periodic(session_id, window)
            text = self._extractive.extend(text, more, room)
            window = window.with_summary(text, self._count)
        data = window.as_metric() | {"whole": flags.context_limit_tokens > 0}
        notes = self._store.metrics.note(WINDOW, data)
        return replace(window, notes=(*window.notes, *notes))

    def catch_up(
        self,
        session_id: str,
        newest: Message,
        flags: MemorySettings,
        model: Summarizer | None = None,
    ) -> None:
        """Store the summaries that are due after a message, by the ``model`` if there is one."""
        if newest.role == "assistant" and (every := flags.summary_every) > 0:
            self.periodic(session_id, newest.seq, replies=every, model=model)
        _, known = self._latest(session_id, "rolling")
        if not flags.condenses or newest.seq - known < STORED_TURNS + TURNS:
            return
        window, limit, due = self._laid_out(session_id, "", flags)
        last_seq = window.first_seq - 1
        if not flags.context_limit_tokens:
            left = self._between(session_id, known, last_seq)
            due = sum(message.role == "user" for message in left) >= STORED_TURNS
        if not due or last_seq <= known:
            return
        made = self._rolling(session_id, last_seq, limit, model)
        if self._latest(session_id, "rolling")[1] <= known:  # else another was quicker
            self._keep(session_id, 1, last_seq, made, "rolling")

    def _rolling(
        self, session_id: str, last_seq: int, limit: Limit, model: Summarizer | None = None
    ) -> Made:
        """Summarise a session up to ``last_seq``, or a little further."""
        text, known = self._latest(session_id, "rolling")
        if last_seq <= known:
            return Made(text, "extractive", None, 0.0)
        messages = self._between(session_id, known, last_seq)
        told = _told(messages)
        return summarised(self._extractive, told, text, limit=limit, model=model)

    def _keep(
        self, session_id: str, first: int, last: int, made: Made, kind: SummaryKind
    ) -> Summary | None:
        self._store.metrics.note(SUMMARY, made.as_metric() | {"kind": kind})
        if not made.text:
            return None
        return self._store.add_summary(session_id, first, last, made.text, kind=kind)

    def periodic(
        self, session_id: str, last_seq: int, *, replies: int, model: Summarizer | None = None
    ) -> Summary | None:
        """Store a summary of what was said since the last periodic one up to ``last_seq``.

        None when fewer ``replies`` were, nothing was said, or another thread was quicker.
        """
        _, known = self._latest(session_id, "periodic")
        if last_seq - known < max(replies, 1):
            return None
        messages = self._between(session_id, known, last_seq)
        told = _told(messages)
        if sum(message.role == "assistant" for message in told) < replies:
            return None
        made = summarised(self._extractive, told, model=model)
        if not made.text or self._latest(session_id, "periodic")[1] > known:
            return None
        return self._keep(session_id, messages[0].seq, messages[-1].seq, made, "periodic")

    def _newer_periodic(self, session_id: str, window: Window) -> tuple[Part, ...]:
        """What the latest periodic summary tells, and neither messages nor rolling summary do."""
        text, last_seq = self._latest(session_id, "periodic")
        if last_seq <= self._latest(session_id, "rolling")[1]:
            return ()
        return lacking(read((), text), "\n".join(one.content for one in window.messages))

    def _latest(self, session_id: str, kind: SummaryKind) -> tuple[str, int]:
        """Return the text of the latest stored summary, and up to where it goes."""
        found = self._store.latest_summary(session_id, kind)
        return (found.text, found.last_seq) if found else ("", 0)

    def _between(self, session_id: str, known: int, last_seq: int) -> tuple[Message, ...]:
        count = min(last_seq - known, BACKLOG)
        return self._store.messages(session_id, last=count, before_seq=last_seq + 1)

    def _laid_out(
        self, session_id: str, query: str, flags: MemorySettings
    ) -> tuple[Window, Limit, bool]:
        """Lay out a window without its summary, which has a limit.

        Of a conversation that is sent whole: everything since the last summary; near the limit
        only the newer half, and the rest is to be condensed (the last value is true).
        """
        if not flags.context_limit_tokens:
            last = LONGEST_TURN * (_turns(flags) + 1)
            messages = _without(self._store.messages(session_id, last=last), query)
            usual = Limit(flags.summary_words, max(flags.summary_tokens - self._label, 0))
            return _short(messages, query, flags, self._count), usual, False
        text, known = self._latest(session_id, "rolling")
        since = self._store.session(session_id).message_count - known
        messages = _without(self._store.messages(session_id, last=since), query)
        summary = self._label + self._count(text) if text else 0
        window, limit = self._whole(messages, query, flags, CONDENSE_AT, summary)
        if window.first_seq == known + 1 and not any(one.cut for one in window.messages):
            return window, limit, False
        summary = max(int(flags.context_limit_tokens * SUMMARY_SHARE), LEAST_SUMMARY)
        return *self._whole(messages, query, flags, CONDENSE_TO, summary), True

    def _whole(
        self,
        messages: tuple[Message, ...],
        query: str,
        flags: MemorySettings,
        share: float,
        summary: int,
    ) -> tuple[Window, Limit]:
        total = int(flags.context_limit_tokens * share)
        asked = self._count(fit(query, total // 10, self._count)) if query.strip() else 0
        summary = min(summary, total // 4)
        budget = Budget(summary, total - summary - asked, asked)
        window = lay_out(messages, query, count=self._count, budget=budget, turns=None, whole=True)
        return window, Limit(summary, max(summary - self._label, 0))


def window_of(
    messages: tuple[Message, ...], query: str, flags: MemorySettings, count: TokenCounter
) -> Window:
    """Return the window of a conversation that is not stored, made without a model."""
    window = _short(messages, query, flags, count)
    older = tuple(one for one in messages if one.seq < window.first_seq)
    if not (flags.condenses and older):
        return window
    limit = Limit(flags.summary_words, max(window.room - count(f"{LABEL}\n"), 0))
    summary = ExtractiveSummarizer(limit, count_tokens=count)(older, "")
    return window.with_summary(summary, count)


def _short(
    messages: tuple[Message, ...], query: str, flags: MemorySettings, count: TokenCounter
) -> Window:
    budget = Budget(flags.summary_tokens, flags.verbatim_tokens, flags.query_tokens)
    return lay_out(messages, query, count=count, budget=budget, turns=_turns(flags))


def _turns(flags: MemorySettings) -> int:
    return min(TURNS, flags.history_max_turns)


def _told(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return tuple(one for one in messages if is_told(one.role, one.speaker))


def _without(messages: tuple[Message, ...], query: str) -> tuple[Message, ...]:
    """Leave out the question itself, when it was stored already, and what the system said."""
    messages = tuple(one for one in messages if one.role != "system")
    last = messages[-1] if messages and query else None
    asked = last is not None and last.role == "user" and last.content in (query, kept_text(query))
    return messages[:-1] if asked else messages
