"""The conversation context: the last few messages, shared by every open window.

It is a file of the workspace, or rows of the server that the user named. A file has one JSON object
a line, at most LIMIT of them, none older than MAX_AGE; both hold whenever it is read or written,
and what they rule out leaves the disk. Names and order of the fields are the format: ``timestamp``,
``user_message``, ``intent``, ``session_id``, ``context_ref`` and ``origin`` (each of the two left
out when there is none). Why a file of lines: docs/decisions/0002-jsonl-working-memory.md.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.names import ORIGIN, conversation_path, within_reach
from kds.brain.errors import StoreError
from kds.brain.files import LockedFile
from kds.brain.message import well_formed
from kds.brain.secrets.redaction import storable, withheld, without
from kds.brain.turn import ContextEntry, entry_to_wire
from kds.brain.workspace import Workspace, shared_database

if TYPE_CHECKING:
    from kds.brain.context.postgres_journal import PostgresContexts

LIMIT: Final = 10
"""Entries kept."""

MAX_AGE: Final = timedelta(hours=2)
"""An entry of exactly this age is kept, an older one is not."""

FUTURE_TOLERANCE: Final = timedelta(minutes=5)
"""How far ahead of the clock a timestamp may be: two machines on one folder, a clock put
right between two messages. A line further ahead would outlive MAX_AGE, so it is set aside."""

LINE_LIMIT: Final = 1_000_000
"""Bytes. A message has at most 100,000 characters; six bytes each where a program escapes them."""

MOST_LINES: Final = 1_000
"""Lines read, the last ones: ten are kept, and a file of millions would take a minute."""

LOCK_TIMEOUT_S: Final = 10.0
"""How long a write waits. It holds the lock for milliseconds; one that holds it so long hangs."""

TIDY_TIMEOUT_S: Final = 1.0
"""How long a read waits to put the file in order; it has its answer already."""

Marks = frozenset[tuple[str, int]]
"""What tells one state of what a tenant has learned from another."""


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


def decode_lines(content: bytes, *, first: int = 1) -> Iterator[Line]:
    """Read every line that is not blank; a damaged one says why, and never raises.

    The last line may lack its line end. Unknown fields are kept out, not reported: a newer KDS may
    write more. ``first`` is the number of the first line.
    """
    from jsonlines import InvalidLineError, Reader  # 40 ms of imports: late

    for number, whole in enumerate(content.split(b"\n"), start=first):
        if not (raw := whole.strip(b" \t\r")):
            continue
        if len(raw) > LINE_LIMIT:
            yield Line(number, raw, damage=f"longer than {LINE_LIMIT:,} bytes")
            continue
        try:
            # json's parser, whatever else is installed: the same lines are damaged everywhere.
            line = Line(number, raw, _entry(Reader([raw], loads=_loads).read(type=dict)))
        except InvalidLineError as error:
            line = Line(number, raw, damage=error.message.split(" (line ")[0])
        except ValueError as error:
            line = Line(number, raw, damage=str(error))
        yield line


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _entry(record: Mapping[str, object]) -> ContextEntry:
    for name in ("timestamp", "user_message", "intent", "session_id"):
        if name not in record:
            raise ValueError(f"'{name}' is missing")

    def text(name: str) -> str:
        if not isinstance(value := record[name], str):
            raise ValueError(f"'{name}' is not a text")
        return well_formed(value)

    origin = record.get("origin")
    return ContextEntry(
        timestamp=read_moment(text("timestamp"), name="timestamp"),
        user_message=text("user_message"),
        intent=text("intent"),
        session_id=None if record["session_id"] is None else text("session_id"),
        context_ref=None if record.get("context_ref") is None else text("context_ref"),
        origin=origin if isinstance(origin, str) and ORIGIN.fullmatch(origin) else None,
    )


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
        points_to = storable(without(points_to, withheld(entry.user_message)))
    return replace(
        entry,
        user_message=storable(entry.user_message),
        intent=storable(entry.intent),
        session_id=None if entry.session_id is None else storable(entry.session_id),
        context_ref=points_to,
    )


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


class ContextJournal(Journal):
    """Load, log and clear the context in ``path``. Any number of processes may do so at once.

    With an ``origin`` entries are logged as its own, and those out of its reach are not loaded
    (`kds.brain.context.names`). ``limit`` is that LIMIT unless a caller has a reason.
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
        found, left = self._sort(self.text.read() or b""), None
        if found != _Sorted(found.kept):
            try:
                if self.text.read_only:
                    raise StoreError("the file is read-only", where=str(self.text))
                with self.text.locked(timeout_s=min(TIDY_TIMEOUT_S, self._lock_timeout_s)):
                    found = self._sort(self.text.read() or b"")
                    self._write(found)
            except StoreError as error:
                left = f"{error.where}: {error.message}"
        return self._loaded(found, left)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        The texts are redacted here, so that no caller can store a secret. Nothing is written
        when a damaged line cannot be set aside. An entry older than the limit is not kept.

        Raises StoreError also when ``entry`` is dated further ahead than FUTURE_TOLERANCE,
        ValueError when its timestamp has no time zone, ExposedError when git would commit it.
        """
        self._check()
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        line = Line(0, encode(stored), stored)
        self.text.prepare()
        with self.text.locked(timeout_s=self._lock_timeout_s):
            found = self._sort(self._read_for_writing())
            refuse_ahead(entry, self._clock(), where=str(self.text))
            near = within_reach(_entries(found), stored.origin) if fresh else ()
            before = [one for one in found.kept if one.entry not in near]
            after = self._trim([*before, line], found)
            self._write(after)
        return self._loaded(after)

    def clear(self) -> int:
        """Forget the conversation: every entry and every line set aside. Returns the entries.

        Entries that had expired do not count.
        """
        if self.text.read() is None and not self.text.aside.exists:
            return 0
        with self.text.locked(timeout_s=self._lock_timeout_s):
            found = self._sort(self._read_for_writing())
            self.text.replace(b"")
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
        earlier, *last = content.rsplit(b"\n", MOST_LINES)
        pushed_out = 0
        if len(last) == MOST_LINES:
            pushed_out, content = earlier.count(b"\n") + 1, b"\n".join(last)
        horizon = self._clock() + FUTURE_TOLERANCE
        for line in decode_lines(content, first=pushed_out + 1):
            if line.entry and line.entry.timestamp <= horizon:
                good.append(line)
            else:
                damage = line.damage or "dated in the future: was the clock put back?"
                damaged.append(replace(line, entry=None, damage=damage))
        return self._trim(good, _Sorted(damaged=tuple(damaged), rotated=pushed_out))

    def _trim(self, lines: list[Line], found: _Sorted) -> _Sorted:
        """Keep what is young, and the last of it; the counts go to those of ``found``."""
        horizon = self._clock() - MAX_AGE
        young = [line for line in lines if line.entry and line.entry.timestamp >= horizon]
        kept = tuple(young[-self._limit :] if self._limit > 0 else ())
        expired = found.expired + len(lines) - len(young)
        return _Sorted(kept, found.damaged, expired, found.rotated + len(young) - len(kept))

    def _write(self, found: _Sorted) -> None:
        # The bytes of a line that is kept stay: fields this version does not know survive.
        kept, damaged = (
            b"".join(line.raw + b"\n" for line in lines) for lines in (found.kept, found.damaged)
        )
        if damaged:
            self.text.aside.append(damaged)
        self.text.replace(kept)

    def _loaded(self, found: _Sorted, left: str | None = None) -> LoadedContext:
        fate = "left where it is" if left else f"set aside in {self.text.aside.name}"
        warnings = [f"{self.text}:{line.number}: {line.damage}; {fate}" for line in found.damaged]
        if left:
            warnings.append(f"the context could not be put in order: {left}")
        entries = within_reach(_entries(found), self._origin)
        return LoadedContext(entries, tuple(warnings), found.expired, found.rotated)


def _entries(found: _Sorted) -> list[ContextEntry]:
    return [line.entry for line in found.kept if line.entry]


class Contexts:
    """The context of the workspace, shared by its windows, and those of single conversations."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock = utc_now,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Raises SettingsError when the settings may name a server and are wrong."""
        self._workspace = workspace
        self._clock = clock
        self._server: PostgresContexts | None = None
        if (shared := shared_database(workspace, environ=environ)) is not None:
            from kds.brain.context import postgres_journal

            self._server = postgres_journal.PostgresContexts.of(shared, clock=clock)

    def journal(self, conversation: str | None = None, *, origin: str | None = None) -> Journal:
        """Return the context of a conversation; without a name, that of the workspace.

        With an ``origin`` what is out of its reach is not loaded (`kds.brain.context.names`).

        Raises MessageError when the name cannot be one.
        """
        path = self._workspace.context_path
        if conversation is not None:
            path = conversation_path(self._workspace, conversation)
        if self._server is not None:
            return self._server.journal(path.stem, origin=origin)
        return ContextJournal(path, clock=self._clock, origin=origin, check=self._check)

    def _check(self) -> None:
        from kds.brain.git import keep_private  # `subprocess` is for messages that are kept

        keep_private(self._workspace)

    def marks(self, *, look: bool) -> Marks | None:
        """What the last turn saw of what was learned; None in files, and while nobody knows.

        With ``look`` it is asked for now, as far as the server answers.
        """
        return None if self._server is None else self._server.marks(look=look)

    @property
    def late(self) -> bool:
        """Whether a server is yet to be told what this process heard while it was away."""
        return self._server is not None and bool(self._server.late)

    def catch_up(self) -> None:
        """Tell it. Raises OutageError while it is away still."""
        if self._server is not None:
            self._server.catch_up()

    def close(self) -> None:
        """Let go of the server, if there is one. Closing twice is fine."""
        if self._server is not None:
            self._server.close()
