"""The roles that docs/operations.md sets apart: what each may do, tried with its own password."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest

from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import state_of, upgrade
from kds.brain.store.team import Team, person_of
from kds.brain.store.tenancy import Tenancy, tenant_number

from ....postgres import of_database
from ...sound import sound
from .conftest import as_role
from .test_backup import PAGE

LOGINS = ("kds", "kds_web", "kds_admin")
GROUPS = ("kds_member", "kds_service", "kds_tokens", "kds_reader")


@dataclass
class Apart:
    """Connections of each login role to one database."""

    owner: Server
    service: Server
    tokens: Server


@pytest.fixture
def names(postgres: str, template: str) -> Iterator[dict[str, str]]:
    """The login roles and the database as the page makes them, under names of the test's own."""
    mark = uuid4().hex[:12]
    named = {one: f"{one}_{mark}" for one in LOGINS}
    sql = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert all(f"CREATE ROLE {one} " in sql for one in (*GROUPS, *LOGINS))
    for one in GROUPS:  # those are the server's, and there already
        sql = re.sub(rf"CREATE ROLE {one} .*;\n", "", sql)
    sql = re.sub(r"\b(kds_web|kds_admin|kds)\b", lambda found: named[found[1]], sql)
    sql, _, inside = sql.replace("'...'", "'x'").partition(f"\\connect {named['kds']}\n")
    with psycopg.connect(postgres, autocommit=True) as admin:
        for one in filter(str.strip, sql.split(";")):
            admin.execute(one.encode())
        with psycopg.connect(of_database(postgres, named["kds"]), autocommit=True) as there:
            there.execute(inside.encode())
        yield named
        admin.execute(f"DROP DATABASE {named['kds']} WITH (FORCE)".encode())
        for one in named.values():
            admin.execute(f"DROP ROLE {one}".encode())


@pytest.fixture
def apart(postgres: str, names: dict[str, str]) -> Iterator[Apart]:
    place = of_database(postgres, names["kds"])
    servers = [Server(as_role(place, names[one])) for one in LOGINS]
    upgrade(servers[0])
    yield Apart(*servers)
    for one in servers:
        one.close()


def test_each_role_does_its_own_work_and_a_search_uses_the_index(apart: Apart) -> None:
    token = Team(apart.tokens).make_token("acme", "ann")
    person = person_of(apart.service, token)
    assert person is not None
    assert person.name == "ann"
    number = tenant_number(apart.service, ("acme", "ann", "shop"))
    with PostgresStore(Tenancy(apart.service, number)) as store:
        session = store.create_session(title="FAB")
        store.append(session.id, "user", "I want to add a FAB button")
        assert store.search_words(["button"], limit=9, weights=(1,) * 4)
        assert sound(store)
    assert Team(apart.tokens).revoke("acme", "ann") == 1
    assert person_of(apart.service, token) is None
    done = [(one.actor, one.action) for one in Team(apart.tokens).audit("acme")]
    with apart.tokens.transaction("BEGIN") as connection:
        row = connection.execute(b"SELECT session_user").fetchone()
    assert row is not None
    assert done == [(row[0], "token revoked"), (row[0], "token made")]
    assert Team(apart.owner).remove("acme", "ann") == 1
    assert upgrade(apart.service)[0] == upgrade(apart.owner)[0]
    state = state_of(apart.owner)
    assert (list(state.problems), list(state.warnings)) == ([], [])


def test_the_index_on_words_serves_the_functions_that_search(apart: Apart) -> None:
    for schema in ("kds", "kds_documents"):
        for role, serves in (("kds_reader", True), ("kds_member", False)):
            with apart.owner.transaction(f"BEGIN; SET LOCAL ROLE {role}") as connection:
                connection.execute(b"SET LOCAL enable_seqscan = off")
                query = f"EXPLAIN SELECT id FROM {schema}.chunk WHERE words @@ 'x'::tsquery"
                plan = str(connection.execute(query.encode()).fetchall())
            assert ("chunk_words" in plan) is serves, plan
        with apart.owner.transaction("BEGIN") as connection:
            owners = connection.execute(
                f"SELECT DISTINCT proowner::regrole::text FROM pg_proc WHERE "
                f"pronamespace = '{schema}'::regnamespace "
                f"AND proname IN ('ranked', 'frequencies', 'newest')".encode()
            ).fetchall()
        assert owners == [("kds_reader",)]


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("service", "SELECT * FROM kds.token"),
        ("service", "SELECT * FROM kds.audit"),
        ("service", "UPDATE kds.token SET role = 'admin'"),
        ("service", "INSERT INTO kds.token(digest, organisation, person, role) "
                    "VALUES ('x', 'acme', 'eve', 'admin')"),
        ("service", "SELECT * FROM kds.message"),
        ("service", "SET ROLE kds_reader"),
        ("service", "DELETE FROM kds.tenant"),
        ("service", "ALTER TABLE kds.message NO FORCE ROW LEVEL SECURITY"),
        ("service", "DROP POLICY own ON kds.message"),
        ("service", "CREATE TABLE kds.mine(x int)"),
        ("member", "SELECT * FROM kds.tenant"),
        ("member", "ALTER TABLE kds.message DISABLE ROW LEVEL SECURITY"),
        ("member", "DROP POLICY own ON kds.message"),
        ("member", "TRUNCATE kds.message"),
        ("member", "UPDATE kds.version SET steps = 0"),
        ("tokens", "SELECT * FROM kds.message"),
        ("tokens", "SET ROLE kds_member"),
        ("tokens", "SELECT * FROM kds.tenant"),
        ("tokens", "DELETE FROM kds.audit"),
        ("tokens", "UPDATE kds.token SET role = 'admin'"),
        ("tokens", "ALTER TABLE kds.token ADD COLUMN x int"),
    ],
)  # fmt: skip
def test_what_a_role_is_not_for_it_may_not(apart: Apart, role: str, statement: str) -> None:
    server = apart.tokens if role == "tokens" else apart.service
    begin = "BEGIN; SET LOCAL ROLE kds_member" if role == "member" else "BEGIN"
    with pytest.raises(StoreError, match="42501"), server.transaction(begin) as connection:
        connection.execute(statement.encode())


def test_an_audit_entry_names_who_was_authenticated_whatever_is_written(apart: Apart) -> None:
    with ExitStack() as stack:
        for server in (apart.tokens, apart.owner):
            connection = stack.enter_context(server.transaction("BEGIN"))
            row = connection.execute(
                b"INSERT INTO kds.audit(organisation, actor, action, person) "
                b"VALUES ('acme', 'somebody else', 'token made', 'eve') "
                b"RETURNING actor, session_user"
            ).fetchone()
            assert row is not None
            assert row[0] == row[1] != "somebody else"


def test_one_role_works_with_a_warning(postgres: str, role: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"REVOKE kds_reader FROM {role}".encode())
    server = Server(as_role(of_database(postgres, role), role))
    upgrade(server)
    token = Team(server).make_token("acme", "ann")
    assert person_of(server, token) is not None
    number = tenant_number(server, ("acme", "ann", "shop"))
    with PostgresStore(Tenancy(server, number)) as store:
        store.append(store.create_session().id, "user", "one role")
        assert store.search_words(["role"], limit=9, weights=(1,) * 4)
    state = state_of(server)
    server.close()
    assert list(state.problems) == []
    assert any("do not bind the owner" in one for one in state.warnings)
