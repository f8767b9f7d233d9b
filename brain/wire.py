"""A turn as JSON, and back: how it travels between processes (DESIGN 2 and 7).

The JSON is that of `Turn.as_dict` and, so that nothing is missing on the other side, also ``at``,
``in_scope``, ``context``, ``unresolved``, ``rewriting`` and ``records``. Scores are rounded there,
so a turn that came back equals the one that was sent to four decimals. What the caller gave along
with the message (``history``, ``rewrite``) stays with the caller.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, cast, get_args

from kds.brain.clock import moment
from kds.brain.errors import StoreError
from kds.brain.turn import (
    Action,
    ContextEntry,
    IntentScore,
    Outcome,
    Reference,
    Rewriting,
    StepRecord,
    Turn,
)

_Value = TypeVar("_Value")

_TEXTS = ("expanded", "intent", "prompt")
_TEXTS_OR_NONE = ("context_ref", "question", "session_id", "agent", "prompt_file")


def to_wire(turn: Turn) -> dict[str, object]:
    """Return ``turn`` as JSON values."""
    return {
        **turn.as_dict(),
        "at": turn.at.isoformat(),
        "in_scope": round(turn.in_scope, 4),
        "context": [entry_to_wire(entry) for entry in turn.context],
        "unresolved": list(turn.unresolved),
        "rewriting": None if turn.rewriting is None else rewriting_to_wire(turn.rewriting),
        "records": [
            {"step": record.step, "cpu_ms": round(record.cpu_ms, 3), "notes": list(record.notes)}
            for record in turn.records
        ],
    }


def from_wire(data: object) -> Turn:
    """Read a turn that `to_wire` wrote; what it does not know is passed over.

    Raises StoreError when ``data`` is no such turn.
    """
    try:
        return _turn(_mapping(data))
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
    }


def rewriting_to_wire(rewriting: Rewriting) -> dict[str, object]:
    """Return what became of asking a model as JSON values: nothing of what was said."""
    return {
        "model": rewriting.model,
        "outcome": rewriting.outcome,
        "reason": rewriting.reason,
        "cached": rewriting.cached,
        "ms": round(rewriting.ms, 3),
    }


def _turn(data: Mapping[str, Any]) -> Turn:
    action = _text(data["action"])
    if action not in get_args(Action):
        raise ValueError(f"unknown action '{action}'")
    turn = Turn(
        message=_text(data["message"]),
        at=datetime.fromisoformat(_text(data["at"])),
        context=_each(data["context"], _entry),
        references=_each(data["references"], _reference),
        unresolved=_each(data.get("unresolved", ()), _text),
        context_switch=bool(data["context_switch"]),
        rewriting=_rewriting(data.get("rewriting")),
        confidence=float(data["confidence"]),
        in_scope=float(data["in_scope"]),
        alternatives=_each(data["alternatives"], _score),
        secondary_intents=_each(data["secondary_intents"], _text),
        english=data.get("notice") is None,
        action=cast("Action", action),
        candidates=_each(data["candidates"], _text),
        records=_each(data["records"], _record),
    )
    texts: dict[str, Any] = {name: _text(data[name]) for name in _TEXTS}
    maybe: dict[str, Any] = {name: _text_or_none(data[name]) for name in _TEXTS_OR_NONE}
    return replace(turn, **texts, **maybe)


def _entry(data: Any) -> ContextEntry:
    return ContextEntry(
        timestamp=datetime.fromisoformat(_text(data["timestamp"])),
        user_message=_text(data["user_message"]),
        intent=_text(data["intent"]),
        session_id=_text_or_none(data["session_id"]),
        context_ref=_text_or_none(data.get("context_ref")),
    )


def _reference(data: Any) -> Reference:
    return Reference(
        text=_text(data["text"]),
        start=int(data["start"]),
        end=int(data["end"]),
        target=_text(data["target"]),
        rule=_text(data["rule"]),
        score=float(data["score"]),
    )


def _rewriting(data: Any) -> Rewriting | None:
    if data is None:
        return None
    outcome = _text(data["outcome"])
    if outcome not in get_args(Outcome):
        raise ValueError(f"unknown outcome '{outcome}'")
    return Rewriting(
        model=_text(data["model"]),
        outcome=cast("Outcome", outcome),
        reason=_text_or_none(data["reason"]),
        cached=bool(data["cached"]),
        ms=float(data["ms"]),
    )


def _score(data: Any) -> IntentScore:
    return IntentScore(_text(data["intent"]), float(data["confidence"]))


def _record(data: Any) -> StepRecord:
    return StepRecord(_text(data["step"]), _each(data["notes"], _text), float(data["cpu_ms"]))


def _each(values: object, read: Callable[[Any], _Value]) -> tuple[_Value, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError("a list is missing")
    return tuple(read(value) for value in values)


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
