"""The conversation context on disk: the last few messages, shared by every open window.

One JSON object a line, at most LIMIT of them, none older than MAX_AGE; both hold whenever
the file is read or written, and what they rule out leaves the disk (DESIGN 3). Why a file
of lines: docs/decisions/0002-jsonl-working-memory.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import Line, decode_lines, encode, latest
from kds.brain.context.origin import within_reach
from kds.brain.errors import StoreError
from kds.brain.files import LockedFile
from kds.brain.secrets.redaction import storable, withheld, without
from kds.brain.turn import ContextEntry

LIMIT: Final = 10
"""Entries kept (DESIGN 3)."""

MAX_AGE: Final = timedelta(hours=2)
"""An entry of exactly this age is kept, an older one is not (DESIGN 3)."""

FUTURE_TOLERANCE: Final = timedelta(minutes=5)
"""How far ahead of the clock a timestamp may be: two machines on one folder, a clock put
right between two messages. A line further ahead would outlive MAX_AGE, so it is set aside."""

LOCK_TIMEOUT_S: Final = 10.0
"""How long a write waits. A write holds the lock for some milliseconds; a process that
holds it this long hangs."""

TIDY_TIMEOUT_S: Final = 1.0
"""How long a read waits to put the file in order; it has its answer already."""


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """What the context holds, oldest first in the order of arrival, and what was found.

    ``expired`` counts the entries ruled out by age, ``rotated`` those ruled out by number.
    """

    entries: tuple[ContextEntry, ...]
    warnings: tuple[str, ...] = ()
    expired: int = 0
    rotated: int = 0


class Journal(ABC):
    """What the router asks of a conversation context: a file, or a list in memory."""

    __slots__ = ()

    def alone(self) -> AbstractContextManager[None]:
        """Keep other services out of this conversation for the length of a turn.

        In a file nothing is kept out: its windows are one person's.
        """
        return nullcontext()

    @abstractmethod
    def load(self) -> LoadedContext:
        """Return what holds now, oldest first."""

    @abstractmethod
    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier entries."""

    @abstractmethod
    def clear(self) -> int:
        """Forget the conversation; returns the number of entries that were dropped."""


@dataclass(frozen=True, slots=True)
class _Sorted:
    kept: tuple[Line, ...] = ()
    damaged: tuple[Line, ...] = ()
    expired: int = 0
    rotated: int = 0

    @property
    def in_order(self) -> bool:
        return not (self.damaged or self.expired or self.rotated)


def nothing_to_check() -> None:
    """The check of a journal that may always be written to."""


