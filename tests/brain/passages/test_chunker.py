"""Cutting messages: nothing is lost, code stays whole, prose stays below the limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.passages.chunking import Piece, cut
from kds.brain.words.terms import estimate_tokens


def bodies(text: str, *, limit: int) -> list[str]:
    return [text[piece.start : piece.start + piece.length] for piece in cut(text, limit=limit)]


def only(text: str, kind: str = "code") -> Piece:
    (piece,) = (piece for piece in cut(text) if piece.kind == kind)
    return piece


FENCES = ("```", "~~~", "````", "```python", "~~~ js", "``` a b", "> ```", "- ```sh", "look: ```py")
OTHERS = ("# Title", "**Bold**:", "", "   ", "    indented", "\tx = 1", "- item", "***")
WORDS = st.text(max_size=40) | st.text(alphabet="ab .!?\u00e9\u6f22", max_size=200)
LINES = st.sampled_from(FENCES) | st.sampled_from(OTHERS) | WORDS
TEXTS = st.lists(LINES, max_size=30).map("\n".join)


@given(TEXTS, st.sampled_from([5, 20, 500]))
def test_the_parts_are_the_message_and_prose_keeps_to_the_limit(text: str, limit: int) -> None:
    parts = bodies(text, limit=limit)
    assert "".join(parts) == (text if text.strip() else "")
    assert all(part.strip() for part in parts)
    for piece in cut(text, limit=limit):
        body = text[piece.start : piece.start + piece.length]
        assert piece.tokens == estimate_tokens(body)
        # White space behind a part belongs to it, a single character is never cut.
        assert piece.kind == "code" or estimate_tokens(body.strip()) <= limit or len(body) == 1


@pytest.mark.parametrize(
    ("fence", "language"),
    [
        ("```python", "python"),
        ("``` JavaScript", "javascript"),
        ("~~~c++", "c++"),
        ('```ts title="src/app.ts"', "ts"),
        ("```{.haskell}", "haskell"),
        ("```src/app.py", "py"),
        ("```", None),
    ],
)
def test_a_block_keeps_its_language(fence: str, language: str | None) -> None:
    assert only(f"{fence}\nx = 1\n{fence[:3]}").language == language


DEFINES = "src/app.py def run(x):"


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("Look at `src/app.py`:\n```python\ndef run(x):\n    pass\n```", DEFINES),
        ("**src/app.py**\n\n```python\ndef run(x):\n    pass\n```", DEFINES),
        ('```python title="src/app.py"\ndef run(x):\n    pass\n```', DEFINES),
        ("```python:src/app.py\ndef run(x):\n    pass\n```", DEFINES),
        ("```python\n# src/app.py\ndef run(x):\n    pass\n```", DEFINES),
        ("In src/app.py: ```python\ndef run(x):\n    pass\n```", DEFINES),
        ("I use node.js\n```\nx = 1\n```", ""),  # a word with a point
    ],
)
def test_the_header_of_code_names_file_and_definition(text: str, header: str) -> None:
    assert only(text).header == header


def test_the_header_of_prose_is_its_heading() -> None:
    text = (
        "Intro.\n\n## Setup `now`\n\nInstall it.\n```\nx = 1\n```\nThen run.\n\n**Usage:**\nRun it."
    )
    assert [(piece.kind, piece.header) for piece in cut(text)] == [
        ("prose", ""),
        ("prose", "Setup `now"),
        ("code", "Setup `now"),
        ("prose", "Setup `now"),
        ("prose", "Usage"),
    ]


INDENTED = "    a = 1\n    b = 2\n    c = 3\n"
FENCED = "````markdown\n```python\nx = 1\n```\n````"


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        # between paragraphs before sentences before words
        ("One two three.\n\nFour five six.", 5, ["One two three.\n\n", "Four five six."]),
        ("One two three. Four five six.", 5, ["One two three. ", "Four five six."]),
        ("one two three four", 2, ["one two ", "three four"]),
        # an unclosed block reaches to the end; a fence inside a longer fence does not end it
        ("Look:\n```python\nx = 1\n\ny = 2", 500, ["Look:\n", "```python\nx = 1\n\ny = 2"]),
        (FENCED, 500, [FENCED]),
        # prose that talks of a fence; indented lines are code unless they belong to a list
        ("Start\n``` and a language\nplease", 500, ["Start\n``` and a language\nplease"]),
        (f"This:\n\n{INDENTED}\nThat.", 500, ["This:\n\n", f"{INDENTED}", "\nThat."]),
        (f"- an item\n\n{INDENTED}\nThat.", 500, [f"- an item\n\n{INDENTED}\nThat."]),
    ],
)
def test_a_message_is_cut_where_its_parts_meet(text: str, limit: int, parts: list[str]) -> None:
    assert bodies(text, limit=limit) == parts
