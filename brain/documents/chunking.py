"""Cutting a document into passages: one a definition, paragraphs together up to a size.

The passages of a section, one after the other, are its text but for white space between them.
Secrets are replaced by marks first; what a passage defines is found on the way.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from kds.brain.documents.definitions import LISTED, Defined, definitions, leading
from kds.brain.documents.values import (
    Block,
    Content,
    Heading,
    Part,
    PassageKind,
    Source,
    clause_keys,
    pattern_list,
    patterns,
    words,
)
from kds.brain.passages.chunking import packed
from kds.brain.passages.store import Row
from kds.brain.store.columns import kept_text
from kds.brain.words.terms import TokenCounter, estimate_tokens, ident_words, seen_stems

READER: Final = 1
"""Version of what readers and chunker make of a file: a file that another version has read is
read again."""

CHUNK_TOKENS: Final = 220
"""Paragraphs of one section are put together up to this size, and longer ones are cut. Of 89
questions over an agreement, an API guide and a handbook 120 and 160 tokens lose two or three among
the first five, 300 gain none and take more of a prompt."""

BEFORE_CHARACTERS: Final = 300
AFTER_CHARACTERS: Final = 150
"""How much of what stands before and behind a passage in its section goes into the index."""

SHORT_ITEM: Final = 25
"""Tokens. Items of a list as short as that stay together, also where each begins with a term."""

HEADING_TERM: Final = 0.5
"""How sure it is that a section explains what its heading names: less than a definition is."""

LONGEST_HEADING: Final = 6
"""Words. Longer headings say something; they name nothing."""

ID_LENGTH: Final = 12

LONGEST_KEY: Final = 500
"""Characters of the key of a term or a number, the most that a server's index takes."""

CLAUSE: Final = "#"
"""Before the number of a clause among the keys of terms: no word of a term begins so."""

_BORDERS: Final = pattern_list("borders")
_FORMS: Final = patterns("cutting")
_SMALL_WORDS: Final = words("small")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage of a section: ``text[start : start + length]``."""

    kind: PassageKind
    start: int
    length: int
    terms: tuple[Defined, ...]
    page: int | None
    first_line: int | None
    last_line: int | None
    columns: str
    """The heads of the table's columns, where it is cut out of a table."""
    tokens: int


@dataclass(frozen=True, slots=True)
class CutSection:
    """The text of a section, and its passages in order."""

    text: str
    pieces: tuple[Piece, ...]


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
    sections: tuple[DraftSection, ...]

    def passages(self) -> Iterator[tuple[int, Row, tuple[Row, ...]]]:
        """Yield passages in order: their section (from 0), CHUNK_COLUMNS, rows of TERM_COLUMNS."""
        for index, section in enumerate(self.sections):
            header = " > ".join((self.title, *section.path))
            text = section.cut.text
            for at, piece in enumerate(section.cut.pieces):
                body = text[piece.start : piece.start + piece.length]
                terms = [one.term for one in piece.terms]
                idents = " ".join((*terms, ident_words(body, code=piece.kind == "code"))).strip()
                row = (
                    header, piece.kind, piece.start, piece.length, piece.columns,
                    json.dumps(terms, ensure_ascii=False), idents, seen_stems(body, idents),
                    "", piece.page, piece.first_line, piece.last_line, piece.tokens,
                )  # fmt: skip
                named = (*(() if at else section.terms), *piece.terms)
                yield index, row, tuple(_term_rows(named, body))


CHUNK_COLUMNS: Final = (
    "header, kind, start, length, columns, terms, idents, stems, beside, page, first_line, "
    "last_line, tokens"
)
TERM_COLUMNS: Final = "key, term, strength, label, refers"
"""The last two are empty: an earlier version named the section where a term is defined."""


def _term_rows(named: Sequence[Defined], body: str) -> Iterator[Row]:
    """Yield what a passage is said to define, and the clauses that begin in it."""
    for key, term in {term.key: term for term in named}.items():
        if len(key) <= LONGEST_KEY:
            yield key, term.term, term.strength, "", ""
    for key in clause_keys(body):
        if len(key) < LONGEST_KEY:
            yield f"{CLAUSE}{key}", "", 1.0, "", ""


def draft(content: Content, source: Source, *, count: TokenCounter) -> Draft:
    """Get a document ready."""
    title = spelled(" ".join(kept_text(content.title).split())) or "untitled"
    return Draft(document_id(source.path), title, tuple(_sections(content.parts, title, count)))


