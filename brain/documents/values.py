"""What the document store takes and gives: frozen values.

A document is a list of sections, a section a text under a heading, a passage a stretch of a
section that can be found and quoted by itself. Times are aware datetimes in UTC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from kds.brain.documents.content import DocumentKind

PassageKind = Literal["prose", "definition", "table", "code"]

UPLOADS: Final = "uploads"
"""The folder in `kds-brain/` of files that were sent, and have no place of their own."""

ALL: Final = "all"
"""The scope of a search that leaves no document out."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read into the store."""

    id: str
    """Twelve hexadecimal digits, made of the path: a file that is read again keeps its id."""
    path: str
    """Absolute, with links followed."""
    title: str
    kind: DocumentKind
    added_at: datetime
    """When its present content was read."""
    modified: datetime
    """When the file itself was changed, as the file system says."""
    size: int
    """Bytes of the file."""
    digest: str
    """SHA-256 of the file, in hexadecimal."""
    sections: int
    chunks: int
    pages: int | None = None
    """None where a kind has no pages."""


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document under one heading, without the sections inside it."""

    document: str
    """The document's id."""
    index: int
    """Position in the document, from 0."""
    number: str
    """Such as "1.01", "II" or "A.2"; "" when the heading has none."""
    title: str
    """The heading without its number; "" for what stands before the first heading."""
    path: tuple[str, ...]
    """The headings that lead here, its own last, as they stand in the document."""
    page: int | None
    first_line: int | None
    last_line: int | None
    chunks: int
    text: str

    @property
    def level(self) -> int:
        """How deep it stands: 1 for a section that is in no other."""
        return max(len(self.path), 1)


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a section: what a search finds, and what an answer quotes."""

    chunk_id: int
    document: str
    """The document's id."""
    path: str
    """The document's file."""
    title: str
    """The document's title."""
    section: tuple[str, ...]
    """The headings that lead to it."""
    section_index: int
    number: str
    """The section's number; "" when it has none."""
    page: int | None
    first_line: int | None
    last_line: int | None
    kind: PassageKind
    text: str
    terms: tuple[str, ...]
    """What it defines, as written there."""
    tokens: int

    @property
    def citation(self) -> str:
        """Where it stands, for people: document, section, defined term, page."""
        term = self.terms[0] if self.kind == "definition" and self.terms else ""
        return cite(self.title, self.section, term=term, page=self.page)


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A passage that was found. ``score`` compares within one search; the best is about 1."""

    passage: Passage
    score: float
    parts: Mapping[str, float]
    """Of each signal: "words", "definition", "reference" and, with a model, "meaning"."""
    bias: float
    """What ``score`` was multiplied with for being of the document asked about; 1.0: it is not."""
    why: tuple[str, ...]

    @property
    def citation(self) -> str:
        """Where the passage stands, for people."""
        return self.passage.citation


@dataclass(frozen=True, slots=True)
class DocumentRecall:
    """What a search found, and how."""

    query: str
    hits: tuple[DocumentHit, ...]
    concepts: tuple[str, ...]
    """Terms of the question that documents define, or that it writes as a name."""
    notes: tuple[str, ...]
    """What a user should know: a model that failed, a document that is not there."""
    timings_ms: Mapping[str, float]
    """Of each stage; "embedding" is the model's own time, which "total" leaves out."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """How much a store holds."""

    documents: int
    sections: int
    chunks: int
    tokens: int
    size_bytes: int
    schema_version: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage as it is judged: its stems, and those of what is around it."""

    chunk_id: int
    document: str
    title: str
    path: str
    """The headings that lead to it, as JSON: many passages share them."""
    tokens: int
    stems: str
    beside: str


def cite(title: str, section: Sequence[str], *, term: str = "", page: int | None = None) -> str:
    """Return where something stands, for people.

    A numbered heading stands for those above it; one without a number takes its parent along.

    >>> path = ("ARTICLE I DEFINITIONS", "1.01 Definitions")
    >>> cite("Servicing Agreement", path, term="Cut-off Date", page=3)
    'Servicing Agreement, Section 1.01 Definitions > Cut-off Date (p. 3)'
    >>> cite("API guide", ("Limits", "Retries"))
    'API guide, Limits > Retries'
    """
    shown = [part for part in section if part]
    if shown and shown[-1][:1].isdigit():
        shown = [f"Section {shown[-1]}"]
    elif shown and any(letter.isdigit() for letter in shown[-1].partition(" ")[2][:2]):
        shown = shown[-1:]  # "Section 4.02 ...", "Clause 9 ..."
    places = [*shown[-2:], *([term] if term and term not in shown[-1:] else [])]
    where = f", {' > '.join(places)}" if places else ""
    return f"{title}{where}{f' (p. {page})' if page is not None else ''}"
