"""Learning and forgetting while a service runs: it notices both, and brings nothing back."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.amnesia.forgetting import forget, restore
from kds.brain.clock import utc_now
from kds.brain.learning.event import LearningEvent
from kds.brain.workspace import Workspace
from kds.learning import Learning
from kds.router.prompts.library import PromptLibrary
from kds.service.fingerprint import fingerprint

from .conftest import running, wait_until

DASHBOARD = "give the dashboard some love"

pytestmark = pytest.mark.usefixtures("quick_guard")


@pytest.fixture
def place(new_workspace: Callable[[], Path]) -> Workspace:
    return Workspace.find(environ={"KDS_HOME": str(new_workspace())})


def say(client: httpx.Client, message: str, **options: Any) -> dict[str, Any]:
    reply = client.post("/route", json={"message": message, **options})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def reloads(client: httpx.Client) -> int:
    return int(client.get("/healthz").json()["workspaces"][0]["reload"]["count"])


def test_the_fingerprint_of_a_workspace_knows_what_was_learned(place: Workspace) -> None:
    before = fingerprint(place)
    (place.brain / "learning.jsonl").write_text("")
    assert fingerprint(place) == before
    (place.brain / "learned.yaml").write_text("examples:\n")
    assert fingerprint(place) != before


def test_a_service_learns_what_is_accepted_and_forgets_what_is_undone(place: Workspace) -> None:
    learning = Learning(place)
    start = utc_now() - timedelta(days=2)
    events = [
        LearningEvent(start + timedelta(hours=hour), "told", DASHBOARD, "PLAN") for hour in range(3)
    ]
    learning.events.append(events)
    with running(place.root) as service, service.client() as client:
        before = say(client, DASHBOARD, log=False)["intent"]
        assert before != "PLAN"
        learning.accept([events[0].id], PromptLibrary.load(place.prompts_dir))
        wait_until(lambda: reloads(client) == 1)
        assert say(client, DASHBOARD, log=False)["intent"] == "PLAN"
        learning.undo_last()
        wait_until(lambda: reloads(client) == 2)
        assert say(client, DASHBOARD, log=False)["intent"] == before


def test_a_service_says_what_it_noted_of_a_correction(place: Workspace) -> None:
    with running(place.root) as service, service.client() as client:
        assert say(client, DASHBOARD)["noted"] is None
        assert say(client, "I meant plan it")["noted"].startswith(f"'{DASHBOARD}' as PLAN")


def test_a_running_service_brings_nothing_back_of_what_was_forgotten(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    with running(place.root) as service, service.client() as client:
        say(client, "I want to add a nightingale page")
        say(client, "Make it purple", conversation="nightingale")
        report = forget(place)
        assert report.after.is_empty
        assert report.notes == ()
        assert say(client, "Make it purple")["expanded"] == "Make it purple"
        assert client.get("/context").json()["entries"][0]["user_message"] == "Make it purple"
        assert client.get("/healthz").json()["status"] == "ok"
        assert holding(place, "nightingale") == []
    assert holding(place, "nightingale") == []


def test_a_restore_under_a_running_service_is_seen_by_it(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    with running(place.root) as service, service.client() as client:
        say(client, "I want to add a FAB button")
        forget(place)
        restore(place)
        assert say(client, "Make it purple")["expanded"] == "Make the FAB button purple"


def holding(place: Workspace, word: str) -> list[str]:
    return [
        path.name
        for path in place.brain.rglob("*")
        if path.is_file()
        and path.parent.name != "backups"
        and (word.encode() in path.read_bytes() or word in path.name)
    ]
