"""Plain text, and what all readers share: headings by their looks, sections, rows of tables.

A line is a heading by how it looks and by what stands around it: "1. Open the door." in a list is
not, "1.01 Definitions" between blank lines is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from kds.brain.documents.definitions import LISTED, leading
from kds.brain.documents.values import Block, BlockKind, Content, Heading, Part, read_heading
from kds.brain.errors import KdsError

LONGEST: Final = 110
"""Characters. A longer line is a sentence."""

MANY_WORDS: Final = 14
MANY_RUN_IN: Final = 8
"""Words of a heading, and of one that the text goes on behind; more are a sentence."""

JOINED: Final = " | "
"""Between the cells of a row, where the file itself has no text for that."""

LONGEST_CELL: Final = 8
"""Words of a first cell that a row can be about."""

ITEM: Final = re.compile(r"\s*(?:[-*+•·‣▪–]\s+|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+)\S")
ENDED: Final = re.compile(r"[.!?;:][\"”’')\]]*$")
_COLUMNS: Final = re.compile(r"\S {3,}\S")
_BESIDE: Final = re.compile(r"\S {3,}\S|\.{4,}|\t")  # columns, dots of a table of contents
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
_TERM_HEADS: Final = frozenset(
    "term terms word words expression expressions phrase abbreviation acronym name glossary "
    "defined concept".split()
)
_MEANING_HEADS: Final = frozenset(
    "meaning meanings definition definitions explanation means".split()
)


class DocumentError(KdsError):
    """A file cannot be read as a document: one message, and the fix."""

    def __init__(self, path: Path, message: str, hint: str) -> None:
        super().__init__(message, where=str(path), hint=hint)
        self.path = path


@contextmanager
def document_errors(path: Path, message: str, hint: str = "save it again") -> Iterator[None]:
    """Turn whatever a library raises over a file into a DocumentError."""
    try:
        yield
    except KdsError:
        raise
    except Exception as error:
        circular = isinstance(error, RecursionError)
        told = "its parts contain each other" if circular else f"{type(error).__name__}: {error}"
        said = " ".join(told.split())[:200]
        raise DocumentError(path, f"{message} ({said})", hint) from error


class Line(NamedTuple):
    """A line of text; blank ones stand between paragraphs."""

    text: str
    number: int | None = None
    page: int | None = None

    @property
    def blank(self) -> bool:
        """Whether it has only white space."""
        return not self.text.strip()


class Found(NamedTuple):
    """A heading, how many lines it takes, and the text that goes on in its line."""

    heading: Heading
    lines: int = 1
    rest: str = ""


class Row(NamedTuple):
    """A row of a table: its cells, and the text that stands for it."""

    cells: tuple[str, ...]
    text: str
    line: int | None = None


def read_text(text: str, name: str) -> Content:
    """Read a plain text; ``name`` is its title when it has none."""
    numbered = enumerate(text.split("\n"), start=1)
    lines = [Line(line.expandtabs(4).rstrip(), at) for at, line in numbered]
    parts = tuple(in_sections(headings_and_blocks(lines)))
    return Content(title_of(parts) or name, "text", parts)


def title_of(parts: Sequence[Part]) -> str:
    """Return the heading before everything else, if it has no number."""
    first = parts[0].heading if parts else None
    return "" if first is None or first.number else first.text


def first_heading(parts: Sequence[Part]) -> str:
    """Return the text of the first heading, "" without one."""
    return next((part.heading.text for part in parts if part.heading), "")


def in_sections(found: Iterable[Heading | Block]) -> Iterator[Part]:
    """Yield each heading with the blocks up to the next; the first part may have no heading."""
    heading: Heading | None = None
    blocks: list[Block] = []
    for one in found:
        if isinstance(one, Block):
            blocks.append(one)
            continue
        if heading or blocks:
            yield Part(heading, tuple(blocks))
        heading, blocks = one, []
    if heading or blocks:
        yield Part(heading, tuple(blocks))


def marked_parts(found: Iterable[Heading | Block]) -> tuple[Part, ...]:
    """Return the sections of a format that marks headings: also those only drawn in bold type."""
    return tuple(in_sections(_with_drawn(found)))


def row_blocks(rows: Sequence[Row], *, between: str = "", headed: bool = True) -> Iterator[Block]:
    """Yield the rows of a table as blocks, the first one being its head unless not ``headed``.

    ``between`` is what stands under the head: Markdown's line of dashes.
    """
    columns, explains = "", False
    if headed and len(rows) > 1:
        head, *rows = rows
        columns = " ".join(head.cells).strip()
        first = set(head.cells[0].casefold().split())
        rest = {word for cell in head.cells[1:] for word in cell.casefold().split()}
        short = len(head.cells) == 2
        explains = bool(rest & _MEANING_HEADS) and (short or bool(first & _TERM_HEADS))
        text, last = head.text, head.line
        if between:
            text, last = f"{text}\n{between}", last and last + 1
        yield Block(text, "row", first_line=head.line, last_line=last)
    for row in rows:
        term = row.cells[0] if len(row.cells) > 1 else ""
        yield Block(
            row.text,
            "row",
            first_line=row.line,
            last_line=row.line,
            term=term if len(term.split()) <= LONGEST_CELL else "",
            defines=explains and bool(term),
            columns=columns,
        )


def headings_and_blocks(lines: Sequence[Line], *, loose: bool = False) -> Iterator[Heading | Block]:
    """Divide lines into headings and blocks; ``loose`` as in `find_heading`."""
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
        heading = found.heading
        if heading.number:
            inside = heading.level
        on_top = not (begun or before or heading.number)
        yield replace(heading, level=0) if on_top else heading
        begun = True
        pending = [lines[at]._replace(text=found.rest)] if found.rest else []
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
    text = "\n".join(kept) if drawn else " ".join(text.strip() for text in kept)
    kind: BlockKind = "item" if ITEM.match(kept[0]) and not drawn else "paragraph"
    return Block(text, kind, lines[0].page, lines[0].number, lines[-1].number)


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
    if found := _underlined(lines, at, text) or _run_in(lines[at], text):
        return found
    if len(text) > LONGEST or _BESIDE.search(text) or len(text.split()) > MANY_WORDS:
        return None
    return _by_number(lines, at, text, loose=loose) or _by_capitals(lines, at, text, inside)


def is_capitals(text: str) -> bool:
    """Tell whether a line is written in capitals.

    >>> is_capitals("GENERAL TERMS"), is_capitals("USA"), is_capitals("Terms")
    (True, False, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) >= 4 and all(letter == letter.upper() for letter in letters)


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
    if (found := _RUN_IN.fullmatch(text)) is None:
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
    title, label = heading.title, heading.label
    if not heading.number or (text.endswith(_ENDS) and not (label and text.endswith("."))):
        return None
    if title and not (title[0].isupper() or title[0] in '"“'):
        return None
    if title and loose and not _looks_titled(title):
        return None
    closed = at + 1 >= len(lines) or lines[at + 1].blank
    if not (closed or loose or is_capitals(title or heading.text)):
        return None
    if not (label or "." in heading.number.strip(".") or is_capitals(title)):
        after = next((line.text.strip() for line in lines[at + 1 :] if not line.blank), "1. ")
        if loose or not closed or re.match(r"\d{1,2}[.)]\s", after):
            return None  # an item of a list
    if title:
        return Found(_leveled(heading, lines[at]))
    return _with_title_below(lines, at, heading) if label else None


