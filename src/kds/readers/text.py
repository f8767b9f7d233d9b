"""Plain text: headings by their looks, paragraphs, lists.

Readers of other formats use it where a file does not mark its headings. A line is a heading by
how it looks and by what stands around it: "1. Open the door." in a list is not, "1.01 Definitions"
between blank lines is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kds.brain.documents.content import Block, Content, Heading, Part, read_heading
from kds.brain.documents.definitions import LISTED, leading
from kds.readers.sections import in_sections

LONGEST: Final = 110
"""Characters. A longer line is a sentence."""

MANY_WORDS: Final = 14
MANY_RUN_IN: Final = 8
"""Words of a heading, and of one that the text goes on behind; more are a sentence."""

ITEM: Final = re.compile(r"\s*(?:[-*+•·‣▪–]\s+|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+)\S")
ENDED: Final = re.compile(r"[.!?;:][\"”’')\]]*$")
_COLUMNS: Final = re.compile(r"\S {3,}\S")
_BESIDE: Final = re.compile(r"\S {3,}\S|\.{4,}|\t")
"""Columns of a table, or the dots of a table of contents."""

_UNDERLINE: Final = re.compile(r"\s*([=\-~^*_#+])\1{2,}\s*")
_UNDERLINE_LEVELS: Final = {"=": 1, "-": 2, "~": 3}
_RUN_IN: Final = re.compile(
    r"(?P<head>(?:(?:Section|SECTION|Sec\.|Article|ARTICLE|Clause|CLAUSE|§)\s*)?\d+(?:\.\d+)*\.?\s+"
    r"(?P<title>[A-Z][^.;:!?]{2,80}))\.\s+(?=[A-Z(\"“])(?P<rest>.+)",
    re.DOTALL,
)
_VERBS: Final = frozenset(
    "is are was were be been has have had shall will must may can should does do means".split()
)
_ENDS: Final = (".", ",", ";", ":", "!")
_TOP: Final = frozenset(
    "part article chapter title appendix annex schedule exhibit attachment".split()
)
_BOLD: Final = re.compile(r"(?P<mark>\*\*|__)(?P<text>(?:(?!(?P=mark)).)+)(?P=mark)[:.]?")
_BOLD_START: Final = re.compile(r"(?:\*\*|__)(?P<text>[^*_\n]+?)(?:\*\*|__)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; blank ones stand between paragraphs."""

    text: str
    number: int | None = None
    page: int | None = None

    @property
    def blank(self) -> bool:
        """Whether it has only white space."""
        return not self.text.strip()


@dataclass(frozen=True, slots=True)
class Found:
    """A heading, how many lines it takes, and the text that goes on in its line."""

    heading: Heading
    lines: int = 1
    rest: str = ""


def read_text(text: str, name: str) -> Content:
    """Read a plain text; ``name`` is its title when it has none."""
    lines = [
        Line(line.expandtabs(4).rstrip(), number)
        for number, line in enumerate(text.split("\n"), start=1)
    ]
    parts = tuple(parts_of(lines))
    return Content(title_of(parts) or name, "text", parts)


def title_of(parts: Sequence[Part]) -> str:
    """Return the heading before everything else, if it has no number."""
    first = parts[0].heading if parts else None
    return "" if first is None or first.number else first.text


def parts_of(lines: Sequence[Line], *, loose: bool = False) -> Iterator[Part]:
    """Divide lines into sections; ``loose`` as in `find_heading`."""
    return in_sections(_headings_and_blocks(lines, loose=loose))


def _headings_and_blocks(lines: Sequence[Line], *, loose: bool) -> Iterator[Heading | Block]:
    begun = False
    pending: list[Line] = []
    inside = at = 0
    while at < len(lines):
        found = find_heading(lines, at, loose=loose, inside=inside)
        if found is None:
            pending.append(lines[at])
            at += 1
            continue
        before = list(_blocks(pending))
        yield from before
        if found.heading.number:
            inside = found.heading.level
        on_top = not (begun or before or found.heading.number)
        yield replace(found.heading, level=0) if on_top else found.heading
        begun = True
        pending = [replace(lines[at], text=found.rest)] if found.rest else []
        at += found.lines
    yield from _blocks(pending)


