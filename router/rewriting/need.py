"""The step that tells how likely a message cannot be understood without earlier ones.

The antecedents of real chats can seldom be named: they are in code, on screens, in long replies.
That a message has one shows in its words, its meaning and its place, and in what the rules wrote.
Fitted on real chats (`kds.router.intents.turn_model`).
"""

from dataclasses import replace

import numpy as np

from kds.brain.turn import Turn
from kds.router.classify import place_of
from kds.router.intents.linear import Floats
from kds.router.intents.turn_model import shipped_turn_model


def may_need(turn: Turn) -> bool:
    """Whether anything came before that a message can need."""
    return bool(turn.context or turn.history) and not turn.context_switch


def need_signs(turn: Turn) -> Floats:
    """What the rules wrote and proposed for a message, and the logarithm of its length."""
    found = map(bool, (turn.edits, turn.references, turn.proposals))
    best = max((one.probability for one in turn.proposals), default=0.0)
    return np.array([*found, best, np.log1p(len(turn.message.split()))], dtype=float)


def need(turn: Turn) -> Turn:
    """``turn`` with `Turn.needs_context`, by the model that ships. Raises KdsError."""
    model = shipped_turn_model() if may_need(turn) else None
    if model is None:
        return turn
    likely = model.need(turn.message, place_of(turn), need_signs(turn))
    note = f"it needs what was said before with probability {likely:.2f}"
    return replace(turn, needs_context=likely, notes=(*turn.notes, note))
