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

MINE = """\
rules:
  - id: mine.aye
    signal: {kind: agreement, cues: ["^aye aye$"], offers: ["^shall i .*"]}
    tests:
      - {context: [Is it slow?], reply: Shall I go?, in: aye aye, out: "aye aye, Shall I go"}
      - {context: [Is it slow?], in: aye aye, out: unchanged}
"""


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


def test_a_rule_of_ones_own_may_leave_the_groups_out(fitted_workspace: Path) -> None:
    rules = fitted_workspace / "kds-brain" / "rules"
    rules.mkdir(exist_ok=True)
    (rules / "mine.yaml").write_text(MINE)
    router = Router.open(fitted_workspace, log=False).rehearse(utc_now)
    assert _answered(router, "aye aye").expanded == "aye aye, Shall I replace create with upsert"


@pytest.mark.parametrize(
    ("message", "reply", "intent"),
    [
        ("no", "Should I raise the memory limit?", "UNKNOWN"),
        ("nah, leave it", "If you like, I can raise the memory limit.", "UNKNOWN"),
        ("no", "I raised the limit. Does it work now?", "CORRECT"),
        ("ok", "The fix is in. Shall I commit this?", "COMMIT"),
        ("yes but only the tests", "The fix is in. Shall I commit this?", "TEST"),
    ],
)
def test_a_yes_or_no_is_for_what_the_reply_proposes(
    router: Router, message: str, reply: str, intent: str
) -> None:
    router.route("the pod gets killed every hour")
    assert router.route(message, history=[("assistant", reply)]).intent == intent
