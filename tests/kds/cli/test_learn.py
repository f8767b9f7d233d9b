"""`kds learn`: looking, deciding, taking back."""

import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kds.brain.clock import utc_now
from kds.brain.kept_text import PrivateText
from kds.brain.learning.event import LearningEvent
from kds.brain.learning.event_log import EventLog
from kds.cli.guard import BAD_INPUT

from ..conftest import Run, data, refused

DASHBOARD = "give the dashboard some love"

pytestmark = pytest.mark.usefixtures("quick_guard")


@pytest.fixture
def brain(fitted_workspace: Path) -> Path:
    return fitted_workspace / "kds-brain"


@pytest.fixture
def learn(kds_call: Run) -> Run:
    return partial(kds_call, "learn")


@pytest.fixture
def said(brain: Path) -> Callable[..., str]:
    """What the user said in the last days; returns the name of the candidate."""

    def said(times: int = 3, text: str = DASHBOARD, intent: str = "PLAN") -> str:
        start = utc_now() - timedelta(days=2)
        events = [
            LearningEvent(start + timedelta(hours=3 * number), "corrected", text, intent)
            for number in range(times)
        ]
        EventLog(PrivateText(brain / "learning.jsonl")).append(events)
        return events[0].id

    return said


@pytest.mark.parametrize("name", ["status", "list", "review"])
@pytest.mark.parametrize("as_json", [False, True])
def test_looking_at_nothing_says_so_and_makes_no_file(
    learn: Run, name: str, as_json: bool, workspace: Path
) -> None:
    result = learn(name, *(["--json"] if as_json else []))
    assert (result.code, result.err) == (0, "")
    assert result.out
    assert list((workspace / "kds-brain").iterdir()) == []


def test_a_correction_is_noted_and_changes_nothing(learn: Run, brain: Path) -> None:
    told = data(learn("correct", DASHBOARD, "plan", "--json"))
    assert (told["state"], told["occurrences"], told["confidence"]) == ("waiting", 1, 0.5)
    again = learn("correct", DASHBOARD, "plan")
    assert "said once so far" in again.out
    assert "nothing changes yet" in again.out
    assert not (brain / "learned.yaml").exists()


def test_a_proposal_shows_its_evidence_and_what_would_change(learn: Run, said: Any) -> None:
    name = said()
    [row] = data(learn("review", "--json"))
    assert (row["id"], row["kinds"]) == (name, {"corrected": 3})
    assert row["now"]["intent"] != "PLAN"
    assert (row["then"]["intent"], row["then"]["action"]) == ("PLAN", "route")
    shown = learn("review").out
    assert "corrected 3 times" in shown
    assert "kds learn accept ID" in shown


def test_accepting_changes_the_routing_and_undoing_puts_it_back(
    kds_call: Run, said: Any, brain: Path
) -> None:
    name = said()
    assert kds_call("learn", "accept", name).out == (
        f"learned: '{DASHBOARD}' as PLAN; kds learn undo {name} takes it back\n"
    )
    assert data(kds_call("route", DASHBOARD, "--json", "--no-log"))["intent"] == "PLAN"
    assert data(kds_call("learn", "status", "--json"))["learned"] == 1
    assert data(kds_call("learn", "undo", "--last", "--json"))["undone"][0]["id"] == name
    assert not (brain / "learned.yaml").exists()
    assert data(kds_call("route", DASHBOARD, "--json", "--no-log"))["intent"] != "PLAN"


def test_what_waits_cannot_be_accepted(learn: Run, said: Any) -> None:
    refused(learn("accept", said(2)), "was said 2 times at confidence 0.67; it takes 3 and 0.70")


def test_what_is_rejected_is_gone_from_the_review(learn: Run, said: Any) -> None:
    name = said()
    assert "rejected" in learn("reject", name).out
    assert data(learn("review", "--json")) == []
    [row] = data(learn("list", "--json"))["candidates"]
    assert row["state"] == "rejected"


def test_what_was_learned_by_itself_is_reported(learn: Run, said: Any) -> None:
    said(5)
    name = data(learn("correct", DASHBOARD, "PLAN", "--json"))["id"]
    status = learn("status").out
    assert "1, 1 of them by itself" in status
    assert f"{name} '{DASHBOARD}' as PLAN" in status
    assert "itself" in learn("list").out


