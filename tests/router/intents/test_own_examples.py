"""Somebody's own examples over a shared model: near to a fit, without one, and nobody else's."""

import numpy as np
import pytest

from kds.router.intents.fitted import open_model
from kds.router.intents.model import IntentModel
from kds.router.prompts.library import PromptLibrary

DASHBOARD = "give the dashboard some love"
TAUGHT = [
    (DASHBOARD, "PLAN"),
    ("is the pipeline happy", "ASK"),
    ("put the billing module through its paces", "TEST"),
]


@pytest.fixture(scope="module")
def shared() -> IntentModel:
    return open_model(PromptLibrary.load().prompts())


@pytest.fixture(scope="module")
def own(shared: IntentModel) -> IntentModel:
    return shared.with_own(TAUGHT)


def test_what_is_taught_stands_above_the_phrases_and_examples_that_ship(
    shared: IntentModel,
) -> None:
    own = shared.with_own([("ship it", "COMMIT"), ("Run the tests!", "PLAN"), ("fix it", "DEBUG")])
    asked = ("ship it", "Ship it!", "please ship it", "SHIP IT", "ok, let's ship it")
    for text, intent in [
        *((said, "COMMIT") for said in (*asked, "can you ship it?")),
        ("run the tests", "PLAN"),
        ("fix it", "DEBUG"),
    ]:
        assert shared.score(text).intent != intent, text
        for verdict in (own.score(text), own.score_example(text)):
            assert verdict is not None
            assert (verdict.intent, verdict.confidence > 0.9) == (intent, True), text


def test_messages_like_it_follow_and_others_do_not(shared: IntentModel, own: IntentModel) -> None:
    assert own.score("can you give the dashboard some love?").intent == "PLAN"
    assert own.score("put the billing module through its paces please").intent == "TEST"
    for message in ("commit and push it", "make the button purple", "why does the build fail"):
        assert own.score(message).intent == shared.score(message).intent


def test_hardly_any_shipped_example_is_read_differently(
    shared: IntentModel, own: IntentModel
) -> None:
    texts = [text for one in PromptLibrary.load().prompts() for text in one.examples][::10]
    turned = [text for text in texts if own.score(text).intent != shared.score(text).intent]
    assert len(texts) > 200
    assert len(turned) <= 2


def test_the_shared_model_stays_as_it_was(shared: IntentModel) -> None:
    before = shared.learned.linear.weights.copy()
    assert shared.score_example(DASHBOARD) is None
    assert shared.with_own(TAUGHT).learned is shared.learned
    assert np.array_equal(shared.learned.linear.weights, before)
    assert shared.score_example(DASHBOARD) is None


def test_what_no_agent_has_is_left_out(shared: IntentModel) -> None:
    for taught in ([("water the plants", "GARDEN")], []):
        own = shared.with_own(taught)
        assert (own.own, own.own_linear) == ({}, None)
