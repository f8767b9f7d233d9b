"""One service for all workspaces of a user: opened when named, let go when unused, kept apart."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.api.conversations import Conversations
from kds.brain.turn import Turn
from kds.hooks.call import WORKSPACE_HEADER

from ...effort import PATIENCE_S
from .conftest import NO_SOCKETS, Running, meanwhile, problem, running_for_user, socket_client

pytestmark = pytest.mark.skipif(NO_SOCKETS, reason="no unix sockets here")

FAB = {"message": "I want to add a FAB button"}
PURPLE = {"message": "Make it purple"}


@pytest.fixture
def shared() -> Iterator[Running]:
    """A service that keeps no workspace open, as one in the background."""
    with running_for_user() as service:
        yield service


def roots(client: httpx.Client) -> list[str]:
    return [one["root"] for one in client.get("/healthz").json()["workspaces"]]


def let_go(service: Running) -> None:
    """Have the service let go of what nobody uses."""
    loop = service.service._loop
    assert loop is not None
    going = asyncio.run_coroutine_threadsafe(service.service._workspaces.let_go(0.0), loop)
    going.result(PATIENCE_S)


def test_a_workspace_is_opened_when_it_is_named(shared: Running, folder: Path) -> None:
    with socket_client(folder) as client:
        assert roots(client) == []
        assert client.post("/route", json=FAB).json()["intent"] == "PLAN"
        assert roots(client) == [str(folder)]
        same = {WORKSPACE_HEADER: f"{folder}/x/.."}
        (folder / "x").mkdir()
        assert client.post("/open", headers=same).json()["workspaces"][0]["turns"] == 1


@pytest.mark.parametrize("root", ["nowhere", "/nowhere/at/all", "%00", "../..", None])
def test_what_is_not_a_folder_is_not_found(shared: Running, folder: Path, root: str | None) -> None:
    with socket_client(folder) as client:
        del client.headers[WORKSPACE_HEADER]
        reply = client.post("/route", json=FAB, headers={WORKSPACE_HEADER: root} if root else {})
        assert client.get("/healthz").status_code == 200
    missing = (400, "the request names no workspace")
    assert problem(reply) == ((404, "no such folder") if root else missing)


@pytest.mark.parametrize("busy", ["open", "route"])
def test_one_that_is_busy_does_not_hold_up_another(
    shared: Running, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: str
) -> None:
    slow, gate = tmp_path / "slow", threading.Event()
    shutil.copytree(folder, slow)
    entered = threading.Event()
    route, open_ = Conversations.route, Conversations.open

    def wait() -> None:
        entered.set()
        assert gate.wait(PATIENCE_S)

    def slow_route(self: Conversations, message: str, **how: Any) -> Turn:
        if busy == "route" and self.workspace.root == slow:
            wait()
        return route(self, message, **how)

    def slow_open(workspace: Any, **how: Any) -> Conversations:
        if busy == "open" and workspace.root == slow:
            wait()
        return open_(workspace, **how)

    monkeypatch.setattr(Conversations, "route", slow_route)
    monkeypatch.setattr(Conversations, "open", slow_open)
    with (
        socket_client(slow) as waiting,
        socket_client(folder) as client,
        meanwhile(lambda: waiting.post("/route", json=FAB)) as replies,
    ):
        assert entered.wait(PATIENCE_S)
        assert client.post("/route", json=FAB).json()["intent"] == "PLAN"
        assert replies == []
        gate.set()
    assert replies[0].json()["intent"] == "PLAN"


def test_one_that_nobody_uses_is_let_go_and_comes_back_as_it_was(
    shared: Running, folder: Path
) -> None:
    with socket_client(folder) as client:
        client.post("/route", json=FAB).raise_for_status()
        let_go(shared)
        assert roots(client) == []
        assert client.post("/route", json=PURPLE).json()["expanded"] == "Make the FAB button purple"
