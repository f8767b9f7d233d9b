"""What a reply leaves open: its closing sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.discourse.reply import (
    as_command,
    closing_sentence,
    without_purpose,
)


@pytest.mark.parametrize(
    ("reply", "closing"),
    [
        ("Done.\n\nShall I push it?", "Shall I push it?"),
        ("I changed two files. **Would you like me to add a test?**\n\n---\n_****_", "Would you like me to add a test?"),  # noqa: E501
        ("Run this:\n```sh\nmake all\n```\nWant me to run it?", "Want me to run it?"),
        ("It fails:\n```\nError: no such file. Is it there?\n```", "It fails:"),
        ("cut away ```py\nx = 1\n```\nOk?", "Ok?"),
        ("", ""),
        ("---", ""),
    ],
)  # fmt: skip
def test_the_last_sentence_is_told_without_code_and_markdown(reply: str, closing: str) -> None:
    assert closing_sentence(reply) == closing


@given(st.text())
def test_any_reply_can_be_read(reply: str) -> None:
    closing = closing_sentence(reply)
    assert "```" not in closing


@given(st.text())
def test_an_action_only_loses_its_end(action: str) -> None:
    assert action.startswith(without_purpose(action))
    assert as_command(action).partition(" ")[2] == action.partition(" ")[2]
