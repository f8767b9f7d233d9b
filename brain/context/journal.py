"""The conversation context: the last few messages, shared by every open window.

It is a text of the workspace: a file, or a row on the server that the user named. It has one JSON
object a line, at most LIMIT of them, none older than MAX_AGE; both hold whenever it is read or
written, and what they rule out leaves the disk. Names and order of the fields are the format:
``timestamp``, ``user_message``, ``intent``, ``session_id``, ``context_ref`` and ``origin`` (each of
the two left out when there is none). Why lines: docs/decisions/0002-jsonl-working-memory.md.
"""

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.names import ORIGIN, conversation_path, within_reach
from kds.brain.errors import OutageError, StoreError
from kds.brain.files import LockedFile, LockedText
from kds.brain.message import well_formed
from kds.brain.secrets.redaction import storable, withheld, without
from kds.brain.turn import ContextEntry, entry_to_wire
from kds.brain.workspace import LEARNED, Workspace, open_texts

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
"""How long a read waits to put the text in order; it has its answer already."""

REMEMBERED: Final = 1000
"""Conversations whose entries a process keeps for an outage of the server, the latest used."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in the text: its number from 1, its bytes, and what it says.

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


def decode_lines(content: bytes) -> Iterator[Line]:
    """Read the last MOST_LINES lines but blank ones; a damaged one says why, and never raises.

    The last line may lack its line end. Unknown fields are kept out, not reported: a newer KDS may
    write more.
    """
    from jsonlines import InvalidLineError, Reader  # 40 ms of imports: late

    earlier, *last = content.rsplit(b"\n", MOST_LINES)
    lines = last if len(last) == MOST_LINES else [earlier, *last]
    for number, whole in enumerate(lines, start=content.count(b"\n") - len(lines) + 2):
        if not (raw := whole.strip(b" \t\r")):
            continue
        entry, damage = None, f"longer than {LINE_LIMIT:,} bytes"
        if len(raw) <= LINE_LIMIT:
            try:
                # json's parser, whatever else is installed: the same lines are damaged everywhere.
                entry = _entry(Reader([raw], loads=json.loads).read(type=dict))
            except InvalidLineError as error:
                damage = error.message.split(" (line ")[0]
            except ValueError as error:
                damage = str(error)
            except RecursionError:
                damage = "nested too deeply"
        yield Line(number, raw, entry, None if entry else damage)


def _entry(record: Mapping[str, object]) -> ContextEntry:
    def text(name: str) -> str:
        if name not in record:
            raise ValueError(f"'{name}' is missing")
        if not isinstance(value := record[name], str):
            raise ValueError(f"'{name}' is not a text")
        return well_formed(value)

    def maybe(name: str) -> str | None:
        return None if name in record and record[name] is None else text(name)

    origin = record.get("origin")
    return ContextEntry(
        timestamp=read_moment(text("timestamp"), name="timestamp"),
        user_message=text("user_message"),
        intent=text("intent"),
        session_id=maybe("session_id"),
        context_ref=maybe("context_ref") if "context_ref" in record else None,
        origin=origin if isinstance(origin, str) and ORIGIN.fullmatch(origin) else None,
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

    entries: tuple[ContextEntry, ...] = ()
    warnings: tuple[str, ...] = ()
    expired: int = 0
    rotated: int = 0


class Journal(ABC):
    """What the router asks of a conversation context: a text, or a list in memory."""

    __slots__ = ()

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
        """Whether nothing has to leave the text."""
        return not (self.damaged or self.expired or self.rotated)


@dataclass(slots=True)
class Known:
    """What a process knows of a context, for when its server is away."""

    kept: tuple[Line, ...] = ()
    late: tuple[Line, ...] = ()
    """Not stored yet. They end with the process."""


class ContextJournal(Journal):
    """Load, log and clear the context in a text. Any number of processes may do so at once.

    With an ``origin`` entries are logged as its own, and those out of its reach are not loaded
    (`kds.brain.context.names`). While a server is away the context is what the process knows, and a
    warning says so; what could not be stored is stored with the next message.
    Every method raises StoreError when the text cannot be used.
    """

    def __init__(
        self,
        text: LockedText | Path,
        *,
        clock: Clock = utc_now,
        origin: str | None = None,
        known: Known | None = None,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        """``known``: shared by the journals of one context."""
        self.text = LockedFile(text) if isinstance(text, Path) else text
        self._known = known or Known()
        self._clock = clock
        self._origin = origin
        self._lock_timeout_s = lock_timeout_s

    def load(self) -> LoadedContext:
        """Return what holds now, and take off the disk what no longer does.

        When the text cannot be put in order (disk full, lock held) it stays as it is, and a warning
        says so.
        """
        left = None
        try:
            found = self._read(self.text)
        except OutageError as error:
            return self._alone(error)
        if not found.in_order:
            try:
                timeout_s = min(TIDY_TIMEOUT_S, self._lock_timeout_s)
                with self.text.locked(timeout_s=timeout_s) as text:
                    found = self._read(text)
                    _write(text, found)
            except StoreError as error:
                left = f"{error.where}: {error.message}"
        return self._loaded(self._with_late(found), left)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach.

        The texts are redacted here, so that no caller can store a secret. Nothing is written
        when a damaged line cannot be set aside. An entry older than the limit is not kept.

        Raises ValueError for a timestamp without a zone, ExposedError when git would commit it.
        """
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        line, known = Line(0, encode(stored), stored), self._known
        try:
            self.text.prepare()
            with self.text.locked(timeout_s=self._lock_timeout_s) as text:
                found = self._with_late(self._read(text))
                after = self._added(found, line, fresh=fresh)
                _write(text, after)
        except OutageError as error:
            # Perhaps it was stored: then it is found there with the next message.
            known.kept = self._added(_Sorted(known.kept), line, fresh=fresh).kept
            known.late = (*known.late, line)[-LIMIT:]
            return self._alone(error)
        known.kept, known.late = after.kept, ()
        return self._loaded(after)

    def clear(self) -> int:
        """Forget the conversation: every entry and every line set aside. Returns the entries.

        Entries that had expired do not count.
        """
        if not (self.text.exists or self.text.aside.exists):
            return 0
        with self.text.locked(timeout_s=self._lock_timeout_s) as text:
            found = self._with_late(self._read(text))
            text.replace(b"")
            text.aside.remove()
        self._known.kept = self._known.late = ()
        return len(found.kept)

    def _read(self, text: LockedText) -> _Sorted:
        good: list[Line] = []
        damaged: list[Line] = []
        horizon = self._clock() + FUTURE_TOLERANCE
        content = text.read() or b""
        for line in decode_lines(content):
            if line.entry and line.entry.timestamp <= horizon:
                good.append(line)
            else:
                damage = line.damage or "dated in the future: was the clock put back?"
                damaged.append(replace(line, entry=None, damage=damage))
        pushed_out = max(0, content.count(b"\n") - MOST_LINES)
        return self._trim(good, _Sorted(damaged=tuple(damaged), rotated=pushed_out))

    def _with_late(self, found: _Sorted) -> _Sorted:
        """``found`` and what the process could not store so far."""
        there = {line.raw for line in found.kept}
        late = [line for line in self._known.late if line.raw not in there]
        self._known.kept = self._trim([*found.kept, *late], found).kept
        return replace(found, kept=self._known.kept)

    def _added(self, found: _Sorted, line: Line, *, fresh: bool) -> _Sorted:
        near = within_reach(_entries(found.kept), line.entry.origin) if fresh and line.entry else ()
        return self._trim([*(one for one in found.kept if one.entry not in near), line], found)

    def _trim(self, lines: Iterable[Line], found: _Sorted) -> _Sorted:
        """Keep what is young, and the last of it; the counts go to those of ``found``."""
        every, horizon = list(lines), self._clock() - MAX_AGE
        young = [line for line in every if line.entry and line.entry.timestamp >= horizon]
        kept = tuple(young[-LIMIT:])
        expired = found.expired + len(every) - len(young)
        return _Sorted(kept, found.damaged, expired, found.rotated + len(young) - len(kept))

    def _alone(self, error: OutageError) -> LoadedContext:
        """What the process knows by itself."""
        found = self._trim(self._known.kept, _Sorted())
        note = f"{error.message}: the context is what this process knows of it"
        if late := len(self._known.late):
            note += f"; {late} not stored yet, and lost when this process ends"
        return LoadedContext(within_reach(_entries(found.kept), self._origin), (note,))

    def _loaded(self, found: _Sorted, left: str | None = None) -> LoadedContext:
        fate = "left where it is" if left else f"set aside in {self.text.aside.name}"
        warnings = [f"{self.text}:{line.number}: {line.damage}; {fate}" for line in found.damaged]
        if left:
            warnings.append(f"the context could not be put in order: {left}")
        entries = within_reach(_entries(found.kept), self._origin)
        return LoadedContext(entries, tuple(warnings), found.expired, found.rotated)


