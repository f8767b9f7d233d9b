"""Documents as frozen values: what a reader gives, what the store keeps, what a search finds.

A document is a list of sections, a section a text under a heading, a passage a stretch of a
section that can be found and quoted by itself. A reader says what the file's own marks say (a
heading, an item, a row of a table); what the text itself says (this defines a term) the store finds
out, alike for all kinds. Times are aware datetimes in UTC.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import yaml

DocumentKind = Literal["markdown", "text", "html", "pdf", "docx"]
BlockKind = Literal["paragraph", "item", "row", "code"]
PassageKind = Literal["prose", "definition", "table", "code"]

UPLOADS: Final = "uploads"
"""The folder in `kds-brain/` of files that were sent, and have no place of their own."""

ALL: Final = "all"
"""The scope of a search that leaves no document out."""


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
    """All of a document, as a reader hands it to the store."""

    title: str
    kind: DocumentKind
    parts: tuple[Part, ...]
    pages: int | None = None
    notes: tuple[str, ...] = ()
    """What a user should know: pages without text."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a content was read from: an absolute path, bytes, and SHA-256 in hex."""

    path: str
    size: int
    modified: datetime
    digest: str


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
    """A passage as it is judged."""

    chunk_id: int
    document: str
    title: str
    path: str
    """The headings that lead to it, as JSON: many passages share them."""
    tokens: int
    stems: str


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


# The patterns and words of `patterns.yaml`

_DATA: Final[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("patterns.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)


def patterns(subject: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a subject by their names."""
    return {name: re.compile(_filled(text)) for name, text in _DATA[subject].items()}


def pattern_list(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a list in their order."""
    return tuple(re.compile(_filled(text)) for text in _DATA["lists"][name])


def words(name: str) -> frozenset[str]:
    """Return the words of a name."""
    return frozenset(_DATA["words"][name].split())


def _filled(text: str) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: _filled(_DATA["parts"][found[1]]), text)


# Headings and the numbers of sections

_FORMS: Final = patterns("headings")
_ROMAN_VALUES: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_SHORT: Final = {"sec.": "section", "art.": "article", "para.": "paragraph", "§": "section",
                 "§§": "section", "subsection": "section"}  # fmt: skip


def read_heading(
    text: str, level: int, *, page: int | None = None, line: int | None = None
) -> Heading:
    """Take a heading apart.

    >>> heading = read_heading("Section 4.02. Collections", 2)
    >>> heading.label, heading.number, heading.title
    ('section', '4.02', 'Collections')
    >>> read_heading("ARTICLE II", 1).number, read_heading("Rate limits", 1).title
    ('II', 'Rate limits')
    """
    text = " ".join(text.split())
    label, number, title = "", "", text
    if (found := _FORMS["labelled"].fullmatch(text)) and _is_number(found):
        label, number, title = label_of(found["label"]), found["number"], found["title"].strip(" .")
    elif found := _FORMS["numbered"].fullmatch(text):
        number, title = found["number"], found["title"].strip(" .")
    return Heading(text, level, number, title, label, page, line)


def _is_number(found: re.Match[str]) -> bool:
    """Tell "Part II" from "Part of": a word is a number only where it stands like one."""
    number = found["number"]
    if number[0].isdigit():
        return True
    alone = found["end"].strip() or not found["title"]
    written = bool(roman_value(number)) or len(number.partition(".")[0]) == 1
    return written and bool(alone or number.isupper())


def number_key(number: str) -> str:
    """Return the spelling that all spellings of a number share.

    >>> number_key("4.02"), number_key("4.2."), number_key("II"), number_key("A.1")
    ('4.2', '4.2', '2', 'a.1')
    """
    parts = re.split(r"[.\-]", number.strip(". ").casefold())
    if len(parts) == 1 and (len(number) > 1 or number in "ivxIVX") and roman_value(number):
        return str(roman_value(number))
    return ".".join(part.lstrip("0") or "0" for part in parts)


def roman_value(text: str) -> int:
    """Return what a Roman numeral is worth; 0 when it is none.

    >>> roman_value("XIV"), roman_value("mix tape")
    (14, 0)
    """
    if not text or not _FORMS["roman"].fullmatch(text):
        return 0
    values = [_ROMAN_VALUES[letter] for letter in text.casefold()]
    return sum(
        -value if value < max(values[at + 1 :], default=0) else value
        for at, value in enumerate(values)
    )


def clause_keys(text: str) -> tuple[str, ...]:
    """Return the keys of the clauses that begin in a text: paragraphs with numbers, no headings.

    >>> clause_keys("2.1 The Supplier shall deliver.\\n\\n2.2. It may not be late by 1.5 days.")
    ('2.1', '2.2')
    """
    return tuple(dict.fromkeys(number_key(found[1]) for found in _FORMS["clause"].finditer(text)))


def label_of(word: str) -> str:
    """Return the one name of a label: "§" and "Sec." are sections."""
    return _SHORT.get(word.casefold(), word.casefold())
