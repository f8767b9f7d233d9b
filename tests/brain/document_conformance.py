"""What every store of documents must do, whatever keeps it.

An implementation's tests subclass `DocumentConformance` (and `RecallConformance`, beside) and
provide the fixture `open_documents`, which opens the same documents each time.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from string import ascii_lowercase

import pytest

from kds.brain.documents import store as stores
from kds.brain.documents.store import Documents
from kds.brain.errors import StoreError

from .document_texts import LEASE, Put, putting, stock
from .sound import sound

OpenDocuments = Callable[[], Documents]


class Stocked:
    """Documents to test with."""

    @pytest.fixture
    def store(self, open_documents: OpenDocuments) -> Documents:
        return open_documents()

    @pytest.fixture
    def put(self, store: Documents) -> Put:
        return putting(store)

    @pytest.fixture
    def library(self, store: Documents) -> Documents:
        """The store with the lease and the guide."""
        stock(store)
        return store


class DocumentConformance(Stocked):
    """Putting in, finding by name, taking out."""

    def test_sections_and_passages_stand_where_their_lines_say(self, library: Documents) -> None:
        lines = LEASE.splitlines()
        repairs = next(one for one in library.sections("lease.txt") if one.number == "4.02")
        assert repairs.path == ("ARTICLE IV THE PREMISES", "Section 4.02 Repairs")
        assert (repairs.title, repairs.level) == ("Repairs", 2)
        assert repairs.text.startswith("The Tenant keeps the inside in good repair.")
        assert "4.02" in lines[(repairs.first_line or 0) - 1]
        passage = library.search("What is the Payment Date?").hits[0].passage
        first, last = passage.first_line or 0, passage.last_line or 0
        assert " ".join(lines[first - 1 : last]) == passage.text

    def test_a_document_is_replaced_by_what_its_file_says_now_or_not_at_all(
        self, store: Documents, put: Put, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def texts() -> list[str]:
            return [hit.passage.text for hit in store.search("fee").hits]

        def fail(*_: object) -> None:
            raise StoreError("the disk went away")

        first = put("/x/a.txt", ("One", ["The fee is four pounds."]))
        with monkeypatch.context() as patch:
            patch.setattr(stores, "_insert_passages", fail)
            with pytest.raises(StoreError, match="went away"):
                put("/x/a.txt", ("Two", ["The fee is five pounds."]))
        assert texts() == ["The fee is four pounds."]
        second = put("/x/a.txt", ("Two", ["The fee is five pounds."]))
        assert (store.documents(), second.id) == ((second,), first.id)
        assert texts() == ["The fee is five pounds."]
        assert sound(store)

    def test_secrets_are_marked_before_anything_is_stored(self, store: Documents, put: Put) -> None:
        put("/x/a.txt", ("Access", ["Log in with password: hunter2 at the desk."]))
        [hit] = store.search("password desk").hits
        assert "hunter2" not in hit.passage.text
        assert "[secret: password]" in hit.passage.text

    def test_a_document_is_found_by_any_of_its_names(self, store: Documents, put: Put) -> None:
        one = put("/shelf/staff-handbook.txt", ("One", ["a b c"]), title="Wren Staff Handbook")
        other = put("/shelf/guide.txt", ("One", ["a b c"]), title="Guide")
        for name in (
            *(one.id, one.id[:6], one.path, "staff-handbook.txt", "STAFF-HANDBOOK", "handbook"),
            *("shelf/staff-handbook.txt", "Wren Staff Handbook", "wren staff"),
        ):
            assert store.find(name) == one, name
        assert store.document("guide") == other
        assert (store.find(""), store.find("nothing")) == (None, None)

    def test_a_name_of_two_documents_or_none_is_refused(self, store: Documents, put: Put) -> None:
        put("/a/guide.txt", ("One", ["a"]))
        put("/b/guide.txt", ("One", ["b"]))
        with pytest.raises(StoreError, match="2 documents are named"):
            store.document("guide.txt")
        assert store.document("/a/guide.txt").path == "/a/guide.txt"
        with pytest.raises(StoreError, match=r"no document 'b\.txt'"):
            store.remove(["/a/guide.txt", "b.txt"])
        assert len(store.documents()) == 2

    def test_vectors_come_and_go_with_the_document(self, store: Documents, put: Put) -> None:
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

    def test_several_add_and_search_at_once(self, open_documents: OpenDocuments) -> None:
        stores = [open_documents(), open_documents()]

        def add(number: int) -> None:
            put = putting(stores[number % 2])
            put(f"/x/{number}.txt", ("Part", [f"The fee of number{number} is due."]))

        def ask(number: int) -> int:
            return len(stores[number % 2].search(f"fee number{number}", limit=20).hits)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(12)))
            assert list(pool.map(ask, range(12))) == [12] * 12
        stores[0].remove(["3.txt"])
        assert len(stores[1].search("fee", limit=20).hits) == 11
        assert sound(stores[1])

    def test_what_is_removed_is_found_no_more(self, store: Documents, put: Put) -> None:
        kept = put("/x/kept.txt", ("1.01 Fees", ['"Fee" means a pound.']))
        put("/x/doomed.txt", ("1.02 Fees", ['"Doom" means an end to fees.']))
        assert [one.path for one in store.remove(["doomed.txt"])] == ["/x/doomed.txt"]
        store.tidy()
        assert store.documents() == (kept,)
        holds = store.holdings()
        assert (holds.documents, holds.sections, holds.size_bytes > 0) == (1, 1, True)
        for question in ("Doom", "What is doom?", "Section 1.02", "fees"):
            found = store.search(question).hits
            assert {hit.passage.document for hit in found} <= {kept.id}, question
        assert store.measure()[0] == store.holdings().chunks == 1
        assert sound(store)

    def test_a_file_is_not_read_again_by_the_same_reader(self, store: Documents, put: Put) -> None:
        put("/x/a.txt", ("One", ["a"]))
        assert store.current_paths() == {"/x/a.txt": True}

    def test_an_index_that_is_made_anew_finds_the_same(self, library: Documents) -> None:
        questions = ("What is the Payment Date?", "Section 4.03", "retries", "deposit and rent")
        before = [library.search(question).hits for question in questions]
        assert library.rebuild().sound
        assert [library.search(question).hits for question in questions] == before

    def test_terms_and_numbers_without_end_do_no_harm(self, store: Documents, put: Put) -> None:
        letters = Random(1)
        term = " ".join("".join(letters.choices(ascii_lowercase, k=700)) for _ in range(6))
        number = ".".join(map(str, range(1, 1500)))
        put("/x/a.txt", (f"{number} Fees", [f'"{term}" means a fee.', f"**{term}**: {term}"]))
        put("/x/b.txt", (term, [term]))
        assert store.search("fee").hits
        assert sound(store)
