"""What each promised precision costs, on turns whose proposals are plain."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.brain.turn import Edit, Proposal, Turn
from kds.evaluation.chats.chat_file import ChatReference, ChatTurn
from kds.evaluation.chats.curve_plot import draw_curve
from kds.evaluation.chats.playing import PlayedChatTurn
from kds.evaluation.chats.precision_curve import CurvePoint, precision_curve

AT = datetime(2026, 1, 1, tzinfo=UTC)
IT = ChatReference("it", 5, "pronoun", ("FAB button",), "user", must=True)
RIGHT, WRONG = Edit(5, 7, "the FAB button"), Edit(5, 7, "the login form")
NEVER = 0.99


def _played(*proposals: Proposal, message: str = "Make it purple") -> PlayedChatTurn:
    expected = ChatTurn(message, "", labelled=True, intents=(), references=(IT,))
    return PlayedChatTurn(
        "a", 1, expected, Turn(message, AT, expanded=message, proposals=proposals), (), 1.0
    )


def _at(points: tuple[CurvePoint, ...], threshold: float) -> CurvePoint:
    return next(point for point in points if abs(point.threshold - threshold) < 1e-9)


def test_a_promise_writes_the_proposals_that_reach_it() -> None:
    points = precision_curve([_played(Proposal(RIGHT, 0.9)), _played(Proposal(WRONG, 0.4))], NEVER)
    low, high = _at(points, 0.4), _at(points, 0.9)
    assert (low.edits, low.right, low.precision, low.harmed) == (2, 1, 0.5, 0.5)
    assert (high.edits, high.right, high.precision, high.harmed) == (1, 1, 1.0, 0.0)
    assert (low.must_recall_user, high.recall, low.must_recall_assistant) == (0.5, 0.5, None)


def test_the_promise_of_the_settings_is_a_point_even_where_nothing_is_written() -> None:
    points = precision_curve([_played(Proposal(RIGHT, 0.9))], NEVER)
    (promised,) = [point for point in points if point.promised]
    assert (promised.threshold, promised.edits, promised.precision) == (NEVER, 0, None)
    assert [point.threshold for point in points] == sorted(point.threshold for point in points)


def test_an_edit_of_a_message_that_destroys_something_needs_more() -> None:
    deleting = Edit(7, 9, "the FAB button")
    points = precision_curve([_played(Proposal(deleting, 0.75), message="Delete it")], NEVER)
    assert [round(point.threshold, 6) for point in points] == [0.5, NEVER]


def test_an_edit_that_no_promise_lets_through_is_on_no_point() -> None:
    deleting = Edit(7, 9, "the FAB button")
    points = precision_curve([_played(Proposal(deleting, 0.1), message="Delete it")], NEVER)
    assert [point.edits for point in points] == [0]


def test_without_labelled_turns_there_is_the_promise_alone() -> None:
    (only,) = precision_curve([], NEVER)
    assert (only.promised, only.edits, only.harmed, only.recall) == (True, 0, None, None)


def test_the_picture_marks_the_promise_where_there_is_anything_to_draw_and_where_not(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    picture = tmp_path / "curve.svg"
    for played in ([_played(Proposal(RIGHT, 0.9)), _played(Proposal(WRONG, 0.4))], []):
        draw_curve(picture, precision_curve(played, 0.93))
        assert "<!-- promised 93% -->" in picture.read_text()
