"""Our lines in `.gitignore`."""

from collections.abc import Iterable, Sequence
from typing import Final

HEADING: Final = "# KDS: conversations and caches stay on this machine"


def with_lines(text: str, lines: Sequence[str], *, covered: Iterable[str] = ()) -> str:
    """The text with the lines that it lacks, under our heading, at its end.

    Nothing is added when one of the lines in ``covered`` ignores the same already.

    >>> with_lines("node_modules", ["kds-brain/*"]).splitlines()[-1]
    'kds-brain/*'
    """
    present = {line.strip() for line in text.splitlines()}
    missing = [line for line in lines if line not in present]
    if not missing or present & set(covered):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith(("\n", "\r")) else newline
    heading = [] if HEADING in present else [HEADING]
    return text + gap + "".join(line + newline for line in [*heading, *missing])


def without_lines(text: str, lines: Iterable[str]) -> str:
    """The text without our heading and ``lines``; all other lines stay as they are."""
    ours = {HEADING, *lines}
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() not in ours)
