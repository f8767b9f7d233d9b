"""The events in a file and on a server: in order, damaged lines aside, bounded."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kds.brain.learning.events import EventLog, LearningEvent, decode, encode
from kds.brain.message import one_line
from kds.brain.secrets.redaction import storable

from ..conftest import MakeText

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def told(text: str = "sort out the login page", minutes: int = 0) -> LearningEvent:
    return LearningEvent(NOON + timedelta(minutes=minutes), "told", text, "PLAN")


@pytest.fixture
def log(make_text: MakeText) -> EventLog:
    return EventLog(make_text("learning.jsonl"))


def test_damaged_lines_are_set_aside_and_the_rest_is_kept(log: EventLog) -> None:
    log.append([told()])
    log.text.append(b'{"at": "soon"}\nnot json\n[1]\n')
    log.append([told(minutes=5)])
    assert len(log.load().events) == 2
    assert (log.text.aside.read() or b"").count(b"\n") == 3


def test_a_line_torn_by_a_crash_does_not_swallow_the_next(log: EventLog) -> None:
    log.text.replace(encode(told())[:-20])
    log.append([told(minutes=5)])
    assert log.load().events == (told(minutes=5),)


def test_events_are_bounded(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kds.brain.learning.events.MAX_EVENTS", 20)
    for number in range(30):
        log.append([told(minutes=number)])
    events = log.load().events
    assert (len(events), events[-1]) == (20, told(minutes=29))


def test_several_writers_lose_nothing(log: EventLog) -> None:
    def write(start: int) -> None:
        for number in range(start, start + 10):
            log.append([told(minutes=number)])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, (0, 100, 200)))
    assert len(log.load().events) == 30


texts = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()))


@given(texts, texts, st.none() | texts, st.datetimes(timezones=st.just(UTC)))
def test_a_line_is_read_as_written(text: str, intent: str, was: str | None, at: datetime) -> None:
    assume(one_line(storable(text)))  # else nothing visible is left of it
    once = decode(encode(LearningEvent(at, "corrected", text, intent, was=was)))
    assert decode(encode(once)) == once
    assert b"\n" not in encode(once)