class ContextJournal(Journal):
    """Load, log and clear the context in ``path``. Any number of processes may do so at once.

    With an ``origin`` entries are logged as its own, and those out of its reach are not loaded
    (`kds.brain.context.origin`). ``limit`` is that of DESIGN 3 unless a caller has a reason.
    Every method raises StoreError when the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        origin: str | None = None,
        limit: int = LIMIT,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        check: Callable[[], None] = nothing_to_check,
    ) -> None:
        """``check`` raises an error when nothing may be kept here now; asked before each entry."""
        self.text = LockedFile(path)
        self._check = check
        self._clock = clock
        self._origin = origin
        self._limit = limit
        self._lock_timeout_s = lock_timeout_s

    def load(self) -> LoadedContext:
        """Return what holds now, and take off the disk what no longer does.

        When the file cannot be put in order (read-only, disk full, lock held) it stays as it
        is, and a warning says so.
        """
        content = self.text.read()
        if content is None:
            return LoadedContext(())
        found = self._sort(content)
        if found.in_order:
            return self._loaded(found)
        if self.text.read_only:
            return self._loaded(found, left=f"{self.text} is read-only")
        try:
            with self.text.locked(timeout_s=min(TIDY_TIMEOUT_S, self._lock_timeout_s)):
                found = self._sort(self.text.read() or b"")
                self._set_aside(found.damaged)
                self._write(found.kept)
        except StoreError as error:
            return self._loaded(found, left=f"{error.where}: {error.message}")
        return self._loaded(found)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        The texts are redacted here, so that no caller can store a secret. Nothing is written
        when a damaged line cannot be set aside. An entry older than the limit is not kept.

        Raises StoreError also when ``entry`` is dated further ahead than FUTURE_TOLERANCE,
        ValueError when its timestamp has no time zone, ExposedError when git would commit it.
        """
        self._check()
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        line = Line(0, encode(stored), entry=stored)
        self.text.prepare()
        with self.text.locked(timeout_s=self._lock_timeout_s):
            found = self._sort(self._read_for_writing())
            refuse_ahead(entry, self._clock(), where=str(self.text))
            self._set_aside(found.damaged)
            before = self._out_of_reach(found.kept, stored.origin) if fresh else found.kept
            after = self._trim(before, line)
            self._write(after.kept)
        total = replace(
            after,
            damaged=found.damaged,
            expired=found.expired + after.expired,
            rotated=found.rotated + after.rotated,
        )
        return self._loaded(total)

    def clear(self) -> int:
        """Forget the conversation: every entry and every line set aside. Returns the entries.

        Entries that had expired do not count.
        """
        if self.text.read() is None and not self.text.aside.exists:
            return 0
        with self.text.locked(timeout_s=self._lock_timeout_s):
            found = self._sort(self._read_for_writing())
            self._write(())
            self.text.aside.remove()
        return len(found.kept)

    def _read_for_writing(self) -> bytes:
        content = self.text.read()
        if content is not None and self.text.read_only:
            raise StoreError(
                "the conversation context is read-only",
                where=str(self.text),
                hint=f"run `chmod u+w` on it and its folder, or move {self.text.name} away",
            )
        return content or b""

    def _sort(self, content: bytes) -> _Sorted:
        good: list[Line] = []
        damaged: list[Line] = []
        horizon = self._clock() + FUTURE_TOLERANCE
        pushed_out, content = latest(content)
        for line in decode_lines(content, first=pushed_out + 1):
            if line.entry is None:
                damaged.append(line)
            elif line.entry.timestamp > horizon:
                reason = "dated in the future: was the clock put back?"
                damaged.append(replace(line, entry=None, damage=reason))
            else:
                good.append(line)
        found = self._trim(good)
        return replace(found, damaged=tuple(damaged), rotated=found.rotated + pushed_out)

    def _trim(self, lines: Iterable[Line], *new: Line) -> _Sorted:
        now = self._clock()
        every = (*lines, *new)
        young = tuple(
            line for line in every if line.entry and now - line.entry.timestamp <= MAX_AGE
        )
        kept = young[-self._limit :] if self._limit > 0 else ()
        return _Sorted(kept, (), len(every) - len(young), len(young) - len(kept))

    def _out_of_reach(self, lines: Iterable[Line], origin: str | None) -> tuple[Line, ...]:
        every = tuple(lines)
        near = within_reach([line.entry for line in every if line.entry], origin)
        return tuple(line for line in every if line.entry not in near)

    def _set_aside(self, damaged: Iterable[Line]) -> None:
        if content := b"".join(line.raw + b"\n" for line in damaged):
            self.text.aside.append(content)

    def _write(self, kept: Iterable[Line]) -> None:
        # The bytes of a line that is kept stay: fields this version does not know survive.
        self.text.replace(b"".join(line.raw + b"\n" for line in kept))

    def _loaded(self, found: _Sorted, *, left: str | None = None) -> LoadedContext:
        fate = "left where it is" if left else f"set aside in {self.text.aside.name}"
        warnings = [f"{self.text}:{line.number}: {line.damage}; {fate}" for line in found.damaged]
        if left:
            warnings.append(f"the context could not be put in order: {left}")
        entries = within_reach([line.entry for line in found.kept if line.entry], self._origin)
        return LoadedContext(entries, tuple(warnings), found.expired, found.rotated)


def refuse_ahead(entry: ContextEntry, now: datetime, *, where: str) -> None:
    """Raise StoreError when ``entry`` is dated further ahead than FUTURE_TOLERANCE."""
    if entry.timestamp > now + FUTURE_TOLERANCE:
        raise StoreError(
            f"the message is dated {entry.timestamp.isoformat()}, ahead of the clock",
            where=where,
            hint="set the computer's clock, or log with the present time",
        )


def stored_entry(entry: ContextEntry) -> ContextEntry:
    """Return an entry as it may be stored: its texts are redacted."""
    hidden = withheld(entry.user_message)
    points_to = None if entry.context_ref is None else without(entry.context_ref, hidden)
    return replace(
        entry,
        user_message=storable(entry.user_message),
        intent=storable(entry.intent),
        session_id=None if entry.session_id is None else storable(entry.session_id),
        context_ref=None if points_to is None else storable(points_to),
    )
