import numpy as np
import pytest

from kds.router.intents import features
from kds.router.intents.features import WORD_PLACES, readable, vectors


def test_without_an_encoder_the_words_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vectors(["run the tests"])
    monkeypatch.setattr(features.shared_encoder(), "available", False)
    alone = vectors(["run the tests"])
    assert np.array_equal(alone[:, :WORD_PLACES], whole[:, :WORD_PLACES])
    assert not alone[:, WORD_PLACES:].any()


def test_code_blocks_are_left_out_unless_they_are_all_there_is() -> None:
    assert "secret" not in readable("fix this ```secret()``` now")
    assert readable("```only()```") == "```only()```"
