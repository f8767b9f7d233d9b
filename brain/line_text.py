"""Texts with one value a line: a line that cannot be read is set aside, the rest is kept."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kds.brain.errors import StoreError
from kds.brain.files import LockedText

Value = TypeVar("Value")

TIDY_TIMEOUT_S = 1.0
"""How long a read waits to put a text in order; it has its answer already."""


@dataclass(frozen=True, slots=True)
class Line(Generic[Value]):
    """What a line says, and its bytes, which stay: fields this version does not know survive."""

    raw: bytes
    value: Value


@dataclass(frozen=True, slots=True)
class Lines(Generic[Value]):
    """The lines of a text that are not blank, in order."""

    good: list[Line[Value]]
    damaged: list[tuple[int, bytes, str]]
    """The number from 1, the bytes, and why they cannot be read."""


class LineText(Generic[Value]):
    """A text of lines that ``decode`` reads, the last ``most`` of them; it raises ValueError."""

    def __init__(
        self, text: LockedText, decode: Callable[[bytes], Value], *, most: int = sys.maxsize
    ) -> None:
        self.text = text
        self._decode = decode
        self._most = most

    def read(self, text: LockedText) -> Lines[Value]:
        """Read the text, which may be held. The last line may lack its line end."""
        content = text.read() or b""
        found: Lines[Value] = Lines([], [])
        earlier, *last = content.rsplit(b"\n", self._most)
        lines = last if len(last) == self._most else [earlier, *last]
        for number, whole in enumerate(lines, start=content.count(b"\n") - len(lines) + 2):
            if raw := whole.strip(b" \t\r"):
                try:
                    found.good.append(Line(raw, self._decode(raw)))
                except ValueError as error:
                    found.damaged.append((number, raw, str(error)))
        return found

    def write(
        self, text: LockedText, lines: Iterable[Line[Value]], found: Lines[Value]
    ) -> tuple[str, ...]:
        """Write lines into a text that is held, and what was damaged in it aside; returns warnings.

        Nothing is written when a damaged line cannot be set aside.
        """
        if found.damaged:
            text.aside.append(b"".join(raw + b"\n" for _, raw, _ in found.damaged))
        text.replace(b"".join(line.raw + b"\n" for line in lines))
        return self._warnings(found, f"set aside in {text.aside.name}")

    def load(
        self, keep: Callable[[Sequence[Line[Value]]], Sequence[Line[Value]]]
    ) -> tuple[Lines[Value], tuple[str, ...]]:
        """Read the text, and rewrite it without what is damaged, or is not to be kept; warnings.

        Where it cannot be rewritten (disk full, lock held) it stays, and a warning says so.
        """
        found = self.read(self.text)
        if not found.damaged and len(keep(found.good)) == len(found.good):
            return found, ()
        try:
            with self.text.locked(timeout_s=TIDY_TIMEOUT_S) as text:
                found = self.read(text)
                return found, self.write(text, keep(found.good), found)
        except StoreError as error:
            left = f"it could not be put in order: {error.where}: {error.message}"
            return found, (*self._warnings(found, "left where it is"), left)

    def _warnings(self, found: Lines[Value], fate: str) -> tuple[str, ...]:
        return tuple(f"{self.text}:{number}: {why}; {fate}" for number, _, why in found.damaged)
