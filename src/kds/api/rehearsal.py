"""A context in memory and a clock that is told when: for dialogues, which must leave no trace."""

from datetime import UTC, datetime, timedelta
from typing import Final

from kds.brain.clock import Clock
from kds.brain.context.journal import LIMIT, MAX_AGE, Journal, LoadedContext, stored_entry
from kds.brain.turn import ContextEntry

START: Final = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
"""When every dialogue begins, so that session ids are the same on every day."""
MINUTE: Final = timedelta(minutes=1)


class MinuteClock:
    """A clock that stands still until it is told to move on.

    >>> clock = MinuteClock()
    >>> clock.tick()
    >>> clock().isoformat()
    '2025-11-03T09:01:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def tick(self) -> None:
        """Move on by one minute."""
        self.now += MINUTE


class RehearsalJournal(Journal):
    """A Journal that keeps what ContextJournal would, under the same limits, and in no file."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._entries: tuple[ContextEntry, ...] = ()

    def load(self) -> LoadedContext:
        """Return the entries that hold now, oldest first."""
        now = self._clock()
        self._entries = tuple(entry for entry in self._entries if now - entry.timestamp <= MAX_AGE)[
            -LIMIT:
        ]
        return LoadedContext(self._entries)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry``, redacted as on disk; ``fresh`` drops the earlier ones."""
        self._entries = (*(() if fresh else self._entries), stored_entry(entry))
        return self.load()

    def clear(self) -> int:
        """Forget everything; returns the number of entries."""
        count = len(self.load().entries)
        self._entries = ()
        return count
