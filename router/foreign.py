"""The step that leaves a message alone which is not English: KDS reads no other language.

Reads   message, references, expanded, intent, confidence, in_scope, alternatives
Writes  english, references, edits, unresolved, proposals, expanded, context_ref, context_switch,
        intent, confidence, alternatives, secondary_intents
Never   touches an English message, or one that names the agent it is for.
"""

from dataclasses import replace
from typing import Final

from kds.brain.turn import NOT_ENGLISH, UNKNOWN, Turn
from kds.router.intents.policy import decide
from kds.router.language.other_languages import is_foreign
from kds.router.pipeline import Step

READS: Final = frozenset(
    {"message", "references", "expanded", "intent", "confidence", "in_scope", "alternatives"}
)
WRITES: Final = frozenset(
    {
        *("english", "references", "edits", "unresolved", "proposals", "expanded", "context_ref"),
        *("context_switch", "intent", "confidence", "alternatives", "secondary_intents"),
    }
)


def make_foreign() -> Step:
    """The step; it stands behind classify, since less is enough where nothing was understood."""

    def foreign(turn: Turn) -> Turn:
        if not is_foreign(turn.message, doubted=_is_doubted(turn)):
            return turn
        return replace(
            turn,
            english=False,
            references=(),
            edits=(),
            unresolved=(),
            proposals=(),
            expanded=turn.message,
            context_ref=None,
            context_switch=False,
            intent=UNKNOWN,
            confidence=0.0,
            alternatives=(),
            secondary_intents=(),
            notes=(*turn.notes, NOT_ENGLISH),
        )

    return Step("foreign", READS, WRITES, foreign)


def _is_doubted(turn: Turn) -> bool:
    decision = decide(turn.intent, turn.confidence, turn.alternatives, in_scope=turn.in_scope)
    return decision.action != "route"
