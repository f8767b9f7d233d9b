"""Memories on a real server; its fixtures are those of tests/postgres.py."""

from collections.abc import Callable, Iterator

import pytest
from conformance import HandClock

from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenants import tenant_number

OpenStore = Callable[..., PostgresStore]


@pytest.fixture
def open_store(server: Server, clock: HandClock) -> Iterator[OpenStore]:
    """Opens the memory of a person; all are closed in the end."""
    opened: list[PostgresStore] = []

    def open_it(person: str = "ann", organisation: str = "acme") -> PostgresStore:
        number = tenant_number(server, (organisation, person, "shop"))
        opened.append(PostgresStore(server, number, clock=clock))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> PostgresStore:
    return open_store()
