"""Making the windows of stored conversations: what is read, laid out, summarised, measured."""

from dataclasses import replace
from typing import Final

from kds.brain.database.stored_text import kept_text
from kds.brain.errors import StoreError
from kds.brain.passages.values import Message
from kds.brain.sessions.condensation import (
    CONDENSE_AT,
    CONDENSE_TO,
    STORED_TURNS,
    SUMMARY_SHARE,
    Condensation,
)
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.window import LABEL, Budget, Layout, Window, lay_out
from kds.brain.settings_schema import MemorySettings
from kds.brain.summaries.extractive import Limit
from kds.brain.summaries.summary import CheckedSummarizer, Made
from kds.brain.words.tokens import TokenCounter

WINDOW: Final = "window"
SUMMARY: Final = "summary"
"""Names of the measurements."""

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

    def make(self, session_id: str, query: str, flags: MemorySettings) -> Window:
        """Return the window of a session for a question; never asks a model."""
        if flags.context_limit_tokens:
            window = self._whole(session_id, query, flags)
        else:
            messages = self._recent(session_id, query, flags)
            layout = self._short(messages, query, flags)
            window = self._summarised(session_id, layout, _usual(flags, self._count), flags)
        notes = self._log(WINDOW, window.as_metric() | {"whole": flags.context_limit_tokens > 0})
        return replace(window, notes=(*window.notes, *notes))

    def catch_up(self, session_id: str, newest: Message, flags: MemorySettings) -> None:
        """Make the summaries that are due after a message, with the model when there is one."""
        self._condensation.periodic(session_id, newest, every=flags.summary_frequency)
        known = self._condensation.stored(session_id)
        too_early = newest.seq - known.last_seq < STORED_TURNS + flags.history_max_turns
        if flags.enable_history_summarization and not flags.context_limit_tokens and not too_early:
            layout = self._short(self._recent(session_id, "", flags), "", flags)
            limit = _usual(flags, self._count)
            self._condensation.advance(session_id, layout.first_seq - 1, limit=limit)

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session that was deleted."""
        self._condensation.forget(session_id)

    def _recent(self, session_id: str, query: str, flags: MemorySettings) -> tuple[Message, ...]:
        usual = USUAL_TURN * (flags.history_max_turns + 1)
        messages = self._store.messages(session_id, last=usual)
        has_older = bool(messages) and messages[0].seq > 1
        if has_older and sum(one.role == "user" for one in messages) <= flags.history_max_turns:
            last = LONGEST_TURN * (flags.history_max_turns + 1)
            messages = self._store.messages(session_id, last=last)
        return _without(messages, query)

    def _short(self, messages: tuple[Message, ...], query: str, flags: MemorySettings) -> Layout:
        return lay_out(
            messages, query, count=self._count, budget=_budget(flags), turns=flags.history_max_turns
        )

    def _summarised(
        self,
        session_id: str,
        layout: Layout,
        limit: Limit,
        flags: MemorySettings,
        *,
        store: bool = False,
    ) -> Window:
        """Put before a layout the summary of everything that it does not have verbatim."""
        if not flags.enable_history_summarization or layout.first_seq <= 1:
            return layout.window("", self._count)
        last_seq = layout.first_seq - 1
        covered = self._condensation.cover(session_id, last_seq, limit=limit, store=store)
        room = Limit(limit.words, layout.summary_room(self._count))
        text = self._condensation.within(covered.text, room)
        return layout.window(text, self._count, *covered.notes)

    def _whole(self, session_id: str, query: str, flags: MemorySettings) -> Window:
        """Send all since the last summary; near the limit, condense the older half first."""
        known = self._condensation.stored(session_id)
        since = self._store.session(session_id).message_count - known.last_seq
        messages = _without(self._store.messages(session_id, last=since), query)
        budget = _whole_budget(flags.context_limit_tokens, CONDENSE_AT)
        limit = Limit(budget.summary, max(budget.summary - self._count(f"{LABEL}\n"), 0))
        layout = self._long(messages, query, budget)
        is_whole = layout.first_seq == known.last_seq + 1
        if is_whole and not any(sent.cut for sent in layout.verbatim):
            return self._summarised(session_id, layout, limit, flags)
        layout = self._long(messages, query, _whole_budget(flags.context_limit_tokens, CONDENSE_TO))
        return self._summarised(session_id, layout, limit, flags, store=True)

    def _long(self, messages: tuple[Message, ...], query: str, budget: Budget) -> Layout:
        return lay_out(messages, query, count=self._count, budget=budget, turns=None, whole=True)

    def _log_summary(self, kind: str, made: Made) -> None:
        self._log(SUMMARY, made.as_metric() | {"kind": kind})

    def _log(self, name: str, data: dict[str, object]) -> tuple[str, ...]:
        """Measure; when the memory cannot be written to, a note says so."""
        try:
            self._store.metrics.add(name, data)
        except StoreError as error:
            return (f"not measured: {error.message}",)
        return ()


def empty_window(query: str, flags: MemorySettings, count: TokenCounter) -> Window:
    """Return the window of a conversation of which nothing is remembered."""
    return lay_out((), query, count=count, budget=_budget(flags)).window("", count)


def _budget(flags: MemorySettings) -> Budget:
    return Budget(flags.summary_tokens, flags.verbatim_tokens, flags.query_tokens)


def _usual(flags: MemorySettings, count: TokenCounter) -> Limit:
    label = count(f"{LABEL}\n")
    return Limit(flags.summary_words, max(flags.summary_tokens - label, 0))


def _whole_budget(limit: int, share: float) -> Budget:
    """Divide that share of a context limit: a tenth for the question, the rest verbatim."""
    total = int(limit * share)
    summary = min(max(int(limit * SUMMARY_SHARE), 200), total // 4)
    query = limit // 10
    return Budget(summary, max(total - summary - query, 0), query)


def _without(messages: tuple[Message, ...], query: str) -> tuple[Message, ...]:
    """Leave out the question itself, when it was stored already, and what the system said."""
    messages = tuple(one for one in messages if one.role != "system")
    if not messages or not query or messages[-1].role != "user":
        return messages
    stored = messages[-1].content
    same = stored == query or stored == kept_text(query)
    return messages[:-1] if same else messages
