"""A dead, slow or lying model costs an answer; never a message, and never more than its time."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import kds
from kds.agents import load_chat_model, running
from kds.agents.model_error import ModelError
from kds.brain.installation import install_line
from kds.brain.patience import Patience
from kds.brain.settings import ModelSettings

from ...agents.openai_server import (
    Asked,
    Cut,
    Dead,
    Failure,
    FakeProvider,
    Reply,
    Slow,
    Text,
    Trickle,
    garbage,
)
from ...effort import PATIENCE_S
from ..conftest import said_in
from .conftest import Open
from .test_session import remembered

FAB = "I want to add a FAB button"
TIMEOUT_S = 1.0

TROUBLES: tuple[Reply, ...] = (Slow(), Dead("1. Add"), garbage(), Failure(401, "Incorrect API key"))
"""One of each kind; what an agent makes of every other is tried with the agents."""


@pytest.fixture
def hasty(model: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """A model that may take a second."""
    monkeypatch.setenv("KDS_MODEL_TIMEOUT_S", str(TIMEOUT_S))
    return model


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_the_answer_says_what_is_wrong_and_carries_the_prompt(
    trouble: Reply, hasty: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    hasty.play(default=trouble)
    answer = open_session().ask(FAB)
    assert isinstance(answer.error, ModelError)
    assert answer.error.hint
    assert any(answer.error.message in note for note in answer.notes)
    (reply,) = answer.replies
    assert not reply.answered
    assert reply.prompt.startswith("# Work planner")
    assert answer.handoffs == ()
    assert said_in(fitted_workspace) == [FAB]
    assert remembered(fitted_workspace)[0].content == FAB


def test_the_message_is_on_disk_when_the_model_is_asked(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    seen: list[tuple[list[str], list[str]]] = []

    def look(_: Asked) -> Reply:
        seen.append((said_in(fitted_workspace), [m.content for m in remembered(fitted_workspace)]))
        return Text("ok")

    model.play(look)
    open_session().ask(FAB)
    assert seen == [([FAB], [FAB])]


@pytest.mark.parametrize("end", [Dead, Cut])
def test_a_reply_that_breaks_off_is_kept_as_far_as_it_came(
    model: FakeProvider, open_session: Open, fitted_workspace: Path, end: Callable[[str], Reply]
) -> None:
    model.play(end("1. Add a button"), Text("a plan"))
    answer = open_session().ask(FAB)
    assert answer.text == "1. Add a button"
    assert not answer.answered
    kept = [message.content for message in remembered(fitted_workspace)]
    assert kept == [FAB, "1. Add a button\n\n[broken off]"]
    assert open_session().ask("continue").text == "a plan"


def test_continue_asks_again(model: FakeProvider, open_session: Open) -> None:
    model.play(Failure(500, "down"), Text("a plan"))
    assert open_session().ask(FAB).error is not None
    answer = open_session().ask("continue")
    assert answer.text == "a plan"
    assert answer.turn.message == FAB


def test_what_comes_behind_an_agent_that_failed_waits(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Failure(500, "down"), Text("a plan"), Text("12 passed"))
    failed = open_session().ask("Add a login form and then run the tests")
    assert [reply.agent for reply in failed.replies] == ["work-planner"]
    resumed = open_session().ask("continue")
    assert [reply.text for reply in resumed.replies] == ["a plan", "12 passed"]


def test_a_dribbling_model_is_cut_off_in_a_stream(
    model: FakeProvider, open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(running, "Patience", partial(Patience, clock=lambda: now[0]))
    model.play(Trickle("and "))
    stream = open_session().stream(FAB)
    assert [next(stream) for _ in range(2)] == ["and ", "and "]
    now[0] = 2 * PATIENCE_S
    *_, answer = stream
    assert isinstance(answer, kds.Answer)
    assert isinstance(answer.error, ModelError)
    assert answer.error.kind == "timeout"


def test_a_model_without_its_extra_is_told_of_with_the_fix(
    open_session: Open, monkeypatch: pytest.MonkeyPatch, fitted_workspace: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    answer = open_session(model="openai:gpt-5-mini").ask(FAB)
    assert answer.error is not None
    assert install_line("openai") in (answer.error.hint or "")
    assert said_in(fitted_workspace) == [FAB]


def test_a_model_that_is_none_is_refused_at_once(open_session: Open) -> None:
    with pytest.raises(ModelError, match="no model that KDS can reach") as caught:
        open_session(model="opnai:gpt")
    assert caught.value.hint == "did you mean openai:...?"
    with pytest.raises(ModelError, match="a int is no model"):
        open_session(model=5)


def test_a_wrong_name_in_the_settings_costs_no_message(
    open_session: Open, fitted_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MODEL", "opnai:gpt")
    error = open_session().ask(FAB).error
    assert error is not None
    assert "openai" in (error.hint or "")
    assert said_in(fitted_workspace) == [FAB]


def test_an_empty_answer_is_none_and_can_be_asked_again(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text(""), Text("a plan"))
    answer = open_session().ask(FAB)
    assert isinstance(answer.error, ModelError)
    assert "gave no text" in answer.error.message
    assert not answer.answered
    assert answer.handoffs == ()
    assert open_session().ask("continue").text == "a plan"


def test_a_model_of_the_callers_own_keeps_its_own_time(
    model: FakeProvider, open_session: Open
) -> None:
    own = load_chat_model(ModelSettings(name=f"{model.url}#fake", timeout_s=TIMEOUT_S))
    model.play(default=Slow())
    error = open_session(model=own).ask(FAB).error
    assert error is not None
    assert f"{TIMEOUT_S:g} s" in error.message


def test_a_model_cannot_hand_on_to_where_its_prompt_file_does_not_lead(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("a plan\n\nHandoff: AMNESIA"))
    answer = open_session().ask(FAB)
    assert [offer.intent for offer in answer.handoffs] == ["EXECUTE", "TEST"]


def test_a_memory_that_cannot_be_written_costs_a_note(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    (fitted_workspace / "kds-brain" / "memory.db").mkdir()
    answer = open_session().ask(FAB)
    assert answer.text == "ok"
    assert any("not remembered" in note for note in answer.notes)
