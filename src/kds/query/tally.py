"""How many queries there were, and how long they took: figures since the service began."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Final

from kds.api.measures import percentile
from kds.brain.tracing import span
from kds.query.values import QueryReply

RECENT: Final = 1000
"""Queries whose times are kept."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The queries so far; times are of the last thousand, None before the first."""

    count: int
    answered: int
    answer_errors: int
    p50_ms: float | None
    p95_ms: float | None


class Counter:
    """Counts queries, for any threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = self._answered = self._failed = 0
        self._recent: deque[float] = deque(maxlen=RECENT)

    def note(self, reply: QueryReply) -> None:
        """Count a query."""
        with self._lock:
            self._count += 1
            self._answered += reply.answer is not None
            self._failed += reply.answer_error is not None
            self._recent.append(reply.timings_ms["total"])

    def tally(self) -> Tally:
        """Say how it stands."""
        with self._lock:
            times = list(self._recent)
            return Tally(
                self._count,
                self._answered,
                self._failed,
                percentile(times, 50) if times else None,
                percentile(times, 95) if times else None,
            )


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Add what the block takes to ``timings``, in milliseconds of wall time."""
    started = perf_counter()
    try:
        with span(stage):
            yield
    finally:
        timings[stage] = timings.get(stage, 0.0) + (perf_counter() - started) * 1000.0
