"""What an agent asked is what "yes" answers, from one `kds ask` to the next and in `kds chat`."""

import sys
from pathlib import Path

import pytest

from ...agents.openai_server import FakeProvider, Text
from ..conftest import Run, data
from .test_ask import Terminal

POD = "the pod gets OOMKilled every hour"
RAISE = "The pod uses 480Mi of its 256Mi limit. Should I raise the memory limit to 512Mi?"
AGREED = ("yes do it", "go ahead", "Yes, raise it", "k")


@pytest.mark.parametrize("yes", AGREED)
def test_ask_answers_the_question_of_the_command_before(
    yes: str, model: FakeProvider, kds_call: Run, fitted_workspace: Path
) -> None:
    model.play(Text(RAISE), Text("raised"))
    kds_call("ask", POD)
    answer = data(kds_call("ask", yes, "--json"))
    assert [one["agent"] for one in answer["replies"]] == ["code-executor"]
    assert "raise the memory limit to 512Mi" in answer["turn"]["expanded"]
    assert "raise the memory limit to 512Mi" in model.asked[1].newest


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_chat_answers_the_question_at_a_terminal(
    model: FakeProvider, fitted_workspace: Path
) -> None:
    model.play(Text(RAISE), Text("raised at last"))
    with Terminal("chat", folder=fitted_workspace) as terminal:
        terminal.wait_for("kds> ")
        terminal.type(f"{POD}\n")
        terminal.wait_for("512Mi?")
        terminal.wait_for("kds> ")
        terminal.type("go ahead\n")
        terminal.wait_for("raised at last")
        terminal.wait_for("kds> ")
        terminal.type("/why\n")
        terminal.wait_for("kds> ")
        terminal.type("/quit\n")
    asked = model.asked[1]
    assert asked.messages[0]["content"].startswith("# Code executor")
    assert "raise the memory limit to 512Mi" in asked.newest
