"""How a routed turn is compared with what was expected."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kds.api.same_text import bare, matches
from kds.brain.turn import Turn
from kds.evaluation.dialogue_file import ExpectedTurn
from kds.evaluation.scoring import bare_reference, judge

AT = datetime(2025, 11, 3, tzinfo=UTC)


def _turn(message: str = "Make it purple", **fields: Any) -> Turn:
    return Turn(message, AT, **{"expanded": message, "action": "route", **fields})


def _expected(user: str = "Make it purple", **fields: Any) -> ExpectedTurn:
    return ExpectedTurn(user, "a.yaml:1", **fields)


@pytest.mark.parametrize(
    ("text", "accepted", "same"),
    [
        ("make the  fab-button purple!", ["Make the FAB button purple."], True),
        ("Put it in `app.py`", ["Put it in app.py"], True),
        ("Make FAB button purple", ["Make the FAB button purple"], False),  # articles count
        ("b", ["a", "B"], True),  # any accepted text will do
        ("?", ["!"], False),  # texts of punctuation alone differ
    ],
)
def test_case_punctuation_and_spaces_do_not_count(
    text: str, accepted: list[str], same: bool
) -> None:
    assert matches(text, accepted) is same


@pytest.mark.parametrize("text", ["the FAB button", "a fab button", "FAB  Button"])
def test_a_reference_compares_without_its_article(text: str) -> None:
    assert bare_reference(text) == bare_reference("FAB button")


def test_only_a_leading_article_is_dropped() -> None:
    assert bare_reference("edit the page") != bare_reference("edit page")
    assert bare_reference("theme") != bare_reference("me")


@example("\u0339?\u0334")
@given(st.text())
def test_reducing_twice_is_reducing_once(text: str) -> None:
    assert bare(bare(text)) == bare(text)


def test_a_turn_without_an_expansion_must_come_back_unchanged() -> None:
    assert judge(_expected(), _turn()).passed
    verdict = judge(_expected(), _turn(expanded="Make the FAB button purple"))
    assert [wrong.field for wrong in verdict.mismatches] == ["expanded"]
    assert verdict.mismatches[0].expected == "Make it purple (unchanged)"


def test_fields_the_dialogue_does_not_name_are_not_judged() -> None:
    verdict = judge(_expected(), _turn(intent="PLAN", context_ref="x", secondary_intents=("ASK",)))
    assert (verdict.intent, verdict.context_ref, verdict.secondary) == (None, None, None)
    assert verdict.passed


@pytest.mark.parametrize(
    ("expected", "intent", "action", "right"),
    [
        (("PLAN",), "PLAN", "route", True),
        (("PLAN",), "PLAN", "clarify", True),
        (("PLAN",), "ASK", "route", False),
        (("PLAN", "ASK"), "ASK", "route", True),
        (("UNKNOWN",), "PLAN", "clarify", True),
        (("UNKNOWN",), "UNKNOWN", "abstain", True),
        (("UNKNOWN",), "UNKNOWN", "route", False),
        (("UNKNOWN", "ASK"), "ASK", "route", True),
        (("PLAN",), "UNKNOWN", "abstain", False),
    ],
)
def test_intents(expected: tuple[str, ...], intent: str, action: str, right: bool) -> None:
    verdict = judge(_expected(intents=expected), _turn(intent=intent, action=action))
    assert verdict.intent is right


def test_a_switch_must_be_expected() -> None:
    assert not judge(_expected(), _turn(context_switch=True)).switch
    assert not judge(_expected(switch=True), _turn()).switch
    assert judge(_expected(switch=True), _turn(context_switch=True)).switch


def test_a_missing_reference_is_wrong() -> None:
    verdict = judge(_expected(context_refs=("FAB button",)), _turn())
    assert verdict.context_ref is False
    assert verdict.mismatches[0].actual == "none"


def test_secondary_intents_compare_as_sets() -> None:
    expected = _expected(secondary=("TEST", "COMMIT"))
    assert judge(expected, _turn(secondary_intents=("COMMIT", "TEST"))).secondary
    assert judge(expected, _turn(secondary_intents=("TEST",))).secondary is False
