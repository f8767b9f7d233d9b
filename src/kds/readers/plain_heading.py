"""Headings where nothing marks them: numbers, capitals, a line drawn under them.

A line is a heading by how it looks and by what stands around it. "1. Open the door." in a list
is none; "1.01 Definitions" between blank lines is one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.documents.content import Heading
from kds.brain.documents.heading import read_heading
from kds.readers.lines import Line

LONGEST: Final = 110
"""Characters. A longer line is a sentence."""

MANY_WORDS: Final = 14

_UNDERLINE: Final = re.compile(r"\s*([=\-~^*_#+])\1{2,}\s*")
_LEVELS: Final = {"=": 1, "-": 2, "~": 3}
_RUN_IN: Final = re.compile(
    r"(?P<head>(?:(?:Section|SECTION|Sec\.|Article|ARTICLE|Clause|CLAUSE|§)\s*)?\d+(?:\.\d+)*\.?\s+"
    r"(?P<title>[A-Z][^.;:!?]{2,80}))\.\s+(?=[A-Z(\"“])(?P<rest>.+)",
    re.DOTALL,
)
MANY_RUN_IN: Final = 8
"""Words of a heading that the text goes on behind; more are a sentence."""

_VERBS: Final = frozenset(
    "is are was were be been has have had shall will must may can should does do means".split()
)
_ENDS: Final = (".", ",", ";", ":", "!")
_TOP: Final = frozenset({"part", "article", "chapter", "title", "appendix", "annex", "schedule",
                         "exhibit", "attachment"})  # fmt: skip
_BESIDE: Final = re.compile(r"\S {3,}\S|\.{4,}|\t")
"""Columns of a table, or the dots of a table of contents."""


@dataclass(frozen=True, slots=True)
class Found:
    """A heading, how many lines it takes, and the text that goes on in its line."""

    heading: Heading
    lines: int
    rest: str = ""


def find_heading(
    lines: Sequence[Line], at: int, *, loose: bool = False, inside: int = 0
) -> Found | None:
    """Return the heading that begins at a line, None when it is none.

    ``loose``: blank lines say nothing (the text of a PDF). ``inside``: the level of the last
    heading that had a number.
    """
    text = lines[at].text.strip()
    free = at == 0 or lines[at - 1].blank or loose
    if not free or not text or len(text) > 4 * LONGEST:
        return None
    found = _underlined(lines, at, text) or _run_in(lines[at], text)
    if found is not None or not _is_short(text):
        return found
    return _by_number(lines, at, text, loose=loose) or _by_capitals(lines, at, text, inside)


def is_capitals(text: str) -> bool:
    """Tell whether a line is written in capitals.

    >>> is_capitals("GENERAL TERMS"), is_capitals("USA"), is_capitals("Terms")
    (True, False, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) >= 4 and all(letter == letter.upper() for letter in letters)


def _is_short(text: str) -> bool:
    """Tell whether a line may be a heading as a whole: no sentence, no columns."""
    return len(text) <= LONGEST and not _BESIDE.search(text) and len(text.split()) <= MANY_WORDS


def _underlined(lines: Sequence[Line], at: int, text: str) -> Found | None:
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    drawn = _UNDERLINE.fullmatch(below)
    if drawn is None or len(text) > LONGEST or not _is_underlined(text, below):
        return None
    return Found(_heading(text, _LEVELS.get(drawn[1], 3), lines[at]), 2)


def _run_in(line: Line, text: str) -> Found | None:
    """Take "4.2 Refunds." from the beginning of a line that goes on."""
    found = _RUN_IN.fullmatch(text)
    if found is None or not _is_run_in(found["title"]):
        return None
    heading = _numbered(found["head"])
    if "." not in heading.number and not heading.label:
        return None
    return Found(_leveled(heading, line), 1, found["rest"])


def _is_run_in(title: str) -> bool:
    words = title.casefold().split()
    return len(words) <= MANY_RUN_IN and not _VERBS.intersection(words)


