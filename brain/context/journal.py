"""The conversation context on disk: the last few messages, shared by every open window.

One JSON object a line, at most LIMIT of them, none older than MAX_AGE; both hold whenever the file
is read or written, and what they rule out leaves the disk. Names and order of the fields are the
format: ``timestamp``, ``user_message``, ``intent``, ``session_id``, ``context_ref`` and ``origin``
(each of the two left out when there is none). Why a file of lines:
docs/decisions/0002-jsonl-working-memory.md.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.origin import ORIGIN, within_reach
from kds.brain.errors import StoreError
from kds.brain.files import LockedFile
from kds.brain.message import well_formed
from kds.brain.secrets.redaction import storable, withheld, without
from kds.brain.turn import ContextEntry, entry_to_wire


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in the file: its number from 1, its bytes, and what it says.

    Exactly one of ``entry`` and ``damage`` (why it cannot be read) is set.
    """

    number: int
    raw: bytes
    entry: ContextEntry | None = None
    damage: str | None = None


def encode(entry: ContextEntry) -> bytes:
    """Write ``entry`` as one line without its line end.

    Raises ValueError when the timestamp has no time zone.
    """
    if entry.timestamp.tzinfo is None:
        raise ValueError("the timestamp of an entry must be aware")
    record = entry_to_wire(replace(entry, timestamp=entry.timestamp.astimezone(UTC)))
    return json.dumps(record, ensure_ascii=False).encode()


LINE_LIMIT: Final = 1_000_000
"""Bytes. A message has at most 100,000 characters; six bytes each where a program escapes them."""


MOST_LINES: Final = 1_000
"""Lines read, the last ones: ten are kept, and a file of millions would take a minute."""


def latest(content: bytes) -> tuple[int, bytes]:
    """How many lines stand before the last MOST_LINES, and those last ones."""
    earlier, *last = content.rsplit(b"\n", MOST_LINES)
    if len(last) < MOST_LINES:
        return 0, content
    return earlier.count(b"\n") + 1, b"\n".join(last)


def decode_lines(content: bytes, *, first: int = 1) -> Iterator[Line]:
    """Read every line that is not blank; a damaged one says why, and never raises.

    The last line may lack its line end. Unknown fields are kept out, not reported: a newer KDS may
    write more. ``first`` is the number of the first line.
    """
    from jsonlines import InvalidLineError, Reader  # 40 ms of imports: late

    numbered = [
        (number, raw.strip(b" \t\r"))
        for number, raw in enumerate(content.split(b"\n"), start=first)
        if raw.strip(b" \t\r")
    ]
    # The standard parser, whatever else is installed: the same lines are damaged everywhere.
    short = [raw for _, raw in numbered if len(raw) <= LINE_LIMIT]
    reader = Reader(short, loads=_loads)
    for number, raw in numbered:
        if len(raw) > LINE_LIMIT:
            yield Line(number, raw, damage=f"longer than {LINE_LIMIT:,} bytes")
            continue
        try:
            yield Line(number, raw, entry=_entry(reader.read(type=dict)))
        except InvalidLineError as error:
            yield Line(number, raw, damage=error.message.split(" (line ")[0])
        except ValueError as error:
            yield Line(number, raw, damage=str(error))


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _entry(record: Mapping[str, object]) -> ContextEntry:
    return ContextEntry(
        timestamp=read_moment(_text(record, "timestamp"), name="timestamp"),
        user_message=_text(record, "user_message"),
        intent=_text(record, "intent"),
        session_id=_text_or_none(record, "session_id"),
        context_ref=_text_or_none(record, "context_ref") if "context_ref" in record else None,
        origin=_origin(record.get("origin")),
    )


def _origin(value: object) -> str | None:
    return value if isinstance(value, str) and ORIGIN.fullmatch(value) else None


def _text(record: Mapping[str, object], name: str) -> str:
    value = _field(record, name)
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is not a text")
    return well_formed(value)


def _text_or_none(record: Mapping[str, object], name: str) -> str | None:
    return None if _field(record, name) is None else _text(record, name)


def _field(record: Mapping[str, object], name: str) -> object:
    if name not in record:
        raise ValueError(f"'{name}' is missing")
    return record[name]


LIMIT: Final = 10
"""Entries kept."""

MAX_AGE: Final = timedelta(hours=2)
"""An entry of exactly this age is kept, an older one is not."""

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


class ContextJournal(Journal):
    """Load, log and clear the context in ``path``. Any number of processes may do so at once.

    With an ``origin`` entries are logged as its own, and those out of its reach are not loaded
    (`kds.brain.context.origin`). ``limit`` is that LIMIT unless a caller has a reason.
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
        check: Callable[[], object] = bool,
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
    points_to = entry.context_ref
    if points_to is not None:
        points_to = without(points_to, withheld(entry.user_message))
    return replace(
        entry,
        user_message=storable(entry.user_message),
        intent=storable(entry.intent),
        session_id=None if entry.session_id is None else storable(entry.session_id),
        context_ref=None if points_to is None else storable(points_to),
    )
