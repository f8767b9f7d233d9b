"""Learning and forgetting while a service runs: it notices both, and brings nothing back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kds.brain.workspace import Workspace
from kds.forget import forget, survey
from kds.learning import Learning, teach

from ..conftest import holding
from .conftest import routed, running

DASHBOARD = "give the dashboard some love"


@pytest.fixture
def place(new_workspace: Callable[[], Path]) -> Workspace:
    return Workspace.find(environ={"KDS_HOME": str(new_workspace())})


def test_a_service_takes_up_with_the_next_message_what_is_taught_and_taken_back(
    place: Workspace,
) -> None:
    with running(place.root) as service, service.client() as client:
        assert routed(client, DASHBOARD, log=False)["intent"] == "EXECUTE"
        assert routed(client, "ship it", log=False)["intent"] == "EXECUTE"
        teach(place, DASHBOARD, "PLAN")
        teach(place, "ship it", "COMMIT")
        for log in (False, True):
            assert routed(client, DASHBOARD, log=log)["intent"] == "PLAN"
            assert routed(client, "please ship it", log=log)["intent"] == "COMMIT"
        Learning(place).undo_last()
        assert routed(client, "ship it", log=False)["intent"] == "EXECUTE"
        assert routed(client, DASHBOARD, log=False)["intent"] == "PLAN"
        (place.brain / "learned.yaml").write_text("examples: 3\n")
        broken = routed(client, DASHBOARD, log=False)
        assert broken["intent"] == "EXECUTE"
        assert any("nothing learned is used" in note for note in broken["warnings"])
        assert client.get("/healthz").json()["workspaces"][0]["reloads"] == 0


def test_a_running_service_brings_nothing_back_of_what_was_forgotten(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    with running(place.root) as service, service.client() as client:
        routed(client, "I want to add a nightingale page")
        routed(client, "Make it purple", conversation="nightingale")
        forget(place)
        assert not survey(place).files
        assert routed(client, "Make it purple")["expanded"] == "Make it purple"
        assert client.get("/context").json()["entries"][0]["user_message"] == "Make it purple"
        assert client.get("/healthz").json()["status"] == "ok"
        assert holding(place.brain, "nightingale") == []
    assert holding(place.brain, "nightingale") == []
