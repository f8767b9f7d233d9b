"""How the reference rules did on dialogues: how often each fired, and was right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kds.api.rule_tests import fired_rules
from kds.evaluation.playback import PlayedDialogue, PlayedTurn
from kds.router.references.rule import Rule


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What one rule did. ``fired`` counts turns, of which ``right`` and ``wrong`` came out so.

    ``wrong_at`` has the place of each wrong turn, ``path:line``.
    """

    rule: str
    fired: int
    right: int
    wrong_at: tuple[str, ...]

    @property
    def wrong(self) -> int:
        """The turns that came out wrong."""
        return len(self.wrong_at)


def rule_records(rules: Iterable[Rule], played: Sequence[PlayedDialogue]) -> tuple[RuleRecord, ...]:
    """The record of every rule on what was played, the rules in their order.

    A turn is right for a rule that rewrites when its expansion was accepted, for one that sees
    topic switches when the switch was expected. Rules that move the focus are left out: they
    act through the rule that points there later.
    """
    turns = [turn for dialogue in played for turn in dialogue.turns]
    return tuple(
        _record(rule, [turn for turn in turns if rule.id in fired_rules(turn.turn)])
        for rule in rules
        if rule.signal.kind != "focus"
    )


def _record(rule: Rule, turns: Sequence[PlayedTurn]) -> RuleRecord:
    switches = rule.signal.kind == "switch"
    wrong = [
        turn.expected.where
        for turn in turns
        if not (turn.verdict.switch if switches else turn.verdict.expanded)
    ]
    return RuleRecord(rule.id, len(turns), len(turns) - len(wrong), tuple(wrong))
