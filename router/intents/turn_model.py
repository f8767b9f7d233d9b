"""What a real turn wants: the prompts' own examples, and what people typed at work.

The examples of prompt files are tidy; real messages are not. Two readings are joined: the
classifier over prompts and patterns (`kds.router.intents.model`), and a head over hashed terms and
signs of real turns: two linear models, one that asks of each intent whether it is right, one that
asks which of them it is. How much each reading counts depends on how sure the first is, whether the
message looks like any example at all, its length, and whether a conversation is known. The
outcome is the probability that a careful reader accepts an intent. Fitted by
`make turns` (tools/fit_turns.py); the figures stand beside the weights.
"""

import io
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.errors import KdsError
from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.calibration import sigmoid
from kds.router.intents.model import MAX_ALTERNATIVES
from kds.router.intents.turn_signs import Place, turn_vector
from kds.router.intents.verdict import IntentVerdict

Floats = NDArray[np.float64]

SHIPPED_TURNS: Final = Path(__file__).parent.parent / "fitted" / "turns.npz"

FLOOR: Final = -9.0
"""The least log probability that counts."""

CLOSE: Final = 0.08
"""Of two intents this close, both are mostly right, and what the prompts' own examples and patterns
say is taken: "use a switch, not a button" may be carried out, and is a correction."""

LEAST_SHARE: Final = 1e-4
"""The least share of a label among all that counts: one model alone must not rule it out."""

LEAST: Final = 0.003
"""The least probability of the head: a label it never saw gets this."""


@dataclass(frozen=True, slots=True)
class TurnModel:
    """The fitted numbers of head and join.

    ``weights`` are DIMENSION x twice the labels: first those of each label by itself, then those of
    one among all. ``bias`` likewise; the others belong to the join.
    """

    labels: tuple[str, ...]
    weights: NDArray[np.float32]
    bias: Floats
    centre: Floats
    scale: Floats
    join: Floats
    join_bias: float

    def read(self, message: str, place: Place, verdict: IntentVerdict) -> IntentVerdict:
        """``verdict`` on a message, revised; one that a whole phrase decided stands as it is."""
        if not verdict.log_p:
            return verdict
        head = self.head(message, place)
        rows, labels = join_rows(head, verdict, message, place)
        likely = sigmoid((rows - self.centre) / self.scale @ self.join + self.join_bias)
        return revised(verdict, dict(zip(labels, map(float, likely), strict=True)))

    def head(self, message: str, place: Place) -> Mapping[str, float]:
        """For each label of the head, how likely it is by the look of the message alone."""
        ids, values = turn_vector(message, place)
        likely = head_shares(values @ self.weights[ids].astype(np.float64) + self.bias)
        return dict(zip(self.labels, map(float, likely), strict=True))


def head_shares(scores: Floats) -> Floats:
    """How likely each label is, from the scores of both linear models, side by side.

    The mean of their log odds: of the surest 86 % of the dev chats' turns, cross-validated, .890
    are right, beside .886 and .879 by one of them alone (decision 0024).
    """
    each, one = np.split(scores, 2, axis=-1)
    powers = np.exp(one - one.max(axis=-1, keepdims=True))
    share = np.clip(powers / powers.sum(axis=-1, keepdims=True), LEAST_SHARE, 1.0 - LEAST_SHARE)
    return sigmoid((each + np.log(share / (1.0 - share))) / 2.0)


def revised(verdict: IntentVerdict, likely: Mapping[str, float]) -> IntentVerdict:
    """``verdict`` with the probability of every intent that the join gives."""
    open_to = {label: share for label, share in likely.items() if label not in verdict.barred}
    ranked = [IntentScore(*pair) for pair in sorted(open_to.items(), key=lambda p: (-p[1], p[0]))]
    winner = _winner(ranked, verdict.intent)
    known = [score for score in ranked if score.intent != UNKNOWN]
    confidence = known[0].confidence if winner.intent == UNKNOWN else winner.confidence
    others = tuple(score for score in known if score.intent != winner.intent)
    note = f"beside what people typed at work: {winner.intent} {winner.confidence:.2f}"
    return replace(
        verdict,
        intent=winner.intent,
        confidence=confidence,
        alternatives=others[:MAX_ALTERNATIVES],
        notes=(*verdict.notes, note),
    )


def _winner(ranked: Sequence[IntentScore], first: str) -> IntentScore:
    """The most likely intent, or that of the ``first`` reading where it is as likely."""
    close = (score for score in ranked if score.confidence >= ranked[0].confidence - CLOSE)
    return next((score for score in close if score.intent == first), ranked[0])


def join_rows(
    head: Mapping[str, float], verdict: IntentVerdict, message: str, place: Place
) -> tuple[Floats, tuple[str, ...]]:
    """What the join weighs: a row for each label that either reading knows.

    What the verdict bars has the least log probability there is; `revised` does not choose it.
    """
    labels = tuple(sorted({*verdict.log_p, *verdict.barred, *head}))
    most = max(head.values(), default=0.0)
    length = float(np.log1p(len(message.split())))
    gates = np.array([verdict.confidence, verdict.in_scope, float(place.answered), length, most])
    rows = []
    for label in labels:
        likely = min(max(head.get(label, LEAST), LEAST), 1.0 - LEAST)
        odds = np.log(likely / (1.0 - likely))
        log_p = max(verdict.log_p.get(label, FLOOR), FLOOR)
        p = np.exp(log_p)
        own = [odds, log_p, p, odds * p, float(label in head)]
        rows.append(np.concatenate([own, odds * gates, log_p * gates, p * gates]))
    return np.array(rows), labels


@lru_cache(maxsize=1)
def shipped_turn_model() -> TurnModel | None:
    """The fitted numbers that ship; None in a tree where they are yet to be made.

    Raises KdsError when the file is damaged.
    """
    try:
        return load_turn_model(SHIPPED_TURNS.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise KdsError(
            "the turn model that ships with KDS is damaged",
            where=str(SHIPPED_TURNS),
            hint="install KDS anew",
        ) from error


def turn_model_for(labels: Collection[str]) -> TurnModel | None:
    """The shipped model where all its intents are among ``labels``, else None."""
    shipped = shipped_turn_model()
    return shipped if shipped is not None and set(shipped.labels) <= {*labels, UNKNOWN} else None


def load_turn_model(content: bytes) -> TurnModel:
    """Read what `dump_turn_model` wrote. Raises ValueError for anything else."""
    try:
        return _read(content)
    except (KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"not a turn model: {error}") from error


def _read(content: bytes) -> TurnModel:
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return TurnModel(
            labels=tuple(map(str, found["labels"])),
            weights=found["weights"].astype(np.float32),
            bias=found["bias"],
            centre=found["centre"],
            scale=found["scale"],
            join=found["join"],
            join_bias=float(found["join_bias"]),
        )


def dump_turn_model(model: TurnModel) -> bytes:
    """The model as a compressed `.npz` of plain arrays; the weights in half precision."""
    out = io.BytesIO()
    np.savez_compressed(
        out,
        labels=np.array(model.labels),
        weights=model.weights.astype(np.float16),
        bias=model.bias,
        centre=model.centre,
        scale=model.scale,
        join=model.join,
        join_bias=np.array(model.join_bias),
    )
    return out.getvalue()
