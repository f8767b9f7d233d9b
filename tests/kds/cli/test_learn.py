"""`kds learn`: teaching, looking, taking back."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ..conftest import BAD_INPUT, Run, data, refused

DASHBOARD = "give the dashboard some love"


@pytest.fixture
def brain(fitted_workspace: Path) -> Path:
    return fitted_workspace / "kds-brain"


@pytest.fixture
def learn(kds_call: Run) -> Run:
    return partial(kds_call, "learn")


def test_learning_off_is_said_and_a_damaged_line_leaves_the_rest(
    kds_call: Run, brain: Path, learn: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kds_call("learn", "teach", DASHBOARD, "PLAN")
    with (brain / "learning.jsonl").open("a") as file:
        file.write("not json\n")
    result = kds_call("learn", "list")
    assert DASHBOARD in result.out
    assert "learning.jsonl:2: invalid JSON" in result.err
    monkeypatch.setenv("KDS_LEARNING", "off")
    assert "off" in learn("list").out
    assert learn("teach", DASHBOARD, "PLAN").code == BAD_INPUT


def test_what_was_taught_before_is_replaced_by_force_alone(kds_call: Run, learn: Run) -> None:
    first = learn("teach", "ship it", "COMMIT")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("learned: 'ship it' as COMMIT; kds learn undo ")
    assert data(kds_call("route", "ship it", "--json", "--no-log"))["intent"] == "COMMIT"
    refused(learn("teach", "Ship it!", "PLAN"), "you taught 'Ship it!' as COMMIT", "--force")
    told = data(learn("teach", "Ship it!", "PLAN", "--force", "--json"))
    assert (told["intent"], told["instead_of"], told["new"]) == ("PLAN", "COMMIT", True)
    assert [row["intent"] for row in data(learn("list", "--json"))["examples"]] == ["PLAN"]


def test_a_correction_is_acknowledged_by_ask_and_chat_too(
    kds_call: Run, typed: Callable[[str], None]
) -> None:
    kds_call("ask", DASHBOARD)
    assert f"noted: '{DASHBOARD}' as PLAN" in kds_call("ask", "I meant plan it").err
    whole = kds_call("ask", "I meant test it")
    assert f"noted: '{DASHBOARD}' as TEST" in whole.err
    assert "noted" not in whole.out
    typed("no, I meant plan it\n")
    chat = kds_call("chat")
    assert f"noted      '{DASHBOARD}' as PLAN" in chat.out
    assert "noted: " not in chat.err


def test_what_a_description_means_is_taught_listed_and_taken_back(learn: Run, brain: Path) -> None:
    told = learn("teach", "the button", "--means", "The FAB button")
    one = "learned: 'the button' means 'FAB button'; kds learn undo "
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(one)
    again = data(learn("teach", "the button", "--means", "FAB button", "--json"))
    assert (again["new"], again["antecedent"]) == (False, "FAB button")
    listed = data(learn("list", "--json"))
    assert [row["text"] for row in listed["references"]] == ["the button"]
    assert listed["corrections"] == []
    assert "FAB button" in learn("list").out
    undone = data(learn("undo", "--last", "--json"))["undone"]
    assert [row["id"] for row in undone] == [again["id"]]
    assert not (brain / "learned.yaml").exists()
