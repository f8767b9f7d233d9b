"""Memories and documents on a real server; its fixtures are those of tests/postgres.py."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from kds.brain.documents.postgres_documents import DOCUMENTS, PostgresDocuments
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import Tenancy, tenant_number

from ....postgres import driver, of_database
from ...conformance import HandClock

OpenStore = Callable[..., PostgresStore]
OpenDocuments = Callable[..., PostgresDocuments]


@pytest.fixture
def open_store(server: Server, clock: HandClock) -> Iterator[OpenStore]:
    """Opens the memory of a person; all are closed in the end."""
    opened: list[PostgresStore] = []

    def open_it(person: str = "ann", organisation: str = "acme") -> PostgresStore:
        number = tenant_number(server, (organisation, person, "shop"))
        opened.append(PostgresStore(Tenancy(server, number, clock=clock)))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> PostgresStore:
    return open_store()


@pytest.fixture
def empty(postgres: str) -> Iterator[str]:
    """The address of a database of its own, without tables."""
    name = f"kds_{uuid4().hex[:12]}"
    with driver().connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield of_database(postgres, name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def open_documents(shared_server: Server, clock: HandClock) -> Iterator[OpenDocuments]:
    """Opens the documents of a person whom no other test knows; all are closed in the end."""
    opened: list[PostgresDocuments] = []
    organisation = uuid4().hex

    def open_it(person: str = "ann") -> PostgresDocuments:
        number = tenant_number(shared_server, (organisation, person, "shop"))
        opened.append(
            PostgresDocuments(Tenancy(shared_server, number, clock=clock, area=DOCUMENTS))
        )
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def role(postgres: str, template: str) -> Iterator[str]:
    """A login role as the page makes it, and a database of its name; `template`: kds_member."""
    name = f"kds_{uuid4().hex[:12]}"
    with driver().connect(postgres, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        admin.execute(f"GRANT kds_member, kds_reader TO {name} WITH INHERIT FALSE, SET TRUE")
        admin.execute(f"CREATE DATABASE {name} OWNER {name}")
        with driver().connect(of_database(postgres, name), autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector")
        yield name
        for database in (name, f"{name}_restored"):
            admin.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
        admin.execute(f"DROP ROLE {name}")


def as_role(url: str, role: str) -> str:
    """The same address, for another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}:x@{place}").geturl()
