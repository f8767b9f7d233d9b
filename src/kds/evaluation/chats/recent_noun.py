"""The yardstick for references: the seed document's own pseudo-code, word for word.

It replaces the first pronoun of a message by the most recent noun of the messages before. What
costs more than that must do better than that.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.language.words import Analysis
from kds.router.references.resolver import apply_edits

RULE: Final = "most-recent-noun"
_PRONOUN: Final = re.compile(r"\b(?:it|this|that|these|those|them)\b", re.IGNORECASE)


def recent_noun_turn(
    message: str, history: Sequence[Utterance], analyse: Callable[[str], Analysis]
) -> Turn:
    """The turn that this reading makes of ``message``; only its expansion is told."""
    turn = Turn(message, datetime.min.replace(tzinfo=UTC), expanded=message)
    pronoun = _PRONOUN.search(message)
    noun = _recent_noun([said.text for said in history if said.role == "user"], analyse)
    if pronoun is None or not noun:
        return turn
    edit = Edit(pronoun.start(), pronoun.end(), noun)
    reference = Reference(pronoun.group(), edit.start, edit.end, noun, RULE, 1.0)
    expanded = apply_edits(message, [edit])
    return Turn(message, turn.at, references=(reference,), edits=(edit,), expanded=expanded)


def _recent_noun(messages: Sequence[str], analyse: Callable[[str], Analysis]) -> str:
    for message in reversed(messages):
        found = analyse(message)
        if found.phrases:
            last = found.phrases[-1]
            words = found.words
            return found.text[words[last.core].start : words[last.end - 1].end]
    return ""
