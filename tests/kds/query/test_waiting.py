"""A model of embeddings that fails is left alone for a while."""

import threading
from collections.abc import Callable

import pytest

from kds.api.embeddings import EmbeddingsError
from kds.brain.timeouts import Deadline
from kds.query.models import REST_S, PatientEmbedder

from ...effort import PATIENCE_S


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
