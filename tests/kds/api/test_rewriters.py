"""A model that rewrites, from the settings to the turn: found late, asked seldom, measured."""

import threading
from pathlib import Path
from typing import Any

import pytest

from kds.api.conversations import Conversations
from kds.api.routing import Router
from kds.brain.clock import utc_now
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.memory_store import KEPT, TURN
from kds.brain.workspace import Workspace
from kds.testing.metrics import report_metrics

from ...agents.openai_server import Failure, FakeProvider, Slow, Text

VIEWS = "Create a settings view and a help view"
SCROLLABLE = "Make it scrollable"
GOOD = "Make the help view scrollable"


@pytest.fixture
def router(provider: FakeProvider, fitted_workspace: Path) -> Router:
    """A router that has been told of two views, and a model that has not been asked yet."""
    opened = Router.open(fitted_workspace)
    opened.route(VIEWS)
    return opened


def test_the_model_writes_what_the_rules_could_not(provider: FakeProvider, router: Router) -> None:
    provider.play(Text(GOOD))
    turn = router.route(SCROLLABLE)
    assert (turn.expanded, turn.context_ref) == (GOOD, "help view")
    assert any(line.startswith("rewritten by http://127.0.0.1") for line in turn.why)
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    "reply", [Failure(500, "down"), Failure(401, "no"), Text("The help view scrolls."), Text("")]
)
def test_a_model_that_fails_or_lies_costs_only_its_rewrite(
    reply: Any, provider: FakeProvider, router: Router
) -> None:
    provider.play(default=reply)
    turn = router.route(SCROLLABLE)
    assert turn.expanded == SCROLLABLE
    assert [entry.user_message for entry in router.context.load().entries] == [VIEWS, SCROLLABLE]
    assert any("was to rewrite" in line for line in turn.why)


def test_a_model_that_hangs_holds_the_turn_no_longer_than_the_settings_say(
    provider: FakeProvider, router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_REWRITING_TIMEOUT_S", "0.3")
    provider.play(default=Slow())
    before = set(threading.enumerate())
    turn = router.route(SCROLLABLE)
    assert turn.rewriting is not None
    assert turn.rewriting.outcome == "failed"
    left = (thread for thread in threading.enumerate() if thread not in before)
    assert all(thread.daemon for thread in left)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("KDS_REWRITING", "rules-only"), ("KDS_ENABLE_QUERY_REWRITING", "false")],
)
def test_no_model_is_asked_where_the_settings_say_so(
    provider: FakeProvider, router: Router, monkeypatch: pytest.MonkeyPatch, variable: str,
    value: str,
) -> None:  # fmt: skip
    provider.play(default=Text(GOOD))
    monkeypatch.setenv(variable, value)
    assert router.route(SCROLLABLE).expanded == SCROLLABLE
    assert provider.asked == []


def test_it_is_measured_without_a_word_of_what_was_said(
    provider: FakeProvider, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    provider.play(Text(GOOD), Text("Done."))
    conversations = Conversations.open(place)
    for message in (VIEWS, SCROLLABLE, "Archive that spreadsheet"):
        conversations.route(message)
    memory = ConversationMemory.open(place)
    rows = memory.store.metrics.since(utc_now() - KEPT, name=TURN)
    memory.close()
    found = [row.data["rewriting"] for row in rows if "rewriting" in row.data]
    assert [(one["outcome"], one["cached"]) for one in found] == [
        ("used", False),
        ("rejected", False),
    ]
    assert "scrollable" not in str(found)
    report = report_metrics(rows, since=utc_now() - KEPT, until=utc_now(), corrections=())
    rewrites = report.figures["turns"]["rewrites"]
    assert (rewrites["asked"], rewrites["used"]) == (2, 1)
