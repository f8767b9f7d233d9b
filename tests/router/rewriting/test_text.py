"""Texts as pieces that can be compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.rewriting.text import keys, read_pieces, straight, word_key


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("deletes", "deleted"), ("is", "were"), ("go", "went"), ("child", "children"),
        ("use", "uses"), ("one", "ones"), ("an", "a"),
    ],
)  # fmt: skip
def test_forms_of_one_word_share_a_key(one: str, two: str) -> None:
    assert word_key(one) == word_key(two)


@pytest.mark.parametrize(("one", "two"), [("one", "on"), ("us", "use"), ("other", "others")])
def test_words_of_grammar_are_not_mistaken_for_others(one: str, two: str) -> None:
    assert word_key(one) != word_key(two)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Open src/app.py", ["name", "code"]),
        ("1,000 users", ["number", "word"]),
        ("parse_config's errors", ["code", "word", "word"]),
        ("the getUser call", ["word", "code", "word"]),
        ("and/or", ["word", "word"]),
        ("--force", ["code"]),
        ("self-contained", ["word", "word"]),
        ("...", []),
    ],
)
def test_pieces_have_kinds(text: str, kinds: list[str]) -> None:
    assert [piece.kind for piece in read_pieces(text)] == kinds


def test_contractions_are_read_as_their_words() -> None:
    assert keys(read_pieces("can't won't it’s")) == ("can", "not", "will", "not", "it", "'s")


def test_accents_do_not_count() -> None:
    assert keys(read_pieces("González")) == keys(read_pieces("Gonzalez"))


@given(st.text(max_size=200))
def test_pieces_lie_inside_the_text_in_order(text: str) -> None:
    whole = straight(text)
    pieces = read_pieces(text)
    assert all(whole[piece.start : piece.end] == piece.text for piece in pieces)
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
