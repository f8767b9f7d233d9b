"""The short-term window: what of a conversation goes to the model with the next question.

The last turns verbatim, replies shortened, before them a summary of everything older, then the
question. No window ever has more tokens than its budget.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.memory.extractive import ExtractiveSummarizer, Limit
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.shortening import CUT, fit, fits, shorten
from kds.brain.memory.summaries import (
    CONDENSE_AT,
    CONDENSE_TO,
    STORED_TURNS,
    SUMMARY_SHARE,
    Condensation,
    Keep,
)
from kds.brain.memory.summarizer import CheckedSummarizer, Made, Summarizer
from kds.brain.passages.values import Message, Role, Summary
from kds.brain.settings import MemorySettings
from kds.brain.store.columns import kept_text
from kds.brain.turn import Utterance
from kds.brain.words.tokens import TokenCounter

TURNS: Final = 4
"""Turns that go verbatim. A turn begins with what the user says."""

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
    """Tokens for each part; ``total`` (1,100 by default) is never exceeded.

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


WINDOW: Final = "window"
SUMMARY: Final = "summary"
"""Names of the measurements."""

LEAST_SUMMARY: Final = 200
"""Tokens of the summary of a conversation that is sent whole, whatever its limit."""

USUAL_TURN: Final = 3
LONGEST_TURN: Final = 24
"""Messages that are read for each turn of the window: first what most turns have, then what
they have when tools answer many times."""


