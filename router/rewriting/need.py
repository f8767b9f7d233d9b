"""The probability that a message cannot be understood without earlier ones.

The antecedents of real chats can seldom be named: they are in code, on screens, in long replies.
That a message has one shows in its words, its meaning and its place, and in what the rules left
alone. Fitted on real chats by `make needs` (tools/fit_needs.py); the figures stand beside the
weights.
"""

import io
import zipfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.router.classify import place_of
from kds.router.intents.features import turn_vector
from kds.router.intents.linear import Floats, Matrix, sigmoid
from kds.router.intents.turn_model import meaning_row
from kds.router.pipeline import Step

SHIPPED_NEEDS: Final = Path(__file__).parent.parent / "fitted" / "needs.npz"

READS: Final = frozenset(
    {
        *("message", "history", "context", "references", "edits", "unresolved", "proposals"),
        "context_switch",
    }
)


@dataclass(frozen=True, slots=True)
class NeedModel:
    """A fitted logistic model over words (`turn_vector`), meaning, and what the rules found."""

    words: Matrix
    meaning: Matrix
    signs: Floats
    bias: float

    def probability(self, turn: Turn) -> float:
        """How likely ``turn`` needs earlier messages; 0 where nothing did, or the topic changes."""
        if not may_need(turn):
            return 0.0
        place = place_of(turn)
        ids, values = turn_vector(turn.message, place)
        score = float(values @ self.words[ids] + need_signs(turn) @ self.signs + self.bias)
        score += float(meaning_row(turn.message, place, ()) @ self.meaning)
        return float(sigmoid(np.array(score)))


def may_need(turn: Turn) -> bool:
    """Whether anything came before that a message can need."""
    return bool(turn.context or turn.history) and not turn.context_switch


def need_signs(turn: Turn) -> Floats:
    """What the rules found in a message, as numbers from 0 to 1."""
    return np.array(
        [
            float(bool(turn.unresolved)),
            min(len(turn.unresolved), 3) / 3.0,
            float(bool(turn.edits)),
            float(bool(turn.references)),
            float(bool(turn.proposals)),
            max((one.probability for one in turn.proposals), default=0.0),
        ]
    )


def make_need() -> Step:
    """The step that writes `Turn.needs_context`, by the model that ships."""

    def need(turn: Turn) -> Turn:
        model = shipped_need_model() if may_need(turn) else None
        if model is None:
            return turn
        likely = model.probability(turn)
        note = f"it needs what was said before with probability {likely:.2f}"
        return replace(turn, needs_context=likely, notes=(*turn.notes, note))

    return Step("need", READS, frozenset({"needs_context"}), need)


@lru_cache(maxsize=1)
def shipped_need_model() -> NeedModel | None:
    """The fitted numbers that ship; None in a tree where they are yet to be made.

    Raises KdsError when the file is damaged.
    """
    try:
        return load_need_model(SHIPPED_NEEDS.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise KdsError(
            "the model of what messages need, which ships with KDS, is damaged",
            where=str(SHIPPED_NEEDS),
            hint="reinstall KDS",
        ) from error


def load_need_model(content: bytes) -> NeedModel:
    """Read what `dump_need_model` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return NeedModel(
            words=found["words"].astype(np.float32),
            meaning=found["meaning"].astype(np.float32),
            signs=found["signs"],
            bias=float(found["bias"]),
        )


def dump_need_model(model: NeedModel) -> bytes:
    """The model as a compressed `.npz` of plain arrays; the weights in half precision."""
    out = io.BytesIO()
    np.savez_compressed(
        out,
        words=model.words.astype(np.float16),
        meaning=model.meaning.astype(np.float16),
        signs=model.signs,
        bias=np.array(model.bias),
    )
    return out.getvalue()
