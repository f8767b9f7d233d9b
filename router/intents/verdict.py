"""The verdict on a message, and what it says about itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.turn import IntentScore
from kds.router.intents.evidence import Finding, IntentRules

NAMED_PATTERNS: Final = 3
"""Patterns of an intent that a note names."""

TOLD: Final = 3
"""Intents whose scores a note tells."""


@dataclass(frozen=True, slots=True)
class IntentVerdict:
    """The intent of a message, and the calibrated probability that it is the right one.

    When none of the intents fits, ``intent`` is UNKNOWN and ``confidence`` is that of the best
    alternative: what acting on it would be worth. ``alternatives`` are in falling order.
    ``in_scope`` in [0, 1] ranks messages by how much they look like one of the intents at all.
    It is learned with as many messages out of scope as in scope; patterns speak for it too.
    """

    intent: str
    confidence: float
    alternatives: tuple[IntentScore, ...]
    notes: tuple[str, ...]
    in_scope: float
    log_p: Mapping[str, float] = field(default_factory=dict)
    """The log probability of every intent before calibration; none where a phrase decided."""
    barred: frozenset[str] = frozenset()
    """Intents that need a word which the message does not have: they are not chosen."""


def phrase_verdict(
    rules: Sequence[IntentRules], findings: Sequence[Finding], none: str
) -> IntentVerdict | None:
    """The verdict of an exact pattern; the lowest priority number wins among several."""
    exact = [
        (rule.priority, finding)
        for rule, finding in zip(rules, findings, strict=True)
        if finding.exact
    ]
    if not exact:
        return None
    finding = min(exact, key=lambda pair: (pair[0], pair[1].intent))[1]
    note = f"the whole message is a phrase of {finding.intent}"
    confidence = 0.0 if finding.intent == none else finding.score
    return IntentVerdict(finding.intent, confidence, (), (note,), confidence)


def verdict_notes(
    labels: Sequence[str],
    log_p: NDArray[np.float64],
    findings: Sequence[Finding],
    shifts: Mapping[str, float],
) -> list[str]:
    """The notes of a verdict; ``log_p`` and ``findings`` stand in the order of ``labels``.

    Scores, the patterns that fired, and what the conversation did.
    """
    order = np.argsort(-log_p, kind="stable")[:TOLD]
    top = ", ".join(f"{labels[index]} {float(np.exp(log_p[index])):.2f}" for index in order)
    lines = [f"scores: {top}"]
    for index in order:
        if fired := findings[index].fired:
            shown = "; ".join(pattern.where for pattern in fired[:NAMED_PATTERNS])
            lines.append(f"patterns for {labels[index]} ({findings[index].score:.2f}): {shown}")
    lines += [f"the conversation speaks {_tendency(by)} {intent}" for intent, by in shifts.items()]
    return lines


def _tendency(shift: float) -> str:
    return "for" if shift > 0 else "against"
