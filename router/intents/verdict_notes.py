"""What a verdict says about itself: the best scores, the patterns that fired, the conversation."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.evidence import Finding

NAMED_PATTERNS: Final = 3
"""Patterns of an intent that a note names."""

TOLD: Final = 3
"""Intents whose scores a note tells."""


def verdict_notes(
    labels: Sequence[str],
    log_p: NDArray[np.float64],
    findings: Sequence[Finding],
    shifts: Mapping[str, float],
) -> list[str]:
    """The notes of a verdict; ``log_p`` and ``findings`` stand in the order of ``labels``."""
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
