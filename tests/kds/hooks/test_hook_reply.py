"""What KDS has to say to the assistant beside a prompt: mostly nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import Edit, Reference, Turn
from kds.hooks.reply import PROMPT_LIMIT, as_output, hook_hint

AT = datetime(2026, 11, 3, tzinfo=UTC)
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
    }
    return Turn(message=message, at=AT, **{**values, **more})


def test_each_client_has_its_answer_in_the_form_that_it_reads() -> None:
    claude = {"additionalContext": HINT, "hookSpecificOutput": INNER}
    assert as_output(HINT, "claude") == claude
    assert as_output(HINT, "codex") == {"hookSpecificOutput": INNER}
    assert as_output(HINT, "cursor") == {"continue": True, "additional_context": HINT}


THREE = (Edit(0, 2, "the form"), Edit(4, 8, "the button"), Edit(10, 12, "the page"))
TWO = 'KDS: "it" probably means "the form", "that" probably means "the button".'
ANSWER = (Reference("option B", 0, 8, "", "answer.option", 0.9),)


@pytest.mark.parametrize(
    ("turn", "hint"),
    [
        (routed(), HINT),
        (routed(action="abstain"), HINT),
        (routed("it, that, he", references=(), edits=THREE), TWO),
        (routed("Add a FAB button"), None),
        (routed("Add a FAB button", action="clarify", question="Plan or run?"), None),
        (routed("option B", references=ANSWER, edits=(Edit(0, 8, "SSR"),)), None),
        (routed("Add tests", edits=(Edit(9, 9, " for the button"),)), None),
        (routed(meant="the " + "very " * 20 + "long thing"), None),
        (routed("it fails\n" + "a line of a log\n" * 100), None),
        (routed('it fails:\nTraceback (most recent call last):\n  File "a.py", line 3'), None),
        (routed("it fails:\nTypeError: not a function\n    at main (src/app.js:3:4)"), None),
    ],
    ids=["resolved", "no agent", "two and no more", "clear", "to be asked about",
         "named by the reply", "left out", "long", "a paste", "Python", "JavaScript"],
)  # fmt: skip
def test_a_hint_is_one_line_where_a_short_word_was_resolved(turn: Turn, hint: str | None) -> None:
    assert hook_hint(turn) == hint


@given(st.text(max_size=PROMPT_LIMIT), st.text(max_size=80))
def test_no_message_breaks_out_of_the_line(said: str, meant: str) -> None:
    turn = routed("x" + said, references=(), edits=(Edit(1, len(said) + 1, meant),))
    text = hook_hint(turn)
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
    assert hook_hint(routed(meant=meant)) == f'KDS: "it" probably means "{shown}".'
