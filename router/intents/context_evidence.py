"""What the conversation says about the intent of the next message, in log odds.

Few and small: the words of the message come first. They are set by hand, since examples in
prompt files stand alone; intents that a workspace adds are not touched by them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kds.router.intents.evidence import without_lead_in


@dataclass(frozen=True, slots=True)
class Situation:
    """Where in the conversation a message stands.

    ``previous_intent`` is that of the message before; ``has_reference`` says that the message
    points back to something; ``has_attachment`` that an image came with it.
    """

    previous_intent: str | None = None
    has_session: bool = False
    has_reference: bool = False
    has_attachment: bool = False


NO_SITUATION: Final = Situation()

NOTHING_TO_CORRECT: Final = -1.0
"""CORRECT as the first message of a conversation: there is nothing yet that could be wrong."""

QUESTIONS_FOLLOW: Final = 0.7
"""ASK after ASK, for messages that could be questions: reviews come in runs of questions."""

CHANGES_FOLLOW: Final = 0.3
"""EXECUTE when the message points back to something that was built or planned."""

IMAGE_SHOWN: Final = 4.0
"""ANALYZE_SCREENSHOT when an image came with the message."""

_QUESTION: Final = re.compile(
    r"\?\s*$|^(?:what|how|why|where|who|whom|whose|when|which|is|are|does|do|did|can|could|should"
    r"|would|will|and|or|but|so|same|for|in|on|under|with|if)\b",
    re.IGNORECASE,
)


def context_shifts(situation: Situation, message: str) -> Mapping[str, float]:
    """Shifts by intent, in log odds; intents that are not named stay as they are."""
    shifts: dict[str, float] = {}
    if situation.has_attachment:
        shifts["ANALYZE_SCREENSHOT"] = IMAGE_SHOWN
    if situation.previous_intent is None and not situation.has_session:
        shifts["CORRECT"] = NOTHING_TO_CORRECT
    if situation.previous_intent == "ASK" and _QUESTION.search(without_lead_in(message)):
        shifts["ASK"] = QUESTIONS_FOLLOW
    elif situation.has_reference and situation.previous_intent in ("PLAN", "EXECUTE"):
        shifts["EXECUTE"] = CHANGES_FOLLOW
    return shifts
