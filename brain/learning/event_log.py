"""The events on disk: lines that are only ever added, shared by every process.

A damaged line is set aside in a `.bad` file, the rest is kept. Above MAX_EVENTS the oldest
evidence falls out; decisions stay as long as they matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.learning.event import LearningEvent, decode, encode
from kds.brain.private_file import (
    append_private,
    is_read_only,
    locked,
    read_private,
    replace_private,
)

FILE_NAME: Final = "learning.jsonl"
"""In the `kds-brain` folder of a workspace."""

MAX_EVENTS: Final = 2_000
"""Lines kept, a third of a megabyte. Somebody who corrects ten messages a day fills it in half a
year, and what was not said again by then is no habit."""

LOCK_TIMEOUT_S: Final = 5.0
"""A write takes milliseconds; whoever holds the lock this long hangs."""

_TIDY_TIMEOUT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class LoadedEvents:
    """The events in the order of arrival, and what was found on the way."""

    events: tuple[LearningEvent, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    lines: tuple[tuple[bytes, LearningEvent], ...]
    damaged: tuple[tuple[int, bytes, str], ...]


class EventLog:
    """The events of one workspace. Every method raises StoreError when the file cannot be used."""

    def __init__(self, path: Path, *, max_events: int = MAX_EVENTS) -> None:
        self.path = path
        self._max = max_events

    @property
    def bad_path(self) -> Path:
        """Where damaged lines go."""
        return self.path.with_name(f"{self.path.name}.bad")

    def load(self) -> LoadedEvents:
        """Return what is there; damaged lines leave the file. Looking makes none."""
        content = read_private(self.path)
        if content is None:
            return LoadedEvents(())
        found = _read(content)
        if not found.damaged:
            return _loaded(found, ())
        fate = f"set aside in {self.bad_path.name}"
        try:
            if is_read_only(self.path):
                raise StoreError("it is read-only", where=str(self.path))
            with locked(self.path, timeout_s=_TIDY_TIMEOUT_S):
                found = _read(read_private(self.path) or b"")
                self._write(found)
        except StoreError as error:
            fate = f"left where it is: {error.message}"
        return _loaded(
            found, [f"{self.path}:{number}: {why}; {fate}" for number, _, why in found.damaged]
        )

    def append(self, events: Sequence[LearningEvent]) -> tuple[LearningEvent, ...]:
        """Add ``events``, and return all that hold then. The folder must exist."""
        new = b"".join(encode(event) + b"\n" for event in events)
        with locked(self.path, timeout_s=LOCK_TIMEOUT_S):
            content = read_private(self.path) or b""
            found = _read(content)
            kept = self._bounded([*found.lines, *_read(new).lines])
            if found.damaged or len(kept) < len(found.lines) + len(events):
                self._write(_Read(tuple(kept), found.damaged))
            else:
                torn = content and not content.endswith(b"\n")
                append_private(self.path, (b"\n" if torn else b"") + new)
        return tuple(event for _, event in kept)

    def _bounded(
        self, lines: Sequence[tuple[bytes, LearningEvent]]
    ) -> Sequence[tuple[bytes, LearningEvent]]:
        """Without the oldest evidence, a tenth more than has to go: not a rewrite at every line."""
        too_many = len(lines) - self._max
        if too_many <= 0:
            return lines
        too_many += self._max // 10
        evidence = [index for index, (_, event) in enumerate(lines) if event.is_evidence]
        decisions = [index for index, (_, event) in enumerate(lines) if not event.is_evidence]
        dropped = {*[*evidence, *decisions][:too_many]}
        return [line for index, line in enumerate(lines) if index not in dropped]

    def _write(self, found: _Read) -> None:
        if found.damaged:
            append_private(self.bad_path, b"".join(raw + b"\n" for _, raw, _ in found.damaged))
        replace_private(self.path, b"".join(raw + b"\n" for raw, _ in found.lines))


def _read(content: bytes) -> _Read:
    lines: list[tuple[bytes, LearningEvent]] = []
    damaged: list[tuple[int, bytes, str]] = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        if not (raw := raw.strip(b" \t\r")):
            continue
        try:
            lines.append((raw, decode(raw)))
        except ValueError as error:
            damaged.append((number, raw, str(error)))
    return _Read(tuple(lines), tuple(damaged))


def _loaded(found: _Read, warnings: Iterable[str]) -> LoadedEvents:
    return LoadedEvents(tuple(event for _, event in found.lines), tuple(warnings))