def _blocks(lines: Iterable[Line]) -> Iterator[Block]:
    """Divide the lines of a section into paragraphs and items."""
    paragraph: list[Line] = []
    for line in lines:
        if paragraph and (line.blank or _begins(line, paragraph[-1])):
            yield _block(paragraph)
            paragraph = []
        if not line.blank:
            paragraph.append(line)
    if paragraph:
        yield _block(paragraph)


def _begins(line: Line, before: Line) -> bool:
    """Tell whether a line begins something new without a blank line before it."""
    if ITEM.match(line.text):
        return True
    return bool(ENDED.search(before.text.strip())) and is_led(line)


def is_led(line: Line) -> bool:
    """Tell whether a line begins with a term that it defines."""
    led = leading(Block(line.text.strip()))
    return led is not None and led.strength >= LISTED


def _block(lines: Sequence[Line]) -> Block:
    kept = [line.text.rstrip() for line in lines]
    in_columns = sum(bool(_COLUMNS.search(text.strip())) for text in kept)
    drawn = len(kept) > 1 and in_columns > len(kept) / 2
    return Block(
        "\n".join(kept) if drawn else " ".join(text.strip() for text in kept),
        "item" if ITEM.match(kept[0]) and not drawn else "paragraph",
        lines[0].page,
        lines[0].number,
        lines[-1].number,
    )


