"""Rows of tables as blocks: which cell a row is about, and whether the table explains terms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.documents.content import Block

_TERM_HEADS: Final = frozenset(
    "term terms word words expression expressions phrase abbreviation acronym name glossary "
    "defined concept".split()
)
_MEANING_HEADS: Final = frozenset(
    "meaning meanings definition definitions explanation means".split()
)

JOINED: Final = " | "
"""Between the cells of a row, where the file itself has no text for that."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells, and the text that stands for it."""

    cells: tuple[str, ...]
    text: str
    first_line: int | None = None
    last_line: int | None = None
    page: int | None = None


def row_blocks(rows: Sequence[Row], *, between: str = "", headed: bool = True) -> Iterator[Block]:
    """Yield the rows of a table as blocks, the first one being its head unless not ``headed``.

    ``between`` is what stands under the head: Markdown's line of dashes.
    """
    if not rows:
        return
    head = rows[0] if headed and len(rows) > 1 else None
    columns, explains = "", False
    if head is not None:
        columns, explains = " ".join(head.cells).strip(), _explains(head.cells)
        yield _head_block(head, between)
    for row in rows if head is None else rows[1:]:
        yield _row_block(row, columns, explains=explains)


def _head_block(head: Row, between: str) -> Block:
    text = f"{head.text}\n{between}" if between else head.text
    last = head.last_line + 1 if between and head.last_line is not None else head.last_line
    return Block(text, "row", head.page, head.first_line, last)


def _row_block(row: Row, columns: str, *, explains: bool) -> Block:
    term = row.cells[0] if len(row.cells) > 1 else ""
    return Block(
        row.text,
        "row",
        row.page,
        row.first_line,
        row.last_line,
        term=term if len(term.split()) <= 8 else "",
        defines=explains and bool(term),
        columns=columns,
    )


def _explains(cells: Sequence[str]) -> bool:
    """Tell by a table's head whether its rows are definitions."""
    if len(cells) < 2:
        return False
    first = set(cells[0].casefold().split())
    rest = {word for cell in cells[1:] for word in cell.casefold().split()}
    return bool(first & _TERM_HEADS and rest & _MEANING_HEADS) or (
        len(cells) == 2 and bool(rest & _MEANING_HEADS)
    )
