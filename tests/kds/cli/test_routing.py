"""The commands that route: their output, their forms, and the bad input they must survive."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ...agents.openai_server import FakeProvider, Text
from ..conftest import BAD_INPUT, FAB, Run, data, refused, said_in

pytestmark = pytest.mark.usefixtures("fitted_workspace")


def test_the_conversation_of_the_issue_in_real_processes(
    kds_spawn: Run, fitted_workspace: Path
) -> None:
    """Example 1, each message in a process of its own."""
    day = datetime.now(UTC).strftime("%Y%m%d")
    turns = [
        data(kds_spawn("route", message, "--json"))
        for message in (FAB, "Make it purple", "Add a pulse animation")
    ]
    assert [turn["intent"] for turn in turns] == ["PLAN", "EXECUTE", "PLAN"]
    assert [turn["agent"] for turn in turns] == ["work-planner", "code-executor", "work-planner"]
    assert [turn["expanded"] for turn in turns] == [
        FAB,
        "Make the FAB button purple",
        "Add a pulse animation to the FAB button",
    ]
    assert [turn["context_ref"] for turn in turns] == [None, "FAB button", "FAB button"]
    assert turns[0]["session_id"] in (f"fab-button-{day}", turns[1]["session_id"])
    assert {turn["session_id"] for turn in turns} == {turns[0]["session_id"]}
    assert said_in(fitted_workspace) == [FAB, "Make it purple", "Add a pulse animation"]


def test_a_message_may_begin_with_a_dash(kds_call: Run) -> None:
    for message in (
        "--- FAIL: TestBatch (0.02s)\n    batch_test.go:77: expected 3 got 2", "- fix the list",
        "-1 is no valid index, why?", "--- a=b\n+++ a=c",
    ):  # fmt: skip
        assert data(kds_call("route", "--json", message, "--no-log"))["message"] == message


def test_people_see_expansion_intent_and_agent_and_why_every_step(
    kds_call: Run, fitted_workspace: Path
) -> None:
    steps = data(kds_call("route", FAB, "--why", "--no-log", "--json"))["steps"]
    assert (steps[0]["step"], steps[-1]["step"]) == ("load", "dispatch")
    assert "classify" in kds_call("route", FAB, "--why", "--no-log").out
    assert said_in(fitted_workspace) == []
    kds_call("route", FAB)
    shown = kds_call("route", "Make it purple", "--why").out
    for part in ("Make the FAB button purple", "EXECUTE", "code-executor", "FAB button", "resolve"):
        assert part in shown


def test_the_file_forms_route_and_keep_the_context(kds_call: Run, fitted_workspace: Path) -> None:
    manager = "#file:KDS/prompts/internal/conversation-context-manager.md"
    log = 'log --message "Make it purple" --intent EXECUTE --context-ref "FAB button"'
    assert kds_call(f"{manager} {log}").code == 0
    words = ("log", "--message", "Make it red", "--intent", "EXECUTE")
    assert kds_call(manager, *words).code == 0
    assert said_in(fitted_workspace) == ["Make it purple", "Make it red"]
    assert re.search(r"Make it purple +FAB button", shown := kds_call(f"{manager} load").out)
    assert "Make it red" in shown
    assert kds_call(f"{manager} clear").out == "cleared 2 messages\n"
    kds_call(manager, *words)
    assert kds_call("#file:KDS/prompts/internal/clear-conversation.md").code == 0
    assert said_in(fitted_workspace) == []
    prompt = "#file:KDS/prompts/user/kds.md"
    for arguments in ([f"{prompt} {FAB}"], [prompt, *FAB.split()]):
        turn = data(kds_call(*arguments, "--json"))
        assert (turn["message"], turn["intent"]) == (FAB, "PLAN")


ODD = {
    "empty": b"",
    "blank": b" \t ",
    "no utf-8": b"Make \xff\xfe it purple",
    "emoji": "Färbe es 🎨".encode(),
    "arabic": "اجعل الزر أرجوانيًا".encode(),
    "100 kB": b"it " * 33_000,
}


def test_pipes_and_odd_arguments_of_a_shell_are_read(
    kds_spawn: Run, fitted_workspace: Path
) -> None:
    for arguments in (["route", "-"], ["route"]):
        piped = kds_spawn(*arguments, "--json", "--no-log", stdin=f"{FAB}\n".encode())
        assert json.loads(piped.out)["message"] == FAB
    for count, (name, argument) in enumerate(ODD.items()):
        result = kds_spawn("route", argument, "--json")
        assert "Traceback" not in result.err
        if not argument.strip():
            assert (name, result.code, result.err[:5]) == (name, BAD_INPUT, "kds: ")
        else:
            assert json.loads(result.out)["action"] in ("route", "clarify", "abstain")
            assert (name, result.code, len(said_in(fitted_workspace))) == (name, 0, count - 1)


CHAT = b"""/why
I want to add a FAB button
/help

Make it purple
/why
/context
/cear
\xff
/clear
/quit
never read
"""


def test_a_chat_through_a_pipe(kds_spawn: Run, fitted_workspace: Path) -> None:
    result = kds_spawn("chat", stdin=CHAT)
    assert result.code == 0
    assert result.out.startswith("nothing was routed yet\n")
    for part in ("Make the FAB button purple", "code-executor", "cleared 3 messages"):
        assert part in result.out
    assert "never read" not in result.out
    assert "no such command '/cear'\n  fix: try /clear" in result.err
    assert said_in(fitted_workspace) == []


DIALOGUES = """
- id: right
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
- id: wrong
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - {user: Make it purple, intent: COMMIT, expanded: Paint it black}
"""


def test_failing_dialogues_are_explained_with_exit_code_1(
    kds_call: Run, fitted_workspace: Path
) -> None:
    path = fitted_workspace / "a.dialogue.yaml"
    path.write_text(DIALOGUES)
    result = kds_call("test", ".")
    assert (result.code, result.err) == (1, "")
    assert "a.dialogue.yaml:8: wrong, turn 2 of 2" in result.out
    assert "- Paint it black\n" in result.out
    assert "+ Make the FAB button purple\n" in result.out
    assert result.out.endswith("1 passed, 1 failed\n")
    (failed,) = data(kds_call("test", str(path), "--json"), 1)["failed"]
    assert failed["id"] == "wrong"
    assert [one["field"] for one in failed["turns"][0]["mismatches"]] == ["expanded", "intent"]
    path.write_text(DIALOGUES.replace("COMMIT", "COMIT"))
    refused(kds_call("test", str(path)), f"{path}:8: unknown intent 'COMIT'", "mean COMMIT?")


def test_route_asks_the_model_also_where_the_rules_know_if_the_settings_say_so(
    kds_call: Run, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.play(default=Text("Make the FAB button purple"))
    kds_call("route", "I want to add a FAB button")
    kds_call("route", "Make it purple", "--no-log")
    assert provider.asked == []
    monkeypatch.setenv("KDS_REWRITING", "model-first")
    turn = data(kds_call("route", "Make it purple", "--json"))
    assert turn["expanded"] == "Make the FAB button purple"
    assert len(provider.asked) == 1


LIMIT = "The pod is full. Should I raise the memory limit to 512Mi?"


def test_what_a_message_answers_can_be_given(kds_call: Run) -> None:
    turn = data(kds_call("route", "go ahead", "--reply", LIMIT, "--json", "--no-log"))
    assert turn["expanded"] == "go ahead and raise the memory limit to 512Mi"
