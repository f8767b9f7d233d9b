import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import MessageError
from kds.brain.message import clean_message, well_formed

ANY_TEXT = st.text(alphabet=st.characters(codec=None))


def test_an_ordinary_message_stays_as_it_is() -> None:
    assert clean_message("Make it purple") == "Make it purple"


def test_lone_surrogates_become_replacement_characters() -> None:
    assert clean_message("caf\udce9 bar") == "caf\ufffd bar"


def test_a_pair_of_surrogates_becomes_the_character_it_stands_for() -> None:
    assert clean_message("\ud83d\ude00 yes") == "\U0001f600 yes"


def test_nul_and_control_characters_go_but_tab_and_line_feed_stay() -> None:
    assert clean_message("a\x00b\x1b\tc\nd\x7f") == "ab\tc\nd"


def test_line_ends_become_line_feeds() -> None:
    assert clean_message("one\r\ntwo\rthree") == "one\ntwo\nthree"


def test_right_to_left_text_and_emoji_stay() -> None:
    assert clean_message("הוסף כפתור 🎨👩‍💻") == "הוסף כפתור 🎨👩‍💻"


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x00\x01", "\ufeff", "\r\n"])
def test_a_message_without_anything_to_read_is_refused(text: str) -> None:
    with pytest.raises(MessageError, match="empty"):
        clean_message(text)


@given(ANY_TEXT)
def test_well_formed_text_can_be_encoded(text: str) -> None:
    assert well_formed(well_formed(text)) == well_formed(text)
    well_formed(text).encode()


@given(ANY_TEXT)
def test_cleaning_a_clean_message_changes_nothing(text: str) -> None:
    try:
        once = clean_message(text)
    except MessageError:
        return
    assert clean_message(once) == once
    assert "\x00" not in once
