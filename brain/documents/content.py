"""A document as a reader hands it to the store: headings, and blocks of text under them.

A reader says what the file's own marks say (a heading, a list's item, a row of a table); what the
text itself says (this defines a term) is found out by the store, alike for all kinds.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from kds.brain.documents.patterns import patterns

DocumentKind = Literal["markdown", "text", "html", "pdf", "docx"]

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
    notes: tuple[str, ...] = ()
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


def referred_in(text: str) -> tuple[str, str]:
    """Return label and number's key of the section that a definition hands on to; "" for none.

    >>> referred_in('"Premises" has the meaning given in Schedule 1.')
    ('schedule', '1')
    """
    found = _FORMS["referred"].search(text)
    return (label_of(found["label"]), number_key(found["number"])) if found else ("", "")


def clause_keys(text: str) -> tuple[str, ...]:
    """Return the keys of the clauses that begin in a text: paragraphs with numbers, no headings.

    >>> clause_keys("2.1 The Supplier shall deliver.\\n\\n2.2. It may not be late by 1.5 days.")
    ('2.1', '2.2')
    """
    return tuple(dict.fromkeys(number_key(found[1]) for found in _FORMS["clause"].finditer(text)))


def label_of(word: str) -> str:
    """Return the one name of a label: "§" and "Sec." are sections."""
    word = word.casefold()
    return _SHORT.get(word, word)