def _looks_titled(title: str) -> bool:
    """Tell whether a line reads like a heading: its longer words have capitals, or it is short."""
    words = [word for word in title.split() if len(word) > 3 and word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(title.split()) <= 4 or capitals >= 0.7 * len(words)


def _with_title_below(lines: Sequence[Line], at: int, heading: Heading) -> Found:
    """Take the title of "ARTICLE II" from the next line that has text."""
    after = [line.text.strip() for line in lines[at + 1 : at + 3]]
    text = next(filter(None, after), "")
    titled = text and (is_capitals(text) or _looks_titled(text)) and not text.endswith(_ENDS)
    if not titled or len(text) > LONGEST or read_heading(text, 1).number:
        return Found(_leveled(heading, lines[at]))
    whole = read_heading(f"{heading.text} {text}", 1)
    return Found(_leveled(whole, lines[at]), after.index(text) + 2)


def _by_capitals(lines: Sequence[Line], at: int, text: str, inside: int) -> Found | None:
    if not is_capitals(text) or text.endswith((".", ",", ";")):
        return None
    taken = [text]
    for line in lines[at + 1 : at + 3]:
        more = line.text.strip()
        if not is_capitals(more) or read_heading(more, 1).number:
            break
        taken.append(more)
    whole = " ".join(taken).rstrip(":")
    return Found(_unnumbered(whole, inside + 1, lines[at]), len(taken))


def _depth(heading: Heading) -> int:
    return len([part for part in heading.number.split(".") if part])


def _leveled(heading: Heading, line: Line) -> Heading:
    """Say how deep a numbered heading stands: "2" 1, "2.1" 2, an article 1, its section 2."""
    below_top = bool(heading.label) and heading.label not in _TOP
    level = max(_depth(heading), 2 if below_top else 0)
    return replace(heading, level=level, page=line.page, line=line.number)


def _unnumbered(text: str, level: int, line: Line) -> Heading:
    found = read_heading(text, level, page=line.page, line=line.number)
    return _leveled(found, line) if found.number and level > 2 else found


def _with_drawn(found: Iterable[Heading | Block]) -> Iterator[Heading | Block]:
    """Add the headings that are paragraphs by their marks: many writers use bold type instead."""
    base = 0
    held: Heading | None = None
    """The last heading, as long as its title may still come."""
    for one in found:
        drawn = _drawn(one, base) if isinstance(one, Block) else Found(one)
        if drawn is None:
            yield from [held, one] if held else [one]
            held = None
            continue
        new = drawn.heading
        if held and held.label and not held.title and not new.number and new is not one:
            text = f"{held.text} {new.text}"
            held = read_heading(text, held.level, page=held.page, line=held.line)
            continue
        if held:
            yield held
        held = new
        if isinstance(one, Heading):
            base = one.level
        elif drawn.rest:
            yield from (new, replace(one, text=drawn.rest, term="", defines=False))
            held = None
    if held:
        yield held


def _drawn(block: Block, base: int) -> Found | None:
    """Return the heading that a paragraph is, or begins with: bold, or "4.02 Fees."."""
    if block.kind != "paragraph" or "\n\n" in block.text:
        return None
    text = " ".join(block.text.split())
    bold = _BOLD.fullmatch(text)
    whole = bold["text"].strip() if bold else text if " ".join(block.term.split()) == text else ""
    if whole and len(whole.split()) <= MANY_WORDS and not whole.endswith((".", ";", ",", "!")):
        found = Found(read_heading(whole.rstrip(":"), 1))
    else:
        bold_start = text.startswith(("**", "__"))
        plain = _BOLD_START.sub(r"\g<text>", text, count=1) if bold_start else text
        given = find_heading([Line(plain)], 0)
        number = given.heading.number if given else ""
        if given is None or not number or not (given.heading.label or "." in number):
            return None
        if not given.rest and len(text.split()) > MANY_WORDS:
            return None
        found = given
    level = base + (_depth(found.heading) or 3)
    heading = replace(found.heading, level=level, page=block.page, line=block.first_line)
    return found._replace(heading=heading)
