"""Texts that are made to be slow: reading and asking take time in proportion to their length."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from document_texts import source_of

from kds.brain.documents.comparison import compared_sides
from kds.brain.documents.content import Block
from kds.brain.documents.definition import definitions, leading
from kds.brain.documents.drafting import draft
from kds.brain.documents.heading import clause_keys, referred_in
from kds.brain.documents.question import read_asked
from kds.brain.memory.tokens import estimate_tokens
from kds.documents.pages import page_lines
from kds.documents.plain import parts_of
from kds.documents.reading import read_document

CPU_S = 2.0
"""Of the processor, for 20,000 characters: ten times what the slowest takes."""

LENGTH = 20_000

SIGNS = (*"_*`#~\"'()[]{}-=.,;:<>|\\/", "“", "„", "’")
WORDS = ("a", "A", "1", "the", "of", "means", "shall", "or", "called")
UNITS = (
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
)  # fmt: skip
"""What is repeated."""

FRAMES = ("{}", "The fee (“{}) is due.", "**A** or {}")
"""What stands around it."""


WHOLE = ("_", "*", "`", "~ ", "[", "[a](<", "**_ ", "\t", "(the ", "a", "A-", "a*\n",
         "- a\n\n1. a\n\n",
         "1 A\n\n", "# a\n", "a|b\n-|-\n", "1.1 means\n\n", "A (Aa) ", ">", "![")  # fmt: skip
"""What is read as a whole file: it takes longer."""


def spent_s(work: object, *given: object) -> float:
    assert callable(work)
    started = time.process_time()
    work(*given)
    return time.process_time() - started


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


@pytest.mark.parametrize("frame", FRAMES)
def test_terms_are_found_in_what_repeats_in_time(frame: str) -> None:
    texts = [frame.format(repeated(unit)) for unit in UNITS]
    spent = {text[:40]: spent_s(read_block, text) for text in texts}
    assert {text: took for text, took in spent.items() if took > CPU_S} == {}


@pytest.mark.parametrize("frame", ["{}", "compare {} or {}"])
def test_a_question_that_repeats_is_read_in_time(frame: str) -> None:
    texts = [frame.format(repeated(unit), unit) for unit in UNITS]
    spent = {text[:40]: spent_s(read_asked, text, known) for text in texts}
    assert {text: took for text, took in spent.items() if took > CPU_S} == {}


@pytest.mark.parametrize("ending", [".txt", ".md"])
def test_a_file_that_repeats_is_read_in_time(ending: str) -> None:
    spent = {unit: spent_s(read_as, f"{repeated(unit)} x", ending) for unit in WHOLE}
    assert {unit: took for unit, took in spent.items() if took > CPU_S} == {}


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Signed:\n\n" + "_" * 24, ".txt"),
        ("Signed:\n" + "_" * 24, ".txt"),
        ("*" * 100, ".txt"),
        ("`" * 200, ".txt"),
        (f"The fee is due ({' ' * 30}) on the date.", ".txt"),
        ("Mark all that apply (each, any, all, both, together, collectively, individually, such).",
         ".txt"),
        (f"({'the ' * 30}!x", ".txt"),
        ("a" * 100_000, ".txt"),
        ("A-" * 4000, ".txt"),
        (f"---\ntitle: a{' ' * 50_000}b\n---\nText.", ".md"),
    ],
)  # fmt: skip
def test_a_form_that_is_filled_in_by_hand_is_read_in_time(text: str, ending: str) -> None:
    assert spent_s(read_as, text, ending) < CPU_S


@pytest.mark.parametrize("text", ["a" * 100_000, "\n" * 200_000, "a.\n" * 5000, "Aa-\n" * 5000])
def test_a_page_that_repeats_is_read_in_time(text: str) -> None:
    assert spent_s(read_as_page, text) < CPU_S


@pytest.mark.parametrize("text", ["compare " + "a or " * 20_000,
                                  "differ " + "from to with or and " * 5000])  # fmt: skip
def test_a_comparison_without_end_is_read_in_time(text: str) -> None:
    assert spent_s(compared_sides, text) < CPU_S / 4
    assert spent_s(read_asked, text, known) < CPU_S / 4


def test_a_word_that_ends_in_a_dash_before_an_acronym_is_no_error() -> None:
    assert definitions(Block("foo bar- (FB)"))[0].term == "foo bar"
