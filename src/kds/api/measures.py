"""Small measures that the scores share: shares, means, percentiles, rounding."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from time import process_time
from typing import Final, TypeVar

T = TypeVar("T")

DECIMALS = 4
"""Digits behind the point in JSON: more would pretend a precision that no file has."""


def share(outcomes: Iterable[bool | None]) -> float | None:
    """The share of True among those that were checked at all; None when none was.

    >>> share([True, None, False])
    0.5
    """
    return mean(outcome for outcome in outcomes if outcome is not None)


def mean(values: Iterable[float]) -> float | None:
    """The mean; None for no values."""
    found = list(values)
    return sum(found) / len(found) if found else None


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that ``percent`` % do not exceed (nearest rank); 0.0 for none.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([4.0, 1.0, 3.0, 2.0], 99)
    (2.0, 4.0)
    """
    if not values:
        return 0.0
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Do ``work``; returns its result, and the CPU milliseconds of the process."""
    started = process_time()
    done = work()
    return done, (process_time() - started) * 1000.0


def spread(values: Sequence[float]) -> dict[str, float]:
    """What half, 95 % and 99 % of ``values`` do not exceed; zeros for none."""
    return {f"p{percent}": percentile(values, percent) for percent in (50, 95, 99)}


BINS: Final = 10
"""Bins of confidence in the calibration error."""


def calibration_error(outcomes: Sequence[tuple[float, bool]]) -> float:
    """How far confidence and being right lie apart, over ten bins (Guo et al. 2017).

    >>> calibration_error([(0.95, True), (0.95, False)])
    0.45
    """
    bins: dict[int, list[float]] = {}
    for probability, right in outcomes:
        bins.setdefault(min(int(probability * BINS), BINS - 1), []).append(probability - right)
    return round(sum(abs(sum(gaps)) for gaps in bins.values()) / max(1, len(outcomes)), 6)


def rounded(values: Mapping[str, object]) -> dict[str, object]:
    """The values with every number rounded for JSON, inner objects included.

    >>> rounded({"exact": 1 / 3, "turns": 3, "copy": {"exact": 0.25}})
    {'exact': 0.3333, 'turns': 3, 'copy': {'exact': 0.25}}
    """
    return {name: _rounded(value) for name, value in values.items()}


class Figures:
    """Figures in the fields of a dataclass. Mixed in, it gives them the form that JSON has."""

    __slots__ = ()

    def as_dict(self) -> dict[str, object]:
        """The object that `kds eval ... --json` prints: four decimals are enough."""
        return rounded(asdict(self))  # type: ignore[call-overload]  # a dataclass mixes it in


def tally(values: Iterable[object]) -> dict[str, int]:
    """How often each value occurs, the most frequent first; None does not count.

    >>> tally(["b", "a", None, "a"])
    {'a': 2, 'b': 1}
    """
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return rounded(value) if isinstance(value, Mapping) else value
