import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.policy import (
    ACT_MARGIN,
    ACT_MIN,
    CLARIFY_MIN,
    IN_SCOPE_MIN,
    MAX_CANDIDATES,
    decide,
)

INTENTS = ["PLAN", "EXECUTE", "ASK", "TEST", UNKNOWN]
confidence = st.floats(0, 1)


def scores(**confidences: float) -> list[IntentScore]:
    return [IntentScore(intent, value) for intent, value in confidences.items()]


@pytest.mark.parametrize(
    ("intent", "value", "others", "action", "candidates"),
    [
        ("PLAN", ACT_MIN, {"ASK": 0.44}, "route", ()),
        ("PLAN", ACT_MIN - 0.01, {"ASK": 0.40}, "clarify", ("PLAN", "ASK")),
        ("PLAN", 0.45, {"ASK": 0.45 - ACT_MARGIN}, "route", ()),
        (
            "PLAN",
            0.40,
            {"ASK": 0.3, "TEST": 0.2, "EXECUTE": 0.1},
            "clarify",
            ("PLAN", "ASK", "TEST"),
        ),
        ("PLAN", 0.40, {"ASK": 0.3, "TEST": 0.01}, "clarify", ("PLAN", "ASK")),
        ("PLAN", 0.40, {UNKNOWN: 0.35, "ASK": 0.1}, "clarify", ("PLAN", "ASK")),
        ("PLAN", CLARIFY_MIN - 0.01, {"ASK": 0.01}, "abstain", ()),
        (UNKNOWN, 0.9, {"ASK": 0.1}, "abstain", ()),
        (UNKNOWN, 0.4, {"ASK": 0.35, "PLAN": 0.2}, "clarify", ("ASK", "PLAN")),
        (UNKNOWN, 0.0, {}, "abstain", ()),
    ],
)
def test_confidence_and_margin_decide(
    intent: str, value: float, others: dict[str, float], action: str, candidates: tuple[str, ...]
) -> None:
    decision = decide(intent, value, scores(**others))
    assert (decision.action, decision.candidates) == (action, candidates)
    assert decision.reason


@given(
    st.sampled_from(INTENTS),
    confidence,
    st.lists(st.builds(IntentScore, st.sampled_from(INTENTS), confidence), max_size=4),
)
def test_only_questions_have_candidates_and_unknown_is_never_one(
    intent: str, value: float, others: list[IntentScore]
) -> None:
    decision = decide(intent, value, others)
    assert bool(decision.candidates) == (decision.action == "clarify")
    assert UNKNOWN not in decision.candidates
    assert len(decision.candidates) <= MAX_CANDIDATES
    assert not (intent == UNKNOWN and decision.action == "route")


def test_a_message_unlike_any_known_one_is_asked_about_however_sure_the_verdict() -> None:
    others = scores(ASK=0.05)
    assert decide("PLAN", 0.9, others, in_scope=IN_SCOPE_MIN).action == "route"
    asked = decide("PLAN", 0.9, others, in_scope=IN_SCOPE_MIN - 0.01)
    assert (asked.action, asked.candidates) == ("clarify", ("PLAN", "ASK"))
    assert decide("PLAN", CLARIFY_MIN - 0.01, others, in_scope=0.0).action == "abstain"
