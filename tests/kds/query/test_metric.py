"""What is measured of a question in a session, and the hit rate."""

from datetime import UTC, datetime

import pytest

from kds.brain.memory.records import Metric
from kds.query.session import QUERY, query_metric, session_hits
from kds.query.values import QueryReply, SessionTurn

AT = datetime(2025, 11, 3, 9, tzinfo=UTC)


def row(session: str, turn: int, *, hit: bool) -> Metric:
    reply = QueryReply("a secret question", "q", session=SessionTurn(session, turn, hit=hit))
    return Metric(AT, QUERY, dict(query_metric(reply)))


def test_only_turns_from_the_third_on_count() -> None:
    rows = [
        *(row("one", turn, hit=turn in (2, 3)) for turn in (1, 2, 3, 4)),
        row("two", 1, hit=False),
    ]  # fmt: skip
    found = session_hits([*rows, Metric(AT, "turn", {"hit": True, "turn": 9})])
    assert (found.sessions, found.turns, found.later_turns, found.hits) == (2, 5, 2, 1)
    assert found.hit_rate == pytest.approx(0.5)


def test_a_record_holds_no_word_of_the_question_or_of_its_session() -> None:
    text = str(row("my-session", 1, hit=True).data)
    assert "secret" not in text
    assert "my-session" not in text
