"""The tests inside rule files: run through the steps that rewrite, and explained when they fail."""

from dataclasses import replace

from kds.api.rehearsal import describe_outcome, run_rule_tests
from kds.brain.turn import Reference, Turn
from kds.router.pipeline import Step
from kds.router.references.rule import Rule, RuleTest, Signal

PASSED = RuleTest(("Add a button",), "Make it red", ("Make the button red",), False, "a.yaml:3")
FAILED = RuleTest(("Add a button",), "Hello", (), True, "a.yaml:4")


def _expand(turn: Turn) -> Turn:
    expanded = turn.message.replace(" it ", " the button ") if turn.context else turn.message
    references = (Reference("it", 5, 7, "button", "mine", 1.0),) if turn.context else ()
    return replace(turn, expanded=expanded, references=references, notes=("by hand",))


STEPS = [Step("expand", frozenset({"context"}), frozenset({"expanded"}), _expand)]


def _rule(rule: str, *tests: RuleTest, focus: bool = False) -> Rule:
    return Rule(rule, 1, Signal("focus" if focus else "pronoun"), tests=tests)


def _without(rule: str) -> list[Step]:
    """What is left is not a rule at all."""
    return []


def _nothing_lost(rule: str) -> list[Step]:
    """Other rules do the same."""
    return STEPS


def test_a_failure_names_its_place_and_shows_both_sides() -> None:
    _, failed = run_rule_tests([_rule("mine", PASSED, FAILED)], STEPS, _without)
    text = describe_outcome(failed)
    assert text.startswith("a.yaml:4: mine\n")
    assert "- Hello (unchanged)" in text
    assert "- true\n            + false" in text
    assert "why       by hand" in text


def test_a_test_that_passes_through_another_rule_fails_and_says_so() -> None:
    (outcome,) = run_rule_tests([_rule("other", PASSED)], STEPS, _without)
    assert outcome.as_expected
    assert not outcome.passed
    text = describe_outcome(outcome)
    assert "rule      - other\n            + mine" in text
    assert "passes by another rule" in text


def test_a_rule_that_moves_the_focus_is_at_work_when_nothing_comes_out_without_it() -> None:
    rule = _rule("focus", PASSED, focus=True)
    assert run_rule_tests([rule], STEPS, _without)[0].passed
    assert not run_rule_tests([rule], STEPS, _nothing_lost)[0].passed