def find_heading(
    lines: Sequence[Line], at: int, *, loose: bool = False, inside: int = 0
) -> Found | None:
    """Return the heading that begins at a line, None if there is none.

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
    return len(text) <= LONGEST and not _BESIDE.search(text) and len(text.split()) <= MANY_WORDS


def _underlined(lines: Sequence[Line], at: int, text: str) -> Found | None:
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    drawn = _UNDERLINE.fullmatch(below)
    if drawn is None or len(text) > LONGEST or _UNDERLINE.fullmatch(text):
        return None
    if len(below.strip()) < min(len(text), 4) - 1:
        return None
    return Found(_unnumbered(text, _UNDERLINE_LEVELS.get(drawn[1], 3), lines[at]), 2)


def _run_in(line: Line, text: str) -> Found | None:
    """Take "4.2 Refunds." from the beginning of a line that goes on."""
    found = _RUN_IN.fullmatch(text)
    if found is None:
        return None
    words = found["title"].casefold().split()
    heading = read_heading(found["head"], 1)
    if len(words) > MANY_RUN_IN or _VERBS.intersection(words):
        return None
    if "." not in heading.number and not heading.label:
        return None
    return Found(_leveled(heading, line), 1, found["rest"])


def _by_number(lines: Sequence[Line], at: int, text: str, *, loose: bool) -> Found | None:
    heading = read_heading(text, 1)
    if not heading.number or not _is_titled(heading.title, loose=loose):
        return None
    if text.endswith(_ENDS) and not (heading.label and text.endswith(".")):
        return None
    if not _stands_apart(lines, at, heading, loose=loose):
        return None
    if not heading.title:
        return _with_title_below(lines, at, heading) if heading.label else None
    return Found(_leveled(heading, lines[at]))


def _stands_apart(lines: Sequence[Line], at: int, heading: Heading, *, loose: bool) -> bool:
    """Tell a numbered line from text and from an item of a list."""
    closed = at + 1 >= len(lines) or lines[at + 1].blank
    if not closed and not loose and not is_capitals(heading.title or heading.text):
        return False
    dotted = "." in heading.number.strip(".")
    if heading.label or dotted or is_capitals(heading.title):
        return True
    after = next((line.text.strip() for line in lines[at + 1 :] if not line.blank), "1. ")
    return closed and not loose and not re.match(r"\d{1,2}[.)]\s", after)


def _is_titled(title: str, *, loose: bool) -> bool:
    """Tell whether the words behind a number are written as a title; there may be none."""
    if not title:
        return True
    return (title[0].isupper() or title[0] in '"“') and (not loose or _looks_titled(title))


def _looks_titled(title: str) -> bool:
    """Tell whether a line reads like a heading: its longer words have capitals, or it is short."""
    words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(title.split()) <= 4 or capitals >= 0.7 * len(words)


def _with_title_below(lines: Sequence[Line], at: int, heading: Heading) -> Found:
    """Take the title of "ARTICLE II" from the next line that has text."""
    for below in range(at + 1, min(at + 3, len(lines))):
        text = lines[below].text.strip()
        if not text:
            continue
        titled = is_capitals(text) or _looks_titled(text)
        if len(text) > LONGEST or text.endswith(_ENDS) or not titled or _has_number(text):
            break
        whole = read_heading(f"{heading.text} {text}", 1)
        return Found(_leveled(whole, lines[at]), below - at + 1)
    return Found(_leveled(heading, lines[at]))


def _by_capitals(lines: Sequence[Line], at: int, text: str, inside: int) -> Found | None:
    if not is_capitals(text) or text.endswith((".", ",", ";")):
        return None
    end = at + 1
    while end < len(lines) and end - at < 3 and _goes_on(lines[end].text.strip()):
        end += 1
    whole = " ".join(line.text.strip() for line in lines[at:end]).rstrip(":")
    return Found(_unnumbered(whole, inside + 1, lines[at]), end - at)


def _goes_on(text: str) -> bool:
    return is_capitals(text) and not _has_number(text)


def _has_number(text: str) -> bool:
    return bool(read_heading(text, 1).number)


def _leveled(heading: Heading, line: Line) -> Heading:
    """Say how deep a numbered heading stands: "2" 1, "2.1" 2, an article 1, its section 2."""
    depth = len([part for part in heading.number.split(".") if part])
    if heading.label and heading.label not in _TOP:
        depth = max(depth, 2)
    return replace(heading, level=depth, page=line.page, line=line.number)


def _unnumbered(text: str, level: int, line: Line) -> Heading:
    found = read_heading(text, level, page=line.page, line=line.number)
    return _leveled(found, line) if found.number and level > 2 else found


def with_drawn_headings(parts: Iterable[Part]) -> Iterator[Part]:
    """Divide sections where a paragraph is a heading by its looks.

    Markdown, HTML and DOCX have marks for headings, and many writers use bold type instead.
    """
    for part in parts:
        base = part.heading.level if part.heading else 0
        heading, blocks = part.heading, list[Block]()
        for block in part.blocks:
            found = _drawn(block, base)
            if found is None:
                blocks.append(block)
                continue
            lacks_title = heading and heading.label and not heading.title and not blocks
            if heading and lacks_title and not found.heading.number:
                heading = read_heading(f"{heading.text} {found.heading.text}", heading.level,
                                       page=heading.page, line=heading.line)  # fmt: skip
                continue
            if heading or blocks:
                yield Part(heading, tuple(blocks))
            heading, blocks = found.heading, []
            if found.rest:
                blocks.append(replace(block, text=found.rest, term="", defines=False))
        if heading or blocks:
            yield Part(heading, tuple(blocks))


def _drawn(block: Block, base: int) -> Found | None:
    """Return the heading that a paragraph is, or begins with: bold, or "4.02 Fees."."""
    if block.kind != "paragraph" or "\n\n" in block.text:
        return None
    text = " ".join(block.text.split())
    bold = _BOLD.fullmatch(text)
    whole = bold["text"].strip() if bold else text if " ".join(block.term.split()) == text else ""
    if whole and len(whole.split()) <= MANY_WORDS and not whole.endswith((".", ";", ",", "!")):
        return Found(_placed(read_heading(whole.rstrip(":"), 1), base, block))
    plain = _BOLD_START.sub(r"\g<text>", text, count=1) if text.startswith(("**", "__")) else text
    found = find_heading([Line(plain)], 0)
    if found is None or not (found.heading.label or "." in found.heading.number):
        return None
    if not found.heading.number or (not found.rest and len(text.split()) > MANY_WORDS):
        return None
    return replace(found, heading=_placed(found.heading, base, block))


def _placed(heading: Heading, base: int, block: Block) -> Heading:
    depth = len([part for part in heading.number.split(".") if part]) or 3
    return replace(heading, level=base + depth, page=block.page, line=block.first_line)
