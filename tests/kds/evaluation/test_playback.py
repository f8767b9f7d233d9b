"""Playing dialogues: the clock, the fresh context, and the sums."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from kds.brain.clock import Clock
from kds.brain.turn import Turn, Utterance
from kds.evaluation.dialogue_file import parse_dialogues
from kds.evaluation.playback import PlayedDialogue, Route, describe, play, score

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


def test_the_json_form_has_the_agreed_keys() -> None:
    assert {
        *("turns", "intent_accuracy", "needed", "expanded_exact", "context_ref_accuracy"),
        *("kept", "false_rewrites", "switch_accuracy", "ms_p50", "ms_p99"),
    } <= set(score(_played()).as_dict())


def test_a_failure_shows_turn_expected_and_actual() -> None:
    text = describe(_played()[0])
    assert "a.yaml:5: a, turn 2 of 3" in text
    assert "- EXECUTE" in text
    assert "+ ASK 0.00, action route" in text
    assert "turn 1 of 3" not in text


def test_no_dialogues_score_to_nothing() -> None:
    result = score([])
    assert (result.turns, result.intent_accuracy, result.ms_p99) == (0, None, 0.0)


def test_a_turn_behind_a_reply_is_played_with_what_was_said() -> None:
    text = "{id: a, turns: [{user: Cold?, reply: Want tea?}, {user: Sure}, {user: Thanks}]}"
    heard: list[tuple[str, list[str]]] = []

    def open_route(clock: Clock) -> Route:
        def route(message: str, *, history: Sequence[Utterance] = ()) -> Turn:
            heard.append((message, [said.text for said in history]))
            return Turn(message, clock(), expanded=message)

        return route

    play(parse_dialogues(text, Path("a.yaml"))[0], open_route)
    assert heard == [("Cold?", []), ("Sure", ["Cold?", "Want tea?"]), ("Thanks", [])]
