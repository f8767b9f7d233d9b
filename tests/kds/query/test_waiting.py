"""Waiting for models: bounded, in threads of their own, let go at the end; a model of embeddings is
left alone after a failure."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from kds.api.embeddings import EmbeddingsError
from kds.brain.timeouts import Deadline
from kds.query.models import REST_S, EmbedderSlot, PatientEmbedder, Speakers, WaitError

from ...effort import PATIENCE_S


def test_a_call_runs_elsewhere_and_its_error_is_its_own() -> None:
    async def main() -> None:
        speakers = Speakers()
        name = await speakers.run(lambda: threading.current_thread().name, timeout_s=PATIENCE_S)
        assert name == "kds-answer"
        with pytest.raises(KeyError):
            await speakers.run(lambda: {}["missing"], timeout_s=PATIENCE_S)

    asyncio.run(main())


def test_only_so_many_are_waited_for_at_once_and_the_place_counts_as_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kds.query.models.GRACE_S", 0.0)
    gate = threading.Event()

    async def main() -> None:
        speakers = Speakers(limit=1)
        first = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        with pytest.raises(WaitError):
            await speakers.run(lambda: True, timeout_s=0.05)
        gate.set()
        assert await first is True
        assert await speakers.run(lambda: "free", timeout_s=PATIENCE_S) == "free"

    asyncio.run(main())


def test_at_the_end_everybody_is_let_go() -> None:
    gate = threading.Event()

    async def main() -> None:
        speakers = Speakers()
        waiting = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        speakers.stop()
        with pytest.raises(WaitError, match="stopping"):
            await waiting
        with pytest.raises(WaitError, match="stopping"):
            await speakers.run(lambda: True, timeout_s=PATIENCE_S)

    asyncio.run(main())
    gate.set()


class Model:
    """Returns one number, or does what it is told."""

    name = "tests"

    def __init__(self, does: Callable[[], object] = lambda: None) -> None:
        self.does = does
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked += 1
        self.does()
        return [1.0]


def test_a_model_that_hangs_costs_a_question_its_limit_once() -> None:
    gate, now = threading.Event(), 0.0
    model = Model(gate.wait)
    rest = Deadline(0.0, clock=lambda: now)
    patient = PatientEmbedder(model.name, model, limit_s=0.05, rest=rest)
    with pytest.raises(TimeoutError):
        patient.embed_query("x")
    with pytest.raises(EmbeddingsError, match="tried again in 30 s"):
        patient.embed_query("x")
    gate.set()
    now = REST_S + 1
    patient = PatientEmbedder(model.name, model, limit_s=PATIENCE_S, rest=rest)
    assert patient.embed_query("x") == [1.0]
    assert model.asked == 2


def test_the_slot_is_empty_until_somebody_has_loaded_the_model() -> None:
    slot = EmbedderSlot(lambda: "tests.fake:Nothing")
    assert slot.ready is None
    with pytest.raises(EmbeddingsError):
        slot.load()
    assert EmbedderSlot(lambda: None).load() is None
