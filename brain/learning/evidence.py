"""How sure a number of agreeing and disagreeing events makes us: named, and hard to hurry.

The confidence is the lower bound of Wilson's interval for the share of events that agree
(E. B. Wilson, 1927), one standard deviation wide. Unlike the bare share it knows how little a
few events say:

    events that agree     1     2     3     4     5     6     10
    confidence          0.50  0.67  0.75  0.80  0.83  0.86  0.91
    with one against    0.21  0.39  0.50  0.58  0.64  0.68  0.79
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from math import sqrt
from typing import Final, Literal

ASK_MIN: Final = 0.70
"""From here on a candidate is proposed (issue 6)."""

ACT_MIN: Final = 0.85
"""From here on it is accepted by itself (issue 6)."""

MIN_OCCURRENCES: Final = 3
"""Events that it takes at least, whatever the confidence (issue 6)."""

APART: Final = timedelta(minutes=10)
"""Silence between two events that count as two. Whoever repeats himself within one sitting, or
answers the same question in three windows, has said one thing once."""

DEVIATIONS: Final = 1.0
"""Width of the interval. With 1 the least number of events and the two thresholds agree: three
are proposed, six are accepted, and one objection to six takes them back below ASK_MIN."""

Standing = Literal["waiting", "proposed", "due"]


def confidence(agreeing: int, disagreeing: int = 0) -> float:
    """Wilson's lower bound of the share of events that agree; 0 without any event.

    >>> [round(confidence(count), 2) for count in (0, 1, 2, 3, 6)]
    [0.0, 0.5, 0.67, 0.75, 0.86]
    >>> round(confidence(6, 1), 2)
    0.68
    """
    count = agreeing + disagreeing
    if not agreeing:
        return 0.0  # exactly: by the formula rounding leaves a trace, which may grow
    share, square = agreeing / count, DEVIATIONS**2
    middle = share + square / (2 * count)
    reach = DEVIATIONS * sqrt(share * (1 - share) / count + square / (4 * count**2))
    return max(0.0, (middle - reach) / (1 + square / count))


def standing(agreeing: int, disagreeing: int = 0) -> Standing:
    """What becomes of a candidate with so many events.

    >>> [standing(count) for count in (1, 2, 3, 5, 6)]
    ['waiting', 'waiting', 'proposed', 'proposed', 'due']
    """
    sure = confidence(agreeing, disagreeing)
    if agreeing < MIN_OCCURRENCES or sure < ASK_MIN:
        return "waiting"
    return "due" if sure >= ACT_MIN else "proposed"


def occurrences(moments: Iterable[datetime]) -> tuple[datetime, ...]:
    """The moments that count: of a burst without a silence of APART only the first.

    >>> from datetime import datetime
    >>> noon = datetime(2026, 1, 1, 12)
    >>> len(occurrences([noon, noon + timedelta(minutes=9), noon + timedelta(minutes=18)]))
    1
    >>> len(occurrences([noon, noon + timedelta(minutes=9), noon + timedelta(minutes=20)]))
    2
    """
    counted: list[datetime] = []
    last: datetime | None = None
    for moment in sorted(moments):
        if last is None or moment - last >= APART:
            counted.append(moment)
        last = moment
    return tuple(counted)
