"""GOVERN, METRICS and AMNESIA are about KDS itself: a message without a plain word of it is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kds import Router, Turn

ABOUT_KDS = frozenset({"GOVERN", "METRICS", "AMNESIA"})


@pytest.fixture
def route(workspace: Path) -> Callable[[str], Turn]:
    return Router.open(workspace, log=False).route


@pytest.mark.parametrize(
    "message",
    [
        "review my changes before I open the PR",
        "forget it",
        "I switched the editor to agent mode",
        "show me the metrics of the payment service",
        "can you show me the error rate of the api this week?",
        "how many requests did the gateway handle today",
        "wipe the cache and reset everything",
        "I changed the firewall rules, please check them",
        "forget everything I said about the navbar",
        "i updated the support agent page, have a look",
    ],
)
def test_what_is_about_the_users_own_work_is_not_about_kds(
    message: str, route: Callable[[str], Turn]
) -> None:
    turn = route(message)
    assert turn.intent not in ABOUT_KDS
    assert not ABOUT_KDS & {*turn.candidates, *turn.secondary_intents}
    assert not ABOUT_KDS & {one.intent for one in turn.alternatives}


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("I edited the planner prompt, please check", "GOVERN"),
        ("review my changes to the kds rules before I open the PR", "GOVERN"),
        ("How accurate is your routing?", "METRICS"),
        ("show me the metrics of kds for this week", "METRICS"),
        ("Forget everything about this app", "AMNESIA"),
        ("wipe your memory of this project", "AMNESIA"),
        ("metrics", "METRICS"),
        ("review my changes before I open the PR", "VALIDATE"),
    ],
)
def test_a_plain_word_about_kds_or_an_example_reaches_its_agent(
    message: str, intent: str, route: Callable[[str], Turn]
) -> None:
    assert route(message).intent == intent
