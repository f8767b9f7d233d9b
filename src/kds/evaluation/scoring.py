"""Compares a routed turn with what a dialogue expects of it (DESIGN 8)."""

import re
from dataclasses import dataclass
from typing import Any, Final

from kds.api.same_text import bare, matches
from kds.brain.turn import UNKNOWN, Turn
from kds.evaluation.dialogue_file import ExpectedTurn

_ARTICLE: Final = re.compile(r"^\s*(?:an?|the)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A field of the turn that came out wrong, in words for a reader."""

    field: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which expectations of one turn were met. None: the dialogue does not say."""

    expanded: bool
    switch: bool
    intent: bool | None = None
    context_ref: bool | None = None
    secondary: bool | None = None
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def passed(self) -> bool:
        """True when nothing came out wrong."""
        return not self.mismatches


def judge(expected: ExpectedTurn, turn: Turn) -> Verdict:
    """Compare ``turn`` with ``expected``, field by field.

    An expected intent of UNKNOWN is met when the router did not route (issue 2).
    """
    verdicts: dict[str, Any] = {
        "expanded": matches(turn.expanded, expected.expanded or (expected.user,)),
        "switch": turn.context_switch == expected.switch,
        "intent": _intent_met(expected, turn) if expected.intents else None,
        "context_ref": _ref_met(expected, turn) if expected.context_refs else None,
        "secondary": None
        if expected.secondary is None
        else set(turn.secondary_intents) == set(expected.secondary),
    }
    shown = _shown(expected, turn)
    wrong = (Mismatch(name, *shown[name]) for name, met in verdicts.items() if met is False)
    return Verdict(**verdicts, mismatches=tuple(wrong))


def bare_reference(text: str) -> str:
    """Reduce a context reference: like ``bare``, and without a leading article.

    >>> bare_reference("the FAB button") == bare_reference("FAB Button")
    True
    """
    return bare(_ARTICLE.sub("", text))


def _intent_met(expected: ExpectedTurn, turn: Turn) -> bool:
    if UNKNOWN in expected.intents and turn.action != "route":
        return True
    return turn.intent in expected.intents and turn.intent != UNKNOWN


def _ref_met(expected: ExpectedTurn, turn: Turn) -> bool:
    accepted = {bare_reference(text) for text in expected.context_refs}
    return turn.context_ref is not None and bare_reference(turn.context_ref) in accepted


def _shown(expected: ExpectedTurn, turn: Turn) -> dict[str, tuple[str, str]]:
    """Expected and actual of every field, as a reader wants to see them."""
    unchanged = f"{expected.user} (unchanged)"
    actual_intent = f"{turn.intent} {turn.confidence:.2f}, action {turn.action}"
    return {
        "expanded": (" | ".join(expected.expanded) or unchanged, turn.expanded),
        "switch": (_yes_no(expected.switch), _yes_no(turn.context_switch)),
        "intent": (" | ".join(expected.intents), actual_intent),
        "context_ref": (" | ".join(expected.context_refs), turn.context_ref or "none"),
        "secondary": (
            ", ".join(expected.secondary or ()) or "none",
            ", ".join(turn.secondary_intents) or "none",
        ),
    }


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
