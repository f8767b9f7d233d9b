"""Memories, passages and documents on a server: all that every store of them does, and more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.documents.store import DocumentStore
from kds.brain.documents.values import DocumentRecall
from kds.brain.memory.memory_store import Archive, PostgresStore
from kds.brain.memory.sessions import Session
from kds.brain.passages.values import Message
from kds.brain.store.tenancy import _Translating

from ...conformance import HandClock, StoreConformance
from ...document_conformance import DocumentConformance
from ...document_recall_conformance import RecallConformance
from ...document_texts import putting, stock
from ...passage_conformance import DocumentShelf, MessageShelf, PassageConformance, Shelf

OpenDocuments = Callable[..., PostgresDocuments]

QUESTIONS = (
    "What is the Payment Date?", "Who is the Landlord?", "Section 4.03", "what does clause 6.2 say",
    "Are webhook attempts longer than retries?", "weekends", "What is an idempotency key?",
    "what is the maximum weight", "the of and", "X-Parcel-Key", "deposit or rent", "30 days",
    "Where are the premises?", "What happens to undeliverable parcels?", "retry after a 429",
)  # fmt: skip


class TestPostgresStore(StoreConformance):
    """The whole suite, for the server."""


def test_an_import_takes_some_statements_for_many_messages(
    store: PostgresStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("execute", "executemany"):
        whole = getattr(_Translating, name)

        def counted(self: object, query: str, *rest: object, whole: Any = whole) -> Any:
            asked.append(query)
            return whole(self, query, *rest)

        monkeypatch.setattr(_Translating, name, counted)
    session = Session(id="long", created_at=clock.now, updated_at=clock.now)
    said = [Message("", "long", seq, "user", f"walrus {seq}", clock.now, 0) for seq in range(400)]
    store.restore(Archive(session, tuple(said)))
    assert len(asked) < 30
    assert store.session("long").message_count == 400
    assert store.document_frequencies(["walrus"]) == {"walrus": 400}
    assert store.check().sound


class TestMessages(PassageConformance):
    """The whole suite, for messages on a server."""

    @pytest.fixture
    def shelf(self, store: PostgresStore) -> Shelf:
        return MessageShelf(store)


class TestDocuments(PassageConformance):
    """The whole suite, for documents on a server."""

    @pytest.fixture
    def shelf(self, open_documents: OpenDocuments, clock: HandClock) -> Shelf:
        return DocumentShelf(open_documents(), clock)


class TestPostgresDocuments(DocumentConformance, RecallConformance):
    """Both suites, for the server."""


@pytest.fixture
def documents(open_documents: OpenDocuments) -> PostgresDocuments:
    return open_documents()


def found(recall: DocumentRecall) -> list[tuple[str, float, tuple[str, ...]]]:
    return [(hit.passage.text, round(hit.score, 6), hit.why) for hit in recall.hits]


def test_both_engines_give_the_same_answers(documents: PostgresDocuments, tmp_path: Path) -> None:
    with DocumentStore(tmp_path / "documents.db") as file:
        for store in (file, documents):
            stock(store)
        assert documents.measure() == file.measure()
        for question in QUESTIONS:
            assert found(documents.search(question)) == found(file.search(question)), question
            near = [store.search(question, document="guide.md") for store in (documents, file)]
            assert found(near[0]) == found(near[1]), question
            only = [store.search(question, scope="lease.txt") for store in (documents, file)]
            assert found(only[0]) == found(only[1]), question


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
