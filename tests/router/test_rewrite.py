"""The step that has a model rewrite the message."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kds.brain.errors import ConfigError, Problem
from kds.brain.turn import ContextEntry, Turn
from kds.router.expand import make_expand
from kds.router.references.resolver import Resolver
from kds.router.resolve import make_resolve
from kds.router.rewrite import make_rewrite, no_rewriter
from kds.router.rewriting.writer import CheckedRewriter, Mode

from .rewriting.test_writer import GOOD, SCROLLABLE, VIEWS, checked, expanded_turn

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_asking_for_a_model_without_one_is_told(resolver: Resolver) -> None:
    turn = replace(expanded_turn(resolver, VIEWS, SCROLLABLE), rewrite=True)
    assert make_rewrite(resolver, no_rewriter).run(turn).notes[-1] == "no model is set up"


@pytest.mark.parametrize(
    ("mode", "before", "told"),
    [("rules-only", (VIEWS,), "rules-only"), ("rules-first", (), "begins a topic")],
)
def test_asking_for_a_model_in_vain_is_told(
    resolver: Resolver, mode: Mode, before: tuple[str, ...], told: str
) -> None:
    rewriter, scripted = checked(resolver, GOOD, mode=mode)
    turn = replace(expanded_turn(resolver, *before, SCROLLABLE), rewrite=True)
    after = make_rewrite(resolver, lambda: rewriter).run(turn)
    assert told in after.notes[-1]
    assert scripted.asked == []


def test_wrong_settings_cost_the_turn_nothing_and_are_told(resolver: Resolver) -> None:
    def find() -> CheckedRewriter:
        raise ConfigError([Problem("settings.yaml:1", "rewriting.mode is wrong", "fix")])

    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    after = make_rewrite(resolver, find).run(turn)
    assert after.expanded == turn.expanded
    assert after.rewriting is not None
    assert after.rewriting.outcome == "failed"
    assert "rewriting.mode is wrong" in after.notes[-1]


def test_a_message_that_changes_the_topic_is_not_asked_about(resolver: Resolver) -> None:
    rewriter, scripted = checked(resolver, GOOD, mode="model-first")
    entries = (ContextEntry(AT, "Add a map", "PLAN"),)
    turn = Turn("Actually, let's build a login page first", AT, context=entries, rewrite=True)
    turn = make_expand(resolver).run(make_resolve(resolver).run(turn))
    make_rewrite(resolver, lambda: rewriter).run(turn)
    assert scripted.asked == []
