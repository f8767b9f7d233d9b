"""What all readers share: their error, dividing by headings, and the rows of tables."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.documents.content import Block, Heading, Part
from kds.brain.errors import KdsError

JOINED: Final = " | "
"""Between the cells of a row, where the file itself has no text for that."""

LONGEST_CELL: Final = 8
"""Words of a first cell that a row can be about."""

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
        told = f"{type(error).__name__}: {error}"
        if isinstance(error, RecursionError):
            told = "its parts contain each other"
        said = " ".join(told.split())[:200]
        raise DocumentError(path, f"{message} ({said})", hint) from error


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


def first_heading(parts: Sequence[Part]) -> str:
    """Return the text of the first heading, "" without one."""
    return next((part.heading.text for part in parts if part.heading), "")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its cells, and the text that stands for it."""

    cells: tuple[str, ...]
    text: str
    line: int | None = None


def row_blocks(rows: Sequence[Row], *, between: str = "", headed: bool = True) -> Iterator[Block]:
    """Yield the rows of a table as blocks, the first one being its head unless not ``headed``.

    ``between`` is what stands under the head: Markdown's line of dashes.
    """
    head = rows[0] if headed and len(rows) > 1 else None
    columns = " ".join(head.cells).strip() if head else ""
    explains = head is not None and _explains(head.cells)
    for row in rows:
        if row is head:
            last = head.line + 1 if between and head.line is not None else head.line
            text = f"{head.text}\n{between}" if between else head.text
            yield Block(text, "row", first_line=head.line, last_line=last)
            continue
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


def _explains(head: Sequence[str]) -> bool:
    """Tell by a table's head whether its rows are definitions."""
    first = set(head[0].casefold().split())
    rest = {word for cell in head[1:] for word in cell.casefold().split()}
    return bool(rest & _MEANING_HEADS) and (len(head) == 2 or bool(first & _TERM_HEADS))
