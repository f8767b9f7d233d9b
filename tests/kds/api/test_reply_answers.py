"""Answers to the assistant's reply: what is written out, and that nothing of the reply is kept."""

from pathlib import Path

import pytest

from kds.api.routing import Router
from kds.brain.clock import utc_now
from kds.brain.turn import Turn, Utterance

REPLY = """\
The seed script makes duplicates. Two ways:

1. Use upsert in `seed.ts`
2. Truncate the table first

Shall I replace create with upsert?"""


@pytest.fixture
def router(fitted_workspace: Path) -> Router:
    return Router.open(fitted_workspace, log=False).rehearse(utc_now)


def _answered(router: Router, message: str) -> Turn:
    router.route("the tags are there twice")
    history = (Utterance("the tags are there twice"), Utterance(REPLY, "assistant"))
    return router.route(message, history=history)


def test_yes_to_an_offer_is_written_out_and_nothing_of_the_reply_is_kept(router: Router) -> None:
    turn = _answered(router, "yes, do it")
    assert turn.expanded == "yes, replace create with upsert"
    assert [reference.target for reference in turn.references] == [""]
    assert turn.context_ref is None


def test_an_option_is_written_out_and_nothing_of_the_reply_is_kept(router: Router) -> None:
    turn = _answered(router, "2 please")
    assert turn.expanded == "2 (truncate the table) please"
    assert turn.context_ref is None


def test_without_the_reply_an_answer_stands_as_typed(router: Router) -> None:
    router.route("the tags are there twice")
    assert router.route("yes, do it").expanded == "yes, do it"
