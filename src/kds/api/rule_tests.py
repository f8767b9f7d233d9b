"""Runs the tests that stand inside the rule files, through load, resolve and expand.

A test that expects a change must pass by the rule it stands in: passing through another rule
it would go on passing when its own rule is broken.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kds.api.rehearsal import MinuteClock, RehearsalJournal
from kds.api.same_text import matches
from kds.brain.turn import UNKNOWN, ContextEntry, Turn, Utterance
from kds.router.load import make_load
from kds.router.pipeline import Pipeline
from kds.router.references.rule import Rule, RuleTest
from kds.router.step import Step

_SWITCH_NOTE: Final = re.compile(r"^the topic changes \((?P<rule>[^)]+)\)")
"""How the expand step names the rule that saw a topic switch."""

StepsWithout = Callable[[str], Sequence[Step]]
"""The steps that rewrite, as they would be without the rule of this id."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The outcome of one inline test: the rules at work, and whether its own is among them."""

    rule: str
    test: RuleTest
    turn: Turn
    fired: tuple[str, ...] = ()
    own: bool = True

    @property
    def as_expected(self) -> bool:
        """True when the message came out as the test says, and the topic switched as it says."""
        accepted = self.test.expected or (self.test.message,)
        switched_right = self.turn.context_switch == self.test.switch
        return switched_right and matches(self.turn.expanded, accepted)

    @property
    def positive(self) -> bool:
        """True when the test expects its rule to do something."""
        changed = bool(self.test.expected) and not matches(self.test.message, self.test.expected)
        return changed or self.test.switch

    @property
    def passed(self) -> bool:
        """True when it came out as expected, and by its own rule if a rule has to act."""
        return self.as_expected and (self.own or not self.positive)


def run_rule_tests(
    rules: Iterable[Rule], rewriting: Sequence[Step], without: StepsWithout
) -> tuple[RuleOutcome, ...]:
    """Run every test of ``rules`` through the steps that rewrite: resolve and expand."""
    return tuple(_outcome(rule, test, rewriting, without) for rule in rules for test in rule.tests)


def fired_rules(turn: Turn) -> tuple[str, ...]:
    """The ids of the rules at work on a turn: behind its references, or its topic switch."""
    switches = (match["rule"] for note in turn.why if (match := _SWITCH_NOTE.match(note)))
    rules = [reference.rule for reference in turn.references]
    return tuple(dict.fromkeys([*rules, *switches]))


def describe_outcome(outcome: RuleOutcome) -> str:
    """Describe what an inline test expected, and its outcome."""
    test, turn = outcome.test, outcome.turn
    accepted = " | ".join(test.expected) or f"{test.message} (unchanged)"
    lines = [f"{test.where}: {outcome.rule}"]
    lines += [f"  context   {message}" for message in test.context]
    lines += [f"  reply     {line}" for line in test.reply.splitlines()]
    lines += [f"  in        {test.message}", f"  out       - {accepted}"]
    lines += [f"            + {turn.expanded}"]
    if turn.context_switch != test.switch:
        lines.append(f"  switch    - {str(test.switch).lower()}")
        lines.append(f"            + {str(turn.context_switch).lower()}")
    if outcome.as_expected and not outcome.passed:
        lines.append(f"  rule      - {outcome.rule}")
        lines.append(f"            + {', '.join(outcome.fired) or 'none'}")
        lines.append("  fix       it passes by another rule: find a message that needs this one")
    lines += [f"  why       {note}" for note in turn.why]
    return "\n".join(lines)


def _outcome(
    rule: Rule, test: RuleTest, rewriting: Sequence[Step], without: StepsWithout
) -> RuleOutcome:
    turn = _run(test, rewriting)
    fired = fired_rules(turn)
    own = rule.id in fired
    if rule.signal.kind == "focus" and test.expected:
        # It only moves the focus; another rule then points to it, and names itself alone.
        own = _run(test, without(rule.id)).expanded != turn.expanded
    return RuleOutcome(rule.id, test, turn, fired, own)


def _run(test: RuleTest, rewriting: Sequence[Step]) -> Turn:
    clock = MinuteClock()
    journal = RehearsalJournal(clock=clock)
    steps = Pipeline([make_load(journal), *rewriting])
    for message in test.context:
        meant = steps.run(Turn(message, clock())).context_ref
        journal.log(ContextEntry(clock(), message, UNKNOWN, context_ref=meant))
        clock.tick()
    history = (*map(Utterance, test.context), Utterance(test.reply, "assistant"))
    turn = Turn(test.message, clock(), history=history if test.reply else ())
    return steps.run(turn)