def _entries(lines: Iterable[Line]) -> list[ContextEntry]:
    return [line.entry for line in lines if line.entry]


def _write(text: LockedText, found: _Sorted) -> None:
    # The bytes of a line that is kept stay: fields this version does not know survive.
    kept, damaged = (
        b"".join(line.raw + b"\n" for line in lines) for lines in (found.kept, found.damaged)
    )
    if damaged:
        text.aside.append(damaged)
    text.replace(kept)


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
        self._texts = open_texts(workspace, environ=environ, clock=clock)
        self._known = lru_cache(REMEMBERED)(lambda name: Known())
        self._marks: object = None

    def journal(self, conversation: str | None = None, *, origin: str | None = None) -> Journal:
        """Return the context of a conversation; without a name, that of the workspace.

        With an ``origin`` what is out of its reach is not loaded (`kds.brain.context.names`).

        Raises MessageError when the name cannot be one.
        """
        path = self._workspace.context_path
        if conversation is not None:
            path = conversation_path(self._workspace, conversation)
        name = path.relative_to(self._workspace.brain).as_posix()
        return ContextJournal(
            self._texts(name), clock=self._clock, origin=origin, known=self._known(name)
        )

    def marks(self) -> object:
        """What tells one state of what a tenant has learned from another; as long as its server is
        away, that of before. None in files."""
        with suppress(OutageError):
            self._marks = self._texts.mark(LEARNED)
        return self._marks

    def close(self) -> None:
        """Let go of the server, if there is one. Closing twice is fine."""
        self._texts.close()


_EXPIRING: Final = re.compile(r"[a-z0-9-]+\.jsonl?(?:\.bad)?(?:\.lock)?")


def remove_expired(folder: Path, *, now: float) -> None:
    """Remove contexts and work in ``folder`` that have expired by ``now`` (epoch s), with what
    stands beside them; files of other names stay, and all behind a link."""
    horizon = now - MAX_AGE.total_seconds()
    for path in () if folder.is_symlink() else folder.glob("*"):
        with suppress(OSError):  # another process was faster
            if _EXPIRING.fullmatch(path.name) and path.lstat().st_mtime < horizon:
                path.unlink()
