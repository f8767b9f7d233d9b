"""Headings that were only drawn as such: a line in bold, a paragraph that begins "4.02 Fees."

Markdown, HTML and DOCX have marks for headings, and many writers do not use them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from kds.brain.documents.content import Block, Heading, Part
from kds.brain.documents.heading import read_heading
from kds.readers.lines import Line
from kds.readers.plain_heading import Found, find_heading

MANY_WORDS: Final = 12

_BOLD: Final = re.compile(r"(?P<mark>\*\*|__)(?P<text>(?:(?!(?P=mark)).)+)(?P=mark)[:.]?")
_BOLD_START: Final = re.compile(r"(?:\*\*|__)(?P<text>[^*_\n]+?)(?:\*\*|__)")
_SENTENCE_END: Final = (".", ";", ",", "!")


def with_drawn_headings(parts: Iterable[Part]) -> Iterator[Part]:
    """Divide sections where a paragraph is a heading by its looks."""
    for part in parts:
        base = part.heading.level if part.heading else 0
        heading, blocks = part.heading, list[Block]()
        for block in part.blocks:
            found = _drawn(block, base)
            if found is None:
                blocks.append(block)
                continue
            if heading and not blocks and _lacks_title(heading) and not found.heading.number:
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
    if block.kind != "paragraph" or "\n\n" in block.text:
        return None
    text = " ".join(block.text.split())
    whole = _whole_bold(block, text)
    if whole and len(whole.split()) <= MANY_WORDS and not whole.endswith(_SENTENCE_END):
        return Found(_placed(read_heading(whole.rstrip(":"), 1), base, block), 1)
    plain = _BOLD_START.sub(r"\g<text>", text, count=1) if text.startswith(("**", "__")) else text
    found = find_heading([Line(plain)], 0)
    if found is None or not found.heading.number:
        return None
    dotted = "." in found.heading.number
    if not (found.heading.label or dotted) or (not found.rest and len(text.split()) > MANY_WORDS):
        return None
    return replace(found, heading=_placed(found.heading, base, block))


def _lacks_title(heading: Heading) -> bool:
    return bool(heading.label) and not heading.title


def _whole_bold(block: Block, text: str) -> str:
    """Return the text of a paragraph that is in bold from beginning to end; else ""."""
    if (bold := _BOLD.fullmatch(text)) is not None:
        return bold["text"].strip()
    return text if block.term and " ".join(block.term.split()) == text else ""


def _placed(heading: Heading, base: int, block: Block) -> Heading:
    depth = len([part for part in heading.number.split(".") if part]) or 3
    return replace(heading, level=base + depth, page=block.page, line=block.first_line)
