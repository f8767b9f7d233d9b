"""The command line with a service: the same answers, sooner; and `kds service` itself."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kds.brain.workspace import Workspace
from kds.service import background

Run = Callable[..., Any]

NOT_RUNNING = 3


@pytest.fixture
def place(fitted_workspace: Path) -> Iterator[Workspace]:
    found = Workspace.find(fitted_workspace)
    yield found
    background.stop(found, force=True)


def _without_times(text: str) -> Any:
    data = json.loads(text)
    return {key: value for key, value in data.items() if key != "why"}


def test_a_service_is_used_when_it_runs_and_the_answer_is_the_same(
    place: Workspace, kds_call: Run
) -> None:
    assert kds_call("service", "status").code == NOT_RUNNING
    alone = kds_call("route", "I want to add a FAB button", "--no-log", "--json")
    assert json.loads(kds_call("service", "start", "--json").out)["status"] == "ok"
    served = kds_call("route", "I want to add a FAB button", "--json")
    assert _without_times(served.out) == _without_times(alone.out)
    assert "FAB button" in kds_call("route", "Make it purple", "--why").out
    health = json.loads(kds_call("service", "status", "--json").out)
    assert health["turns"] == 2
    assert "2 turns" in kds_call("service", "status").out
    assert kds_call("explain", "Make it round", "--json").code == 0
    assert len(json.loads(kds_call("context", "load", "--json").out)["entries"]) == 2
    assert kds_call("service", "stop").out == "stopped\n"


def test_errors_of_the_service_look_like_errors_of_the_command(
    place: Workspace, kds_call: Run
) -> None:
    wrong = "#file:KDS/prompts/internal/conversation-context-manager.md fly"
    alone = kds_call("route", wrong)
    background.start(place, idle_minutes=5)
    served = kds_call("route", wrong)
    assert (served.code, served.err) == (alone.code, alone.err)
    assert served.code != 0


def test_the_service_is_left_alone_when_it_is_switched_off(
    place: Workspace, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.start(place, idle_minutes=5)
    monkeypatch.setenv("KDS_SERVICE", "0")
    assert kds_call("route", "I want to add a FAB button").code == 0
    health = background.health(place)
    assert health is not None
    assert health["turns"] == 0


def test_one_is_started_for_the_next_call_where_that_is_allowed(
    place: Workspace, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_SERVICE_AUTOSTART", "1")
    assert kds_call("route", "I want to add a FAB button").code == 0
    background.start(place, idle_minutes=5)
    assert background.is_running(place)


def test_nothing_is_started_unasked(place: Workspace, kds_call: Run) -> None:
    kds_call("route", "I want to add a FAB button")
    assert not background.is_running(place)


def test_wrong_settings_are_an_error_with_their_line(place: Workspace, kds_call: Run) -> None:
    place.settings_path.write_text("service:\n  autostart: maybe\n")
    result = kds_call("route", "I want to add a FAB button")
    assert result.code == 2
    assert "settings.yaml:2" in result.err
