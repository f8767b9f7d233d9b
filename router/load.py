"""The first step: attach the conversation so far.

Reads: message, at, history. Writes: context. Never: changes an entry, or fails on a damaged line.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from kds.brain.context.journal import LIMIT, MAX_AGE, Journal, LoadedContext
from kds.brain.turn import UNKNOWN, WARNING, ContextEntry, Turn
from kds.router.pipeline import Step

OPENING: Final = 40
"""Characters that tell one message from another."""


def make_load(journal: Journal) -> Step:
    """Bind the step to a journal; it raises StoreError when the journal cannot be read."""

    def load(turn: Turn) -> Turn:
        loaded = journal.load()
        said = [one.text for one in turn.history if one.role == "user"]
        kept = {_opening(entry.user_message) for entry in loaded.entries}
        if not said or not kept.isdisjoint(map(_opening, said)):
            return replace(turn, context=loaded.entries, notes=_notes(turn, loaded))
        # it is of another conversation, or empty
        entries = tuple(ContextEntry(turn.at, text, UNKNOWN) for text in said[-LIMIT:])
        note = f"the history that was given stands for the context: {_entries(len(entries))}"
        return replace(turn, context=entries, notes=(*_notes(turn, loaded), note))

    return Step("load", frozenset({"message", "at", "history"}), frozenset({"context"}), load)


def _opening(text: str) -> str:
    """What tells a message from others, where code and secrets may be left out of one of them."""
    return " ".join(text.split())[:OPENING].casefold()


def _notes(turn: Turn, loaded: LoadedContext) -> tuple[str, ...]:
    notes = [_size(turn, loaded)]
    if loaded.expired:
        notes.append(f"{_entries(loaded.expired)} older than {_span(MAX_AGE)} dropped")
    if loaded.rotated:
        notes.append(f"{_entries(loaded.rotated)} beyond the limit dropped")
    return (*notes, *(f"{WARNING}{warning}" for warning in loaded.warnings))


def _size(turn: Turn, loaded: LoadedContext) -> str:
    if not loaded.entries:
        return "the context is empty"
    newest = loaded.entries[-1]
    age = _span(max(turn.at - newest.timestamp, timedelta(0)))
    return f"{_entries(len(loaded.entries))} in the context, the newest {age} old ({newest.intent})"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _span(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds >= 3600:
        return f"{seconds / 3600:g} h" if seconds % 3600 == 0 else f"{seconds / 3600:.1f} h"
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"
