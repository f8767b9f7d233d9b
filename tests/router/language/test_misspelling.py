"""Slips of one letter: which are mended, and which leave a message in doubt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.language.misspelling import doubts, spelt


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("waht about the lease?", "what about the lease?"),
        ("and wehn is it due", "and when is it due"),
        ("wheer do I apply?", "where do I apply?"),
        ("move it to teh header", "move it to the header"),
        ("make it nullbale", "make it nullable"),
        ("Restart the datbaase", "Restart the database"),
        ("make itt darkker", "make it darker"),
        ("same for the the menu", "same for the menu"),
        ("log in in May, that that is", "log in in May, that that is"),
    ],
)
def test_a_slip_is_mended_where_the_letters_tell_what_was_meant(message: str, meant: str) -> None:
    assert spelt(message).text == meant


@pytest.mark.parametrize(
    "message",
    [
        *("what about it?", "hwo pays?", "That is it", "whats it for", "was it late?", "wrap it"),
        *("Hat?", "use axios", "bump redis in apps/web", "it doesnt work and theyre late"),
        *("put it in the sms lab", "rename `teh` to comimt.py", "use websockets"),
    ],
)
def test_words_that_are_right_or_unclear_stay(message: str) -> None:
    assert spelt(message, {"websockets"}).text == message


def test_a_word_of_the_conversation_is_right_and_what_is_meant_by_its_slips() -> None:
    assert spelt("use pinnia", {"pinia", "use"}).text == "use pinia"
    assert doubts("use pinia", {"pinia"}) == ()


def test_what_may_be_a_slip_of_several_words_is_in_doubt() -> None:
    assert [slip.meant for slip in doubts("make it wron") or ()] == ["worn", "won", "wrong"]
    assert doubts("Bump lodash and webpack") == ()
    assert doubts("xqa xqb xqc xqd xqe xqf xqg xqh") is None


@given(st.text(max_size=40))
def test_any_text_can_be_read_and_places_stay_inside(text: str) -> None:
    reading = spelt(text)
    assert all(0 <= reading.original(at) <= len(text) for at in range(len(reading.text) + 1))
