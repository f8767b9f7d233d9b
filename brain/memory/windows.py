"""Making the windows of stored conversations: what is read, laid out, summarised, measured."""

from dataclasses import replace
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.memory.condensation import (
    CONDENSE_AT,
    CONDENSE_TO,
    STORED_TURNS,
    SUMMARY_SHARE,
    Condensation,
    Keep,
)
from kds.brain.memory.extractive import ExtractiveSummarizer, Limit
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.shortening import fit
from kds.brain.memory.summarizer import CheckedSummarizer, Made, Summarizer
from kds.brain.memory.window import LABEL, TURNS, Budget, Layout, Window, lay_out
from kds.brain.passages.values import Message, Summary
from kds.brain.settings import MemorySettings
from kds.brain.store.columns import kept_text
from kds.brain.words.tokens import TokenCounter

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
            self._condensation.periodic(session_id, newest.seq, every=every, model=model)
        known = self._condensation.stored(session_id)
        too_early = newest.seq - known.last_seq < STORED_TURNS + TURNS
        if not flags.condenses or too_early:
            return
        if flags.context_limit_tokens:
            if model is not None:  # without one the next window does it
                self._condense_whole(session_id, flags, model)
            return
        layout = self._short(self._recent(session_id, "", flags), "", flags)
        limit = _usual(flags, self._count)
        self._condensation.advance(session_id, layout.first_seq - 1, limit=limit, model=model)

    def summarise_now(self, session_id: str, model: Summarizer | None = None) -> Summary | None:
        """Store a summary of what was said since the last periodic one; None: nothing was."""
        return self._condensation.now(session_id, model=model)

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session that was deleted."""
        self._condensation.forget(session_id)

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
            self._condensation.advance(session_id, last_seq, limit=limit, model=model, early=True)

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
