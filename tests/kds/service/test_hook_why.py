"""`kds hook why`: what the hook told the model, in which session, and why it was silent."""

import json
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kds.hooks.log import LOG_NAME
from kds.service.service_client import ServiceAddress

from ..conftest import Run, data, refused
from .conftest import run_hook

CLAUDE = {"hook_event_name": "UserPromptSubmit", "session_id": "5c0ffee5-1"}
HINT = 'KDS: "it" probably means "the FAB button".'


def calls(kds_call: Run, *options: str) -> list[dict[str, Any]]:
    found = data(kds_call("hook", "why", "--json", *options))["calls"]
    assert isinstance(found, list)
    return found


def noted(kds_call: Run) -> list[str]:
    return [one["what"] for one in calls(kds_call)]


def test_it_says_what_was_told_when_in_which_session_and_why_not(root: Path, kds_call: Run) -> None:
    run_hook(root, prompt="I want to add a FAB button", **CLAUDE)
    assert run_hook(root, prompt="Make it purple", **CLAUDE) is not None
    silent, said = calls(kds_call)
    assert silent["what"] == "silent: nothing was said before it"
    assert said["what"] == "said what it refers to"
    for one in (silent, said):
        assert (one["client"], one["session"], one["event"]) == ("claude", "5c0ffee5-1", "prompt")
        datetime.fromisoformat(one["at"])
    shown = kds_call("hook", "why").out
    assert "5c0ffee5" in shown
    assert "nothing was said before it" in shown


def test_the_words_are_those_that_the_client_kept_and_nothing_typed_is_stored_anew(
    root: Path, kds_call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    run_hook(root, prompt="I want to add a FAB button", **CLAUDE)
    answer = run_hook(root, prompt="Make it purple", **CLAUDE)
    log = root / "kds-brain" / LOG_NAME
    assert "FAB" not in log.read_text()
    assert "purple" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [one["told"] for one in calls(kds_call)] == [[], []], "no client kept it"
    session = tmp_path / "claude/projects/shop/5c0ffee5-1.jsonl"
    session.parent.mkdir(parents=True)
    at = calls(kds_call)[1]["at"]
    text = answer["hookSpecificOutput"]["additionalContext"]
    lines = [
        {"type": "user", "timestamp": at, "message": {"role": "user", "content": "x"}},
        {"type": "attachment", "timestamp": at, "attachment": {"content": [text]}},
    ]
    session.write_text("".join(json.dumps(one) + "\n" for one in lines) + '{"cut": "KDS: \\"')
    assert [one["told"] for one in calls(kds_call)] == [[], [HINT]]
    assert HINT in kds_call("hook", "why").out


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("/compact", "a command of the client"),
        ("<task-notification>done</task-notification>", "nobody typed it"),
        ("Fix this:\nTraceback (most recent call last):\n  it", "a trace is pasted into it"),
        ("make it shine " * 100, "it is longer than 1,000 characters"),
        ("Make it purple", "nothing was said before it"),
        ("Mach es bitte lila und etwas gr\u00f6\u00dfer", "it is not in English"),
    ],
)
def test_each_silence_has_a_reason(prompt: str, why: str, root: Path, kds_call: Run) -> None:
    assert run_hook(root, prompt=prompt, **CLAUDE) is None
    assert noted(kds_call) == [f"silent: {why}"]


def test_what_was_stopped_or_refused_is_named_by_its_kind(root: Path, kds_call: Run) -> None:
    (root / "kds-brain/settings.yaml").write_text("hook: {secrets: block}\n")
    run_hook(root, prompt="use DB_PASSWORD=Yzll-cgTAOG9 of @api/.env", **CLAUDE)
    tool = {"tool_name": "Read", "tool_input": {"file_path": "api/.env"}, "session_id": "s"}
    run_hook(root, hook_event_name="PreToolUse", **tool)
    run_hook(root, hook_event_name="PreToolUse", **{**tool, "tool_input": {"file_path": "a.py"}})
    (root / "kds-brain/settings.yaml").write_text("hook: {secrets: warn}\n")
    run_hook(root, prompt="use DB_PASSWORD=Yzll-cgTAOG9", **CLAUDE)
    assert noted(kds_call) == [
        "stopped: password, a file",
        "refused: a file of secrets",
        "warned: password; silent: nothing was said before it",
    ]


def test_troubles_stand_among_the_calls_and_doctor_counts_them_alone(
    root: Path, kds_call: Run
) -> None:
    run_hook(root, prompt="Add a map", **CLAUDE)
    findings = {
        one["check"]: one for one in json.loads(kds_call("doctor", "--json").out)["findings"]
    }
    assert findings["hook log"]["mark"] == "ok"
    ServiceAddress().socket_path.unlink()
    run_hook(root, prompt="Add a map", **CLAUDE)
    told = calls(kds_call)
    assert (told[1]["client"], told[1]["what"]) == (None, "failed: no service is running")
    assert told[1]["session"] is None


def test_a_session_and_a_number_of_calls_can_be_asked_for(root: Path, kds_call: Run) -> None:
    for number in range(3):
        run_hook(root, prompt=f"Add {number} maps", **{**CLAUDE, "session_id": f"s{number}"})
    assert [one["session"] for one in calls(kds_call, "--limit", "2")] == ["s1", "s2"]
    assert [one["session"] for one in calls(kds_call, "--session", "s1")] == ["s1"]
    refused(kds_call("hook", "why", "--session", "s9"), "no session 's9'", "kds hook why")


def test_a_log_that_came_with_a_project_is_shown_as_text(workspace: Path, kds_call: Run) -> None:
    lines = (
        "2026-11-28 claude s prompt: said x",
        "\x1b[2J claude",
        "0001-01-01T00:00:00Z x y z: w",
    )
    (workspace / "kds-brain" / LOG_NAME).write_text("\n".join(lines))
    assert "\x1b" not in kds_call("hook", "why").out
    assert [one["at"] for one in calls(kds_call)] == [None] * 3
    assert json.loads(kds_call("doctor", "--json").out)["findings"]
