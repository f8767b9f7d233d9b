"""`kds ask` and `kds chat` with a model behind them, in real processes where it matters."""

import sys
from pathlib import Path

import pytest

from ...agents.openai_server import Dead, Failure, FakeProvider, Stall, Text
from ...effort import PATIENCE_S
from ..conftest import BAD_INPUT, FAB, KDS, Run, data, refused, said_in
from .terminals import Terminal

pytestmark = pytest.mark.usefixtures("fitted_workspace")

NO_ANSWER = 3
POD = "the pod gets OOMKilled every hour"
RAISE = "The pod uses 480Mi of its 256Mi limit. Should I raise the memory limit to 512Mi?"


def test_the_conversation_goes_on_from_process_to_process(
    model: FakeProvider, kds_spawn: Run, fitted_workspace: Path
) -> None:
    model.play(Text("1. Add the button."), Text("committed"))
    first = kds_spawn("ask", *FAB.split())
    assert (first.code, first.out, first.err) == (0, "1. Add the button.\n", "")
    asked = kds_spawn("ask", "commit this")
    assert asked.code == 0
    assert "Shall it commit or push the work?" in asked.out
    assert kds_spawn("ask", "yes").out == "committed\n"
    assert "1. Add the button." in model.asked[1].text
    assert said_in(fitted_workspace) == [FAB, "commit this", "yes"]


def test_json_is_one_document_and_agent_and_model_can_be_chosen(
    model: FakeProvider, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.play(Text("a plan"))
    answer = data(kds_call("ask", FAB, "--json"))
    assert (answer["text"], answer["answered"], answer["error"]) == ("a plan", True, None)
    assert (answer["turn"]["agent"], answer["replies"][0]["model"]) == ("work-planner", "fake")
    assert [one["intent"] for one in answer["handoffs"]] == ["EXECUTE", "TEST"]
    monkeypatch.delenv("KDS_MODEL")
    model.play()
    kds_call("ask", FAB, "--agent", "test-generator", "--model", f"{model.url}#other")
    assert model.asked[0].body["model"] == "other"
    assert model.asked[0].text.startswith("# Test generator")
    refused(kds_call("ask", FAB, "--agent", "test-generater"), "did you mean 'test-generator'?")


def test_a_dry_run_shows_what_would_be_sent_and_keeps_nothing(
    model: FakeProvider, kds_call: Run, fitted_workspace: Path
) -> None:
    shown = kds_call("ask", FAB, "--dry-run").out
    preview = data(kds_call("ask", FAB, "--dry-run", "--json"))
    assert model.asked == []
    kept = {path.name for path in (fitted_workspace / "kds-brain").iterdir()}
    assert kept & {"conversation-context.jsonl", "memory.db", "work"} == set()
    assert shown.startswith("--- system")
    assert [one["role"] for one in preview["messages"]] == ["system", "user"]
    kds_call("ask", FAB)
    assert [one["content"] for one in model.asked[0].messages] == [
        one["content"] for one in preview["messages"]
    ]


def test_a_model_that_fails_breaks_off_or_says_nothing_is_told_of_on_stderr(
    model: FakeProvider, kds_call: Run, fitted_workspace: Path
) -> None:
    model.play(Failure(401, "Incorrect API key provided"))
    result = kds_call("ask", FAB)
    assert (result.code, result.out) == (NO_ANSWER, "")
    for part in ("Incorrect API key provided", "fix:", "kds ask continue"):
        assert part in result.err
    assert said_in(fitted_workspace) == [FAB]
    model.play(Dead("1. Add"), Text(""), Text("a plan"))
    cut = kds_call("ask", FAB)
    assert (cut.code, cut.out) == (NO_ANSWER, "1. Add\n")
    assert "peer closed connection" in cut.err
    empty = kds_call("ask", "continue")
    assert (empty.code, empty.out) == (NO_ANSWER, "")
    assert "gave no text" in empty.err
    assert kds_call("ask", "continue").out == "a plan\n"


def test_a_conversation_can_be_named_and_resumed(
    model: FakeProvider, kds_call: Run, fitted_workspace: Path
) -> None:
    model.play(Text("a plan"))
    missing = kds_call("ask", FAB, "--session", "last")
    assert missing.code == BAD_INPUT
    kds_call("ask", FAB, "--session", "Buttons")
    kds_call("ask", "Make it purple", "--session", "last")
    assert "a plan" in model.asked[1].text
    assert said_in(fitted_workspace) == []


def test_a_model_does_not_get_at_the_terminal_and_bad_input_keeps_nothing(
    kds_call: Run, fitted_workspace: Path, model: FakeProvider
) -> None:
    refused(kds_call("ask", ""), "write what you want")
    refused(kds_call("ask", FAB, "--model", "opnai:x"), "did you mean openai:...?")
    assert "did you mean PLAN?" in kds_call("ask", FAB, "--agent", "PLANN").err
    assert said_in(fitted_workspace) == []
    model.play(Text("red\x1b[31m \x1b]52;c;cHduZWQ=\x07 end"))
    out = kds_call("ask", FAB).out
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_chat_at_a_terminal_is_halted_by_ctrl_c_and_knows_what_yes_answers(
    model: FakeProvider, fitted_workspace: Path
) -> None:
    model.play(
        Stall("1. Add the button\n\nThen"), Text("a toggle, then"), Text(RAISE), Text("raised")
    )
    with Terminal(*KDS, "chat", folder=fitted_workspace) as terminal:
        terminal.wait_for("kds> ")
        terminal.type(f"{FAB}\n")
        terminal.wait_for("Add the button")
        terminal.type("\x03")
        terminal.wait_for("halted; what was said so far is kept")
        for said, answer in (
            ("Use toggle switch, not button", "a toggle, then"), (POD, "512Mi?"),
            ("go ahead", "raised"), ("/why", "dispatch"),
        ):  # fmt: skip
            terminal.wait_for("kds> ")
            terminal.type(f"{said}\n")
            terminal.wait_for(answer)
        terminal.wait_for("kds> ")
        terminal.interrupt_until("/quit leaves")
        terminal.type("/quit\n")
        assert terminal.process.wait(PATIENCE_S) == 0
    assert "1. Add the button\n\nThen\n\n[halted]" in model.asked[1].text
    agreed = model.asked[3]
    assert agreed.messages[0]["content"].startswith("# Code executor")
    assert "raise the memory limit to 512Mi" in agreed.newest
