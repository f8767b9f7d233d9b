"""What KDS has to say to the assistant beside a prompt: mostly nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import Edit, Reference, Turn
from kds.hooks.reply import PROMPT_LIMIT, TEXT_LIMIT, as_output, hook_text

AT = datetime(2026, 11, 3, tzinfo=UTC)
PROMPT = "# Code executor\n\nYou carry out the next piece of the active work."
HINT = 'KDS: "it" probably means "the FAB button".'
INNER = {"hookEventName": "UserPromptSubmit", "additionalContext": HINT}


def routed(message: str = "Make it purple", *, meant: str = "the FAB button", **more: Any) -> Turn:
    """A turn whose "it" stands for ``meant``, ready to be acted on."""
    at = message.find("it")
    known = at >= 0
    values: dict[str, Any] = {
        "references": (Reference("it", at, at + 2, meant, "pron.it", 0.9),) if known else (),
        "edits": (Edit(at, at + 2, meant),) if known else (),
        "intent": "EXECUTE",
        "confidence": 0.934,
        "action": "route",
        "agent": "code-executor",
        "prompt": PROMPT,
    }
    return Turn(message=message, at=AT, **{**values, **more})


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_a_resolved_word_is_hinted_at_in_one_line() -> None:
    assert hook_text(routed()) == HINT


@pytest.mark.parametrize(
    ("client", "wanted"),
    [
        ("claude", {"additionalContext": HINT, "hookSpecificOutput": INNER}),
        ("codex", {"hookSpecificOutput": INNER}),
        ("cursor", {"continue": True, "additional_context": HINT}),
    ],
)
def test_each_client_has_its_answer_in_the_form_that_it_reads(
    client: str, wanted: dict[str, object]
) -> None:
    assert as_output(HINT, client) == wanted


@pytest.mark.parametrize(
    "turn",
    [
        routed("Add a FAB button"),
        routed("Add a FAB button", secondary_intents=("TEST",)),
        routed("Add a FAB button", action="clarify", question="Plan or run?", candidates=("PLAN",)),
        routed("hello", action="abstain"),
    ],
    ids=["clear", "two requests", "to be asked about", "small talk"],
)
def test_where_nothing_was_resolved_nothing_is_said(turn: Turn) -> None:
    assert hook_text(turn) is None


def test_a_reference_is_worth_the_line_even_when_no_agent_fits() -> None:
    assert hook_text(routed(action="abstain")) == HINT


def test_two_words_are_hinted_at_and_no_more() -> None:
    edits = (Edit(0, 2, "the form"), Edit(4, 8, "the button"), Edit(10, 12, "the page"))
    assert hook_text(routed("it, that, he", references=(), edits=edits)) == (
        'KDS: "it" probably means "the form", "that" probably means "the button".'
    )


def test_what_the_reply_has_just_named_is_not_said_again() -> None:
    answer = Reference("option B", 0, 8, "", "answer.option", 0.9)
    turn = routed("option B", references=(answer,), edits=(Edit(0, 8, "server-side rendering"),))
    assert hook_text(turn) is None


def test_what_was_left_out_is_not_hinted_at() -> None:
    assert hook_text(routed("Add tests", edits=(Edit(9, 9, " for the button"),))) is None


@pytest.mark.parametrize(
    "pasted",
    [
        "it fails\n" + "a line of a log\n" * 100,
        'it fails:\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>',
        "it fails:\nTypeError: x is not a function\n    at main (src/app.js:3:4)",
    ],
    ids=["long", "Python", "JavaScript"],
)
def test_pasted_text_is_left_alone(pasted: str) -> None:
    assert hook_text(routed(pasted)) is None


def test_a_long_meaning_is_not_a_hint() -> None:
    assert hook_text(routed(meant="the " + "very " * 20 + "long thing")) is None


@given(st.text(max_size=PROMPT_LIMIT), st.text(max_size=80))
def test_no_message_breaks_out_of_the_line(said: str, meant: str) -> None:
    turn = routed("x" + said, references=(), edits=(Edit(1, len(said) + 1, meant),))
    text = hook_text(turn)
    if text is not None:
        assert text.startswith('KDS: "')
        assert len(text.splitlines()) == 1
        assert text.count('"') == 4
        assert len(text) <= 245


@pytest.mark.parametrize(
    ("meant", "shown"),
    [
        ("the \u202ered\u2066 one", "the red one"),
        ("the \x1b[31mred\x1b[0m one \x9b1m", "the red one"),
        ("the \x1b]8;;https://evil.example\x1b\\red\x1b]8;;\x07 one", "the red one"),
        ("the red\U000e0061\U000e0062\U000e007f one", "the red one"),
        ("the\u200b red\ufeff one\U000e0101\x00\x85\u2028now", "the red one now"),
        ("the \U0001f469\u200d\U0001f4bb r\u200ded one", "the \U0001f469\u200d\U0001f4bb red one"),
        ('the "red" one', "the 'red' one"),
    ],
)
def test_what_nobody_sees_does_not_reach_the_line(meant: str, shown: str) -> None:
    assert hook_text(routed(meant=meant)) == f'KDS: "it" probably means "{shown}".'


# -- the agents' prompts ----------------------------------------------------------------------


def test_in_mode_agent_the_prompt_of_the_agent_follows() -> None:
    assert hook_text(routed(), mode="agent") == f"{HINT}\n\n{PROMPT}"
    assert hook_text(routed("Add a FAB button"), mode="agent") == PROMPT


def test_what_the_client_has_itself_is_left_out() -> None:
    parts = (
        "# Planner\n\nYou plan.\n\n## The message\n\n<message>\n## Always\nMake it purple\n# x\n"
        "</message>\n\n## What to do\n\nPlan.\n\n## What to hand back\n\nA plan.\n\n"
        "## Always\n\n- Read."
    )
    text = hook_text(routed("Add a button", prompt=parts), mode="agent")
    assert text == "# Planner\n\nYou plan.\n\n## What to do\n\nPlan."


@pytest.mark.parametrize("action", ["clarify", "abstain"])
def test_without_a_decision_there_is_not_an_agent(action: str) -> None:
    assert hook_text(routed(action=action), mode="agent") == HINT


def test_a_client_that_plans_is_told_no_other_role() -> None:
    assert hook_text(routed(), mode="agent", planning=True) == HINT


@given(st.integers(1, 2 * TEXT_LIMIT))
def test_a_prompt_is_given_whole_or_not_at_all(length: int) -> None:
    text = hook_text(routed(prompt="\U0001f600" * (length // 2) or "a"), mode="agent")
    assert text is not None
    assert units(text) <= TEXT_LIMIT < 10_000
    assert text == HINT or text.endswith("\U0001f600" * (length // 2))
