"""Runs the tests that stand inside the rule files (DESIGN 5), through load, resolve and expand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kds.brain.turn import UNKNOWN, ContextEntry, Turn
from kds.playback import MinuteClock
from kds.rehearsal import RehearsalJournal
from kds.router.load import make_load
from kds.router.pipeline import Pipeline
from kds.router.rule import Rule, RuleTest
from kds.router.step import Step
from kds.scoring import matches


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What came of one inline test."""

    rule: str
    test: RuleTest
    turn: Turn

    @property
    def passed(self) -> bool:
        """True when the message came out as the test says, and the topic switched as it says."""
        accepted = self.test.expected or (self.test.message,)
        switched_right = self.turn.context_switch == self.test.switch
        return switched_right and matches(self.turn.expanded, accepted)


def run_rule_tests(rules: Iterable[Rule], rewriting: Sequence[Step]) -> tuple[RuleOutcome, ...]:
    """Run every test of ``rules`` through the steps that rewrite: resolve and expand."""
    return tuple(
        RuleOutcome(rule.id, test, _run(test, rewriting)) for rule in rules for test in rule.tests
    )


def describe_outcome(outcome: RuleOutcome) -> str:
    """Say in plain text what an inline test expected, and what came out."""
    test, turn = outcome.test, outcome.turn
    accepted = " | ".join(test.expected) or f"{test.message} (unchanged)"
    lines = [f"{test.where}: {outcome.rule}"]
    lines += [f"  context   {message}" for message in test.context]
    lines += [f"  in        {test.message}", f"  out       - {accepted}"]
    lines += [f"            + {turn.expanded}"]
    if turn.context_switch != test.switch:
        lines.append(f"  switch    - {str(test.switch).lower()}")
        lines.append(f"            + {str(turn.context_switch).lower()}")
    lines += [f"  why       {note}" for note in turn.why]
    return "\n".join(lines)


def _run(test: RuleTest, rewriting: Sequence[Step]) -> Turn:
    clock = MinuteClock()
    journal = RehearsalJournal(clock=clock)
    for message in test.context:
        journal.log(ContextEntry(clock(), message, UNKNOWN))
        clock.tick()
    return Pipeline([make_load(journal), *rewriting]).run(Turn(test.message, clock()))
