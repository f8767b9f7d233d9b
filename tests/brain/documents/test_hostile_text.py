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
    "is called ", "section 1 ", "given in ", "set forth in ", "title: ", "|a", "|-|\n", "a|b\n-|-\n",
    "-\n1.\n", "- a\n\n1. a\n\n", "1 A\n\n", "A\n=\n", "a.\n\"a\" ", "a:\n**a** ", "„a", ".\"' ",
    "compare a or ", "from to with or and ", "section 1.1(a) ", "<a ", "<!--", "&amp;", "![",
)  # fmt: skip
"""What is repeated."""

FRAMES = ("{}", "Signed:\n\n{}", "The fee (“{}) is due.", "compare {}", "# {}", "---\ntitle: a{}b\n")
"""What stands around it."""


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


def slow(texts: Sequence[str]) -> list[tuple[str, str, float]]:
    """Return the readers that take too long for a text."""
    found = []
    for text in texts:
        spent = {
            ".txt": spent_s(read_as, f"{text} x", ".txt"),
            ".md": spent_s(read_as, f"{text} x", ".md"),
            "page": spent_s(read_as_page, text),
            "question": spent_s(read_asked, text, known),
        }
        found += [(text[:40], name, took) for name, took in spent.items() if took > CPU_S]
    return found


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("at", range(0, len(UNITS), 20))
def test_what_repeats_is_read_in_time(frame: str, at: int) -> None:
    texts = [frame.format((unit * LENGTH)[:LENGTH]) for unit in UNITS[at : at + 20]]
    assert slow(texts) == []
