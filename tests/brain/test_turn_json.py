"""A turn as JSON, and back."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import StoreError
from kds.brain.turn import (
    ContextEntry,
    IntentScore,
    Reference,
    StepRecord,
    Turn,
    from_wire,
    to_wire,
)

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)
TURN = Turn(message="Make it purple", at=AT, expanded="Make the FAB button purple")

texts = st.text(max_size=20)
maybe = st.none() | texts
scores = st.integers(0, 10_000).map(lambda number: number / 10_000)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
entries = st.builds(ContextEntry, moments, texts, texts, maybe, maybe)
turns = st.builds(
    Turn,
    message=texts,
    at=moments,
    context=st.lists(entries, max_size=3).map(tuple),
    references=st.lists(
        st.builds(Reference, texts, st.integers(0, 9), st.integers(0, 9), texts, texts, scores),
        max_size=2,
    ).map(tuple),
    expanded=texts,
    context_ref=maybe,
    context_switch=st.booleans(),
    intent=texts,
    confidence=scores,
    in_scope=scores,
    alternatives=st.lists(st.builds(IntentScore, texts, scores), max_size=2).map(tuple),
    secondary_intents=st.lists(texts, max_size=2).map(tuple),
    action=st.sampled_from(["route", "clarify", "abstain"]),
    question=maybe,
    candidates=st.lists(texts, max_size=2).map(tuple),
    session_id=maybe,
    agent=maybe,
    prompt_file=maybe,
    prompt=texts,
    records=st.lists(
        st.builds(StepRecord, texts, st.lists(texts, max_size=2).map(tuple), scores), max_size=2
    ).map(tuple),
)


@given(turns)
def test_a_turn_comes_back_as_it_was_sent(turn: Turn) -> None:
    back = from_wire(json.loads(json.dumps(to_wire(turn))))
    assert back == turn
    assert back.why == turn.why


@pytest.mark.parametrize(
    "change",
    [
        {"message": None}, {"action": "explode"}, {"confidence": "high"}, {"context": "none"},
        {"references": [{}]}, {"at": "yesterday"}, {"candidates": [1]}, {"records": {"a": 1}},
    ],
)  # fmt: skip
def test_anything_but_a_turn_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="not a turn"):
        from_wire({**to_wire(TURN), **change})


def test_edits_and_what_the_caller_gave_are_the_only_things_left_behind() -> None:
    left = ("edits", "proposals", "notes", "history", "rewrite")
    # that a message is not English travels as its notice
    sent = {field for field in TURN.__slots__ if field not in (*left, "english")}
    assert replace(from_wire(to_wire(TURN)), edits=(), proposals=(), notes=()) == TURN
    assert sent <= {*to_wire(TURN)}
