"""Playing dialogues: each turn compared with what is expected, and the sums."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.api.same_text import matches
from kds.brain.clock import Clock
from kds.brain.turn import Turn, Utterance
from kds.testing.dialogues import ExpectedTurn, parse_dialogues
from kds.testing.playing import (
    PlayedDialogue,
    Route,
    describe,
    judge,
    play,
    score,
)

TEXT = """
- id: a
  turns:
    - {user: Add a button, intent: PLAN}
    - {user: Make it red, intent: EXECUTE, context_ref: button, expanded: Make the button red}
    - {user: "What now?", intent: UNKNOWN}
- id: b
  turns:
    - {user: Go on}
"""


def _open(clock: Clock) -> Route:
    """A conversation that knows one expansion and otherwise plans."""

    def route(message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        if message == "Make it red":
            return Turn(
                message, clock(), expanded="make the button red", context_ref="the button",
                intent="ASK", action="route",
            )  # fmt: skip
        return Turn(message, clock(), expanded=message, intent="PLAN", action="route")

    return route


def _played() -> tuple[PlayedDialogue, ...]:
    return tuple(play(dialogue, _open) for dialogue in parse_dialogues(TEXT, Path("a.yaml")))


def test_the_clock_moves_one_minute_a_turn_and_starts_anew_with_each_dialogue() -> None:
    times = [[played.turn.at for played in dialogue.turns] for dialogue in _played()]
    first: datetime = times[0][0]
    assert [(at - first).total_seconds() for at in times[0]] == [0, 60, 120]
    assert times[1][0] == first


def test_the_score_counts_what_the_dialogues_expect() -> None:
    result = score(_played())
    assert (result.dialogues, result.turns, result.needed, result.kept) == (2, 4, 1, 3)
    assert result.intent_accuracy == pytest.approx(1 / 3)
    assert (result.expanded_exact, result.context_ref_accuracy) == (1.0, 1.0)
    assert (result.false_rewrites, result.switch_accuracy) == (0.0, 1.0)
    assert result.secondary_accuracy is None
    assert 0 <= result.ms_p50 <= result.ms_p99


def test_a_failure_shows_turn_expected_and_actual() -> None:
    text = describe(_played()[0])
    assert "a.yaml:5: a, turn 2 of 3" in text
    assert "- EXECUTE" in text
    assert "+ ASK 0.00, action route" in text
    assert "turn 1 of 3" not in text


def test_a_turn_after_a_reply_is_played_with_the_history() -> None:
    text = "{id: a, turns: [{user: Cold?, reply: Want tea?}, {user: Sure}, {user: Thanks}]}"
    heard: list[tuple[str, list[str]]] = []

    def open_route(clock: Clock) -> Route:
        def route(message: str, *, history: Sequence[Utterance] = ()) -> Turn:
            heard.append((message, [said.text for said in history]))
            return Turn(message, clock(), expanded=message)

        return route

    play(parse_dialogues(text, Path("a.yaml"))[0], open_route)
    assert heard == [("Cold?", []), ("Sure", ["Cold?", "Want tea?"]), ("Thanks", [])]


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


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ("FAB button", "the FAB button", True),
        ("a fab  button", "FAB Button", True),
        ("edit page", "edit the page", False),  # only a leading article is dropped
        ("me", "theme", False),
        ("FAB button", None, False),
    ],
)
def test_a_reference_compares_without_its_article(
    expected: str, actual: str | None, right: bool
) -> None:
    verdict = judge(_expected(context_refs=(expected,)), _turn(context_ref=actual))
    assert verdict.context_ref is right