class Windows:
    """The windows and summaries of the sessions of one store."""

    def __init__(
        self, store: MemoryStore, summarizer: CheckedSummarizer, count: TokenCounter
    ) -> None:
        self._store = store
        self._count = count
        self._condensation = Condensation(store, summarizer, on_made=self._log_summary)

    def make(
        self, session_id: str, query: str, flags: MemorySettings, *, keep: Keep = "due"
    ) -> Window:
        """Return the window of a session for a question; never asks a model.

        ``keep`` "never": no summary is stored, because a model will write it (`catch_up`).
        """
        if flags.context_limit_tokens:
            window = self._whole(session_id, query, flags, keep)
        else:
            messages = self._recent(session_id, query, flags)
            layout = self._short(messages, query, flags)
            window = self._summarised(session_id, layout, _usual(flags, self._count), flags, keep)
        notes = self._log(WINDOW, window.as_metric() | {"whole": flags.context_limit_tokens > 0})
        return replace(window, notes=(*window.notes, *notes))

    def catch_up(
        self,
        session_id: str,
        newest: Message,
        flags: MemorySettings,
        model: Summarizer | None = None,
    ) -> None:
        """Make the summaries that are due after a message, by the ``model`` if there is one."""
        if newest.role == "assistant":
            every = flags.summary_every
            if every > 0:
                self._condensation.periodic(session_id, newest.seq, replies=every, model=model)
        known = self._condensation.stored(session_id)
        too_early = newest.seq - known.last_seq < STORED_TURNS + TURNS
        if not flags.condenses or too_early:
            return
        if flags.context_limit_tokens:
            if model is not None:  # without one the next window does it
                self._condense_whole(session_id, flags, model)
            return
        layout = self._short(self._recent(session_id, "", flags), "", flags)
        last_seq = layout.first_seq - 1
        if self._condensation.is_due(session_id, last_seq):
            limit = _usual(flags, self._count)
            self._condensation.cover(session_id, last_seq, limit=limit, model=model)

    def summarise_now(self, session_id: str, model: Summarizer | None = None) -> Summary | None:
        """Store a summary of what was said since the last periodic one; None: nothing was."""
        newest = self._store.session(session_id).message_count
        return self._condensation.periodic(session_id, newest, replies=0, model=model)

    def _recent(self, session_id: str, query: str, flags: MemorySettings) -> tuple[Message, ...]:
        turns = _turns(flags)
        messages = self._store.messages(session_id, last=USUAL_TURN * (turns + 1))
        has_older = bool(messages) and messages[0].seq > 1
        if has_older and sum(one.role == "user" for one in messages) <= turns:
            messages = self._store.messages(session_id, last=LONGEST_TURN * (turns + 1))
        return _without(messages, query)

    def _short(self, messages: tuple[Message, ...], query: str, flags: MemorySettings) -> Layout:
        budget, turns = _budget(flags), _turns(flags)
        return lay_out(messages, query, count=self._count, budget=budget, turns=turns)

    def _summarised(
        self, session_id: str, layout: Layout, limit: Limit, flags: MemorySettings, keep: Keep
    ) -> Window:
        """Put before a layout the summary of everything that it does not have verbatim."""
        if not flags.condenses or layout.first_seq <= 1:
            return layout.window("", self._count)
        last_seq = layout.first_seq - 1
        covered = self._condensation.cover(session_id, last_seq, limit=limit, keep=keep)
        room = Limit(limit.words, layout.summary_room(self._count))
        text = self._condensation.within(covered.text, room)
        verbatim = (one.content for one in layout.verbatim)
        text = self._condensation.with_periodic(session_id, text, verbatim, limit=room)
        return layout.window(text, self._count, *covered.notes)

    def _whole(self, session_id: str, query: str, flags: MemorySettings, keep: Keep) -> Window:
        """Send all since the last summary; near the limit, condense the older half first."""
        layout, limit = self._full(session_id, query, flags)
        if layout is None:
            layout, limit = self._condensed(session_id, query, flags)
            keep = "always" if keep == "due" else keep
        return self._summarised(session_id, layout, limit, flags, keep)

    def _condense_whole(
        self, session_id: str, flags: MemorySettings, model: Summarizer | None
    ) -> None:
        """Condense a conversation that is sent whole, once it has reached its limit."""
        layout, _ = self._full(session_id, "", flags)
        if layout is None:
            layout, limit = self._condensed(session_id, "", flags)
            last_seq = layout.first_seq - 1
            self._condensation.cover(session_id, last_seq, limit=limit, keep="always", model=model)

    def _full(
        self, session_id: str, query: str, flags: MemorySettings
    ) -> tuple[Layout | None, Limit]:
        """Lay out everything since the last summary; None when it exceeds CONDENSE_AT."""
        known = self._condensation.stored(session_id)
        summary = self._count(f"{LABEL}\n") + self._count(known.text) if known.text else 0
        layout, limit = self._long(session_id, query, flags, CONDENSE_AT, summary)
        is_whole = layout.first_seq == known.last_seq + 1
        cut = any(sent.cut for sent in layout.verbatim)
        return layout if is_whole and not cut else None, limit

    def _condensed(
        self, session_id: str, query: str, flags: MemorySettings
    ) -> tuple[Layout, Limit]:
        """Lay out what stays verbatim when the rest is condensed."""
        summary = max(int(flags.context_limit_tokens * SUMMARY_SHARE), LEAST_SUMMARY)
        return self._long(session_id, query, flags, CONDENSE_TO, summary)

    def _long(
        self, session_id: str, query: str, flags: MemorySettings, share: float, summary: int
    ) -> tuple[Layout, Limit]:
        known = self._condensation.stored(session_id)
        since = self._store.session(session_id).message_count - known.last_seq
        messages = _without(self._store.messages(session_id, last=since), query)
        total = int(flags.context_limit_tokens * share)
        asked = self._count(fit(query, total // 10, self._count)) if query.strip() else 0
        summary = min(summary, total // 4)
        budget = Budget(summary, total - summary - asked, asked)
        layout = lay_out(messages, query, count=self._count, budget=budget, turns=None, whole=True)
        return layout, Limit(summary, max(summary - self._count(f"{LABEL}\n"), 0))

    def _log_summary(self, kind: str, made: Made) -> None:
        self._log(SUMMARY, made.as_metric() | {"kind": kind})

    def _log(self, name: str, data: dict[str, object]) -> tuple[str, ...]:
        """Measure; when the memory cannot be written to, a note says so."""
        try:
            self._store.metrics.add(name, data)
        except StoreError as error:
            return (f"not measured: {error.message}",)
        return ()


def window_of(
    messages: tuple[Message, ...], query: str, flags: MemorySettings, count: TokenCounter
) -> Window:
    """Return the window of a conversation that is not stored, made without a model."""
    budget, turns = _budget(flags), _turns(flags)
    layout = lay_out(messages, query, count=count, budget=budget, turns=turns)
    older = tuple(one for one in messages if one.seq < layout.first_seq)
    if not (flags.condenses and older):
        return layout.window("", count)
    limit = Limit(flags.summary_words, layout.summary_room(count))
    return layout.window(ExtractiveSummarizer(limit, count_tokens=count)(older, ""), count)


def _budget(flags: MemorySettings) -> Budget:
    return Budget(flags.summary_tokens, flags.verbatim_tokens, flags.query_tokens)


def _usual(flags: MemorySettings, count: TokenCounter) -> Limit:
    label = count(f"{LABEL}\n")
    return Limit(flags.summary_words, max(flags.summary_tokens - label, 0))


def _turns(flags: MemorySettings) -> int:
    return min(TURNS, flags.history_max_turns)


def _without(messages: tuple[Message, ...], query: str) -> tuple[Message, ...]:
    """Leave out the question itself, when it was stored already, and what the system said."""
    messages = tuple(one for one in messages if one.role != "system")
    if not messages or not query or messages[-1].role != "user":
        return messages
    stored = messages[-1].content
    same = stored == query or stored == kept_text(query)
    return messages[:-1] if same else messages
