"""Plain text: headings by their looks, paragraphs, lists."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.readers.text import read_text

from .document_files import headings, said

HANDBOOK = """\
OAK & ELM STUDIO
STAFF HANDBOOK

Edition of May.

1. ABOUT

1.1 Purpose

How we work.

1.2 Changes

Reviewed each January. Steps:

1. Read it.
2. Say what is wrong.

2. LEAVE

2.1 Annual leave

Twenty days.
"""

AGREEMENT = """\
ARTICLE I

DEFINITIONS

1.01 Definitions. The following terms hold:

"Fee" means 1 % of
the sum.
"Term" means a year.

Section 1.02 Interpretation. (a) Words have their meaning.

ARTICLE II: PAYMENT

Section 2.01. When due

On the first of May the Servicer pays what is owed.
"""


def test_numbered_headings_and_capitals_make_sections() -> None:
    content = read_text(HANDBOOK, "file")
    assert content.title == "OAK & ELM STUDIO STAFF HANDBOOK"
    assert headings(content.parts) == [
        "OAK & ELM STUDIO STAFF HANDBOOK", "  1. ABOUT", "    1.1 Purpose", "    1.2 Changes",
        "  2. LEAVE", "    2.1 Annual leave",
    ]  # fmt: skip
    assert "1. Read it." in said(content.parts)


def test_articles_and_headings_that_run_into_the_text_make_sections() -> None:
    content = read_text(AGREEMENT, "file")
    assert headings(content.parts) == [
        "  ARTICLE I DEFINITIONS", "    1.01 Definitions", "    Section 1.02 Interpretation",
        "  ARTICLE II: PAYMENT", "    Section 2.01. When due",
    ]  # fmt: skip
    assert said(content.parts) == [
        "The following terms hold:", '"Fee" means 1 % of the sum.', '"Term" means a year.',
        "(a) Words have their meaning.", "On the first of May the Servicer pays what is owed.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Intro.\n\n1. Open the door.\n2. Close it.\n",
        "Intro.\n\n1. Open the door\n\n2. Close it\n\n3. Go home\n",
        "Intro.\n\nIt cost 4.02 pounds and\n1.5 more.\n",
        "Intro.\n\n2024 was a good year\n",
        "Intro.\n\nThe NATO and the EU.\n",
        "Intro.\n\n1.2 The Tenant shall pay the rent. Payment is due.\nAnd more of it.\n",
    ],
)
def test_lists_and_sentences_are_not_headings(text: str) -> None:
    assert headings(read_text(text, "file").parts) == []


def test_columns_stay_columns() -> None:
    text = "Rates\n\nClass A      2.1      50\nClass B      3.4      70\n"
    [block] = [one for part in read_text(text, "f").parts for one in part.blocks[-1:]]
    assert block.text == "Class A      2.1      50\nClass B      3.4      70"


@given(st.text(alphabet='ab AB.12-=*\n"“:()', max_size=400))
def test_no_word_is_lost_and_lines_are_right(text: str) -> None:
    content = read_text(text, "file")
    lines = [line.rstrip() for line in text.split("\n")]
    found = [*(part.heading.text for part in content.parts if part.heading), *said(content.parts)]
    words = re.findall(r"[abAB]+", " ".join(found))
    assert words == re.findall(r"[abAB]+", text)
    for part in content.parts:
        for block in part.blocks:
            assert block.first_line is not None
            assert block.last_line is not None
            where = " ".join(lines[block.first_line - 1 : block.last_line])
            assert "".join(block.text.split()) in "".join(where.split())
