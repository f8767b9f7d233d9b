"""Cutting messages: nothing is lost, code stays whole, prose stays below the limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.passages.chunking import Piece, cut
from kds.brain.words.tokens import estimate_tokens


def bodies(text: str, **options: int) -> list[str]:
    return [text[piece.start : piece.start + piece.length] for piece in cut(text, **options)]


def only(text: str, kind: str = "code") -> Piece:
    (piece,) = (piece for piece in cut(text) if piece.kind == kind)
    return piece


LINES = st.one_of(
    st.sampled_from(
        ["```", "~~~", "````", "```python", "~~~ js", "``` a b", "> ```", "- ```sh", "look: ```py"]
    ),
    st.sampled_from(
        ["# Title", "**Bold**:", "", "   ", "    indented", "\tx = 1", "- item", "***"]
    ),
    st.text(max_size=40),
    st.text(alphabet="ab .!?\u00e9\u6f22", max_size=200),
)
TEXTS = st.lists(LINES, max_size=30).map("\n".join)


@given(TEXTS, st.sampled_from([5, 20, 500]))
def test_the_parts_put_together_are_the_message(text: str, limit: int) -> None:
    parts = bodies(text, limit=limit)
    assert "".join(parts) == (text if text.strip() else "")
    assert all(part.strip() for part in parts)


@given(TEXTS, st.sampled_from([5, 20, 500]))
def test_no_part_of_prose_is_beyond_the_limit(text: str, limit: int) -> None:
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


@pytest.mark.parametrize(
    "text",
    [
        "Look at `src/app.py`:\n```python\ndef run(x):\n    pass\n```",
        "**src/app.py**\n\n```python\ndef run(x):\n    pass\n```",
        '```python title="src/app.py"\ndef run(x):\n    pass\n```',
        "```python:src/app.py\ndef run(x):\n    pass\n```",
        "```python\n# src/app.py\ndef run(x):\n    pass\n```",
        "In src/app.py: ```python\ndef run(x):\n    pass\n```",
    ],
)
def test_the_header_of_code_names_file_and_definition(text: str) -> None:
    assert only(text).header == "src/app.py def run(x):"


def test_a_word_with_a_point_in_a_sentence_is_not_a_file() -> None:
    assert only("I use node.js\n```\nx = 1\n```").header == ""


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


def test_prose_is_cut_between_paragraphs_before_sentences_before_words() -> None:
    assert bodies("One two three.\n\nFour five six.", limit=5) == [
        "One two three.\n\n",
        "Four five six.",
    ]
    assert bodies("One two three. Four five six.", limit=5) == ["One two three. ", "Four five six."]
    assert bodies("one two three four", limit=2) == ["one two ", "three four"]


def test_an_unclosed_block_reaches_to_the_end() -> None:
    assert bodies("Look:\n```python\nx = 1\n\ny = 2") == ["Look:\n", "```python\nx = 1\n\ny = 2"]


def test_prose_that_talks_of_a_fence_is_prose() -> None:
    assert [piece.kind for piece in cut("Start it with\n``` and a language\nplease")] == ["prose"]


def test_indented_lines_are_code_unless_they_belong_to_a_list() -> None:
    code = "    a = 1\n    b = 2\n    c = 3\n"
    assert [piece.kind for piece in cut(f"This:\n\n{code}\nThat.")] == ["prose", "code", "prose"]
    assert [piece.kind for piece in cut(f"- an item\n\n{code}\nThat.")] == ["prose"]


def test_a_fence_inside_a_longer_fence_does_not_end_it() -> None:
    text = "````markdown\n```python\nx = 1\n```\n````"
    assert bodies(text) == [text]
