"""Texts that are made to be slow: reading and asking take time in proportion to their length."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from document_texts import source_of

from kds.brain.documents.chunking import draft
from kds.brain.documents.content import Block, clause_keys, referred_in
from kds.brain.documents.definitions import definitions, leading
from kds.brain.documents.question import compared_sides, read_asked
from kds.brain.words.tokens import estimate_tokens
from kds.readers.pdf import page_lines
from kds.readers.reading import read_document
from kds.readers.text import parts_of

from ...effort import LINEAR, bounded, growth

LENGTH = 3_000
"""Characters that are read to the end: what tries every way through them would never get there, nor
what takes a time in proportion to their cube."""

PAGES = 20_000
"""Characters of a text for which the square would be too much as well."""

COUNTED = 120
"""Characters for which the work is counted, and for eight times as many."""

SIGNS = (*"_*`#~\"'()[]{}-=.,;:<>|\\/", "“", "„", "’")
WORDS = ("a", "A", "1", "the", "of", "means", "shall", "or", "called")
UNITS = tuple(dict.fromkeys((
    *(unit for one in (*SIGNS, *WORDS) for unit in (one, f"{one} ", f"{one}\n", f"{one}\n\n")),
    *(unit for one in SIGNS for unit in (f"{one}a", f"{one} a", f"a{one}\n", f"A {one} ")),
    *(unit for one in WORDS for unit in (f'"{one}', f"({one} ", f"**{one} ", f"_{one}", f"{one}-")),
    *(unit for one in WORDS for unit in (f"1.1 {one}\n\n", f"- {one}\n\n", f"# {one}\n")),
    " ", "\t", "\n", " \n", "()", "[]", "[](", "[a](<", "`_", "*_", "**_ ", "__*", "\\\"", '("',
    "(the ", "(each, ", '" or "', "or **", "A (Aa) ", "a-", "A-", "1.", "1.1 ", "> ", "- ", "1) ",
    "is called ", "section 1 ", "given in ", "set forth in ", "title: ", "|a", "|-|\n",
    "a|b\n-|-\n", "-\n1.\n", "- a\n\n1. a\n\n", "1 A\n\n", "A\n=\n", "a.\n\"a\" ", "a:\n**a** ",
    "„a", ".\"' ",
    "compare a or ", "from to with or and ", "section 1.1(a) ", "<a ", "<!--", "&amp;", "![",
)))  # fmt: skip
"""What is repeated."""

ON_ONE_LINE = tuple(unit for unit in UNITS if "\n" not in unit)
"""What is repeated where all white space is made one space before it is read."""

FRAMES = ("{}", "The fee (“{}) is due.", "**A** or {}")
"""What stands around it."""


WHOLE = ("_", "*", "`", "~ ", "[", "[a](<", "**_ ", "\t", "(the ", "a", "A-", "a*\n",
         "- a\n\n1. a\n\n",
         "1 A\n\n", "# a\n", "a|b\n-|-\n", "1.1 means\n\n", "A (Aa) ", ">", "![")  # fmt: skip
"""What is read as a whole file: it takes longer."""


def known(keys: Sequence[str]) -> Mapping[str, Mapping[int, float]]:
    return {}


def read_as(text: str, ending: str) -> None:
    content = read_document(Path(f"/shelf/a{ending}"), text.encode())
    draft(content, source_of("", f"/shelf/a{ending}"), count=estimate_tokens)
    for part in content.parts:
        for block in part.blocks:
            referred_in(block.text[:4000])
            clause_keys(block.text[:4000])


def read_as_page(text: str) -> None:
    tuple(parts_of(page_lines([text, text]), loose=True))


def read_block(text: str) -> None:
    block = Block(text.strip())
    leading(block)
    definitions(block)
    referred_in(text[:4000])
    clause_keys(text[:4000])


def repeated(unit: str, length: int = LENGTH) -> str:
    return (unit * length)[:length]


def not_linear(units: Sequence[str], work: Callable[[str, int], object]) -> dict[str, float]:
    """The units with which ``work(unit, length)`` grows faster than the length."""
    for unit in units:
        with bounded(f"{unit!r} again and again"):
            work(unit, LENGTH)
    grown = {unit: growth(partial(work, unit), COUNTED) for unit in units}
    return {unit: times for unit, times in grown.items() if times > LINEAR}


@pytest.mark.parametrize("frame", FRAMES)
def test_terms_are_found_in_what_repeats_in_time(frame: str) -> None:
    assert not_linear(UNITS, lambda *unit: read_block(frame.format(repeated(*unit)))) == {}


@pytest.mark.parametrize(("frame", "units"), [("{}", UNITS), ("compare {} or {}", ON_ONE_LINE)])
def test_a_question_that_repeats_is_read_in_time(frame: str, units: Sequence[str]) -> None:
    def read(unit: str, length: int) -> object:
        return read_asked(frame.format(repeated(unit, length), unit), known)

    assert not_linear(units, read) == {}


@pytest.mark.parametrize("ending", [".txt", ".md"])
def test_a_file_that_repeats_is_read_in_time(ending: str) -> None:
    assert not_linear(WHOLE, lambda *unit: read_as(f"{repeated(*unit)} x", ending)) == {}


@pytest.mark.parametrize("unit", ["a", "\n", "a.\n", "Aa-\n"])
def test_a_page_that_repeats_is_read_in_time(unit: str) -> None:
    with bounded():
        read_as_page(repeated(unit, PAGES))
    assert not_linear([unit], lambda *one: read_as_page(repeated(*one))) == {}


@pytest.mark.parametrize(
    ("verb", "unit"), [("compare ", "a or "), ("differ ", "from to with or and ")]
)
def test_a_comparison_without_end_is_read_in_time(verb: str, unit: str) -> None:
    def read(unit: str, length: int) -> None:
        compared_sides(verb + repeated(unit, length))
        read_asked(verb + repeated(unit, length), known)

    with bounded():
        read(unit, 100_000)
    assert not_linear([unit], read) == {}


def test_a_word_that_ends_in_a_dash_before_an_acronym_is_not_an_error() -> None:
    assert definitions(Block("foo bar- (FB)"))[0].term == "foo bar"
