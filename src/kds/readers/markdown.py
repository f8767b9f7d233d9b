"""Markdown: CommonMark with tables, front matter taken off.

The blocks are the lines as they were written: what an answer quotes is what the file says.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kds.brain.documents.values import Block, BlockKind, Content, Heading, read_heading
from kds.readers.text import Row, first_heading, marked_parts, row_blocks

_FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\n(?P<data>.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S
)
_TITLE: Final = re.compile(r"^title:[ \t]*+(?P<title>\S.*)$", re.MULTILINE)
_CELL: Final = re.compile(r"(?<!\\)\|")


def read_markdown(text: str, name: str) -> Content:
    """Read a Markdown text; ``name`` is its title when it has none."""
    front = _FRONT_MATTER.match(text)
    given = _TITLE.search(front["data"] or "") if front else None
    body = "\n" * front[0].count("\n") + text[front.end() :] if front else text
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    parts = marked_parts(_found(tokens, body.split("\n")))
    title = given["title"].strip().strip("\"'") if given else first_heading(parts)
    return Content(title or name, "markdown", parts)


def _found(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Heading | Block]:
    """Yield headings and blocks in order, with what no token covers (definitions of links)."""
    done = 0
    for at, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting == -1:
            continue
        first, last = token.map
        yield from _lines(lines, done, first)
        done = max(done, last)
        if token.type == "heading_open":
            children = tokens[at + 1].children or []
            texts = (" " if one.type.endswith("break") else one.content for one in children)
            if text := " ".join("".join(texts).split()):
                yield read_heading(text, int(token.tag[1]), line=first + 1)
        elif token.type == "table_open":
            numbers = [at for at in range(first, last) if lines[at].strip() and at != first + 1]
            rows = [Row(_cells(lines[at]), lines[at], at + 1) for at in numbers]
            yield from row_blocks(rows, between=lines[first + 1])
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            yield from _items(tokens, at, lines)
        else:
            kind: BlockKind = "code" if token.type in ("fence", "code_block") else "paragraph"
            yield from _lines(lines, first, last, kind)
    yield from _lines(lines, done, len(lines))


def _items(tokens: Sequence[Token], at: int, lines: Sequence[str]) -> Iterator[Block]:
    """Yield each item of a list with all that is in it; nested items are items of their own."""
    start, end = tokens[at].map or (0, 0)
    starts = {start}
    for token in tokens[at + 1 :]:
        if token.map is not None and token.map[0] >= end:
            break
        if token.type == "list_item_open" and token.map is not None:
            starts.add(token.map[0])
    for first, last in pairwise([*sorted(starts), end]):
        yield from _lines(lines, first, last, "item")


def _cells(line: str) -> tuple[str, ...]:
    line = line.strip().removeprefix("|")
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return tuple(cell.strip() for cell in _CELL.split(line))


def _lines(
    lines: Sequence[str], first: int, last: int, kind: BlockKind = "paragraph"
) -> Iterator[Block]:
    filled = [at for at in range(first, last) if lines[at].strip()]
    if filled:
        first, last = filled[0], filled[-1] + 1
        yield Block("\n".join(lines[first:last]), kind, first_line=first + 1, last_line=last)
