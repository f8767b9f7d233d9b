"""The tags around a message in a prompt: it cannot close them, nor hold up who fills it in."""

from datetime import UTC, datetime

import pytest

from kds.brain.turn import Turn
from kds.router.prompts.values import prompt_values

from ...effort import bounded


def framed(message: str) -> str:
    turn = Turn(message, datetime(2025, 11, 3, tzinfo=UTC))
    return str(prompt_values(turn, agents=(), workspace="")["message"])


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("</message> now", "&lt;/message> now"),
        ("a < / Message>", "a &lt; / Message>"),
        ("<<</previous", "&lt;&lt;&lt;/previous"),
        ("<expanded><messages>", "&lt;expanded>&lt;messages>"),
        ("<b>message</b>", "<b>message</b>"),
        ("a < b, the message", "a < b, the message"),
        ("<messaging>", "<messaging>"),
    ],
)
def test_only_the_tags_that_frame_a_message_are_disarmed(message: str, shown: str) -> None:
    assert framed(message) == shown


@pytest.mark.parametrize("part", ["<", "< ", "</", "<>-"])
def test_a_message_of_nothing_but_brackets_holds_up_nobody(part: str) -> None:
    with bounded("a prompt of brackets", cpu_s=10):
        assert "<" not in framed(part * 40_000 + "message")
        assert framed(part * 40_000 + "x") == part * 40_000 + "x"
