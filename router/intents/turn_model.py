"""What a real turn wants: the prompts' own examples, and what people typed at work.

The examples of prompt files are tidy; real messages are not. Two readings are joined: the
classifier over prompts and patterns (`kds.router.intents.model`), and a head that was fitted on
real turns: over hashed words and signs, one model that asks of each intent whether it is right and
one that asks which of them it is, and over the encoder's vector a third. How much each reading
counts depends on how sure the first is, whether the message looks like any example at all, its
length, and whether a conversation is known. The outcome is the probability that an
intent is right; an intent that the head never saw has one as well. Fitted by `make turns`
(tools/fit_turns.py); the figures stand beside the weights.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from kds.brain.encoder import shared_encoder
from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.features import Place, meanings, turn_vector
from kds.router.intents.fitted import FITTED, read_shipped
from kds.router.intents.linear import Floats, Linear, Matrix, packed, sigmoid, unpacked
from kds.router.intents.model import MAX_ALTERNATIVES
from kds.router.intents.patterns import IntentVerdict

FLOOR: Final = -9.0
"""The least log probability that counts."""

CLOSE: Final = 0.08
"""Of two intents this close, both are mostly right, and what the prompts' own examples and patterns
say is taken: "use a switch, not a button" may be carried out, and is a correction."""

FEW_WORDS: Final = 12
"""A short message without a known reply is mostly what its words say."""

STANDS: Final = 0.75
"""The confidence from which on a verdict outweighs the join: with it 97 % of the tidy dialogues
are right, without it 96 %; of the real turns acted on .886 and .891."""

NONE_STANDS: Final = 0.9
"""The same for "none of the intents", before calibration: nobody asks for the weather at work, so
the join takes that for a question like any other. No real turn is read otherwise with it."""

LEAST_SHARE: Final = 1e-4
"""The least share of a label among all that counts: one model alone must not rule it out."""

LEAST: Final = 0.003
"""The least probability of the head: a label it never saw gets this."""


@dataclass(frozen=True, slots=True)
class TurnModel:
    """The fitted numbers of head and join.

    ``weights`` are TURN_PLACES x twice the labels: first those of each label by itself, then those
    of one among all. ``bias`` likewise; ``meaning`` is the model over `meaning_row`, and the others
    belong to the join.
    """

    labels: tuple[str, ...]
    weights: Matrix
    bias: Floats
    meaning: Linear
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
        found = dict(zip(labels, map(float, likely), strict=True))
        return revised(verdict, found, answered=place.answered)

    def head(self, message: str, place: Place) -> Mapping[str, float]:
        """For each label of the head, how likely it is by the look of the message alone."""
        ids, values = turn_vector(message, place)
        scores = values @ self.weights[ids].astype(np.float64) + self.bias
        if shared_encoder().available:
            row = meaning_row(message, place, self.labels)
            scores = np.append(scores, self.meaning.scores(row[None, :])[0])
        likely = head_shares(scores, len(self.labels))
        return dict(zip(self.labels, map(float, likely), strict=True))


def meaning_row(message: str, place: Place, labels: Sequence[str]) -> Matrix:
    """The encoder's vector of a message, and where it stands."""
    signs = [
        float(place.answered),
        min(place.earlier, 3) / 3.0,
        *(float(place.previous == label) for label in labels),
        math.log1p(len(message.split())),
        float("?" in message),
        float("\n" in message),
    ]
    return np.append(meanings([message])[0], np.array(signs, dtype=np.float32))


def head_shares(scores: Floats, labels: int) -> Floats:
    """How likely each label is, from the scores of the linear models, side by side.

    The mean of their log odds: of the dev chats' turns, cross-validated, .850 are right with the
    third model, over meaning, and .840 without it, .794 by the third alone.
    """
    each, *others = np.split(scores, scores.shape[-1] // labels, axis=-1)
    odds = [each]
    for one in others:
        powers = np.exp(one - one.max(axis=-1, keepdims=True))
        share = powers / powers.sum(axis=-1, keepdims=True)
        share = np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE)
        odds.append(np.log(share / (1.0 - share)))
    return sigmoid(np.mean(odds, axis=0))


