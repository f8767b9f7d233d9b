"""A turn as JSON, and back: how it travels between processes (DESIGN 2 and 7).

The JSON is that of `Turn.as_dict` and, so that nothing is missing on the other side, also ``at``,
``in_scope``, ``context``, ``unresolved``, ``rewriting`` and ``records``. Scores are rounded there,
so a turn that came back equals the one that was sent to four decimals. What the caller gave along
with the message (``history``, ``rewrite``) stays with the caller.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from kds.brain.clock import moment
from kds.brain.errors import StoreError
from kds.brain.plain import plain, read
from kds.brain.turn import SCORE_DIGITS, ContextEntry, Rewriting, Turn

MS_DIGITS: Final = 3

_KINDS: Final = {one.name: one.type for one in fields(Turn)}
_NEEDED: Final = (
    *("message", "at", "context", "references", "expanded", "context_ref", "context_switch"),
    *("intent", "confidence", "in_scope", "alternatives", "secondary_intents", "action"),
    *("question", "candidates", "session_id", "agent", "prompt_file", "prompt", "records"),
)
_OLDER_LACK: Final = ("unresolved", "rewriting")


def to_wire(turn: Turn) -> dict[str, object]:
    """Return ``turn`` as JSON values."""
    return {
        **turn.as_dict(),
        "at": turn.at.isoformat(),
        "in_scope": round(turn.in_scope, SCORE_DIGITS),
        "context": [entry_to_wire(entry) for entry in turn.context],
        "unresolved": list(turn.unresolved),
        "rewriting": None if turn.rewriting is None else rewriting_to_wire(turn.rewriting),
        "records": plain(turn.records, digits=MS_DIGITS),
    }


def from_wire(data: object) -> Turn:
    """Read a turn that `to_wire` wrote; what it does not know is passed over.

    Raises StoreError when ``data`` is no such turn.
    """
    try:
        if not isinstance(data, Mapping):
            raise TypeError("not an object")
        found = {name: read(_KINDS[name], data[name]) for name in _NEEDED}
        found |= {name: read(_KINDS[name], data[name]) for name in _OLDER_LACK if name in data}
        return Turn(**found, english=data.get("notice") is None)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"this is no turn: {type(error).__name__}: {error}",
            hint="is the other side another version of KDS? restart it: kds service stop",
        ) from error


def entry_to_wire(entry: ContextEntry) -> dict[str, object]:
    """Return a context entry as JSON values: the fields of the file (DESIGN 3)."""
    return {
        "timestamp": moment(entry.timestamp, "auto"),
        "user_message": entry.user_message,
        "intent": entry.intent,
        "session_id": entry.session_id,
        **({} if entry.context_ref is None else {"context_ref": entry.context_ref}),
        **({} if entry.origin is None else {"origin": entry.origin}),
    }


def rewriting_to_wire(rewriting: Rewriting) -> dict[str, object]:
    """Return what became of asking a model as JSON values: nothing of what was said."""
    made: dict[str, object] = plain(rewriting, digits=MS_DIGITS)
    return made
