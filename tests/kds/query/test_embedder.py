"""The embedding model of queries: loaded once, bounded in time, left alone after a failure."""

import threading
from collections.abc import Callable

import pytest

from kds.api.embeddings import EmbeddingsError
from kds.query.search import REST_S, EmbedderSlot, PatientEmbedder

from ...effort import PATIENCE_S


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
    patient = PatientEmbedder(model, limit_s=0.05, clock=lambda: now)
    with pytest.raises(TimeoutError):
        patient.embed_query("x")
    with pytest.raises(EmbeddingsError, match="tried again in 30 s"):
        patient.embed_query("x")
    gate.set()
    now, patient.limit_s = REST_S + 1, PATIENCE_S
    assert patient.embed_query("x") == [1.0]
    assert model.asked == 2


def test_the_slot_is_empty_until_somebody_has_loaded_the_model() -> None:
    slot = EmbedderSlot(lambda: "tests.fake:Nothing")
    assert slot.ready is None
    with pytest.raises(EmbeddingsError):
        slot.load()
    assert EmbedderSlot(lambda: None).load() is None
