"""A conversation goes in as chat programs keep it; what is none is named by its index."""

from types import SimpleNamespace

import pytest

from kds.brain.errors import MessageError
from kds.brain.message import utterances
from kds.brain.turn import Utterance

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
        SimpleNamespace(type="ai", content=ASKED),
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
