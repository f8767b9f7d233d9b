"""Cutting a section into passages: one a definition, paragraphs together up to a size.

The passages of a section, one after the other, are its text but for white space between them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from kds.brain.documents.content import Block
from kds.brain.documents.definition import LISTED, Defined, definitions, leading
from kds.brain.documents.document_values import PassageKind
from kds.brain.passages.chunking import packed
from kds.brain.words.tokens import TokenCounter, estimate_tokens

CHUNK_TOKENS: Final = 220
"""Paragraphs of one section are put together up to this size, and longer ones are cut. Of 89
questions over an agreement, an API guide and a handbook 120 and 160 tokens lose two or three among
the first five, 300 gain none and take more of a prompt."""

LIST_LENGTH: Final = 3
"""Paragraphs of one section that begin with a name and a colon are a list of terms from here on."""

SHORT_ITEM: Final = 25
"""Tokens. Items of a list as short as that stay together, also where each begins with a term."""

_BORDERS: Final = (
    re.compile(
        r"(?<=[.!?;:])(?<!\b[A-Z]\.)(?<!\b(?:No|Mr|Dr|vs|St)\.)(?<!\b(?:Mrs|Inc|Ltd|Sec|Art|e\.g|i\.e|etc)\.)"
        r"[\"”’')\]*_]*\s+|(?<=[。！？])"
    ),
    re.compile(r"\s+"),
)
"""Between sentences and clauses; between words."""
_CONTINUES: Final = re.compile(r"\s*(?:\(?(?:[a-z]|[ivx]{1,5}|\d{1,2})[.)]\s|[a-z]|[-*•]\s)")


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
class _Placed:
    """A block, or a part of a long one, and where it stands in the section's text."""

    block: Block
    start: int
    end: int
    tokens: int
    leads: Defined | None
    terms: tuple[Defined, ...]


def cut(
    blocks: Sequence[Block],
    *,
    count: TokenCounter = estimate_tokens,
    limit: int = CHUNK_TOKENS,
) -> CutSection:
    """Put the blocks of a section together, and cut them into passages.

    >>> section = cut([Block('"Fee" means 1%.'), Block('"Term" means a year.'), Block("Rest.")])
    >>> [(piece.kind, [one.term for one in piece.terms]) for piece in section.pieces]
    [('definition', ['Fee']), ('definition', ['Term']), ('prose', [])]
    """
    text, spans = _joined(blocks)
    placed = _surer([one for span in spans for one in _placed(text, *span, count, limit)])
    groups = _grouped(placed, limit)
    return CutSection(text, tuple(_piece(group, text, count) for group in groups))


def _joined(blocks: Sequence[Block]) -> tuple[str, list[tuple[Block, int, int]]]:
    text = ""
    spans = []
    before: Block | None = None
    for block in blocks:
        body = block.text.strip("\n").rstrip()
        if not body.strip():
            continue
        if before is not None:
            text += "\n" if block.kind in ("item", "row") and before.kind == block.kind else "\n\n"
        spans.append((block, len(text), len(text) + len(body)))
        text += body
        before = block
    return text, spans


def _placed(
    text: str, block: Block, start: int, end: int, count: TokenCounter, limit: int
) -> Iterator[_Placed]:
    leads, terms = leading(block), definitions(block)
    # A definition stays whole a while longer: its end belongs to its beginning.
    room = 2 * limit if leads or block.kind in ("row", "code") else limit
    tokens = count(text[start:end])
    if tokens <= room:
        yield _Placed(block, start, end, tokens, leads, terms)
        return
    for first, last in _split(text, start, end, count, limit):
        here = tuple(one for one in terms if one.term in text[first:last])
        kept = leads if first == start else None
        yield _Placed(block, first, last, count(text[first:last]), kept, here)


def _split(
    text: str, start: int, end: int, count: TokenCounter, limit: int
) -> Iterator[tuple[int, int]]:
    """Yield parts of at most ``limit`` tokens: of sentences, else of words, else of letters."""
    starts = packed(text, start, end, _BORDERS, count, limit)
    for first, last in pairwise((*starts, end)):
        if text[first:last].strip():
            yield first, _trimmed(text, first, last)


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _surer(placed: list[_Placed]) -> list[_Placed]:
    """Take paragraphs that begin "Name: ..." for definitions where several of them do."""
    named = [one for one in placed if one.leads is not None and one.block.kind == "paragraph"]
    if len(named) < LIST_LENGTH:
        return placed
    return [_with_surer_lead(one) if one in named else one for one in placed]


def _with_surer_lead(one: _Placed) -> _Placed:
    leads = one.leads
    if leads is None or leads.strength >= LISTED:
        return one
    surer = Defined(leads.term, LISTED)
    others = tuple(term for term in one.terms if term.key != surer.key)
    return replace(one, leads=surer, terms=(surer, *others))


def _grouped(placed: Sequence[_Placed], limit: int) -> list[list[_Placed]]:
    """Put together what makes one passage."""
    listed = sum(one.leads is not None for one in placed) >= 2
    groups: list[list[_Placed]] = []
    size = 0
    for one in placed:
        group = groups[-1] if groups else []
        if group and size + one.tokens <= limit and _belongs(group, one, listed=listed):
            group.append(one)
            size += one.tokens
        else:
            groups.append([one])
            size = one.tokens
    return groups


def _belongs(group: Sequence[_Placed], one: _Placed, *, listed: bool) -> bool:
    """Tell whether a block goes into the passage that has begun."""
    if one.leads is not None and _stands_alone(one, listed=listed):
        return False
    first = group[0]
    if first.leads is not None and _stands_alone(first, listed=listed):
        # What explains a definition further: its sub-paragraphs, an example.
        return one.block.kind in ("item", "code") or bool(_CONTINUES.match(one.block.text))
    return (one.block.kind == "row") == (group[-1].block.kind == "row") or size_of_lead(group)


def size_of_lead(group: Sequence[_Placed]) -> bool:
    """Tell whether what was begun only leads to what follows: "The rates are:"."""
    return group[-1].block.text.rstrip().endswith(":")


def _stands_alone(one: _Placed, *, listed: bool) -> bool:
    """Tell whether a block that is led by a term is a passage by itself."""
    if one.block.defines:
        return True
    if one.block.kind == "row" or (one.block.kind == "item" and one.tokens <= SHORT_ITEM):
        return False
    return one.leads is not None and (listed or one.leads.strength >= LISTED)


def _piece(group: Sequence[_Placed], text: str, count: TokenCounter) -> Piece:
    first, last = group[0], group[-1]
    start, end = first.start, last.end
    terms = {one.key: one for placed in reversed(group) for one in placed.terms}
    return Piece(
        kind=_kind(group),
        start=start,
        length=end - start,
        terms=tuple(sorted(terms.values(), key=lambda one: _order(one, group))),
        page=first.block.page,
        first_line=first.block.first_line,
        last_line=last.block.last_line,
        columns=first.block.columns,
        tokens=count(text[start:end]),
    )


def _order(one: Defined, group: Sequence[_Placed]) -> tuple[bool, float]:
    """What the passage begins with comes first: it is cited by it."""
    leads = group[0].leads
    return (leads is None or one.key != leads.key, -one.strength)


def _kind(group: Sequence[_Placed]) -> PassageKind:
    if group[0].leads is not None and group[0].leads.strength >= LISTED:
        whole = group[0].block.defines or group[0].block.kind != "row"
        if whole and sum(one.leads is not None for one in group) == 1:
            return "definition"
    if all(one.block.kind == "row" for one in group):
        return "table"
    return "code" if all(one.block.kind == "code" for one in group) else "prose"
