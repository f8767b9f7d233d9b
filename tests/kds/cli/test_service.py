"""The command line with a service: the same answers, sooner; and `kds service` itself."""

import json
import time
from pathlib import Path

import pytest

from kds.brain.timeouts import Deadline
from kds.brain.workspace import Workspace
from kds.service import lifecycle
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S
from ..conftest import BAD_INPUT, Run, data

REALLY = lifecycle.COMMAND
DEGRADED = 1
NOT_RUNNING = 3


@pytest.fixture
def place(served_place: Workspace) -> Workspace:
    return served_place


def test_a_service_answers_as_the_command_does_and_says_how_it_is(
    place: Workspace, kds_call: Run
) -> None:
    wrong = "#file:KDS/prompts/internal/conversation-context-manager.md fly"
    route = ("route", "I want to add a FAB button", "--json")
    assert kds_call("service", "status").code == NOT_RUNNING
    refusal, alone = kds_call("route", wrong), data(kds_call(*route, "--no-log"))
    assert data(kds_call("service", "start", "--json"))["status"] == "ok"
    served = data(kds_call(*route))
    assert served | {"why": alone["why"]} == alone
    assert kds_call("route", wrong) == refusal
    assert refusal.code == BAD_INPUT
    assert "FAB button" in kds_call("route", "Make it purple", "--why").out
    assert kds_call("route", "--no-log", "Make it round", "--json").code == 0
    assert len(data(kds_call("context", "load", "--json"))["entries"]) == 2
    health, told = data(kds_call("service", "status", "--json")), kds_call("service", "status").out
    assert (health["turns"], "3 turns" in told) == (3, True)
    assert health["socket"] == str(ServiceAddress().socket_path)
    assert f"address    {health['socket']}" in told
    place.rules_dir.mkdir()
    (place.rules_dir / "broken.yaml").write_text("rules: [")
    deadline = time.monotonic() + PATIENCE_S
    while kds_call("service", "status").code != DEGRADED:
        assert time.monotonic() < deadline
    assert kds_call("service", "status").out.count("broken.yaml") == 1
    assert kds_call("service", "stop").out == "stopped\n"


@pytest.mark.usefixtures("place")
def test_the_first_use_starts_one_for_the_next(
    kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_SERVICE_AUTO", "1")
    assert kds_call("route", "I want to add a FAB button").code == 0
    mark = ServiceAddress().starting_path
    assert mark.exists()
    made = mark.stat().st_ino
    kds_call("ask", "Make it purple")
    assert mark.stat().st_ino == made, "within a minute it is not tried again"
    # One that a second start raced with would outlive the test.
    assert Deadline(PATIENCE_S).until(lifecycle.is_running, pause_s=0.1)


def test_a_look_makes_no_workspace_and_starts_nothing_there(
    tmp_path: Path, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setenv("KDS_SERVICE_AUTO", "1")
    monkeypatch.setattr("kds.cli.base.start_service", started.append)
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    assert kds_call("route", "--no-log", "Add a map").code == 0
    assert list(Path.cwd().iterdir()) == []
    assert started == []


def test_a_service_is_starting_while_it_is_on_its_way_and_is_not_started_twice(
    place: Workspace, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lifecycle.claim(ServiceAddress()):
        lifecycle.announce(ServiceAddress(), {"pid": 4711})
        early = kds_call("service", "status", "--json")
        assert json.loads(early.out) == {"status": "starting", "pid": 4711}
        assert early.code == NOT_RUNNING
        assert "it answers in some seconds" in kds_call("service", "status").out
    monkeypatch.setattr(lifecycle, "COMMAND", REALLY)  # a fork has another number
    monkeypatch.setenv("KDS_SERVICE_AUTO", "1")
    starts = [kds_call("service", "start", how) for how in ("--auto", "--json", "--auto", "--json")]
    assert len({data(one)["pid"] for one in starts[1::2]}) == 1
    assert ServiceAddress().log_path.read_text().count("started: ") == 1
