"""What every PassageStore must do, whatever keeps it and whatever its passages are of.

An implementation's tests subclass `PassageConformance` and provide the fixtures `shelf` and
`clock`; the clock is set by hand.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import pytest

from kds.brain.documents.chunking import document_id
from kds.brain.documents.store import Documents
from kds.brain.documents.values import Block, Content, Part, Source, read_heading
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages.passage_file import words_of
from kds.brain.passages.store import PassageStore
from kds.brain.passages.values import EmbeddingJob, Scores

from .conformance import HandClock
from .sound import sound

EVEN: Final = (1.0, 1.0, 0.3, 1.0)


class Shelf(Protocol):
    """A store, and what fills it: a place is a session or a document."""

    store: PassageStore

    def add(self, place: str, *texts: str) -> None:
        """Make a place with a passage of each text; a place is filled once."""
        ...

    def remove(self, place: str) -> None: ...

    def id_of(self, place: str) -> str: ...

    def bodies(self, found: Scores) -> list[str]: ...

    def body(self, job: EmbeddingJob) -> str:
        """Return the passage itself of what a model is given."""
        return job.text.rpartition("\n")[2]

    def by_text(self, text: str, within: str | None = None, *, limit: int = 9) -> Scores:
        place = within if within is None else self.id_of(within)
        return self.store.search_words(words_of(text), place, limit=limit, weights=EVEN)

    def near(self, vector: list[float], within: str | None = None, *, model: str = "m") -> Scores:
        place = within if within is None else self.id_of(within)
        return self.store.search_dense(vector, place, model=model, limit=9)

    def embed(self, vectors: dict[str, list[float]], model: str = "m", *, most: int = 9) -> int:
        """Give what waits the vectors of its texts."""
        jobs = self.store.pending_embeddings(most)
        found = {job.chunk_id: vectors[self.body(job)] for job in jobs}
        return self.store.store_embeddings(model, found)


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

    def bodies(self, found: Scores) -> list[str]:
        return [one.body for one in self.store.passages([*found])]


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

    def bodies(self, found: Scores) -> list[str]:
        return [one.text for one in self.store.passages([*found])]


class PassageConformance:
    """Words, the outbox, models, vectors."""

    def test_passages_are_counted_and_their_words(self, shelf: Shelf) -> None:
        assert shelf.store.measure() == (0, 0.0)
        shelf.add("here", "one", "two")
        assert shelf.store.measure() == (2, 1.0)
        shelf.add("there", "a service there", "the services of others")
        found = shelf.store.document_frequencies(["services", "unheard"])
        assert (found["services"], found["unheard"]) == (2, 0)

    def test_a_search_keeps_to_its_place(self, shelf: Shelf) -> None:
        shelf.add("here", "the walrus is here")
        shelf.add("there", "the walrus is there")
        assert shelf.bodies(shelf.by_text("walrus", "there")) == ["the walrus is there"]
        with pytest.raises(StoreError, match="there is no") as caught:
            shelf.by_text("walrus", "nowhere")
        assert caught.value.hint

    def test_words_are_found_in_every_form_the_best_passage_first(self, shelf: Shelf) -> None:
        shelf.add("here", "deployed", "We deployed the services", *["filler"] * 20)
        found = shelf.by_text("deploying service", limit=5)
        assert shelf.bodies(found)[0] == "We deployed the services"
        assert [*found.values()] == sorted(found.values(), reverse=True)

    def test_nothing_in_a_query_is_an_operator(self, shelf: Shelf) -> None:
        shelf.add("here", "a walrus")
        for query in (
            *("", "   ", '"', "AND", "NEAR(a b)", "a*", "^x", "body:x", "-walrus", "(", "\x00"),
            *("é🎉", "x" * 9999),
        ):
            shelf.by_text(query, limit=5)
            shelf.by_text(query, "here", limit=5)
            shelf.store.search_words([query], limit=5, weights=EVEN)
            shelf.store.document_frequencies([query])

    def test_passages_wait_for_a_model_as_long_as_one_is_wanted(self, shelf: Shelf) -> None:
        shelf.add("here", "one")
        assert (shelf.store.pending_embeddings(9), shelf.store.models()) == ((), ())
        assert shelf.near([1.0]) == {}
        shelf.store.use_model("m")
        shelf.add("there", "two")
        assert shelf.store.models()[0].waiting == 2
        assert [shelf.body(job) for job in shelf.store.pending_embeddings(9)] == ["one", "two"]
        shelf.store.use_model(None)
        shelf.add("elsewhere", "three")
        assert shelf.store.pending_embeddings(9) == ()
        shelf.store.use_model("m")
        assert len(shelf.store.pending_embeddings(9)) == 3

    def test_a_job_is_given_to_one_at_a_time(self, shelf: Shelf, clock: HandClock) -> None:
        shelf.add("here", "one", "two", "three")
        shelf.store.use_model("m")
        assert [len(shelf.store.pending_embeddings(2)) for _ in range(3)] == [2, 1, 0]
        clock.move(hours=1)  # the process that had them is dead
        assert len(shelf.store.pending_embeddings(9)) == 3

    def test_a_failed_job_waits_longer_until_given_up(self, shelf: Shelf, clock: HandClock) -> None:
        shelf.add("here", "one")
        shelf.store.use_model("m")
        pauses = []
        for attempt in range(4):
            (job,) = shelf.store.pending_embeddings(9)
            assert job.attempts == attempt
            shelf.store.fail_embeddings([job.chunk_id], "no route to host, password: hunter2")
            waited = 0
            while not shelf.store.pending_embeddings(9):
                clock.move(seconds=1)
                waited += 1
            pauses.append(waited)
            clock.move(minutes=10)  # the lease of the claim above
        assert pauses == [2, 4, 8, 16]
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
        assert shelf.embed(vectors) == 3
        assert shelf.store.pending_embeddings(9) == ()
        found = shelf.near([1.0, 0.1])
        assert shelf.bodies(found) == ["east", "north-east", "north"]
        assert next(iter(found.values())) == pytest.approx(0.995, abs=0.001)
        assert shelf.bodies(shelf.near([1.0, 0.1], "here")) == ["east", "north"]
        assert shelf.bodies(shelf.near([1.0, 0.1], "there")) == ["north-east"]
        assert shelf.near([1.0, 0.1], model="other") == {}

    def test_vectors_that_are_none_are_refused(self, shelf: Shelf) -> None:
        shelf.add("here", "one", "two")
        shelf.store.use_model("m")
        one, two = (job.chunk_id for job in shelf.store.pending_embeddings(9))
        odd: list[dict[int, list[float]]] = [
            {one: [1.0], two: [1.0, 2.0]}, {one: [float("nan")]}, {one: [float("inf")]}, {one: []}
        ]  # fmt: skip
        for vectors in odd:
            with pytest.raises(StoreError):
                shelf.store.store_embeddings("m", vectors)
        shelf.store.store_embeddings("m", {one: [1.0, 0.0], 99: [0.0, 1.0]})
        with pytest.raises(StoreError, match="2 numbers"):
            shelf.store.store_embeddings("m", {two: [1.0, 0.0, 0.0]})
        with pytest.raises(StoreError, match="2 numbers"):
            shelf.near([1.0])
        with pytest.raises(StoreError, match="wanted"):
            shelf.store.store_embeddings("unknown", {two: [1.0, 0.0]})

    def test_old_vectors_serve_until_the_new_ones_are_whole(self, shelf: Shelf) -> None:
        def models() -> list[tuple[str, str, int]]:
            return [(one.name, one.state, one.vectors) for one in shelf.store.models()]

        shelf.add("here", "one", "two")
        shelf.store.use_model("old")
        shelf.embed({"one": [1.0, 0.0], "two": [1.0, 0.0]}, "old")
        shelf.store.use_model("new")
        longer = {"one": [1.0, 0.0, 0.0], "two": [1.0, 0.0, 0.0]}
        shelf.embed(longer, "new", most=1)
        assert models() == [("old", "serving", 2), ("new", "building", 1)]
        assert len(shelf.near([1.0, 0.0], model="old")) == 2
        shelf.embed(longer, "new")
        assert models() == [("new", "serving", 2)]
        assert shelf.near([1.0, 0.0], model="old") == {}
        assert len(shelf.near([1.0, 0.0, 0.0], model="new")) == 2
        shelf.store.use_model("newer")
        shelf.add("there", "three")
        shelf.store.use_model("new")  # going back takes up what it lacks
        assert [shelf.body(job) for job in shelf.store.pending_embeddings(9)] == ["three"]
        assert [model.name for model in shelf.store.models()] == ["new"]
        shelf.remove("here")
        assert shelf.near([1.0, 0.0, 0.0], model="new") == {}
        assert sound(shelf.store)
