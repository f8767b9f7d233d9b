"""What a reply leaves open: its closing sentence, its options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.discourse.reply import (
    TAIL_CHARS,
    as_command,
    closing_sentence,
    options_in,
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


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        ("1. Use Redis\n2. Use Postgres", {"1": "use Redis", "2": "use Postgres"}),
        ("1) **Redis** (fast)\n   - no joins\n2) **Postgres**", {"1": "Redis", "2": "Postgres"}),
        ("### Option A: Magic links\nNo passwords.\n### Option B: OAuth", {"A": "magic links", "B": "OAuth"}),  # noqa: E501
        ("Shall I (a) retry, (b) give up, or (c) ask?", {"A": "retry", "B": "give up", "C": "ask"}),
        ("1. old\n2. list\n\nNow:\n1. new\n2. things", {"1": "new", "2": "things"}),
        ("[...]\n**Option C** - wait for 2.0", {"C": "wait for 2.0"}),
    ],
)  # fmt: skip
def test_the_last_list_is_what_one_can_choose_from(reply: str, options: dict[str, str]) -> None:
    assert {one.label: one.text.replace("Magic", "magic") for one in options_in(reply)} == options


@pytest.mark.parametrize(
    "reply",
    [
        "It costs 3. 4 would be too many.",
        "2. the middle of a list\n3. whose head was cut",
        "1. only one thing",
        "Version 1.2 and 1.3 both fail",
        "```\n1. in code\n2. in code\n```\nDone.",
    ],
)
def test_anything_but_a_list_has_not_a_options(reply: str) -> None:
    assert options_in(reply) == ()


def test_what_stands_far_from_the_end_is_not_read() -> None:
    assert options_in("1. Red\n2. Blue\n" + "x" * TAIL_CHARS) == ()


@given(st.text())
def test_any_reply_can_be_read(reply: str) -> None:
    closing = closing_sentence(reply)
    assert "```" not in closing
    assert all(one.label for one in options_in(reply))


@given(st.text())
def test_an_action_only_loses_its_end(action: str) -> None:
    assert action.startswith(without_purpose(action))
    assert as_command(action).partition(" ")[2] == action.partition(" ")[2]
