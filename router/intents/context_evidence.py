"""What the conversation says about the intent of the next message, in log odds.

Few and small: the words of the message come first. They are set by hand, under `context` of the
prompt file of each intent, since examples stand alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kds.router.intents.evidence import IntentRules, without_lead_in
from kds.router.prompts.promptfile import ContextShift, When


@dataclass(frozen=True, slots=True)
class Situation:
    """Where in the conversation a message stands.

    ``previous_intent`` is that of the message before; ``has_reference`` says that the message
    points back to something, ``has_pointer`` that it does so with a word ("it");
    ``has_attachment`` that an image came with it.
    """

    previous_intent: str | None = None
    has_session: bool = False
    has_reference: bool = False
    has_pointer: bool = False
    has_attachment: bool = False


NO_SITUATION: Final = Situation()

_ADDING: Final = re.compile(r"(?:add|include|insert|attach|put|give|introduce)\b", re.IGNORECASE)
_QUESTION: Final = re.compile(
    r"\?\s*$|^(?:what|how|why|where|who|whom|whose|when|which|is|are|does|do|did|can|could|should"
    r"|would|will|and|or|but|so|same|for|in|on|under|with|if)\b",
    re.IGNORECASE,
)


def context_shifts(
    situation: Situation, message: str, rules: Iterable[IntentRules]
) -> Mapping[str, float]:
    """Shifts by intent, in log odds; intents that are not named stay as they are."""
    shifts: dict[str, float] = {}
    for one in rules:
        told = [shift.shift for shift in one.context if _tells(shift, situation, message)]
        if told:
            shifts[one.intent] = sum(told)
    return shifts


def _tells(shift: ContextShift, situation: Situation, message: str) -> bool:
    """Whether the sign that ``shift`` speaks of is there."""
    if shift.after and situation.previous_intent not in shift.after:
        return False
    return _SIGNS[shift.when](situation, message)


def _adds(message: str) -> bool:
    """ "Add a retry to it" changes what is there; "add a retry" may be something new."""
    return _ADDING.match(without_lead_in(message)) is not None


_SIGNS: Final[Mapping[When, Callable[[Situation, str], bool]]] = {
    "first": lambda at, _: at.previous_intent is None and not at.has_session,
    "question": lambda _, message: _QUESTION.search(without_lead_in(message)) is not None,
    "reference": lambda at, _: at.has_reference,
    "addition": lambda at, message: at.has_pointer and _adds(message),
    "image": lambda at, _: at.has_attachment,
}