def test_a_review_in_a_terminal_asks_one_by_one(
    learn: Run,
    said: Any,
    brain: Path,
    typed: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [said(), said(4, "is the pipeline happy", "VALIDATE")]
    typed("a\nr\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    result = learn("review")
    assert result.code == 0, result.err
    assert "learned" in result.out
    assert "rejected" in result.out
    listed = data(learn("list", "--json"))
    states = {one["id"]: one["state"] for one in listed["candidates"]}
    assert sorted(states[name] for name in names) == ["learned", "rejected"]


def test_a_damaged_line_is_told_and_the_rest_counts(learn: Run, said: Any, brain: Path) -> None:
    said()
    with (brain / "learning.jsonl").open("a") as file:
        file.write("not json\n")
    result = learn("list")
    assert DASHBOARD in result.out


def test_learning_off_is_said_and_noted_by_nobody(
    learn: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_LEARNING", "off")
    assert "off" in learn("status").out
    assert learn("correct", DASHBOARD, "PLAN").code == BAD_INPUT


def test_teaching_counts_at_once_and_says_how_to_take_it_back(kds_call: Run, brain: Path) -> None:
    told = data(kds_call("learn", "teach", DASHBOARD, "plan", "--json"))
    assert (told["state"], told["new"], told["redacted"]) == ("learned", True, False)
    assert told["undo"] == f"kds learn undo {told['id']}"
    assert DASHBOARD in Path(told["file"]).read_text()
    assert data(kds_call("route", DASHBOARD, "--json", "--no-log"))["intent"] == "PLAN"
    again = kds_call("learn", "teach", DASHBOARD, "PLAN").out
    assert again.startswith("learned before: ")
    assert told["undo"] in again
    assert data(kds_call("learn", "list", "--json"))["examples"][0]["text"] == DASHBOARD
    assert kds_call(*told["undo"].split()[1:]).code == 0
    assert not (brain / "learned.yaml").exists()


@pytest.mark.parametrize(
    ("message", "intent", "told"),
    [
        (DASHBOARD, "PLN", "did you mean PLAN?"),
        ("", "PLAN", "the message is empty"),
        ("commit the changes and push them", "PLAN", "clearly for COMMIT"),
    ],
)
def test_what_cannot_be_taught_says_why(
    learn: Run, message: str, intent: str, told: str, brain: Path
) -> None:
    refused(learn("teach", message, intent), told)
    assert not (brain / "learned.yaml").exists()


def test_a_correction_is_answered_with_what_was_noted(kds_call: Run, brain: Path) -> None:
    before = data(kds_call("route", DASHBOARD, "--json"))
    assert before["noted"] is None
    told = data(kds_call("route", "I meant plan it, not do it", "--json"))
    assert told["noted"].startswith(f"'{DASHBOARD}' as PLAN, said once so far")
    assert told["noted"] in told["why"]
    assert told["intent"] == "CORRECT"
    again = kds_call("route", "no, I meant test it").out
    assert f"noted      '{DASHBOARD}' as TEST" in again
    assert EventLog(PrivateText(brain / "learning.jsonl")).load().events[-1].intent == "TEST"


def test_a_correction_is_acknowledged_by_ask_and_chat_too(
    kds_call: Run, typed: Callable[[str], None]
) -> None:
    kds_call("ask", DASHBOARD)
    assert f"noted: '{DASHBOARD}' as PLAN" in kds_call("ask", "I meant plan it").err
    whole = kds_call("ask", "I meant test it", "--no-stream")
    assert f"noted: '{DASHBOARD}' as TEST" in whole.err
    assert "noted" not in whole.out
    typed("no, I meant plan it\n")
    chat = kds_call("chat")
    assert f"noted      '{DASHBOARD}' as PLAN" in chat.out
    assert "noted: " not in chat.err


@pytest.mark.parametrize("environment", [{"KDS_LEARNING": "off"}, {}])
def test_nothing_is_said_to_be_noted_where_nothing_is(
    environment: dict[str, str], kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    kds_call("route", DASHBOARD)
    options = [] if environment else ["--no-log"]
    assert data(kds_call("route", "I meant plan it", "--json", *options))["noted"] is None


def test_what_a_description_means_is_taught_listed_and_taken_back(learn: Run, brain: Path) -> None:
    told = learn("teach-reference", "the button", "The FAB button")
    one = "learned: 'the button' means 'FAB button'; kds learn undo "
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(one)
    again = data(learn("teach-reference", "the button", "FAB button", "--json"))
    assert (again["new"], again["antecedent"]) == (False, "FAB button")
    listed = data(learn("list", "--json"))
    assert [row["text"] for row in listed["references"]] == ["the button"]
    assert listed["candidates"] == []
    assert "FAB button" in learn("list").out
    assert "1 more say what a description means" in learn("status").out
    assert data(learn("status", "--json"))["references"] == 1
    undone = data(learn("undo", "--last", "--json"))["undone"]
    assert [row["id"] for row in undone] == [again["id"]]
    assert not (brain / "learned.yaml").exists()


def test_a_pronoun_is_not_taught(learn: Run) -> None:
    refused(learn("teach-reference", "it", "FAB button"), "'it' does not describe a thing")
