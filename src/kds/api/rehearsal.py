"""Dialogues that leave no trace: a context in memory, a clock, and the tests in the rule files.

Those go through load, resolve and expand. A test that expects a change must pass by the rule it
stands in: passing through another rule it would go on passing when its own rule is broken.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kds.brain.clock import Clock
from kds.brain.context.journal import LIMIT, MAX_AGE, Journal, LoadedContext, stored_entry
from kds.brain.turn import UNKNOWN, ContextEntry, Turn, Utterance
from kds.router.pipeline import Step, run_steps
from kds.router.references.ruleset import Rule, RuleTest
from kds.router.remembering import make_load


def matches(text: str, accepted: Iterable[str]) -> bool:
    """Tell whether ``text`` is one of ``accepted``, but for case, punctuation and spaces.

    >>> matches("Make the FAB button purple.", ["make the fab-button purple"])
    True
    >>> matches("Make FAB button purple", ["Make the FAB button purple"])
    False
    """
    return bare(text) in {bare(candidate) for candidate in accepted}


def bare(text: str) -> str:
    """Reduce ``text`` to what a comparison looks at: no case, no punctuation, no spaces.

    A text of nothing but punctuation is kept, or "?" would equal "!".

    >>> bare("Put it in `app.py`, please!")
    'putitinapppyplease'
    """
    folded = unicodedata.normalize("NFD", text).casefold()
    kept = "".join(
        one
        for one in folded
        if one not in "`´" and not one.isspace() and unicodedata.category(one)[0] != "P"
    )
    # once more: marks that a sign kept apart stand side by side now, and have an order
    return unicodedata.normalize("NFD", kept or folded)


START: Final = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)
"""When every dialogue begins, so that session ids are the same on every day."""
MINUTE: Final = timedelta(minutes=1)


class MinuteClock:
    """A clock that stands still until it is told to move on.

    >>> clock = MinuteClock()
    >>> clock.tick()
    >>> clock().isoformat()
    '2025-11-03T09:01:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.now

    def tick(self) -> None:
        """Move on by one minute."""
        self.now += MINUTE


class RehearsalJournal(Journal):
    """A Journal that keeps what ContextJournal would, under the same limits, and in no file."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._entries: tuple[ContextEntry, ...] = ()

    def load(self) -> LoadedContext:
        """Return the entries that hold now, oldest first."""
        now = self._clock()
        self._entries = tuple(entry for entry in self._entries if now - entry.timestamp <= MAX_AGE)[
            -LIMIT:
        ]
        return LoadedContext(self._entries)

    def log(self, entry: ContextEntry, *, fresh: bool = False) -> LoadedContext:
        """Add ``entry``, redacted as on disk; ``fresh`` drops the earlier ones."""
        self._entries = (*(() if fresh else self._entries), stored_entry(entry))
        return self.load()

    def clear(self) -> int:
        """Forget everything; returns the number of entries."""
        count = len(self.load().entries)
        self._entries = ()
        return count


_SWITCH_NOTE: Final = re.compile(r"^the topic changes \((?P<rule>[^)]+)\)")
"""How the expand step names the rule that saw a topic switch."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The outcome of one inline test: the rules at work, and whether its own is among them."""

    rule: str
    test: RuleTest
    turn: Turn
    fired: tuple[str, ...]
    own: bool

    @property
    def as_expected(self) -> bool:
        """True when the message came out as the test says, and the topic switched as it says."""
        accepted = self.test.expected or (self.test.message,)
        switched_right = self.turn.context_switch == self.test.switch
        return switched_right and matches(self.turn.expanded, accepted)

    @property
    def passed(self) -> bool:
        """True when it came out as expected, and by its own rule if a rule has to act."""
        test = self.test
        changes = bool(test.expected) and not matches(test.message, test.expected)
        return self.as_expected and (self.own or not (changes or test.switch))


def run_rule_tests(rules: Iterable[Rule], rewriting: Sequence[Step]) -> tuple[RuleOutcome, ...]:
    """Run every test of ``rules`` through the steps that rewrite: resolve and expand."""

    def outcome(rule: Rule, test: RuleTest) -> RuleOutcome:
        turn = _run(test, rewriting)
        switches = (match["rule"] for note in turn.why if (match := _SWITCH_NOTE.match(note)))
        rules = (reference.rule for reference in turn.references)
        fired = tuple(dict.fromkeys([*rules, *switches]))
        # one that only moves the focus is not named: another rule then points to it
        own = rule.id in fired or rule.signal.kind == "focus"
        return RuleOutcome(rule.id, test, turn, fired, own)

    return tuple(outcome(rule, test) for rule in rules for test in rule.tests)


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


def _run(test: RuleTest, rewriting: Sequence[Step]) -> Turn:
    clock = MinuteClock()
    journal = RehearsalJournal(clock=clock)
    steps = [make_load(journal), *rewriting]
    for message in test.context:
        meant = run_steps(steps, Turn(message, clock())).context_ref
        journal.log(ContextEntry(clock(), message, UNKNOWN, context_ref=meant))
        clock.tick()
    history = (*map(Utterance, test.context), Utterance(test.reply, "assistant"))
    turn = Turn(test.message, clock(), history=history if test.reply else ())
    return run_steps(steps, turn)
