"""Messages and histories as they arrive: cleaned, shown in one line, read in every shape."""

import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from kds.brain.errors import MessageError
from kds.brain.message import MESSAGE_LIMIT, clean_message, one_line, utterances
from kds.brain.turn import Utterance


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


@pytest.mark.parametrize(
    ("message", "wrong", "hint"),
    [
        *((text, "empty", "write") for text in ("", "  \n\t ", "\x00\x01", "\ufeff", "\r\n")),
        *((other, "not text", "pass a str") for other in (None, 7, b"Make it", ["Make it"])),
        ("x" * (MESSAGE_LIMIT + 1), "has 100,001 characters, more than 100,000", "send the"),
    ],
)
def test_what_is_not_a_message_is_refused_with_a_hint(message: str, wrong: str, hint: str) -> None:
    with pytest.raises(MessageError, match=wrong) as refused:
        clean_message(message)
    assert str(refused.value.hint).startswith(hint)


@given(st.text())
def test_nothing_unseen_stays_and_it_is_stable(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    unseen = [
        one for one in line.replace("\u200d", "") if unicodedata.category(one) in ("Cc", "Cf")
    ]
    assert unseen == []
    assert one_line(line) == line


@pytest.mark.parametrize(
    "text", ["Make it purple", "naïve café – 你好 ‘x’", "👩\u200d💻 ❤️\u200d🔥"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert one_line(text) == text


ASKED = "Shall I raise the limit?"


@pytest.mark.parametrize(
    "item",
    [
        Utterance(ASKED, "assistant"),
        {"role": "assistant", "content": ASKED},
        {"role": "assistant", "text": ASKED},
        {"role": "ai", "content": [{"type": "text", "text": ASKED}]},
        ("assistant", ASKED),
        ["ai", ASKED],
        AIMessage(ASKED),
        SimpleNamespace(type="AIMessageChunk", content=[ASKED]),
        SimpleNamespace(role="assistant", content=ASKED),
    ],
)
def test_a_reply_is_read_in_every_shape(item: object) -> None:
    assert utterances([item]) == (Utterance(ASKED, "assistant"),)


def test_what_the_system_and_tools_say_is_left_out() -> None:
    said = [("system", "Be brief."), ("user", "Hi \ud83d"), {"role": "tool", "content": "{}"}]
    assert utterances(said) == (Utterance("Hi \ufffd", "user"),)


@pytest.mark.parametrize(
    ("history", "wrong"),
    [
        ([{"role": "bot", "content": "x"}], r"history\[0\] has 'bot' for a role"),
        ([("user", "x"), 3], r"history\[1\] is a int"),
        ([{"role": "user"}], r"history\[0\] has no 'content'"),
        ([{"role": "user", "content": 3}], r"history\[0\] has 3 for a text"),
        ("yes", "history is a str"),
        ({"role": "user"}, "history is a dict"),
        (None, "history is a NoneType"),
    ],
)
def test_anything_but_history_is_named_with_the_fix(history: object, wrong: str) -> None:
    with pytest.raises(MessageError, match=wrong) as caught:
        utterances(history)  # type: ignore[arg-type]
    assert '{"role": "user", "content"' in str(caught.value.hint)
