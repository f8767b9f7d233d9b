"""Documents on a server: all that every store does, and what only a server can do wrong."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from conformance import HandClock
from document_conformance import DocumentConformance
from document_recall_conformance import RecallConformance
from document_texts import GUIDE, LEASE, putting, source_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.document_values import DocumentRecall
from kds.brain.documents.documents import Documents
from kds.brain.errors import StoreError
from kds.brain.postgres import upgrade as upgrading
from kds.brain.postgres.postgres_documents import PostgresDocuments
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.steps import STEPS
from kds.brain.postgres.team import Team
from kds.brain.postgres.tenancy import tenant_number
from kds.brain.postgres.upgrade import require, upgrade
from kds.readers.markdown import read_markdown
from kds.readers.plain import read_plain

OpenDocuments = Callable[..., PostgresDocuments]

QUESTIONS = (
    "What is the Payment Date?", "Who is the Landlord?", "Section 4.03", "what does clause 6.2 say",
    "Are webhook attempts longer than retries?", "weekends", "What is an idempotency key?",
    "what is the maximum weight", "the of and", "X-Parcel-Key", "deposit or rent", "30 days",
    "Where are the premises?", "What happens to undeliverable parcels?", "retry after a 429",
)  # fmt: skip

TABLES = """SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'kds_documents' AND relkind = 'r'"""


class TestPostgresDocuments(DocumentConformance, RecallConformance):
    """Both suites, for the server."""


@pytest.fixture
def documents(open_documents: OpenDocuments) -> PostgresDocuments:
    return open_documents()


def fill(store: Documents) -> None:
    store.put(read_plain(LEASE, "lease"), source_of(LEASE, "/shelf/lease.txt"))
    store.put(read_markdown(GUIDE, "guide"), source_of(GUIDE, "/shelf/guide.md"))


def found(recall: DocumentRecall) -> list[tuple[str, float, tuple[str, ...]]]:
    return [(hit.passage.text, round(hit.score, 6), hit.why) for hit in recall.hits]


def test_both_engines_give_the_same_answers(documents: PostgresDocuments, tmp_path: Path) -> None:
    with DocumentStore(tmp_path / "documents.db") as file:
        for store in (file, documents):
            fill(store)
        assert documents.measure() == file.measure()
        for question in QUESTIONS:
            assert found(documents.search(question)) == found(file.search(question)), question
            near = [store.search(question, document="guide.md") for store in (documents, file)]
            assert found(near[0]) == found(near[1]), question
            only = [store.search(question, scope="lease.txt") for store in (documents, file)]
            assert found(only[0]) == found(only[1]), question


@settings(
    max_examples=25,
    # The rows of the examples before are what the next ones must not trip over.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "bob"]),
            st.sampled_from(["put", "put", "remove", "search", "embed"]),
            st.integers(0, 2),
        ),
        max_size=12,
    )
)
def test_nobody_finds_what_is_anothers(
    open_documents: OpenDocuments, steps: list[tuple[str, str, int]]
) -> None:
    stores = {name: open_documents(name) for name in ("ann", "bob")}
    for name, act, number in steps:
        store, path = stores[name], f"/x/{number}.txt"
        if act == "put":
            text = f'"Fee" means what {name} pays. Fee {number} is said in Section 1.01.'
            putting(store)(path, ("Section 1.01 Fees", [text]))
        elif act == "remove" and store.find(path) is not None:
            store.remove([path])
        elif act == "embed":
            store.use_model("m")
            jobs = store.pending_embeddings(9)
            store.store_embeddings("m", {job.chunk_id: [1.0, 0.5] for job in jobs})
    for name, store in stores.items():
        mine = [one.chunk_id for hit in store.search("Fee").hits for one in [hit.passage]]
        dense = [hit.chunk_id for hit in store.search_dense([1.0, 0.0], model="m", limit=9)]
        for passage in (*store.passages(mine), *store.passages(dense)):
            assert f"what {name} pays" in passage.text
        count = len(store.documents())
        assert store.document_frequencies(["fee"]) == {"fee": count}
        assert store.measure()[0] == len(mine) == count
        assert len(dense) == sum(model.vectors for model in store.models())
        assert store.check().sound


def test_every_table_is_kept_apart_and_goes_with_its_person(
    shared_server: Server, clock: HandClock
) -> None:
    organisation = uuid4().hex
    number = tenant_number(shared_server, (organisation, "ann", "shop"))
    with PostgresDocuments(shared_server, number, clock=clock) as store:
        fill(store)
        store.use_model("m")
        [job] = store.pending_embeddings(1)
        store.store_embeddings("m", {job.chunk_id: [1.0, 0.0]})
        with store.database.write() as connection:
            connection.execute("INSERT INTO common_word VALUES (DEFAULT, gen_random_uuid(), 9)")
    other = tenant_number(shared_server, (organisation, "bob", "shop"))
    bob = PostgresDocuments(shared_server, other, clock=clock)
    with shared_server.transaction("BEGIN") as admin:
        tables = sorted(row[0] for row in admin.execute(TABLES.encode()))
        assert len(tables) == 8

        def rows(table: str) -> int:
            query = f"SELECT count(*) FROM kds_documents.{table} WHERE tenant = %s"
            row = admin.execute(query.encode(), (number,)).fetchone()
            return int(row[0]) if row else 0

        assert all(rows(table) for table in tables)
    with bob.database.read() as connection:
        for table in (*tables, "session", "chunk_text"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    bob.close()
    assert Team(shared_server, actor="eve").remove(organisation, "ann") == 1
    with shared_server.transaction("BEGIN") as admin:
        assert [table for table in tables if rows(table)] == []


def test_a_check_tells_what_is_wrong_and_an_index_can_be_made_anew(
    documents: PostgresDocuments,
) -> None:
    putting(documents)("/x/a.txt", ("One", ["The fee is four pounds."]))
    with documents.database.write() as connection:
        connection.execute("UPDATE chunk SET words = CAST('' AS tsvector), size = 0")
    assert documents.search("fee").hits == ()
    assert documents.check().problems == (
        "passages are not in the index: 1",
        "documents count their words wrong: 1",
    )
    assert documents.rebuild().sound
    assert documents.search("fee").hits
    with documents.database.write() as connection:
        connection.execute("UPDATE document SET chunk_count = 9")
        connection.execute("UPDATE chunk SET length = 9000")
    problems = documents.rebuild().problems
    assert "documents count their passages wrong: 1" in problems
    assert "passages reach beyond their section: 1" in problems


def test_what_is_indexed_at_once_is_what_would_be_indexed_anew(
    documents: PostgresDocuments,
) -> None:
    fill(documents)
    query = (
        "SELECT chunk.id, CAST(words AS text), chunk.size, word_count FROM chunk, document "
        "ORDER BY chunk.id, num"
    )
    with documents.database.read() as connection:
        before = connection.execute(query).fetchall()
    assert documents.rebuild().sound
    with documents.database.read() as connection:
        assert connection.execute(query).fetchall() == before


def test_who_adds_documents_keeps_nobody_from_talking(
    server: Server, store: PostgresStore, clock: HandClock
) -> None:
    session = store.create_session()
    documents = PostgresDocuments(server, store.database.tenant, clock=clock)
    with documents.database.write() as connection:
        connection.execute("SELECT 1")
        assert store.append(session.id, "user", "hello").seq == 1
    documents.close()


def test_tables_of_the_version_before_are_brought_up_to_date(
    empty: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(empty)
    monkeypatch.setattr(upgrading, "STEPS", STEPS[:1])
    assert upgrade(server) == (0, 1)
    monkeypatch.undo()
    number = tenant_number(server, ("acme", "ann", "shop"))
    memory = PostgresStore(server, number, clock=clock)
    for text in ("the walrus is here", "a walrus, a walrus", "nothing"):
        memory.append(memory.create_session().id, "user", text)
    weights = (1.0, 1.0, 0.4, 1.0)
    before = memory.search_words(["walrus"], limit=9, weights=weights)
    with pytest.raises(StoreError, match="older"):
        require(server)
    with (
        PostgresDocuments(server, number, clock=clock) as early,
        pytest.raises(StoreError) as caught,
    ):
        early.documents()
    assert "kds db upgrade" in caught.value.hint
    assert upgrade(server) == (1, len(STEPS))
    assert upgrade(server) == (len(STEPS), len(STEPS))
    require(server)
    assert memory.search_words(["walrus"], limit=9, weights=weights) == before
    assert len(before) == 2
    with PostgresDocuments(server, number, clock=clock) as documents:
        fill(documents)
        assert documents.search("What is the Payment Date?").hits
        assert documents.check().sound
    assert memory.check().sound
    memory.close()
    server.close()
