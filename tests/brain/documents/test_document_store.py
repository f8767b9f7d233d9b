"""The store in a file: all that every store does, and what is gone is gone to the last byte."""

import stat
from pathlib import Path

import pytest

from kds.brain.documents.store import DocumentStore
from kds.readers.text import read_text

from ..conformance import MARKS, traces
from ..document_conformance import DocumentConformance
from ..document_recall_conformance import RecallConformance
from ..document_texts import LEASE, Put, source_of
from ..sound import sound


class TestDocumentStore(DocumentConformance, RecallConformance):
    """Both suites, for a file."""


def test_the_file_is_private_and_its_documents_outlive_it(store_path: Path) -> None:
    with DocumentStore(store_path) as store:
        document = store.put(read_text(LEASE, "lease"), source_of(LEASE, "/x/lease.txt"))
        assert document.title == "Commercial Lease"
        assert document.sections == len(store.sections(document.id))
    assert stat.S_IMODE(store_path.stat().st_mode) == 0o600
    with DocumentStore(store_path) as again:
        assert again.documents() == (document,)
        assert again.search("What is the Payment Date?").hits


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
    assert sound(store)
