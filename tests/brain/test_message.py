import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import MessageError
from kds.brain.message import MESSAGE_LIMIT, clean_message, well_formed

ANY_TEXT = st.text(alphabet=st.characters(codec=None))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Make it purple", "Make it purple"),  # an ordinary message stays as it is
        ("caf\udce9 bar", "caf\ufffd bar"),  # lone surrogates become replacement characters
        # a pair of surrogates becomes the character it stands for
        ("\ud83d\ude00 yes", "\U0001f600 yes"),
        # nul and control characters go but tab and line feed stay
        ("a\x00b\x1b\tc\nd\x7f", "ab\tc\nd"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),  # line ends become line feeds
        ("הוסף כפתור 🎨👩‍💻", "הוסף כפתור 🎨👩‍💻"),  # right to left text and emoji stay
    ],
)
def test_a_message_is_cleaned(text: str, cleaned: str) -> None:
    assert clean_message(text) == cleaned


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x00\x01", "\ufeff", "\r\n"])
def test_a_message_without_anything_to_read_is_refused(text: str) -> None:
    with pytest.raises(MessageError, match="empty"):
        clean_message(text)


@given(ANY_TEXT)
def test_well_formed_text_can_be_encoded(text: str) -> None:
    assert well_formed(well_formed(text)) == well_formed(text)
    well_formed(text).encode()


@pytest.mark.parametrize("message", [None, 7, b"Make it purple", ["Make it purple"]])
def test_anything_but_text_is_refused_with_a_hint(message: object) -> None:
    with pytest.raises(MessageError, match="not text") as refused:
        clean_message(message)  # type: ignore[arg-type]  # as somebody without types calls it
    assert refused.value.hint == "pass a str"


def test_a_message_has_a_length_limit() -> None:
    assert len(clean_message(f"  {'x' * MESSAGE_LIMIT}\n")) == MESSAGE_LIMIT
    with pytest.raises(MessageError, match="has 100,001 characters, more than 100,000") as refused:
        clean_message("x" * (MESSAGE_LIMIT + 1))
    assert refused.value.hint == "send the request without the files it is about"
