"""Misspelt question words at the start of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import Edit
from kds.router.language.misspelling import mended


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("waht about the lease?", "what about the lease?"),
        ("Hwo long is it?", "How long is it?"),
        ("and wehn is it due", "and when is it due"),
        ("wich is longer?", "which is longer?"),
        ("wheer do I apply?", "where do I apply?"),
    ],
)
def test_a_slip_in_a_question_word_is_mended(message: str, meant: str) -> None:
    spelt = mended(message)
    assert spelt is not None
    assert spelt.text == meant


@pytest.mark.parametrize(
    "message",
    [
        "what about it?",
        "hwo pays?",
        "That is it",
        "whats it for",
        "was it late?",
        "wrap it",
        "Hat?",
    ],
)
def test_words_that_are_right_or_unclear_stay(message: str) -> None:
    assert mended(message) is None


def test_the_opener_is_mended_along_with_other_edits_only() -> None:
    spelt = mended("wich one is it")
    assert spelt is not None
    assert spelt.edits([]) == ()
    assert spelt.edits([Edit(13, 15, "the fee")]) == (Edit(0, 4, "which"), Edit(12, 14, "the fee"))
    assert spelt.edits([Edit(0, 15, "Which fee?")]) == (Edit(0, 14, "Which fee?"),)


@given(st.text(max_size=40))
def test_any_text_can_be_read_and_places_stay_inside(text: str) -> None:
    spelt = mended(text)
    if spelt is not None:
        assert all(0 <= spelt.original(at) <= len(text) for at in range(len(spelt.text) + 1))
