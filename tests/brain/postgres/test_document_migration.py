"""Documents come to the server once and whole, wherever copying them was broken off."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest
from conformance import HandClock
from document_texts import content_of, putting, source_of, stock

from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.documents import Documents
from kds.brain.postgres.migration.compare import Compared
from kds.brain.postgres.migration.migrate import Migrated
from kds.brain.postgres.postgres_documents import PostgresDocuments
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import tenant_number
from kds.brain.workspace import Workspace

from .test_migration import Breaking, BrokenError

Copy = Callable[..., Migrated]
OpenDocuments = Callable[..., PostgresDocuments]

QUESTIONS = ("What is the Payment Date?", "Section 4.03", "retries", "deposit and rent", "429")


@pytest.fixture
def file(folder: Workspace, clock: HandClock) -> Iterator[DocumentStore]:
    """Two documents and an empty one, and a vector of each passage but the last."""
    folder.ensure()
    with DocumentStore(DocumentStore.path_in(folder), clock=clock) as store:
        stock(store)
        store.put(content_of("Empty é🎉"), source_of("", "/shelf/empty.txt"))
        store.use_model("m")
        jobs = store.pending_embeddings(99)
        store.store_embeddings("m", {job.chunk_id: [1.0, job.chunk_id % 7, 0.3] for job in jobs})
        late = content_of("Late", ("One", ["Nobody has made its vector yet."]))
        store.put(late, source_of("late", "/shelf/late.txt"))
        yield store


@pytest.fixture
def on_server(server: Server, clock: HandClock) -> Iterator[OpenDocuments]:
    opened: list[PostgresDocuments] = []

    def open_it(person: str = "ann") -> PostgresDocuments:
        number = tenant_number(server, ("acme", person, "shop"))
        opened.append(PostgresDocuments(server, number, clock=clock))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


def ways(done: Migrated) -> dict[str, Compared]:
    return {one.what: one for one in done.compared}


def all_of(store: Documents) -> list[object]:
    """All that a store holds, without the numbers that are its engine's own."""
    documents = store.documents()
    models = [(one.name, one.state, one.vectors, one.waiting) for one in store.models()]
    return [
        documents,
        [store.sections(one.id) for one in documents],
        models,
        store.current_paths(),
        [found(store, question) for question in QUESTIONS],
        near(store),
    ]


def found(store: Documents, question: str) -> list[object]:
    hits = store.search(question).hits
    return [(one.passage.text, one.citation, round(one.score, 6), one.why) for one in hits]


def near(store: Documents) -> list[str]:
    """What stands nearest to a vector: several do equally, so they are put in an order here."""
    hits = store.search_dense([1.0, 3.0, 0.3], model="m", limit=20)
    ids = [one.chunk_id for one in hits if one.score > 0.998]
    return sorted(one.text for one in store.passages(ids))


def test_documents_come_over_with_all_that_finds_them(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments
) -> None:
    done = migrate()
    assert (done.documents, done.complete) == (4, True)
    passages = file.holdings().chunks
    counts = {one.what: (one.in_file, one.on_server) for one in done.compared if one.in_file}
    assert counts == {
        "documents": (4, 4), "parts of documents": (passages, passages),
        "vectors of documents": (passages - 1, passages - 1),
    }  # fmt: skip
    store = on_server()
    for mine, theirs in zip(all_of(file), all_of(store), strict=True):
        assert theirs == mine
    assert len(near(store)) > 1
    assert store.check().sound
    again = migrate()
    assert (again.documents, again.compared) == (0, done.compared)


def test_broken_off_anywhere_and_begun_again_no_document_is_lost_or_there_twice(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments
) -> None:
    expected = all_of(file)
    for stops in ((3,), (9, 0), (17, 12), (25, 3, 8), (40,)):
        person = uuid4().hex
        for left in stops:
            with suppress(BrokenError):
                migrate(person, tenancy=Breaking, left=left)
        assert migrate(person).complete
        store = on_server(person)
        assert all_of(store) == expected
        assert store.check().sound


def test_a_document_that_the_server_has_stays_and_is_told_of_unless_it_is_newer(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments, clock: HandClock
) -> None:
    store = on_server()
    clock.now -= timedelta(days=1)
    putting(store)("/shelf/lease.txt", ("One", ["Another lease."]))
    done = migrate()
    assert not done.complete
    assert (done.documents, ways(done)["documents"].differing) == (3, ("/shelf/lease.txt",))
    clock.now += timedelta(days=2)
    putting(store)("/shelf/lease.txt", ("One", ["A newer lease."]))
    again = migrate()
    assert (again.documents, again.complete) == (0, True)
    assert [one.passage.text for one in store.search("newer").hits] == ["A newer lease."]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE section SET text = text || 'x'",
        "UPDATE chunk SET stems = 'x' WHERE id = (SELECT min(id) FROM chunk)",
        "UPDATE term SET strength = 0.25",
        "DELETE FROM term",
        "UPDATE document SET title = 'x'",
        "UPDATE embedding SET vector = '[1,2,3]' "
        "WHERE chunk_id = (SELECT min(chunk_id) FROM embedding)",
        "DELETE FROM section WHERE idx = 2",
    ],
)
def test_what_was_changed_behind_our_back_is_found(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments, change: str
) -> None:
    migrate()
    with on_server().database.write() as connection:
        connection.execute(change)
    assert not migrate().complete


def test_where_the_server_wants_another_model_passages_wait_for_its_vectors(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments
) -> None:
    store = on_server()
    store.use_model("other")
    assert migrate().complete
    (model,) = store.models()
    assert (model.name, model.vectors, model.waiting) == ("other", 0, file.holdings().chunks)


def test_documents_of_one_person_are_nobody_elses(
    migrate: Copy, file: DocumentStore, on_server: OpenDocuments
) -> None:
    migrate("ann")
    assert on_server("bob").documents() == ()
    assert migrate("bob").documents == 4
