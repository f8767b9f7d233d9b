"""The store: documents come in whole, are replaced whole, and go to the last byte."""

import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from document_texts import LEASE, content_of, source_of

from kds.brain.documents import document_table as table
from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.document_values import Document
from kds.brain.errors import StoreError
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.readers.plain import read_plain

Put = Callable[..., Document]
MARKS = ("quokkaquokka", "zyzzyvazyzzyva")


def traces(folder: Path) -> list[str]:
    """Return the files that still hold one of the words."""
    return [
        path.name for path in folder.iterdir()
        if any(mark[2:].encode() in path.read_bytes().lower() for mark in MARKS)
    ]  # fmt: skip


def test_the_file_is_private_and_its_documents_outlive_it(store_path: Path) -> None:
    with DocumentStore(store_path) as store:
        document = store.put(read_plain(LEASE, "lease"), source_of(LEASE, "/x/lease.txt"))
        assert document.title == "Commercial Lease"
        assert document.sections == len(store.sections(document.id))
    assert stat.S_IMODE(store_path.stat().st_mode) == 0o600
    with DocumentStore(store_path) as again:
        assert again.documents() == (document,)
        assert again.search("What is the Payment Date?").hits


def test_sections_keep_their_text_numbers_and_trail(store: DocumentStore) -> None:
    store.put(read_plain(LEASE, "lease"), source_of(LEASE, "/x/lease.txt"))
    sections = {section.number: section for section in store.sections("lease.txt")}
    repairs = sections["4.02"]
    assert repairs.path == ("ARTICLE IV THE PREMISES", "Section 4.02 Repairs")
    assert repairs.title == "Repairs"
    assert repairs.level == 2
    assert repairs.text.startswith("The Tenant keeps the inside in good repair.")
    lines = LEASE.splitlines()
    assert repairs.first_line is not None
    assert "4.02" in lines[repairs.first_line - 1]


def test_a_passage_is_where_its_lines_say(store: DocumentStore) -> None:
    store.put(read_plain(LEASE, "lease"), source_of(LEASE, "/x/lease.txt"))
    passage = store.search("What is the Payment Date?").hits[0].passage
    assert passage.first_line is not None
    assert passage.last_line is not None
    said = " ".join(LEASE.splitlines()[passage.first_line - 1 : passage.last_line])
    assert said == passage.text


def test_a_document_is_replaced_by_what_its_file_says_now(store: DocumentStore, put: Put) -> None:
    first = put("/x/a.txt", ("One", ["The fee is four pounds."]))
    second = put("/x/a.txt", ("Two", ["The fee is five pounds."]))
    assert second.id == first.id
    assert store.documents() == (second,)
    found = store.search("fee").hits
    assert [hit.passage.text for hit in found] == ["The fee is five pounds."]
    assert store.check().sound


