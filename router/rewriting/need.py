"""The step that tells how likely a message cannot be understood without earlier ones.

The antecedents of real chats can seldom be named: they are in code, on screens, in long replies.
That a message has one shows in its words, its meaning and its place, and in what the rules left
alone. Fitted on real chats by `make needs` (tools/fit_needs.py); the figures stand beside the
weights.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from kds.brain.turn import Turn
from kds.router.classify import place_of
from kds.router.intents.features import turn_vector
from kds.router.intents.fitted import FITTED, read_shipped
from kds.router.intents.linear import Floats, Matrix, sigmoid, unpacked
from kds.router.intents.turn_model import meaning_row

SHIPPED_NEEDS: Final = FITTED / "needs.npz"


@dataclass(frozen=True, slots=True)
class NeedModel:
    """A fitted logistic model over words (`turn_vector`), meaning, and what the rules found."""

    words: Matrix
    meaning: Matrix
    signs: Floats
    bias: Floats

    @classmethod
    def load(cls, content: bytes) -> "NeedModel":
        """The model that `make needs` wrote. Raises ValueError."""
        found = unpacked(content)
        words, meaning = (found[name].astype(np.float32) for name in ("words", "meaning"))
        return cls(words, meaning, found["signs"], found["bias"])

    def probability(self, turn: Turn) -> float:
        """How likely ``turn`` needs earlier messages."""
        place = place_of(turn)
        ids, values = turn_vector(turn.message, place)
        score = values @ self.words[ids] + need_signs(turn) @ self.signs + self.bias
        return float(sigmoid(score + meaning_row(turn.message, place, ()) @ self.meaning))


def may_need(turn: Turn) -> bool:
    """Whether anything came before that a message can need."""
    return bool(turn.context or turn.history) and not turn.context_switch


def need_signs(turn: Turn) -> Floats:
    """What the rules found in a message, as numbers from 0 to 1."""
    left, best = len(turn.unresolved), max((one.probability for one in turn.proposals), default=0.0)
    written = (turn.edits, turn.references, turn.proposals)
    return np.array([bool(left), min(left, 3) / 3.0, *map(bool, written), best], dtype=float)


def need(turn: Turn) -> Turn:
    """``turn`` with `Turn.needs_context`, by the model that ships. Raises KdsError."""
    model = shipped_needs() if may_need(turn) else None
    if model is None:
        return turn
    likely = model.probability(turn)
    note = f"it needs what was said before with probability {likely:.2f}"
    return replace(turn, needs_context=likely, notes=(*turn.notes, note))


@lru_cache(maxsize=1)
def shipped_needs() -> NeedModel | None:
    """The fitted numbers that ship. Raises KdsError when the file is damaged."""
    return read_shipped(SHIPPED_NEEDS, NeedModel.load)
