"""The tests inside rule files: run through the steps that rewrite, and explained when they fail."""

from dataclasses import replace

from kds.brain.turn import Turn
from kds.router.rule import RuleTest
from kds.router.step import Step
from kds.rule_tests import describe_outcome, run_rule_tests

PASSED = RuleTest(("Add a button",), "Make it red", ("Make the button red",), False, "a.yaml:3")
FAILED = RuleTest(("Add a button",), "Hello", (), True, "a.yaml:4")


def _expand(turn: Turn) -> Turn:
    expanded = turn.message.replace(" it ", " the button ") if turn.context else turn.message
    return replace(turn, expanded=expanded, notes=("by hand",))


STEPS = [Step("expand", frozenset({"context"}), frozenset({"expanded"}), _expand)]


class _Rule:
    id = "mine"
    tests = (PASSED, FAILED)


def test_every_test_of_every_rule_runs_in_its_context() -> None:
    outcomes = run_rule_tests([_Rule()], STEPS)  # type: ignore[list-item]  # id and tests are used
    assert [outcome.passed for outcome in outcomes] == [True, False]
    assert [entry.user_message for entry in outcomes[0].turn.context] == ["Add a button"]


def test_a_failure_names_its_place_and_shows_both_sides() -> None:
    _, failed = run_rule_tests([_Rule()], STEPS)  # type: ignore[list-item]  # id and tests are used
    text = describe_outcome(failed)
    assert text.startswith("a.yaml:4: mine\n")
    assert "- Hello (unchanged)" in text
    assert "- true\n            + false" in text
    assert "why       by hand" in text
