"""What every PassageStore must do, whatever keeps it and whatever its passages are of.

An implementation's tests subclass `PassageConformance` and provide the fixtures `shelf` and
`clock`; the clock is set by hand.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import pytest
from conformance import HandClock

from kds.brain.documents.chunking import document_id
from kds.brain.documents.content import Block, Content, Part, Source, read_heading
from kds.brain.documents.store import Documents
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages.passage_file import words_of
from kds.brain.passages.store import PassageStore
from kds.brain.passages.values import EmbeddingJob, Scored

EVEN: Final = (1.0, 1.0, 0.3, 1.0)


class Shelf(Protocol):
    """A store, and what fills it: a place is a session or a document."""

    store: PassageStore

    def add(self, place: str, *texts: str) -> None:
        """Make a place with a passage of each text; a place is filled once."""
        ...

    def remove(self, place: str) -> None: ...

    def id_of(self, place: str) -> str: ...

    def bodies(self, found: tuple[Scored, ...]) -> list[str]: ...

    def body(self, job: EmbeddingJob) -> str:
        """Return the passage itself of what a model is given."""
        return job.text.rpartition("\n")[2]

    def by_text(
        self, text: str, within: str | None = None, *, limit: int = 9
    ) -> tuple[Scored, ...]:
        place = within if within is None else self.id_of(within)
        return self.store.search_words(words_of(text), place, limit=limit, weights=EVEN)


@dataclass
class MessageShelf(Shelf):
    """The passages of messages: a place is a session."""

    store: MemoryStore

    def add(self, place: str, *texts: str) -> None:
        self.store.create_session(session_id=place)
        for text in texts:
            self.store.append(place, "user", text)

    def remove(self, place: str) -> None:
        self.store.delete_session(place)

    def id_of(self, place: str) -> str:
        return place

    def bodies(self, found: tuple[Scored, ...]) -> list[str]:
        return [one.body for one in self.store.passages([hit.chunk_id for hit in found])]


@dataclass
class DocumentShelf(Shelf):
    """The passages of documents: a place is a document."""

    store: Documents
    clock: HandClock

    def add(self, place: str, *texts: str) -> None:
        parts = tuple(
            Part(read_heading(f"{at} Part", 1), (Block(text),)) for at, text in enumerate(texts)
        )
        source = Source(f"/{place}", 1, self.clock.now, "0" * 64)
        self.store.put(Content(place, "text", parts), source)

    def remove(self, place: str) -> None:
        self.store.remove([place])

    def id_of(self, place: str) -> str:
        return document_id(f"/{place}")

    def bodies(self, found: tuple[Scored, ...]) -> list[str]:
        return [one.text for one in self.store.passages([hit.chunk_id for hit in found])]


class PassageConformance:
    """Words, the outbox, models, vectors."""

    def test_an_empty_store_measures_nothing(self, shelf: Shelf) -> None:
        assert shelf.store.measure() == (0, 0.0)
        shelf.add("here", "one", "two")
        assert shelf.store.measure() == (2, 1.0)

    def test_frequencies_count_passages(self, shelf: Shelf) -> None:
        shelf.add("here", "services here")
        shelf.add("there", "a service there", "the service of others")
        found = shelf.store.document_frequencies(["services", "unheard"])
        assert found["unheard"] == 0
        assert found["services"] >= 3

    def test_a_search_keeps_to_its_place(self, shelf: Shelf) -> None:
        shelf.add("here", "the walrus is here")
        shelf.add("there", "the walrus is there")
        assert shelf.bodies(shelf.by_text("walrus", "there")) == ["the walrus is there"]
        with pytest.raises(StoreError, match="there is no") as caught:
            shelf.by_text("walrus", "nowhere")
        assert caught.value.hint

    def test_words_are_found_in_every_form(self, shelf: Shelf) -> None:
        shelf.add("here", "We deployed the services yesterday", "Nothing of the kind")
        assert shelf.bodies(shelf.by_text("deploying service", limit=1)) == [
            "We deployed the services yesterday"
        ]

    def test_better_hits_come_first(self, shelf: Shelf) -> None:
        shelf.add("here", "purple", "purple walrus", *["filler"] * 20)
        found = shelf.by_text("purple walrus", limit=5)
        assert shelf.bodies(found)[0] == "purple walrus"
        assert [hit.score for hit in found] == sorted((h.score for h in found), reverse=True)

    def test_words_of_one_term_count_each(self, shelf: Shelf) -> None:
        shelf.add("here", "a service", *["filler"] * 9)
        for within in (None, "here"):
            [one] = shelf.by_text("service", within, limit=1)
            [two] = shelf.by_text("service Services", within, limit=1)
            assert two.score == pytest.approx(2 * one.score)

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "   ",
            '"',
            "AND",
            "NEAR(a b)",
            "a*",
            "^x",
            "body:x",
            "-walrus",
            "(",
            "\x00",
            "é🎉",
            "x" * 9999,
        ],
    )
    def test_nothing_in_a_query_is_an_operator(self, shelf: Shelf, query: str) -> None:
        shelf.add("here", "a walrus")
        shelf.by_text(query, limit=5)
        shelf.by_text(query, "here", limit=5)
        shelf.store.search_words([query], limit=5, weights=EVEN)
        shelf.store.document_frequencies([query])

    def test_without_a_model_nothing_waits(self, shelf: Shelf) -> None:
        shelf.add("here", "one")
        assert shelf.store.pending_embeddings(9) == ()
        assert shelf.store.models() == ()
        assert shelf.store.search_dense([1.0], model="m", limit=5) == ()

    def test_old_and_new_chunks_wait_for_a_model(self, shelf: Shelf) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("m")
        shelf.add("there", "two")
        jobs = shelf.store.pending_embeddings(9)
        assert [shelf.body(job) for job in jobs] == ["one", "two"]
        assert shelf.store.models()[0].waiting == 2

    def test_a_job_is_given_to_one_at_a_time(self, shelf: Shelf, clock: HandClock) -> None:
        shelf.add("here", "one", "two", "three")
        shelf.store.use_model("m")
        assert len(shelf.store.pending_embeddings(2)) == 2
        assert len(shelf.store.pending_embeddings(2)) == 1
        assert shelf.store.pending_embeddings(2) == ()
        clock.move(hours=1)  # the process that had them is dead
        assert len(shelf.store.pending_embeddings(9)) == 3

    def test_a_failed_job_comes_back_later_and_later(self, shelf: Shelf, clock: HandClock) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("m")
        pauses = []
        for attempt in range(4):
            (job,) = shelf.store.pending_embeddings(9)
            assert job.attempts == attempt
            shelf.store.fail_embeddings([job.chunk_id], "no route to host, password: hunter2")
            waited = 0
            while not (claimed := shelf.store.pending_embeddings(9)):
                clock.move(seconds=1)
                waited += 1
            pauses.append(waited)
            shelf.store.fail_embeddings([], "")
            clock.move(minutes=10)  # the lease of the claim above
            assert claimed
        assert pauses == [2, 4, 8, 16]

    def test_a_hopeless_job_is_given_up_until_asked_again(
        self, shelf: Shelf, clock: HandClock
    ) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("m")
        while jobs := shelf.store.pending_embeddings(9):
            shelf.store.fail_embeddings([job.chunk_id for job in jobs], "too long")
            clock.move(hours=2)
        assert (shelf.store.models()[0].waiting, shelf.store.models()[0].failed) == (1, 1)
        assert shelf.store.retry_embeddings() == 1
        assert len(shelf.store.pending_embeddings(9)) == 1

    def test_the_nearest_vectors_are_found(self, shelf: Shelf) -> None:
        shelf.add("here", "east", "north")
        shelf.add("there", "north-east")
        shelf.store.use_model("m")
        vectors = {"east": [2.0, 0.0], "north": [0.0, 0.5], "north-east": [3.0, 3.0]}
        jobs = shelf.store.pending_embeddings(9)
        assert (
            shelf.store.store_embeddings("m", {j.chunk_id: vectors[shelf.body(j)] for j in jobs})
            == 3
        )
        assert shelf.store.pending_embeddings(9) == ()
        found = shelf.store.search_dense([1.0, 0.1], model="m", limit=9)
        assert shelf.bodies(found) == ["east", "north-east", "north"]
        assert found[0].score == pytest.approx(0.995, abs=0.001)
        found = shelf.store.search_dense([1.0, 0.1], shelf.id_of("here"), model="m", limit=9)
        assert shelf.bodies(found) == ["east", "north"]
        found = shelf.store.search_dense([1.0, 0.1], shelf.id_of("there"), model="m", limit=9)
        assert shelf.bodies(found) == ["north-east"]
        assert shelf.store.search_dense([1.0, 0.1], model="other", limit=9) == ()

    def test_vectors_that_come_later_are_found_and_deleted_ones_are_not(self, shelf: Shelf) -> None:
        shelf.store.use_model("m")
        for place in ("one", "two"):
            shelf.add(place, place)
            (job,) = shelf.store.pending_embeddings(9)
            shelf.store.store_embeddings("m", {job.chunk_id: [1.0, 0.0]})
            assert place in shelf.bodies(shelf.store.search_dense([1.0, 0.0], model="m", limit=9))
        shelf.remove("one")
        assert shelf.bodies(shelf.store.search_dense([1.0, 0.0], model="m", limit=9)) == ["two"]

    def test_a_vector_can_be_replaced(self, shelf: Shelf) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("m")
        (job,) = shelf.store.pending_embeddings(9)
        shelf.store.store_embeddings("m", {job.chunk_id: [1.0, 0.0]})
        shelf.store.search_dense([1.0, 0.0], model="m", limit=9)
        shelf.store.store_embeddings("m", {job.chunk_id: [0.0, 1.0]})
        (hit,) = shelf.store.search_dense([1.0, 0.0], model="m", limit=9)
        assert hit.score == pytest.approx(0.0, abs=0.001)

    def test_vectors_that_are_none_are_refused(self, shelf: Shelf) -> None:
        shelf.add("here", "one", "two")
        shelf.store.use_model("m")
        one, two = (job.chunk_id for job in shelf.store.pending_embeddings(9))
        for vectors in (
            {one: [1.0], two: [1.0, 2.0]},
            {one: [float("nan")]},
            {one: [float("inf")]},
            {one: []},
        ):
            with pytest.raises(StoreError):
                shelf.store.store_embeddings("m", vectors)
        shelf.store.store_embeddings("m", {one: [1.0, 0.0], 99: [0.0, 1.0]})
        with pytest.raises(StoreError, match="2 numbers"):
            shelf.store.store_embeddings("m", {two: [1.0, 0.0, 0.0]})
        with pytest.raises(StoreError, match="2 numbers"):
            shelf.store.search_dense([1.0], model="m", limit=1)
        with pytest.raises(StoreError, match="wanted"):
            shelf.store.store_embeddings("unknown", {two: [1.0, 0.0]})

    def test_old_vectors_serve_until_the_new_ones_are_whole(self, shelf: Shelf) -> None:
        shelf.add("here", "one", "two")
        shelf.store.use_model("old")
        shelf.store.store_embeddings(
            "old", {job.chunk_id: [1.0, 0.0] for job in shelf.store.pending_embeddings(9)}
        )
        shelf.store.use_model("new")
        first, second = (job.chunk_id for job in shelf.store.pending_embeddings(9))
        shelf.store.store_embeddings("new", {first: [1.0, 0.0, 0.0]})
        assert [(m.name, m.state, m.vectors) for m in shelf.store.models()] == [
            ("old", "serving", 2),
            ("new", "building", 1),
        ]
        assert len(shelf.store.search_dense([1.0, 0.0], model="old", limit=9)) == 2
        shelf.store.store_embeddings("new", {second: [1.0, 0.0, 0.0]})
        assert [(m.name, m.state, m.vectors) for m in shelf.store.models()] == [
            ("new", "serving", 2)
        ]
        assert shelf.store.search_dense([1.0, 0.0], model="old", limit=9) == ()
        assert len(shelf.store.search_dense([1.0, 0.0, 0.0], model="new", limit=9)) == 2
        assert shelf.store.check().sound

    def test_going_back_to_the_old_model_takes_up_what_it_lacks(self, shelf: Shelf) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("old")
        shelf.store.store_embeddings(
            "old", {j.chunk_id: [1.0] for j in shelf.store.pending_embeddings(9)}
        )
        shelf.store.use_model("new")
        shelf.add("there", "two")
        shelf.store.use_model("old")
        assert [shelf.body(job) for job in shelf.store.pending_embeddings(9)] == ["two"]
        assert [model.name for model in shelf.store.models()] == ["old"]

    def test_wanting_no_model_ends_the_queue(self, shelf: Shelf) -> None:
        shelf.store.use_model("m")
        shelf.add("here", "one")
        shelf.store.use_model(None)
        shelf.add("there", "two")
        assert shelf.store.pending_embeddings(9) == ()
        shelf.store.use_model("m")
        assert len(shelf.store.pending_embeddings(9)) == 2
