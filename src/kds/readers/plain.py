"""Reading plain text: headings by their looks, paragraphs between blank lines, lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kds.brain.documents.content import Block, Content, Heading, Part
from kds.brain.documents.definition import leading
from kds.readers.lines import Line, numbered
from kds.readers.plain_heading import find_heading
from kds.readers.sections import in_sections

_ITEM: Final = re.compile(r"\s*(?:[-*+•·‣▪–]\s+|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+)\S")
_COLUMNS: Final = re.compile(r"\S {3,}\S")
_TERMINAL: Final = re.compile(r"[.!?;:][\"”’')]*$")


def read_plain(text: str, name: str) -> Content:
    """Read a plain text; ``name`` is its title when it has none."""
    parts = tuple(parts_of(numbered(text.split("\n"))))
    return Content(title_of(parts) or name, "text", parts)


def title_of(parts: Sequence[Part]) -> str:
    """Return the heading that stands before everything else and has no number."""
    first = next((part for part in parts if part.heading or part.blocks), None)
    if first is None or first.heading is None or first.heading.number:
        return ""
    return first.heading.text


def parts_of(lines: Sequence[Line], *, loose: bool = False) -> Iterator[Part]:
    """Take lines apart into sections; ``loose`` as in `find_heading`."""
    return in_sections(_found(lines, loose=loose))


def _found(lines: Sequence[Line], *, loose: bool) -> Iterator[Heading | Block]:
    begun = False
    pending: list[Line] = []
    inside = at = 0
    while at < len(lines):
        found = find_heading(lines, at, loose=loose, inside=inside)
        if found is None:
            pending.append(lines[at])
            at += 1
            continue
        for block in blocks_of(pending):
            begun = True
            yield block
        if found.heading.number:
            inside = found.heading.level
        on_top = not (begun or found.heading.number)
        yield replace(found.heading, level=0) if on_top else found.heading
        begun = True
        pending = [replace(lines[at], text=found.rest)] if found.rest else []
        at += found.lines
    yield from blocks_of(pending)


def blocks_of(lines: Sequence[Line]) -> Iterator[Block]:
    """Take the lines of a section apart into paragraphs and items."""
    paragraph: list[Line] = []
    for line in lines:
        if line.blank:
            yield from _block(paragraph)
            paragraph = []
        elif paragraph and _begins(line, paragraph[-1]):
            yield from _block(paragraph)
            paragraph = [line]
        else:
            paragraph.append(line)
    yield from _block(paragraph)


def _begins(line: Line, before: Line) -> bool:
    """Tell whether a line begins something new without a blank line before it."""
    if _ITEM.match(line.text):
        return True
    if not _TERMINAL.search(before.text.strip()):
        return False
    led = leading(Block(line.text.strip()))
    return led is not None and led.strength >= 0.9


def _block(lines: Sequence[Line]) -> Iterator[Block]:
    if not lines:
        return
    kept = [line.text.rstrip() for line in lines]
    drawn = (
        len(kept) > 1 and sum(bool(_COLUMNS.search(text.strip())) for text in kept) > len(kept) / 2
    )
    text = "\n".join(kept) if drawn else " ".join(text.strip() for text in kept)
    yield Block(
        text=text,
        kind="item" if _ITEM.match(kept[0]) and not drawn else "paragraph",
        page=lines[0].page,
        first_line=lines[0].number,
        last_line=lines[-1].number,
    )
