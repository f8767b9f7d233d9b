import pytest

from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.policy import ACT_MARGIN, ACT_MIN, CLARIFY_MIN, IN_SCOPE_MIN, decide

BOTH = ("PLAN", "ASK")
UNLIKE = IN_SCOPE_MIN - 0.01


@pytest.mark.parametrize(
    ("intent", "value", "others", "in_scope", "action", "candidates"),
    [
        ("PLAN", ACT_MIN, {"ASK": 0.44}, 1.0, "route", ()),
        ("PLAN", ACT_MIN - 0.01, {"ASK": 0.40}, 1.0, "clarify", BOTH),
        ("PLAN", 0.45, {"ASK": 0.45 - ACT_MARGIN}, 1.0, "route", ()),
        ("PLAN", 0.40, {"ASK": 0.3, "TEST": 0.2, "EXECUTE": 0.1}, 1.0, "clarify", (*BOTH, "TEST")),
        ("PLAN", 0.40, {"ASK": 0.3, "TEST": 0.01}, 1.0, "clarify", BOTH),
        ("PLAN", 0.40, {UNKNOWN: 0.35, "ASK": 0.1}, 1.0, "clarify", BOTH),
        ("PLAN", CLARIFY_MIN - 0.01, {"ASK": 0.01}, 1.0, "abstain", ()),
        (UNKNOWN, 0.9, {"ASK": 0.1}, 1.0, "abstain", ()),
        (UNKNOWN, 0.4, {"ASK": 0.35, "PLAN": 0.2}, 1.0, "clarify", ("ASK", "PLAN")),
        (UNKNOWN, 0.0, {}, 1.0, "abstain", ()),
        # unlike any known message: asked about, however sure the verdict
        ("PLAN", 0.9, {"ASK": 0.05}, IN_SCOPE_MIN, "route", ()),
        ("PLAN", 0.9, {"ASK": 0.05}, UNLIKE, "clarify", BOTH),
        ("PLAN", CLARIFY_MIN - 0.01, {"ASK": 0.05}, UNLIKE, "abstain", ()),
    ],
)
def test_confidence_margin_and_scope_decide(
    intent: str,
    value: float,
    others: dict[str, float],
    in_scope: float,
    action: str,
    candidates: tuple[str, ...],
) -> None:
    scores = [IntentScore(*pair) for pair in others.items()]
    decision = decide(intent, value, scores, in_scope=in_scope)
    assert (decision.action, decision.candidates) == (action, candidates)
    assert decision.reason
