"""Memories, passages and documents on a server: all that every store of them does, and more."""

from collections.abc import Callable
from typing import Any

import pytest

from kds.brain.documents.postgres_documents import PostgresDocuments
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.passages.recall import recall
from kds.brain.store.postgres import Server

from ....postgres import driver
from ...conformance import HandClock, StoreConformance
from ...document_conformance import DocumentConformance
from ...document_recall_conformance import RecallConformance
from ...document_texts import putting
from ...passage_conformance import DocumentShelf, MessageShelf, PassageConformance, Shelf

OpenStore = Callable[..., PostgresStore]
OpenDocuments = Callable[..., PostgresDocuments]


class TestPostgresStore(StoreConformance):
    """The whole suite, for the server."""


def test_a_recall_is_one_transaction(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(store.create_session(session_id="s").id, "user", "the walrus")
    begun: list[str] = []
    begin = Server._begun

    def counted(self: Server, what: str, *rest: Any) -> Any:
        begun.append(what)
        return begin(self, what, *rest)

    monkeypatch.setattr(Server, "_begun", counted)
    for scope in ("s", None):
        assert recall(store, "walrus", session=scope).hits
    assert len(begun) == 2


PASSAGES = 30_000


@pytest.fixture
def large(store: PostgresStore, open_store: OpenStore, url: str) -> PostgresStore:
    """A memory in which half of PASSAGES say "ship", one of fifteen "walrus", 42 "oyster", and
    behind it a larger one of somebody else."""
    words = " || ".join(
        f"CASE n % {each} WHEN 0 THEN '{word}:1B ' ELSE '' END"
        for word, each in {"ship": 2, "walru": 15, "oyster": 700}.items()
    )
    with driver().connect(url, autocommit=True) as admin:
        for one, passages in ((store, PASSAGES), (open_store("bob"), 3 * PASSAGES)):
            tenant = one.database.tenant
            session = one.create_session()
            message = one.append(session.id, "user", "Of ships and walruses")
            admin.execute(
                "INSERT INTO kds.chunk(id, tenant, message_num, kind, header, start, length, "
                f"idents, tokens, words) SELECT ({session.num}::bigint << 24) + n, {tenant}, num, "
                f"'prose', '', 0, 1, '', 1, "
                f"({words} || quote_literal('tenant:{tenant}'))::tsvector "
                f"FROM generate_series(2, {passages}) AS n, kds.message WHERE id = '{message.id}'"
            )
        admin.execute("ANALYZE kds.chunk")
    return store


def test_a_large_memory_that_was_just_emptied_finds_nothing(large: PostgresStore) -> None:
    """The statistics still count what was deleted."""
    [session] = large.sessions()
    large.delete_session(session.id)
    assert large.document_frequencies(["ship", "walrus"]) == {"ship": 0, "walrus": 0}


def test_common_words_are_estimated_and_new_passages_come_first(large: PostgresStore) -> None:
    counts = large.document_frequencies(["ship", "walrus", "oyster", "whale"])
    assert counts["ship"] == pytest.approx(PASSAGES / 2, rel=0.2)
    assert counts["walrus"] == pytest.approx(PASSAGES / 15, rel=0.5)
    assert (counts["oyster"], counts["whale"]) == (42, 0)
    ship, oyster = large.occurrences([["ship"], ["oyster"]], limit=3)
    assert [one & 0xFFFFFF for one in ship] == [30_000, 29_998, 29_996]
    assert [one & 0xFFFFFF for one in oyster] == [29_400, 28_700, 28_000]


def test_a_search_does_not_read_all_that_others_have(large: PostgresStore, url: str) -> None:
    with driver().connect(url) as admin:
        admin.execute(f"SET kds.tenant = '{large.database.tenant}'")
        admin.execute("SELECT kds.newest('walru', 1000), kds.frequencies('{ship,walru,oyster}')")
        (read,) = admin.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
            "WHERE relid = 'kds.chunk'::regclass"
        ).fetchone()
    assert read < PASSAGES


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


def test_a_check_tells_what_is_wrong_and_an_index_is_remade(documents: PostgresDocuments) -> None:
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
