"""The command line with a service: the same answers, sooner; and `kds service` itself."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kds.brain.workspace import Workspace
from kds.service import background
from kds.service.address import ServiceAddress

Run = Callable[..., Any]

DEGRADED = 1
NOT_RUNNING = 3
DEADLINE_S = 30.0


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
    monkeypatch.setenv("KDS_SERVICE_AUTO", "1")
    assert kds_call("route", "I want to add a FAB button").code == 0
    background.start(place, idle_minutes=5)
    assert background.is_running(place)


def test_nothing_is_started_unasked(place: Workspace, kds_call: Run) -> None:
    kds_call("route", "I want to add a FAB button")
    assert not background.is_running(place)


def test_wrong_settings_are_an_error_with_their_line(place: Workspace, kds_call: Run) -> None:
    place.settings_path.write_text("service:\n  auto: maybe\n")
    result = kds_call("route", "I want to add a FAB button")
    assert result.code == 2
    assert "settings.yaml:2" in result.err


def test_a_service_on_its_way_is_starting_and_not_started_twice(
    place: Workspace, kds_call: Run
) -> None:
    first = json.loads(kds_call("service", "start", "--no-wait", "--json").out)
    again = json.loads(kds_call("service", "start", "--no-wait", "--json").out)
    assert again == first
    early = kds_call("service", "status", "--json")
    assert json.loads(early.out) == {"status": "starting", "pid": first["pid"]}
    assert early.code == NOT_RUNNING
    assert "it answers in some seconds" in kds_call("service", "status").out
    up = json.loads(kds_call("service", "start", "--json").out)
    assert up["pid"] == first["pid"]
    later = json.loads(kds_call("service", "start", "--no-wait", "--json").out)
    assert (later["status"], later["pid"]) == ("ok", first["pid"])


def test_the_status_names_the_address_and_a_failed_reload_once(
    place: Workspace, kds_call: Run
) -> None:
    background.start(place, idle_minutes=5)
    socket = str(ServiceAddress(place.brain).socket_path)
    assert json.loads(kds_call("service", "status", "--json").out)["socket"] == socket
    assert f"address    {socket}" in kds_call("service", "status").out
    place.rules_dir.mkdir()
    (place.rules_dir / "broken.yaml").write_text("rules: [")
    deadline = time.monotonic() + DEADLINE_S
    while kds_call("service", "status").code != DEGRADED:
        assert time.monotonic() < deadline
    assert kds_call("service", "status").out.count("broken.yaml") == 1


def test_another_service_is_told_how_to_take_over(place: Workspace, kds_call: Run) -> None:
    background.start(place, idle_minutes=5)
    refused = kds_call("serve", "--http", "0")
    assert refused.code == NOT_RUNNING
    assert "end it first with `kds service stop`" in refused.err


def test_a_service_that_does_not_answer_is_not_said_to_be_starting(
    place: Workspace, kds_call: Run
) -> None:
    pid = background.start(place, idle_minutes=5)["pid"]
    ServiceAddress(place.brain).socket_path.unlink()
    told = kds_call("service", "status")
    assert told.code == NOT_RUNNING
    assert told.out.startswith(f"the service is not answering, pid {pid}; end it with")