def test_what_was_replaced_is_there_until_the_new_is(
    store: DocumentStore, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("/x/a.txt", ("One", ["The fee is four pounds."]))

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("the disk went away")

    monkeypatch.setattr(table, "_insert_sections", fail)
    with pytest.raises(StoreError):
        put("/x/a.txt", ("Two", ["The fee is five pounds."]))
    monkeypatch.undo()
    assert [hit.passage.text for hit in store.search("fee").hits] == ["The fee is four pounds."]
    assert store.check().sound


@pytest.mark.parametrize("how", ["remove", "replace"])
def test_what_is_gone_leaves_no_bytes(
    store: DocumentStore, store_path: Path, put: Put, how: str
) -> None:
    for number in range(4):
        words = " ".join(f"word{number}x{at}" for at in range(300))
        put(f"/x/{number}.txt", ("Part", [words]))
    put("/x/doomed.txt", (f"1.01 {MARKS[0]}", [f'"{MARKS[1]} {MARKS[0]}" means {MARKS[1]}.']))
    assert traces(store_path.parent)
    if how == "remove":
        assert [one.path for one in store.remove(["doomed.txt"])] == ["/x/doomed.txt"]
    else:
        put("/x/doomed.txt", ("1.01 Other", ["Nothing of it."]))
        store.tidy()
    assert traces(store_path.parent) == []
    assert store.search(MARKS[0]).hits == ()
    assert store.check().sound


def test_secrets_are_marked_before_anything_is_stored(store: DocumentStore, put: Put) -> None:
    put("/x/a.txt", ("Access", ["Log in with password: hunter2 at the desk."]))
    [hit] = store.search("password desk").hits
    assert "hunter2" not in hit.passage.text
    assert "[secret: password]" in hit.passage.text
    assert b"hunter2" not in store.path.read_bytes()


def test_a_document_is_found_by_any_of_its_names(store: DocumentStore, put: Put) -> None:
    one = put("/shelf/staff-handbook.txt", ("One", ["a b c"]), title="Wren Staff Handbook")
    other = put("/shelf/guide.txt", ("One", ["a b c"]), title="Guide")
    for name in (
        one.id,
        one.id[:6],
        one.path,
        "staff-handbook.txt",
        "STAFF-HANDBOOK",
        "shelf/staff-handbook.txt",
        "Wren Staff Handbook",
        "wren staff",
        "handbook",
    ):
        assert store.find(name) == one, name
    assert store.document("guide") == other
    assert store.find("") is None
    assert store.find("nothing") is None


def test_a_name_of_two_documents_is_refused(store: DocumentStore, put: Put) -> None:
    put("/a/guide.txt", ("One", ["a"]))
    put("/b/guide.txt", ("One", ["b"]))
    with pytest.raises(StoreError, match="2 documents are named"):
        store.document("guide.txt")
    assert store.document("/a/guide.txt").path == "/a/guide.txt"


def test_what_is_not_there_cannot_be_removed(store: DocumentStore, put: Put) -> None:
    put("/x/a.txt", ("One", ["a"]))
    with pytest.raises(StoreError, match=r"no document 'b\.txt'"):
        store.remove(["a.txt", "b.txt"])
    assert len(store.documents()) == 1


def test_a_damaged_file_is_set_aside_and_never_overwritten(store_path: Path) -> None:
    store_path.write_bytes(b"this is no database" * 1000)
    with DocumentStore(store_path) as store:
        assert "the document store was damaged" in store.warnings[0]
        assert store.documents() == ()
    [kept] = store_path.parent.glob("documents.db.bad-*")
    assert kept.read_bytes().startswith(b"this is no database")


def test_the_conversation_memory_is_not_taken_for_documents(store_path: Path) -> None:
    SqliteStore(store_path).close()
    before = store_path.read_bytes()
    with pytest.raises(StoreError, match="belongs to another program"):
        DocumentStore(store_path)
    assert store_path.read_bytes() == before


def test_a_newer_file_is_refused_and_stays_as_it_is(store_path: Path) -> None:
    DocumentStore(store_path).close()
    with closing(sqlite3.connect(store_path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="the document store was written by a newer KDS"):
        DocumentStore(store_path)


def test_a_damaged_index_is_made_anew_on_the_spot(store: DocumentStore, put: Put) -> None:
    put("/x/a.txt", ("One", ["The fee is four pounds."]))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("DELETE FROM chunk_fts_data")
    assert store.search("fee pounds").hits
    assert "the search index was damaged and has been made anew" in store.warnings
    assert store.check().sound


def test_a_check_tells_what_is_wrong(store: DocumentStore, put: Put) -> None:
    put("/x/a.txt", ("One", ["The fee is four pounds."]))
    assert store.check().sound
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE document SET chunk_count = 9")
        connection.execute("UPDATE chunk SET length = 9000")
    problems = store.check().problems
    assert "documents count their passages wrong: 1" in problems
    assert "passages reach beyond their section: 1" in problems
    assert not store.rebuild().sound


def test_holdings_count_what_there_is(store: DocumentStore, put: Put) -> None:
    put("/x/a.txt", ("One", ["a b c"]), ("Two", ["d e f"]))
    holds = store.holdings()
    assert (holds.documents, holds.sections, holds.chunks) == (1, 2, 2)
    assert holds.size_bytes > 0


def test_vectors_are_queued_with_the_document_and_go_with_it(
    store: DocumentStore, put: Put
) -> None:
    store.use_model("m")
    put("/x/a.txt", ("One", ["a b c"]), ("Two", ["d e f"]))
    jobs = store.pending_embeddings(10)
    assert [job.text for job in jobs] == ["a > One\na b c", "a > Two\nd e f"]
    store.store_embeddings("m", {job.chunk_id: [1.0, float(at)] for at, job in enumerate(jobs)})
    [model] = store.models()
    assert (model.state, model.vectors, model.waiting) == ("serving", 2, 0)
    put("/x/a.txt", ("One", ["x y z"]))
    [model] = store.models()
    assert (model.vectors, model.waiting) == (0, 1)
    store.fail_embeddings([job.chunk_id for job in store.pending_embeddings(9)], "down")
    assert store.retry_embeddings() == 1


def test_threads_add_and_search_at_once(store: DocumentStore, put: Put) -> None:
    def add(number: int) -> None:
        put(f"/x/{number}.txt", ("Part", [f"The fee of number{number} is due."]))

    def ask(number: int) -> int:
        return len(store.search(f"fee number{number}", limit=20).hits)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
        found = list(pool.map(ask, range(12)))
    assert found == [12] * 12
    assert store.check().sound


def test_two_stores_of_one_file_see_each_other(store: DocumentStore, put: Put) -> None:
    with DocumentStore(store.path) as other:
        put("/x/a.txt", ("One", ["The fee is due."]))
        assert other.search("fee").hits
        other.remove(["a.txt"])
    assert store.search("fee").hits == ()


def test_a_document_without_headings_is_one_section(store: DocumentStore) -> None:
    content = content_of("Note", ("", ["Just a note.", "And another."]))
    document = store.put(content, source_of("x", "/x/note.txt"))
    [section] = store.sections(document.id)
    assert section.path == ()
    assert store.search("another note").hits[0].citation == "Note"
