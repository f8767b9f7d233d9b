"""The tables are made once, and changed by the steps that are missing."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from kds.brain.errors import StoreError
from kds.brain.store import postgres_schema as upgrading
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import STEPS, VERSION, require, upgrade


def test_the_tables_are_made_once(empty: str) -> None:
    servers = [Server(empty) for _ in range(2)]
    with pytest.raises(StoreError, match="no tables"):
        require(servers[0])
    with ThreadPoolExecutor() as pool:
        done = sorted(pool.map(upgrade, servers))
    assert done == [(0, VERSION), (VERSION, VERSION)]
    require(servers[0])
    for one in servers:
        one.close()


def test_an_upgrade_takes_the_steps_that_are_missing_and_as_long_as_it_takes(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(empty, timeout_s=0.1)
    upgrade(server)
    monkeypatch.setattr(upgrading, "STEPS", {**STEPS, VERSION + 1: ("SELECT pg_sleep(1)",)})
    monkeypatch.setattr(upgrading, "VERSION", VERSION + 1)
    assert upgrade(server) == (VERSION, VERSION + 1)
    server.close()


@pytest.mark.parametrize("steps", [1, VERSION + 1])
def test_tables_of_another_kds_are_left_alone(empty: str, steps: int) -> None:
    server = Server(empty)
    upgrade(server)
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute("UPDATE kds.version SET steps = %s", (steps,))
    with pytest.raises(StoreError, match="another KDS"):
        upgrade(server)
    server.close()