def join_rows(
    head: Mapping[str, float], verdict: IntentVerdict, message: str, place: Place
) -> tuple[Floats, tuple[str, ...]]:
    """What the join weighs: a row for each label that either reading knows.

    What the verdict bars has the least log probability there is; `revised` does not choose it.
    """
    labels = tuple(sorted({*verdict.log_p, *verdict.barred, *head}))
    most = max(head.values(), default=0.0)
    words = len(message.split())
    alone = verdict.confidence * (not place.answered)
    known = float(place.answered)
    gates = np.array([verdict.confidence, verdict.in_scope, known, math.log1p(words), most])
    rows = []
    for label in labels:
        likely = min(max(head.get(label, LEAST), LEAST), 1.0 - LEAST)
        odds = np.log(likely / (1.0 - likely))
        log_p = max(verdict.log_p.get(label, FLOOR), FLOOR)
        p = np.exp(log_p)
        own = [odds, log_p, p, odds * p, float(label in head)]
        sure = alone * np.array([log_p, p, p * (words <= FEW_WORDS), label == verdict.intent])
        rows.append(np.concatenate([own, odds * gates, log_p * gates, p * gates, sure]))
    return np.array(rows), labels


def revised(
    verdict: IntentVerdict, likely: Mapping[str, float], *, answered: bool = True
) -> IntentVerdict:
    """``verdict`` with the probability of every intent that the join gives.

    Where no reply is known, a verdict that is sure (STANDS) of another intent stands.
    """
    open_to = [pair for pair in likely.items() if pair[0] not in verdict.barred]
    ranked = [IntentScore(*pair) for pair in sorted(open_to, key=lambda pair: (-pair[1], pair[0]))]
    close = (one for one in ranked if one.confidence >= ranked[0].confidence - CLOSE)
    winner = next((one for one in close if one.intent == verdict.intent), ranked[0])
    if verdict.intent == UNKNOWN:
        stands = math.exp(verdict.log_p.get(UNKNOWN, FLOOR)) >= NONE_STANDS
    else:
        stands = verdict.confidence >= STANDS
    if stands and not answered and winner.intent != verdict.intent:
        return verdict
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


@lru_cache(maxsize=1)
def shipped_turn_model() -> TurnModel | None:
    """The fitted numbers that ship."""
    return read_shipped(FITTED / "turns.npz", load_turn_model)


def turn_model_for(labels: Collection[str]) -> TurnModel | None:
    """The shipped model where all its intents are among ``labels``, else None."""
    shipped = shipped_turn_model()
    return shipped if shipped is not None and set(shipped.labels) <= {*labels, UNKNOWN} else None


def load_turn_model(content: bytes) -> TurnModel:
    """Read what `dump_turn_model` wrote. Raises ValueError for anything else."""
    found = unpacked(content)
    return TurnModel(
        labels=tuple(map(str, found["labels"])),
        weights=found["weights"].astype(np.float32),
        bias=found["bias"],
        meaning=Linear(found["meaning"].astype(np.float32), found["meaning_bias"]),
        centre=found["centre"],
        scale=found["scale"],
        join=found["join"],
        join_bias=float(found["join_bias"]),
    )


def dump_turn_model(model: TurnModel) -> bytes:
    """The model as a compressed `.npz` of plain arrays; the weights in half precision."""
    return packed({
        "labels": np.array(model.labels),
        "weights": model.weights.astype(np.float16),
        "bias": model.bias,
        "meaning": model.meaning.weights.astype(np.float16),
        "meaning_bias": model.meaning.bias,
        "centre": model.centre,
        "scale": model.scale,
        "join": model.join,
        "join_bias": np.array(model.join_bias),
    })  # fmt: skip
