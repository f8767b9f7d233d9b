"""Rehearsals: a context in memory that keeps what the file would keep, and the tests of rules."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from kds.api.rehearsal import MinuteClock, RehearsalJournal, describe_outcome, run_rule_tests
from kds.brain.context.journal import ContextJournal
from kds.brain.turn import ContextEntry, Reference, Turn
from kds.router.pipeline import Step
from kds.router.references.ruleset import Rule, RuleTest, Signal

_steps = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.text(min_size=1, max_size=20), st.booleans()),
        st.tuples(st.just("wait"), st.integers(0, 90), st.none()),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=30)
@given(_steps)
def test_file_and_memory_agree_after_any_conversation(
    steps: list[tuple[str, str | int | None, bool | None]],
) -> None:
    clock = MinuteClock()
    with TemporaryDirectory() as folder:
        on_disk = ContextJournal(Path(folder) / "context.jsonl", clock=clock)
        in_memory = RehearsalJournal(clock=clock)
        for kind, value, fresh in steps:
            if kind == "log":
                entry = ContextEntry(clock(), f"{value}.", "ASK", "session", f"{value}?")
                on_disk.log(entry, fresh=bool(fresh))
                in_memory.log(entry, fresh=bool(fresh))
            elif kind == "wait":
                clock.now += timedelta(minutes=int(value or 0))
            else:
                assert in_memory.clear() == on_disk.clear()
            assert in_memory.load().entries == on_disk.load().entries


def test_secrets_do_not_enter_it() -> None:
    clock = MinuteClock()
    journal = RehearsalJournal(clock=clock)
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    journal.log(ContextEntry(clock(), f"use the key {secret}", "EXECUTE"))
    (entry,) = journal.load().entries
    assert secret not in entry.user_message


PASSED = RuleTest(context=["Add a button"], message="Make it red", out="Make the button red")
FAILED = RuleTest(context=["Add a button"], message="Hello", switch=True)
FAILED._where = "a.yaml:4"


def _expand(turn: Turn) -> Turn:
    expanded = turn.message.replace(" it ", " the button ") if turn.context else turn.message
    references = (Reference("it", 5, 7, "button", "mine", 1.0),) if turn.context else ()
    return replace(turn, expanded=expanded, references=references, notes=("by hand",))


STEPS = [Step("expand", _expand)]


def _rule(rule: str, *tests: RuleTest, focus: bool = False) -> Rule:
    signal = Signal(kind="focus" if focus else "pronoun")
    return Rule(id=rule, signal=signal, tests=list(tests))


def test_a_failure_names_its_place_and_shows_both_sides() -> None:
    _, failed = run_rule_tests([_rule("mine", PASSED, FAILED)], STEPS)
    text = describe_outcome(failed)
    assert text.startswith("a.yaml:4: mine\n")
    assert "- Hello (unchanged)" in text
    assert "- true\n            + false" in text
    assert "why       by hand" in text


def test_a_test_that_passes_through_another_rule_fails_and_says_so() -> None:
    (outcome,) = run_rule_tests([_rule("other", PASSED)], STEPS)
    assert outcome.as_expected
    assert not outcome.passed
    text = describe_outcome(outcome)
    assert "rule      - other\n            + mine" in text
    assert "passes by another rule" in text


def test_a_rule_that_moves_the_focus_needs_not_be_named() -> None:
    assert run_rule_tests([_rule("focus", PASSED, focus=True)], STEPS)[0].passed
