"""The conversation context: the last few messages, shared by every open window.

It is a text of the workspace: a file, or a row on the server that the user named. It has one JSON
object a line, at most LIMIT of them, none older than MAX_AGE; both hold whenever it is read or
written, and what they rule out leaves the disk. Names and order of the fields are the format:
``timestamp``, ``user_message``, ``intent``, ``session_id``, ``context_ref`` and ``origin`` (each of
the two left out when there is none). Why lines: docs/decisions/0002-jsonl-working-memory.md.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock, read_moment, utc_now
from kds.brain.context.names import ORIGIN, conversation_path, within_reach
from kds.brain.errors import OutageError
from kds.brain.files import LockedText, PrivateFile
from kds.brain.line_text import Line, LineText
from kds.brain.message import well_formed
from kds.brain.secrets.redaction import storable, withheld, without
from kds.brain.turn import ContextEntry, entry_to_wire
from kds.brain.workspace import Workspace, open_texts

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

REMEMBERED: Final = 1000
"""Conversations whose entries a process keeps for an outage of the server, the latest used."""

EntryLine = Line[ContextEntry]


def encode(entry: ContextEntry) -> bytes:
    """Write ``entry`` as one line without its line end.

    Raises ValueError when the timestamp has no time zone.
    """
    if entry.timestamp.tzinfo is None:
        raise ValueError("the timestamp of an entry must be aware")
    record = entry_to_wire(replace(entry, timestamp=entry.timestamp.astimezone(UTC)))
    return json.dumps(record, ensure_ascii=False).encode()


def decode(raw: bytes) -> ContextEntry:
    """Read one line. Raises ValueError that says what is wrong with it.

    Unknown fields are kept out, not reported: a newer KDS may write more.
    """
    from jsonlines import InvalidLineError, Reader  # 40 ms of imports: late

    if len(raw) > LINE_LIMIT:
        raise ValueError(f"longer than {LINE_LIMIT:,} bytes")
    try:
        # json's parser, whatever else is installed: the same lines are damaged everywhere.
        return _entry(Reader([raw], loads=json.loads).read(type=dict))
    except InvalidLineError as error:
        raise ValueError(error.message.split(" (line ")[0]) from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


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


@dataclass(slots=True)
class Known:
    """What a process knows of a context, for when its server is away."""

    lines: tuple[EntryLine, ...] = ()
    late: tuple[EntryLine, ...] = ()
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
    ) -> None:
        """``known``: shared by the journals of one context."""
        self.text = PrivateFile(text) if isinstance(text, Path) else text
        self._lines = LineText(self.text, self._decoded, most=MOST_LINES)
        self._known = known or Known()
        self._clock = clock
        self._origin = origin
        self._seen: frozenset[bytes] | None = None
        """The lines that were loaded, if they were: a message may drop no other."""

    def load(self) -> LoadedContext:
        """Return what holds now, and take off the disk what no longer does."""
        try:
            found, warnings = self._lines.load(self._kept)
        except OutageError as error:
            return self._alone(error)
        self._seen = frozenset(line.raw for line in found.good)
        return self._loaded(self._with_late(found.good), warnings)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry`` and return what holds then; ``fresh`` drops the earlier ones in its reach,
        but not what somebody else has logged since they were loaded.

        The texts are redacted here, so that no caller can store a secret. Nothing is written
        when a damaged line cannot be set aside. An entry older than the limit is not kept.

        Raises ValueError for a timestamp without a zone, ExposedError when git would commit it.
        """
        stored = stored_entry(replace(entry, origin=entry.origin or self._origin))
        line, known = Line(encode(stored), stored), self._known
        try:
            self.text.prepare()
            with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
                found = self._lines.read(text)
                lines = self._added(self._with_late(found.good), line, fresh=fresh)
                warnings = self._lines.write(text, self._kept(lines), found)
        except OutageError as error:
            # Perhaps it was stored: then it is found there with the next message.
            known.lines = self._kept(self._added(known.lines, line, fresh=fresh))
            known.late = (*known.late, line)[-LIMIT:]
            return self._alone(error)
        known.lines, known.late = self._kept(lines), ()
        return self._loaded(lines, warnings)

    def clear(self) -> int:
        """Forget the conversation: every entry and every line set aside. Returns the entries.

        Entries that had expired do not count.
        """
        if not (self.text.exists or self.text.aside.exists):
            return 0
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
            kept = self._kept(self._with_late(self._lines.read(text).good))
            text.replace(b"")
            text.aside.remove()
        self._known.lines = self._known.late = ()
        return len(kept)

    def _decoded(self, raw: bytes) -> ContextEntry:
        entry = decode(raw)
        if entry.timestamp > self._clock() + FUTURE_TOLERANCE:
            raise ValueError("dated in the future: was the clock put back?")
        return entry

    def _young(self, lines: Iterable[EntryLine]) -> list[EntryLine]:
        horizon = self._clock() - MAX_AGE
        return [line for line in lines if line.value.timestamp >= horizon]

    def _kept(self, lines: Iterable[EntryLine]) -> tuple[EntryLine, ...]:
        return tuple(self._young(lines)[-LIMIT:])

    def _with_late(self, lines: Sequence[EntryLine]) -> tuple[EntryLine, ...]:
        """``lines`` and what the process could not store so far."""
        there = {line.raw for line in lines}
        every = (*lines, *(line for line in self._known.late if line.raw not in there))
        self._known.lines = self._kept(every)
        return every

    def _added(
        self, lines: Sequence[EntryLine], line: EntryLine, *, fresh: bool
    ) -> list[EntryLine]:
        seen = [one.value for one in lines if self._seen is None or one.raw in self._seen]
        near = within_reach(seen, line.value.origin) if fresh else ()
        return [*(one for one in lines if one.value not in near), line]

    def _alone(self, error: OutageError) -> LoadedContext:
        """What the process knows by itself."""
        note = f"{error.message}: the context is what this process knows of it"
        if late := len(self._known.late):
            note += f"; {late} not stored yet, and lost when this process ends"
        return self._loaded(self._kept(self._known.lines), (note,))

    def _loaded(self, lines: Sequence[EntryLine], warnings: tuple[str, ...]) -> LoadedContext:
        young, kept = self._young(lines), self._kept(lines)
        entries = within_reach([line.value for line in kept], self._origin)
        return LoadedContext(entries, warnings, len(lines) - len(young), len(young) - len(kept))


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
        self.texts = open_texts(workspace, environ=environ, clock=clock)
        self.texts.hold()
        self._known = lru_cache(REMEMBERED)(lambda name: Known())

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
            self.texts(name), clock=self._clock, origin=origin, known=self._known(name)
        )

    def close(self) -> None:
        """Let go of the server, if there is one. Closing twice is fine."""
        self.texts.close()
