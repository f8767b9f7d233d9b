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


@pytest.mark.anyio
async def test_a_call_runs_elsewhere_with_its_own_error_until_everybody_is_let_go() -> None:
    speakers, gate = Speakers(), threading.Event()
    name = await speakers.run(lambda: threading.current_thread().name, timeout_s=PATIENCE_S)
    assert name == "kds-answer"
    with pytest.raises(KeyError):
        await speakers.run(lambda: {}["missing"], timeout_s=PATIENCE_S)
    waiting = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    speakers.stop()
    with pytest.raises(WaitError, match="stopping"):
        await waiting
    with pytest.raises(WaitError, match="stopping"):
        await speakers.run(lambda: True, timeout_s=PATIENCE_S)
    gate.set()


@pytest.mark.anyio
async def test_only_so_many_are_waited_for_at_once_and_the_place_counts_as_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kds.query.models.GRACE_S", 0.0)
    speakers, gate = Speakers(limit=1), threading.Event()
    first = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
    await asyncio.sleep(0)
    with pytest.raises(WaitError):
        await speakers.run(lambda: True, timeout_s=0.05)
    gate.set()
    assert await first is True
    assert await speakers.run(lambda: "free", timeout_s=PATIENCE_S) == "free"


class Model:
    """Returns one number, or does what it is told."""

    name = "tests"

    def __init__(self, does: Callable[[], object]) -> None:
        self.does = does
        self.asked = 0

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
    slot = EmbedderSlot(lambda: "tests.fake:Nothing")
    assert slot.ready is None
    with pytest.raises(EmbeddingsError):
        slot.load()
    assert EmbedderSlot(lambda: None).load() is None
