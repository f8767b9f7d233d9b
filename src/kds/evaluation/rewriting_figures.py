"""What the turns add up to that a model was to rewrite."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kds.api.measures import Spread, spread, tally


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Figures of the turns that a model was to rewrite (docs/rewriting.md)."""

    count: int
    asked: int
    """Those in which it was asked, and not known or left alone."""
    cached: int
    used: int
    unchanged: int
    """Answers that left the message as it was."""
    rejected: Mapping[str, int]
    """Answers that were not taken, by the check they failed."""
    failed: Mapping[str, int]
    """Calls without an answer, by what went wrong."""
    resting: int
    """Turns in which it was not asked, because it had just failed."""
    ms: Spread | None
    """What the turns waited in which it was asked."""


def rewrites_of(rows: Sequence[Mapping[str, Any]]) -> Rewrites | None:
    """Add up the records of turns, as `turn_metric` made them; None when there are none."""
    if not rows:
        return None
    outcomes = Counter(row.get("outcome") for row in rows)
    asked = [row for row in rows if not row.get("cached") and row.get("outcome") != "resting"]
    return Rewrites(
        count=len(rows),
        asked=len(asked),
        cached=sum(row.get("cached") is True for row in rows),
        used=outcomes["used"],
        unchanged=outcomes["unchanged"],
        rejected=tally(row.get("reason") for row in rows if row.get("outcome") == "rejected"),
        failed=tally(row.get("reason") for row in rows if row.get("outcome") == "failed"),
        resting=outcomes["resting"],
        ms=spread([float(row.get("ms") or 0.0) for row in asked]) if asked else None,
    )
