"""The first step and the last: the conversation so far is loaded, and the message is logged."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from kds.brain.context.journal import LIMIT, MAX_AGE, Journal, LoadedContext
from kds.brain.errors import ExposedError
from kds.brain.turn import UNKNOWN, WARNING, ContextEntry, Turn
from kds.router.pipeline import Step

OPENING: Final = 40
"""Characters that tell one message from another, where code and secrets may be left out."""


def make_load(journal: Journal) -> Step:
    """The step that attaches the conversation so far. Raises StoreError."""

    def load(turn: Turn) -> Turn:
        loaded = journal.load()
        notes = [_told(turn, loaded)]
        if loaded.expired:
            notes.append(f"{_entries(loaded.expired)} older than {_span(MAX_AGE)} dropped")
        if loaded.rotated:
            notes.append(f"{_entries(loaded.rotated)} beyond the limit dropped")
        notes += (f"{WARNING}{warning}" for warning in loaded.warnings)
        entries = loaded.entries
        said = [one.text for one in turn.history if one.role == "user"]
        if said and _openings(said).isdisjoint(_openings(one.user_message for one in entries)):
            # what is kept is of another conversation, or empty
            entries = tuple(ContextEntry(turn.at, text, UNKNOWN) for text in said[-LIMIT:])
            told = _entries(len(entries))
            notes.append(f"the history that was given stands for the context: {told}")
        return replace(turn, context=entries, notes=tuple(notes))

    return Step("load", load)


def make_log(journal: Journal) -> Step:
    """The step that remembers the message once all else has succeeded. Raises StoreError.

    Where git would commit the journal, the turn goes on without being remembered, and says so.
    """

    def log(turn: Turn) -> Turn:
        entry = entry_of(turn)
        try:
            logged = journal.log(entry, fresh=turn.context_switch)
        except ExposedError as error:
            told = f"{WARNING}the message is not remembered: {error.message}; {error.hint}"
            return replace(turn, notes=(told,))
        count = _entries(len(logged.entries))
        session = entry.session_id or "none"
        notes = [f"logged as {entry.intent}, session {session}; {count} in the context"]
        if turn.context_switch:
            notes.append("topic switch: the earlier entries were dropped")
        if logged.rotated:
            notes.append(f"rotated: {logged.rotated} oldest dropped")
        return replace(turn, notes=(*notes, *(f"{WARNING}{one}" for one in logged.warnings)))

    return Step("log", log)


def entry_of(turn: Turn) -> ContextEntry:
    """Say what is remembered of a turn: the message, never a reply.

    Every action is logged, so that a follow-up can refer to a message that was asked back
    or not understood; the latter with the intent UNKNOWN. The message of a topic switch has
    no session: the new one is opened by it.
    """
    return ContextEntry(
        timestamp=turn.at,
        user_message=turn.message,
        intent=UNKNOWN if turn.action == "abstain" else turn.intent,
        session_id=None if turn.context_switch else turn.session_id,
        context_ref=turn.context_ref,
    )


def _openings(texts: Iterable[str]) -> set[str]:
    return {" ".join(text.split())[:OPENING].casefold() for text in texts}


def _told(turn: Turn, loaded: LoadedContext) -> str:
    if not loaded.entries:
        return "the context is empty"
    newest = loaded.entries[-1]
    age = _span(max(turn.at - newest.timestamp, timedelta(0)))
    return f"{_entries(len(loaded.entries))} in the context, the newest {age} old ({newest.intent})"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _span(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds // 60} min"