def _by_number(lines: Sequence[Line], at: int, text: str, *, loose: bool) -> Found | None:
    heading = _numbered(text)
    if not heading.number:
        return None
    if not _stands_apart(lines, at, heading, loose=loose) or not _is_titled(heading, loose=loose):
        return None
    if text.endswith(_ENDS) and not (heading.label and text.endswith(".")):
        return None
    if not heading.title:
        return _with_title_below(lines, at, heading)
    return Found(_leveled(heading, lines[at]), 1)


def _stands_apart(lines: Sequence[Line], at: int, heading: Heading, *, loose: bool) -> bool:
    """Tell a numbered line from text and from an item of a list, by its look and what is below."""
    closed = at + 1 >= len(lines) or lines[at + 1].blank
    text = lines[at].text.strip()
    if not closed and not loose and not is_capitals(heading.title or text):
        return False
    return _is_marked(heading) or (closed and not loose and _starts_text(lines, at))


def _is_marked(heading: Heading) -> bool:
    """Tell by the line alone that no item of a list begins like this."""
    dotted = "." in heading.number.strip(".")
    return bool(heading.label) or dotted or is_capitals(heading.title)


def _is_titled(heading: Heading, *, loose: bool) -> bool:
    """Tell whether the words behind a number are written as a title; none at all may be."""
    title = heading.title
    if not title:
        return True
    if not title[0].isupper() and title[0] not in '"“':
        return False
    return not loose or _looks_titled(title)


def _with_title_below(lines: Sequence[Line], at: int, heading: Heading) -> Found | None:
    """Take the title of "ARTICLE II" from the next line that has text."""
    if not heading.label:
        return None
    for below in range(at + 1, min(at + 3, len(lines))):
        text = lines[below].text.strip()
        if text and len(text) <= LONGEST and not text.endswith(_ENDS):
            if (is_capitals(text) or _looks_titled(text)) and not _numbered(text).number:
                whole = read_heading(f"{heading.text} {text}", 1)
                return Found(_leveled(whole, lines[at]), below - at + 1)
            break
    return Found(_leveled(heading, lines[at]), 1)


def _by_capitals(lines: Sequence[Line], at: int, text: str, inside: int) -> Found | None:
    if not is_capitals(text) or text.endswith((".", ",", ";")):
        return None
    end = at + 1
    while end < len(lines) and end - at < 3 and _goes_on(lines[end].text):
        end += 1
    whole = " ".join(line.text.strip() for line in lines[at:end]).rstrip(":")
    return Found(_heading(whole, inside + 1, lines[at]), end - at)


def _goes_on(text: str) -> bool:
    return bool(text.strip()) and is_capitals(text) and not _numbered(text.strip()).number


def _looks_titled(title: str) -> bool:
    """Tell whether a line reads like a heading: its longer words have capitals, or it is short."""
    words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(title.split()) <= 4 or capitals >= 0.7 * len(words)


def _starts_text(lines: Sequence[Line], at: int) -> bool:
    """Tell whether something other than the next item of a list follows."""
    after = (lines[below].text.strip() for below in range(at + 1, len(lines))
             if not lines[below].blank)  # fmt: skip
    return not re.match(r"\d{1,2}[.)]\s", next(after, "1. "))


def _is_underlined(text: str, below: str) -> bool:
    return not _UNDERLINE.fullmatch(text) and len(below.strip()) >= min(len(text), 4) - 1


def _numbered(text: str) -> Heading:
    return read_heading(text, 1)


def _leveled(heading: Heading, line: Line) -> Heading:
    """Say how deep a numbered heading stands: "2" 1, "2.1" 2, an article 1, its section 2."""
    depth = len([part for part in heading.number.split(".") if part])
    if heading.label and heading.label not in _TOP:
        depth = max(depth, 2)
    return Heading(heading.text, depth, heading.number, heading.title, heading.label, line.page,
                   line.number)  # fmt: skip


def _heading(text: str, level: int, line: Line) -> Heading:
    found = read_heading(text, level, page=line.page, line=line.number)
    return _leveled(found, line) if found.number and level > 2 else found
