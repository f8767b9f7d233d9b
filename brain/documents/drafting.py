"""A document on its way into the store: cut, its secrets marked, its terms found."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kds.brain.documents.content import Block, Content, Heading, Part, Source
from kds.brain.documents.definition import Defined
from kds.brain.documents.document_schema import AFTER_CHARACTERS, BEFORE_CHARACTERS
from kds.brain.documents.heading import number_key
from kds.brain.documents.section_chunker import CutSection, Piece, cut
from kds.brain.store.columns import kept_text
from kds.brain.words.identifiers import ident_words
from kds.brain.words.tokens import TokenCounter

READER: Final = 1
"""Version of what readers and chunker make of a file: a file that another version has read is
read again."""

HEADING_TERM: Final = 0.5
"""How sure it is that a section explains what its heading names: less than a definition is."""

LONGEST_HEADING: Final = 6
"""Words. Longer headings say something; they name nothing."""

ID_LENGTH: Final = 12

_BETWEEN_NAMES: Final = re.compile(r"\s*[,;:/]\s*|\s+and\s+|\s+or\s+")

_SMALL_WORDS: Final = frozenset("a an and as at by for from in of on or the to with".split())


@dataclass(frozen=True, slots=True)
class DraftSection:
    """A section with its passages; ``terms`` go with the first of them."""

    heading: Heading | None
    path: tuple[str, ...]
    cut: CutSection
    first_line: int | None
    last_line: int | None
    page: int | None
    terms: tuple[Defined, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A document that is ready to be stored."""

    id: str
    title: str
    content: Content
    source: Source
    sections: tuple[DraftSection, ...]

    @property
    def chunks(self) -> int:
        """How many passages it has."""
        return sum(len(section.cut.pieces) for section in self.sections)

    @property
    def tokens(self) -> int:
        """How many tokens its passages have."""
        return sum(piece.tokens for section in self.sections for piece in section.cut.pieces)


@dataclass(frozen=True, slots=True)
class DraftPassage:
    """A passage that is ready to be stored: the index knows header, body, beside and idents."""

    section: int
    """Which section of the document it is of, from 0."""
    piece: Piece
    header: str
    body: str
    beside: str
    idents: str
    named: tuple[Defined, ...]
    """What it defines, or its section where that begins with it."""


def draft(content: Content, source: Source, *, count: TokenCounter) -> Draft:
    """Get a document ready."""
    title = spelled(" ".join(kept_text(content.title).split())) or "untitled"
    sections = tuple(_sections(content.parts, title, count))
    return Draft(document_id(source.path), title, content, source, sections)


def passages_of(ready: Draft) -> Iterator[DraftPassage]:
    """Yield the passages of a document in order."""
    for index, section in enumerate(ready.sections):
        header = " > ".join((ready.title, *section.path))
        for at, piece in enumerate(section.cut.pieces):
            body = section.cut.text[piece.start : piece.start + piece.length]
            yield DraftPassage(
                section=index,
                piece=piece,
                header=header,
                body=body,
                beside=_beside(section.cut, piece),
                idents=_idents(piece, body),
                named=(*(() if at else section.terms), *piece.terms),
            )


def document_id(path: str) -> str:
    """Return the id of the document at an absolute path."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:ID_LENGTH]


def spelled(title: str) -> str:
    """Return a title in capitals as it is written in a sentence.

    >>> spelled("POOLING AND SERVICING AGREEMENT"), spelled("HTTP API")
    ('Pooling and Servicing Agreement', 'HTTP API')
    """
    words = title.split()
    if title != title.upper() or sum(len(word) > 4 for word in words) < 2:
        return title
    kept = (word.lower() if at and word.lower() in _SMALL_WORDS else word.capitalize()
            for at, word in enumerate(words))  # fmt: skip
    return " ".join(kept)


def terms_json(piece: Piece) -> str:
    """Return the terms of a passage as they are stored."""
    return json.dumps([one.term for one in piece.terms], ensure_ascii=False)


def _sections(parts: Sequence[Part], title: str, count: TokenCounter) -> Iterator[DraftSection]:
    trail: list[Heading] = []
    for part in parts:
        part = _storable(part)
        if part.heading is not None:
            trail = [one for one in trail if one.level < part.heading.level] + [part.heading]
        section = cut(part.blocks, count=count)
        path = tuple(one.text for one in trail)
        if path and path[0].casefold() == title.casefold():
            path = path[1:]  # the title is in every citation anyway
        yield DraftSection(
            heading=part.heading,
            path=path,
            cut=section,
            first_line=_first_line(part),
            last_line=part.blocks[-1].last_line if part.blocks else _first_line(part),
            page=_page(part),
            terms=_heading_terms(part.heading),
        )


def _beside(section: CutSection, piece: Piece) -> str:
    """Return what stands before and behind a passage; a definition stands by itself."""
    if piece.kind == "definition":
        return piece.columns
    end = piece.start + piece.length
    before = section.text[max(piece.start - BEFORE_CHARACTERS, 0) : piece.start]
    return f"{before}\n{section.text[end : end + AFTER_CHARACTERS]}\n{piece.columns}"


def _idents(piece: Piece, body: str) -> str:
    """Return the terms that a passage defines, and its identifiers in every spelling."""
    names = " ".join(one.term for one in piece.terms)
    return f"{names} {ident_words(body, code=piece.kind == 'code')}".strip()


def _storable(part: Part) -> Part:
    heading = part.heading
    if heading is not None:
        heading = replace(heading, text=kept_text(heading.text), title=kept_text(heading.title))
    return Part(heading, tuple(_storable_block(block) for block in part.blocks))


def _storable_block(block: Block) -> Block:
    text = kept_text(block.text)
    return block if text == block.text else replace(block, text=text, term=kept_text(block.term))


def _first_line(part: Part) -> int | None:
    if part.heading is not None and part.heading.line is not None:
        return part.heading.line
    return part.blocks[0].first_line if part.blocks else None


def _page(part: Part) -> int | None:
    if part.heading is not None and part.heading.page is not None:
        return part.heading.page
    return part.blocks[0].page if part.blocks else None


def _heading_terms(heading: Heading | None) -> tuple[Defined, ...]:
    """Return what a section explains by its heading; one that asks, explains nothing.

    "Timeouts and retries" explains both; but a single word out of a heading is too little.
    """
    if heading is None or not heading.title or heading.title.endswith("?"):
        return ()
    names = [name for name in _BETWEEN_NAMES.split(heading.title) if len(name.split()) > 1]
    found = [Defined(heading.title, HEADING_TERM), *(Defined(name, HEADING_TERM) for name in names)]
    return tuple(one for one in found if one.key and len(one.term.split()) <= LONGEST_HEADING)


def number_keys(heading: Heading | None) -> tuple[str, str, str]:
    """Return label, number and the number's key of a heading; empty where it has none."""
    if heading is None or not heading.number:
        return "", "", ""
    return heading.label, heading.number, number_key(heading.number)
