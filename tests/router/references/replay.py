"""What tests that replay many conversations share."""

import re
from dataclasses import replace

from kds.api.parts import Parts
from kds.brain.turn import Turn
from kds.router.understanding import make_decide, make_expand, make_resolve

FAULTS = re.compile(
    r"\b(?:a|an|the) (?:a|an|the)\b|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff]"
    r"|\b(to|of|for|in|on|with) \1\b| {2,}(?=\S)",
    re.IGNORECASE,
)
"""A doubled article or preposition, a control character, several blanks."""


def expanded(parts: Parts, before: Turn, message: str) -> str:
    """The message as the router expands it in a turn; its intent, which costs as much, is left."""
    resolver, turn = parts.resolver, replace(before, message=message)
    for step in (make_resolve(resolver), make_decide(parts.decider), make_expand(resolver)):
        turn = step.run(turn)
    return turn.expanded
