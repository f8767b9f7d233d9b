"""What the service reads from a hook, whichever client wrote it."""

import json
from typing import Any

import pytest

from kds.hooks.reply import HookCall, goes_on, left_alone, read_hook


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
        ({"sessionId": "f3", "timestamp": 1774281852263, "cwd": "/home/me", "prompt": "Go on"},
         HookCall("Go on", "/home/me", "f3", "prompt")),
        ({"sessionId": "f3", "hookEventName": "UserPromptSubmit", "prompt": "Go on"},
         HookCall("Go on", None, "f3", "prompt")),
        ({"sessionId": "f3", "cwd": "/home/me", "source": "new", "initialPrompt": "Go on"},
         HookCall("", "/home/me", "f3", "start")),
        ({"session_id": "f3", "hook_event_name": "SessionStart", "source": "resume"},
         HookCall("", None, "f3", "start")),
        ({"sessionId": "f3", "transcriptPath": "/e.jsonl", "stopReason": "end_turn"},
         HookCall("", None, "f3", "end", "/e.jsonl")),
        ({"sessionId": "f3", "cwd": "/home/me", "reason": "complete"},
         HookCall("", "/home/me", "f3", "end")),
        ({"sessionId": "f3", "trigger": "auto"}, HookCall("", None, "f3", "end")),
        ({"prompt": ""}, HookCall("", None, None, "prompt")),
        ({"hook_event_name": "Stop", "prompt": None}, HookCall("", None, None, "end")),
    ],
)  # fmt: skip
def test_the_spellings_of_the_clients_are_read(written: dict[str, Any], call: HookCall) -> None:
    assert read_hook(json.dumps(written).encode()) == call


def test_the_plan_mode_is_seen_and_half_a_surrogate_pair_becomes_a_mark_of_its_own() -> None:
    for mode in ("plan", "default", None):
        call = read_hook(json.dumps({"prompt": "Go on", "permission_mode": mode}).encode())
        assert call.planning is (mode == "plan")
    assert read_hook(b'{"prompt": "caf\\udce9 \\ud83d\\ude00"}').prompt == "caf\ufffd \U0001f600"


GOING_ON = (
    "as discussed, use tabs", "continue with the FAB button", "Continue", "where were we?",
    "lets pick up where we left off", "back to the login form", "same as yesterday please",
    "we were working on the parser", "in the previous session you added a menu",
)  # fmt: skip
POINTING = (
    "Make it purple", "still not working", "Add a continue button",
    "why does the session expire?", "use the previous version of numpy",
    "it should resume the download", "run this before the tests",
)  # fmt: skip


def test_a_message_goes_on_when_it_says_so_and_not_when_it_merely_points_somewhere() -> None:
    assert [one for one in GOING_ON if not goes_on(one)] == []
    assert [one for one in POINTING if goes_on(one)] == []


ROUTED = (
    "Make it purple", "  \n Make it purple", "/etc/hosts is wrong", "/setup.py does not run",
    "/usr/bin", "#file:src/app.py why is it slow?", "#file:README.md fix the typos",
    "#file:my-kds/notes.md sum it up", "#file:README.md see prompts/user/kds.md",
    "#files are too many", "@src/app.py explain", "# A heading", "KDS: where was I?",
    "<div> is not closed", "what does <task-notification> mean?", "see prompts/user/kds.md",
)  # fmt: skip
LEFT_ALONE = (
    "", " \n\t", "/", "/ help", "/compact", " /kds:plan a FAB button",
    "/mcp__kds__work-planner add a FAB button", "/commit\nwith a message", "!ls -l",
    "#file:KDS/prompts/user/kds.md I want to add a FAB button",
    "#FILE: 'KDS/prompts/user/kds.md' Make it purple",
    '#file:"C:\\work dir\\KDS\\prompts\\internal\\code-executor.md" go on',
    "#file:kds.md Make it purple",
    "#file:prompts/internal/conversation-context-manager.md load",
    "@KDS/prompts/user/kds.md Make it purple",
    'KDS: "Make it purple" means "Make the FAB button purple" (EXECUTE 0.93).',
    "<task-notification>\n<task-id>7</task-id>\n</task-notification>",
    '<teammate-message teammate_id="lead">wrap up</teammate-message>',
    "Another Claude session sent a message:\n<cross-session-message>x",
)  # fmt: skip


def test_words_of_a_person_are_routed_commands_and_what_nobody_typed_are_not() -> None:
    assert [one for one in ROUTED if left_alone(one)] == []
    assert [one for one in LEFT_ALONE if not left_alone(one)] == []
