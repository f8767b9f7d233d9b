"""What the service reads from a hook, and what it has to say to the assistant."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.turn import Reference, Turn
from kds.service.hook_reply import (
    QUOTE_LIMIT,
    TEXT_LIMIT,
    HookCall,
    HookInputError,
    goes_on,
    hook_output,
    hook_text,
    read_hook,
)

AT = datetime(2026, 11, 3, tzinfo=UTC)
PROMPT = "# Code executor\n\nYou carry out the next piece of the active work.\n"


def routed(message: str = "Make it purple", **more: Any) -> Turn:
    values: dict[str, Any] = {
        "expanded": "Make the FAB button purple",
        "intent": "EXECUTE",
        "confidence": 0.934,
        "action": "route",
        "agent": "code-executor",
        "prompt": PROMPT,
    }
    return Turn(message=message, at=AT, **{**values, **more})


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# -- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "call"),
    [
        (
            {
                "session_id": "f3", "transcript_path": "/t.jsonl", "cwd": "/home/me",
                "permission_mode": "default", "hook_event_name": "UserPromptSubmit",
                "prompt": "Make it purple",
            },
            HookCall("Make it purple", "/home/me", "f3", "prompt", "/t.jsonl"),
        ),
        (
            {"sessionId": "f3", "timestamp": 1774281852263, "cwd": "/home/me", "prompt": "Go on"},
            HookCall("Go on", "/home/me", "f3", "prompt"),
        ),
        (
            {"sessionId": "f3", "hookEventName": "UserPromptSubmit", "prompt": "Go on"},
            HookCall("Go on", None, "f3", "prompt"),
        ),
        (
            {"sessionId": "f3", "cwd": "/home/me", "source": "new", "initialPrompt": "Go on"},
            HookCall("", "/home/me", "f3", "start"),
        ),
        (
            {"session_id": "f3", "hook_event_name": "SessionStart", "source": "resume"},
            HookCall("", None, "f3", "start"),
        ),
        ({"prompt": ""}, HookCall("", None, None, "prompt")),
        ({"hook_event_name": "Stop", "prompt": None}, HookCall("", None, None, "other")),
    ],
)  # fmt: skip
def test_the_spellings_of_the_clients_are_read(written: dict[str, Any], call: HookCall) -> None:
    assert read_hook(json.dumps(written).encode()) == call


def test_half_a_surrogate_pair_becomes_a_mark_of_its_own() -> None:
    assert read_hook(b'{"prompt": "caf\\udce9 \\ud83d\\ude00"}').prompt == "caf\ufffd \U0001f600"


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"hello", b"[]", b"{}", b"\xff", b'{"prompt": 7}', b'{"prompt": ["a"]}'),
        *(b'{"hook_event_name": "UserPromptSubmit"}', b'{"prompt": "x", "cwd": {}}', b"[" * 99_999),
    ],
)
def test_anything_else_is_refused(raw: bytes) -> None:
    with pytest.raises(HookInputError) as refused:
        read_hook(raw)
    assert refused.value.hint


@settings(deadline=None)
@given(st.binary(max_size=200) | st.dictionaries(st.text(), st.text()).map(json.dumps))
def test_no_input_makes_it_fail_in_another_way(raw: bytes | str) -> None:
    content = raw if isinstance(raw, bytes) else raw.encode()
    with suppress(HookInputError):
        assert isinstance(read_hook(content), HookCall)


def test_only_prompts_in_a_person_s_words_are_for_routing() -> None:
    assert HookCall("Make it purple", None, None, "prompt").for_routing
    assert not HookCall("/compact", None, None, "prompt").for_routing
    assert not HookCall("", None, None, "prompt").for_routing
    assert not HookCall("Make it purple", None, None, "other").for_routing


# -- answering -------------------------------------------------------------------------------


def test_a_line_says_what_the_message_means_and_the_prompt_of_the_agent_follows() -> None:
    line = (
        'KDS: "Make it purple" means "Make the FAB button purple" '
        "(EXECUTE 0.93, agent code-executor)."
    )
    assert hook_text(routed()) == f"{line}\n\n{PROMPT.strip()}"


def test_the_answer_stands_under_the_keys_of_both_clients() -> None:
    text = hook_text(routed())
    assert hook_output(routed()) == {
        "additionalContext": text,
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text},
    }


def test_a_message_that_means_what_it_says_is_said_once() -> None:
    text = hook_text(routed("Add a FAB button", expanded="Add a FAB button", intent="PLAN"))
    assert text is not None
    assert text.startswith('KDS: "Add a FAB button" (PLAN 0.93, agent code-executor).\n\n')


def test_what_is_to_be_done_besides_is_named() -> None:
    text = hook_text(routed(secondary_intents=("TEST", "COMMIT")))
    assert text is not None
    assert "(EXECUTE 0.93, then TEST, then COMMIT, agent code-executor)." in text


def test_what_is_not_clear_is_put_to_the_user() -> None:
    turn = routed(
        action="clarify",
        question="Did you mean to plan something new, or run the tests?",
        candidates=("PLAN", "TEST"),
    )
    assert hook_text(turn) == (
        'KDS: "Make it purple" means "Make the FAB button purple", but it is not clear what to do '
        "with it. Before you act, ask the user:\n\n"
        "Did you mean to plan something new, or run the tests?\n\n"
        "The candidates are PLAN, TEST."
    )


def test_there_is_nothing_to_say_about_small_talk() -> None:
    assert hook_text(routed("hello", expanded="hello", action="abstain")) is None
    assert hook_output(routed("hello", expanded="", action="abstain")) is None


def test_a_reference_is_worth_a_line_even_when_no_agent_fits() -> None:
    reference = Reference("it", 8, 10, "FAB button", "pron.it", 0.9)
    turn = routed("I think it rocks", expanded="I think it rocks", action="abstain")
    assert hook_text(routed(action="abstain")) == (
        'KDS: "Make it purple" means "Make the FAB button purple".'
    )
    assert hook_text(Turn(turn.message, AT, references=(reference,))) == (
        'KDS: "I think it rocks", where "it" is "FAB button".'
    )


@settings(deadline=None)
@given(st.text(max_size=3000), st.text(max_size=3000), st.sampled_from(["route", "abstain"]))
def test_no_message_breaks_out_of_the_line(message: str, expanded: str, action: str) -> None:
    text = hook_text(routed(message, expanded=expanded, action=action, prompt="PROMPT"))
    if text is None:
        return
    line, *rest = text.splitlines()
    assert rest == (["", "PROMPT"] if action == "route" else [])
    assert len(line) < 2 * QUOTE_LIMIT + 80
    assert line.count('"') in (2, 4)


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("Make \u202eit\u2066 red", "Make it red"),
        ("\x1b[31mMake\x1b[0m it \x9b1mred", "Make it red"),
        ("Make \x1b]8;;https://evil.example\x1b\\it\x1b]8;;\x07 red", "Make it red"),
        ("Make it red\U000e0061\U000e0062\U000e007f", "Make it red"),
        ("Make\u200b it\ufeff red\U000e0101\x00\x85\u2028now", "Make it red now"),
        ("\U0001f469\u200d\U0001f4bb r\u200ded", "\U0001f469\u200d\U0001f4bb red"),
    ],
)
def test_what_nobody_sees_does_not_reach_the_line(message: str, quoted: str) -> None:
    turn = routed(message, expanded=message, action="clarify", question=message)
    text = hook_text(turn)
    assert text is not None
    line, *_ = text.splitlines()
    assert line.startswith(f'KDS: "{quoted}", but')
    assert f"\n\n{quoted}\n\n" in text


def test_a_long_message_is_quoted_in_part() -> None:
    text = hook_text(routed("word " * 500, expanded="", prompt=""))
    assert text is not None
    assert 'word…" (EXECUTE' in text
    assert len(text) < QUOTE_LIMIT + 60


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\n\U0001f600"), max_size=400), st.integers(250, 400))
def test_a_long_prompt_is_cut_between_lines(prompt: str, limit: int) -> None:
    whole = hook_text(routed(prompt=prompt))
    text = hook_text(routed(prompt=prompt), limit=limit)
    assert whole is not None
    assert text is not None
    assert units(text) <= limit
    if units(whole) <= limit:
        assert text == whole
    else:
        *kept, mark = text.split("\n")
        assert "\n".join(kept) + "\n" == whole[: len("\n".join(kept)) + 1]
        assert "`kds prompts show code-executor`" in mark


def test_the_limit_is_below_that_of_claude_code() -> None:
    text = hook_text(routed(prompt="\U0001f600 a line\n" * 5000))
    assert text is not None
    assert units(text) <= TEXT_LIMIT < 10_000


@pytest.mark.parametrize(
    "message",
    [
        "as discussed, use tabs",
        "continue with the FAB button",
        "Continue",
        "where were we?",
        "lets pick up where we left off",
        "back to the login form",
        "same as yesterday please",
        "we were working on the parser",
        "in the previous session you added a menu",
    ],
)
def test_a_message_that_says_so_goes_on(message: str) -> None:
    assert goes_on(message)


@pytest.mark.parametrize(
    "message",
    [
        "Make it purple",
        "still not working",
        "Add a continue button",
        "why does the session expire?",
        "use the previous version of numpy",
        "it should resume the download",
        "run this before the tests",
    ],
)
def test_a_message_that_merely_points_somewhere_does_not(message: str) -> None:
    assert not goes_on(message)