def document_id(path: str) -> str:
    """Return the id of the document at an absolute path."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:ID_LENGTH]


def spelled(title: str) -> str:
    """Return a title in capitals as it is written in a sentence.

    >>> spelled("POOLING AND SERVICING AGREEMENT"), spelled("HTTP API")
    ('Pooling and Servicing Agreement', 'HTTP API')
    """
    parts = title.lower().split()
    if title != title.upper() or sum(len(word) > 4 for word in parts) < 2:
        return title
    small = (at and word in _SMALL_WORDS for at, word in enumerate(parts))
    return " ".join(one if low else one.capitalize() for one, low in zip(parts, small, strict=True))


def _sections(parts: Sequence[Part], title: str, count: TokenCounter) -> Iterator[DraftSection]:
    trail: list[Heading] = []
    for part in parts:
        heading, blocks = part.heading, tuple(map(_storable, part.blocks))
        if heading is not None:
            heading = replace(heading, text=kept_text(heading.text), title=kept_text(heading.title))
            trail = [one for one in trail if one.level < heading.level] + [heading]
        path = tuple(one.text for one in trail)
        if path and path[0].casefold() == title.casefold():
            path = path[1:]  # the title is in every citation anyway
        first = blocks[0] if blocks else Block("")
        line = heading.line if heading and heading.line is not None else first.first_line
        yield DraftSection(
            heading=heading,
            path=path,
            cut=cut(blocks, count=count),
            first_line=line,
            last_line=blocks[-1].last_line if blocks else line,
            page=heading.page if heading and heading.page is not None else first.page,
            terms=_heading_terms(heading),
        )


def _storable(block: Block) -> Block:
    text = kept_text(block.text)
    return block if text == block.text else replace(block, text=text, term=kept_text(block.term))


def _heading_terms(heading: Heading | None) -> tuple[Defined, ...]:
    """Return what a section explains by its heading, unless it asks.

    "Timeouts and retries" explains both; but a single word out of a heading is too little.
    """
    if heading is None or not heading.title or heading.title.endswith("?"):
        return ()
    names = [name for name in _FORMS["between names"].split(heading.title) if len(name.split()) > 1]
    found = [Defined(name, HEADING_TERM) for name in (heading.title, *names)]
    return tuple(one for one in found if one.key and len(one.term.split()) <= LONGEST_HEADING)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A block, or a part of a long one, and where it stands in the section's text."""

    block: Block
    start: int
    end: int
    tokens: int
    leads: Defined | None
    terms: tuple[Defined, ...]


def cut(
    blocks: Sequence[Block], *, count: TokenCounter = estimate_tokens, limit: int = CHUNK_TOKENS
) -> CutSection:
    """Put the blocks of a section together, and cut them into passages.

    >>> section = cut([Block('"Fee" means 1%.'), Block('"Term" means a year.'), Block("Rest.")])
    >>> [(piece.kind, [one.term for one in piece.terms]) for piece in section.pieces]
    [('definition', ['Fee']), ('definition', ['Term']), ('prose', [])]
    """
    text, placed = "", list[_Placed]()
    before: Block | None = None
    for block in blocks:
        body = block.text.strip("\n").rstrip()
        if not body.strip():
            continue
        if before is not None:
            text += "\n" if block.kind in ("item", "row") and before.kind == block.kind else "\n\n"
        placed += _placed(body, block, len(text), count, limit)
        text, before = text + body, block
    groups = _grouped(placed, limit)
    return CutSection(text, tuple(_piece(group, text, count) for group in groups))


def _placed(body: str, block: Block, at: int, count: TokenCounter, limit: int) -> Iterator[_Placed]:
    """Yield a block, or the parts of a long one: of sentences, else of words, else of letters."""
    leads, terms = leading(block), definitions(block)
    # A definition stays whole a while longer: its end belongs to its beginning.
    room = 2 * limit if leads or block.kind in ("row", "code") else limit
    tokens = count(body)
    if tokens <= room:
        yield _Placed(block, at, at + len(body), tokens, leads, terms)
        return
    starts = packed(body, 0, len(body), _BORDERS, count, limit)
    for first, last in pairwise((*starts, len(body))):
        part = body[first:last].rstrip()
        if part:
            here = tuple(one for one in terms if one.term in part)
            kept = leads if first == 0 else None
            yield _Placed(block, at + first, at + first + len(part), count(part), kept, here)


def _grouped(placed: Sequence[_Placed], limit: int) -> list[list[_Placed]]:
    """Put together what makes one passage."""
    listed = sum(one.leads is not None for one in placed) >= 2
    groups: list[list[_Placed]] = []
    size = 0
    for one in placed:
        if groups and size + one.tokens <= limit and _belongs(groups[-1], one, listed=listed):
            groups[-1].append(one)
            size += one.tokens
        else:
            groups.append([one])
            size = one.tokens
    return groups


def _belongs(group: Sequence[_Placed], one: _Placed, *, listed: bool) -> bool:
    """Tell whether a block goes into the passage that has begun."""
    if _stands_alone(one, listed=listed):
        return False
    if _stands_alone(group[0], listed=listed):
        # What explains a definition further: its sub-paragraphs, an example.
        return one.block.kind in ("item", "code") or bool(_FORMS["continues"].match(one.block.text))
    before = group[-1].block
    only_leads = before.text.rstrip().endswith(":")  # "The rates are:"
    return (one.block.kind == "row") == (before.kind == "row") or only_leads


def _stands_alone(one: _Placed, *, listed: bool) -> bool:
    """Tell whether a block is led by a term and a passage by itself."""
    if one.leads is None or one.block.defines:
        return one.leads is not None
    if one.block.kind == "row" or (one.block.kind == "item" and one.tokens <= SHORT_ITEM):
        return False
    return listed or one.leads.strength >= LISTED


def _piece(group: Sequence[_Placed], text: str, count: TokenCounter) -> Piece:
    first, last = group[0], group[-1]
    terms = {one.key: one for placed in reversed(group) for one in placed.terms}
    led_by = first.leads.key if first.leads else None
    return Piece(
        kind=_kind(group),
        start=first.start,
        length=last.end - first.start,
        # What the passage begins with comes first: it is cited by it.
        terms=tuple(sorted(terms.values(), key=lambda one: (one.key != led_by, -one.strength))),
        page=first.block.page,
        first_line=first.block.first_line,
        last_line=last.block.last_line,
        columns=first.block.columns,
        tokens=count(text[first.start : last.end]),
    )


def _kind(group: Sequence[_Placed]) -> PassageKind:
    first = group[0]
    if first.leads is not None and first.leads.strength >= LISTED:
        whole = first.block.defines or first.block.kind != "row"
        if whole and sum(one.leads is not None for one in group) == 1:
            return "definition"
    kinds = {one.block.kind for one in group}
    return "table" if kinds == {"row"} else "code" if kinds == {"code"} else "prose"
