"""Act, ask or abstain: what the confidence in an intent is good for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.turn import UNKNOWN, Action, IntentScore

ACT_MIN: Final = 0.63
"""Act at this confidence. On the dev chats, cross-validated by repository, 88 % of the turns are
acted on with it, and 87 % of these are right; at .60 it is 90 and 86.5 %, at .66 84 and 88.5 %. Of
the turns of the tidy dialogues 98 % reach it."""

ACT_MARGIN: Final = 0.4
"""Act below ACT_MIN, yet not below CLARIFY_MIN, when the runner-up is this far behind: the
question would have no second candidate worth offering. At .3 one turn in a hundred more is acted
on, and one stranger in fourteen among messages that no agent is for (CLINC150)."""

CLARIFY_MIN: Final = 0.30
"""Ask at this confidence; below it the candidates would be guesses."""

IN_SCOPE_MIN: Final = 0.2
"""Ask, however sure, when the message looks less like one of the intents than this. 95 % of
CLINC150's messages in scope reach it (10, 40 and 100 examples an intent); of those out of scope,
14 instead of 46 % are acted on (100 examples), 30 instead of 53 % (10)."""

CANDIDATE_MIN: Final = 0.05
"""An alternative below this is not worth a place in a question of its own."""

MAX_CANDIDATES: Final = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a message, the intents to choose from when asking, and why."""

    action: Action
    candidates: tuple[str, ...]
    reason: str


def decide(
    intent: str, confidence: float, alternatives: Sequence[IntentScore], *, in_scope: float = 1.0
) -> Decision:
    """Choose from the calibrated confidence, the distance to the runner-up, and the scope.

    >>> decide("PLAN", 0.82, [IntentScore("ASK", 0.11)]).action
    'route'
    >>> decide("PLAN", 0.41, [IntentScore("EXECUTE", 0.38)]).candidates
    ('PLAN', 'EXECUTE')
    """
    others = [score for score in alternatives if score.intent != intent]
    ranked = sorted([IntentScore(intent, confidence), *others], key=lambda one: -one.confidence)
    known = [score for score in ranked if score.intent != UNKNOWN]
    candidates = tuple(
        score.intent
        for rank, score in enumerate(known[:MAX_CANDIDATES])
        if rank < 2 or score.confidence >= CANDIDATE_MIN
    )
    said = f"{intent} at {confidence:.2f}"
    if intent == UNKNOWN:
        best = known[0].confidence if known else 0.0
        if confidence >= ACT_MIN or best < CLARIFY_MIN:
            return Decision("abstain", (), f"none of the intents ({said})")
        reason = f"perhaps none of the intents, yet {known[0].intent} at {best:.2f}"
        return Decision("clarify", candidates, reason)
    if confidence < CLARIFY_MIN:
        return Decision("abstain", (), f"{said} is a guess (< {CLARIFY_MIN})")
    if in_scope < IN_SCOPE_MIN:
        return Decision("clarify", candidates, f"{said}, yet unlike any message ({in_scope:.2f})")
    if confidence >= ACT_MIN:
        return Decision("route", (), f"{said}, sure enough (>= {ACT_MIN})")
    margin = confidence - max((one.confidence for one in others), default=0.0)
    if margin >= ACT_MARGIN:
        return Decision("route", (), f"{said}, margin {margin:.2f} (>= {ACT_MARGIN})")
    return Decision("clarify", candidates, f"{said}, margin only {margin:.2f}")
