"""How often a rule fired on dialogues, and was right."""

from datetime import UTC, datetime

from kds.api.rule_tests import fired_rules
from kds.brain.turn import Reference, StepRecord, Turn
from kds.evaluation.dialogue_file import Dialogue, ExpectedTurn
from kds.evaluation.playback import PlayedDialogue, PlayedTurn
from kds.evaluation.rule_record import rule_records
from kds.evaluation.scoring import judge
from kds.router.references.rule import Rule, Signal

AT = datetime(2025, 11, 3, tzinfo=UTC)
IT = Rule("pron.it", 1, Signal("pronoun"))
SWITCH = Rule("switch.now", 2, Signal("switch"))
FOCUS = Rule("focus.wrong", 3, Signal("focus"))


def _turn(message: str, expanded: str, *rules: str, switch: str | None = None) -> Turn:
    notes = (f"the topic changes ({switch}): earlier messages no longer count",) if switch else ()
    return Turn(
        message, AT, expanded=expanded, context_switch=switch is not None,
        references=tuple(Reference("it", 0, 2, "x", rule, 1.0) for rule in rules),
        records=(StepRecord("expand", notes),),
    )  # fmt: skip


def _played(*pairs: tuple[ExpectedTurn, Turn]) -> PlayedDialogue:
    turns = tuple(PlayedTurn(want, turn, judge(want, turn), 1.0) for want, turn in pairs)
    return PlayedDialogue(Dialogue("a", (), "a.yaml:1"), turns)


def test_the_rules_of_a_turn_are_those_of_its_references_and_its_switch() -> None:
    assert fired_rules(_turn("a", "b", "x", "y", "x")) == ("x", "y")
    assert fired_rules(_turn("a", "a", switch="switch.now")) == ("switch.now",)


def test_a_message_that_looks_like_a_note_fires_nothing() -> None:
    turn = Turn(
        "a", AT, records=(StepRecord("expand", ("expanded to 'the topic changes (x): y'",)),)
    )
    assert fired_rules(turn) == ()


def test_a_rewriting_rule_is_right_when_the_expansion_was_accepted() -> None:
    right = ExpectedTurn("Fix it", "a.yaml:3", expanded=("Fix the bug",))
    wrong = ExpectedTurn("Run it", "a.yaml:4")
    played = _played(
        (right, _turn("Fix it", "Fix the bug", "pron.it")),
        (wrong, _turn("Run it", "Run the bug", "pron.it")),
    )
    (record,) = rule_records([IT], [played])
    assert (record.fired, record.right, record.wrong) == (2, 1, 1)
    assert record.wrong_at == ("a.yaml:4",)


def test_a_switching_rule_is_right_when_the_switch_was_expected() -> None:
    expected = ExpectedTurn("New topic", "a.yaml:3", switch=True)
    surprise = ExpectedTurn("And now", "a.yaml:4")
    played = _played(
        (expected, _turn("New topic", "New topic", switch="switch.now")),
        (surprise, _turn("And now", "And now", switch="switch.now")),
    )
    it, switch = rule_records([IT, SWITCH, FOCUS], [played])
    assert it.fired == 0
    assert (switch.right, switch.wrong_at) == (1, ("a.yaml:4",))
