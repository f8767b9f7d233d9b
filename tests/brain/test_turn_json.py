"""A turn as JSON, and back."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kds.brain.errors import StoreError
from kds.brain.turn import (
    ContextEntry,
    IntentScore,
    Reference,
    Rewriting,
    StepRecord,
    Turn,
    from_wire,
    to_wire,
)

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)
TURN = Turn(message="Make it purple", at=AT, expanded="Make the FAB button purple")
FULL = replace(
    TURN,
    context=(ContextEntry(AT, "I want a \ud83d FAB", "PLAN", "fab-20251103", "FAB", "cli"),),
    references=(Reference("it", 5, 7, "the FAB button", "pron.it", 0.75, sole=True),),
    unresolved=("that",),
    context_ref="FAB button",
    context_switch=True,
    needs_context=0.5,
    rewriting=Rewriting("m", "used", "fits", cached=True, ms=1.5),
    intent="EXECUTE",
    confidence=0.9,
    in_scope=0.8,
    alternatives=(IntentScore("PLAN", 0.1),),
    secondary_intents=("TEST",),
    action="clarify",
    question="Which one?",
    candidates=("EXECUTE", "PLAN"),
    session_id="fab-20251103",
    agent="code-executor",
    prompt_file="prompts/internal/code-executor.md",
    prompt="# Code executor",
    records=(StepRecord("resolve", ("it: the FAB button",), 0.25),),
)


def test_a_turn_comes_back_as_it_was_sent() -> None:
    for turn in (TURN, FULL):
        back = from_wire(json.loads(json.dumps(to_wire(turn))))
        assert back == turn
        assert (back.why, back.records) == (turn.why, turn.records)


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
    assert sent <= {*to_wire(TURN)}
