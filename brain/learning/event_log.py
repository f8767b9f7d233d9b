"""The events as they are kept: lines that are only ever added, shared by every process.

A damaged line is set aside in a `.bad` text, the rest is kept. Above MAX_EVENTS the oldest
corrections fall out; decisions stay as long as they matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.files import LockedText
from kds.brain.learning.event import LearningEvent, decode, encode

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
    """The events of one workspace. Every method raises StoreError when they cannot be used."""

    def __init__(self, text: LockedText, *, max_events: int = MAX_EVENTS) -> None:
        self.text = text
        self._max = max_events

    def damaged(self) -> int:
        """Return how many lines cannot be read; they stay where they are."""
        return len(_read(self.text.read() or b"").damaged)

    def load(self) -> LoadedEvents:
        """Return what is there; damaged lines leave the text. Looking makes none."""
        content = self.text.read()
        if content is None:
            return LoadedEvents(())
        found = _read(content)
        if not found.damaged:
            return _loaded(found, ())
        fate = f"set aside in {self.text.aside.name}"
        try:
            if self.text.read_only:
                raise StoreError("it is read-only", where=str(self.text))
            with self.text.locked(timeout_s=_TIDY_TIMEOUT_S) as text:
                found = _read(text.read() or b"")
                _write(text, found)
        except StoreError as error:
            fate = f"left where it is: {error.message}"
        return _loaded(
            found, [f"{self.text}:{number}: {why}; {fate}" for number, _, why in found.damaged]
        )

    def append(self, events: Sequence[LearningEvent]) -> tuple[LearningEvent, ...]:
        """Add ``events``, and return all that hold then. The folder is made.

        Raises ExposedError when git would commit them.
        """
        self.text.prepare()
        new = b"".join(encode(event) + b"\n" for event in events)
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
            content = text.read() or b""
            found = _read(content)
            kept = self._bounded([*found.lines, *_read(new).lines])
            if found.damaged or len(kept) < len(found.lines) + len(events):
                _write(text, _Read(tuple(kept), found.damaged))
            else:
                torn = content and not content.endswith(b"\n")
                text.append((b"\n" if torn else b"") + new)
        return tuple(event for _, event in kept)

    def _bounded(
        self, lines: Sequence[tuple[bytes, LearningEvent]]
    ) -> Sequence[tuple[bytes, LearningEvent]]:
        """Without the oldest corrections, a tenth more than it takes: no rewrite at every line."""
        too_many = len(lines) - self._max
        if too_many <= 0:
            return lines
        too_many += self._max // 10
        said = [index for index, (_, event) in enumerate(lines) if event.is_correction]
        decided = [index for index, (_, event) in enumerate(lines) if not event.is_correction]
        dropped = {*[*said, *decided][:too_many]}
        return [line for index, line in enumerate(lines) if index not in dropped]


def _write(text: LockedText, found: _Read) -> None:
    if found.damaged:
        text.aside.append(b"".join(raw + b"\n" for _, raw, _ in found.damaged))
    text.replace(b"".join(raw + b"\n" for raw, _ in found.lines))


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
