"""A document as a reader hands it to the store: headings, and blocks of text under them.

A reader says what the file's own marks say (this is a heading, a list's item, a row of a table);
what the text itself says (this defines a term) is found out by the store, alike for all kinds.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from kds.brain.documents.document_values import DocumentKind

BlockKind = Literal["paragraph", "item", "row", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, an item of a list, a row of a table, or a listing."""

    text: str
    kind: BlockKind = "paragraph"
    page: int | None = None
    first_line: int | None = None
    last_line: int | None = None
    term: str = ""
    """What the block is about by its marks: the term of a definition list, words in bold at its
    beginning, the first cell of a row."""
    defines: bool = False
    """Whether the marks alone say that it defines ``term``: a definition list, a table of terms."""
    marked: tuple[str, ...] = ()
    """Words in bold or the like, wherever in it."""
    columns: str = ""
    """Of a row: the heads of the table's columns."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as it stands, and its number apart."""

    text: str
    level: int
    """A section is inside the nearest one before it with a smaller level; 0: the title."""
    number: str = ""
    title: str = ""
    label: str = ""
    """The word before the number, in lower case: "section", "article"."""
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A heading and the blocks under it; None: what stands before the first heading."""

    heading: Heading | None
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """All of a document."""

    title: str
    kind: DocumentKind
    parts: tuple[Part, ...]
    pages: int | None = None
    notes: tuple[str, ...] = field(default=())
    """What a user should know: pages without text."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a content was read from."""

    path: str
    """Absolute, with links followed."""
    size: int
    modified: datetime
    digest: str
    """SHA-256, in hexadecimal."""
