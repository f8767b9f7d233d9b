"""What a real turn wants: the prompts' own examples, and what people typed at work.

The examples of prompt files are tidy; real messages are not. Two readings are joined: the
classifier over prompts and patterns (`kds.router.intents.model`), and a head over words, meaning
and signs that was fitted on real turns. How much each counts depends on how sure the first
is, whether the message looks like any example at all, its length, and whether a conversation is
known. The outcome is the probability that an intent is right; an intent that the head never saw
has one as well. The same features tell how likely a message cannot be understood without earlier
ones. Fitted by `make turns` (tools/fit_turns.py); the figures stand beside the weights.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.features import Place, turn_vector
from kds.router.intents.fitted import FITTED, read_shipped
from kds.router.intents.linear import (
    Calibrator,
    Floats,
    Linear,
    Matrix,
    log_softmax,
    packed,
    sigmoid,
    unpacked,
)
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
    """The fitted numbers of head and join, and the weights of what needs earlier messages.

    ``head`` has three columns a label: each by itself and one of all, both by words and signs, and
    one of all by meaning. ``needs`` has a weight for each feature, then for each sign of the rules.
    """

    labels: tuple[str, ...]
    head: Linear
    join: Calibrator
    needs: Matrix
    needs_bias: float

    def read(self, message: str, place: Place, verdict: IntentVerdict) -> IntentVerdict:
        """``verdict`` on a message, revised; one that a whole phrase decided stands as it is."""
        if not verdict.log_p:
            return verdict
        rows, labels = join_rows(self.shares(message, place), verdict, message, place)
        likely = map(float, self.join.probabilities(rows))
        return revised(verdict, dict(zip(labels, likely, strict=True)), answered=place.answered)

    def shares(self, message: str, place: Place) -> Mapping[str, float]:
        """For each label of the head, how likely it is by the look of the message alone."""
        ids, values = turn_vector(message, place)
        scores = values @ self.head.weights[ids] + self.head.bias
        likely = head_shares(scores[None, :], len(self.labels))[0]
        return dict(zip(self.labels, map(float, likely), strict=True))

    def need(self, message: str, place: Place, signs: Floats) -> float:
        """How likely a message needs earlier ones; ``signs`` are what the rules found in it."""
        ids, values = turn_vector(message, place)
        score = values @ self.needs[ids] + signs @ self.needs[-len(signs) :] + self.needs_bias
        return float(sigmoid(score))


def head_shares(scores: Floats, labels: int) -> Floats:
    """How likely each label is, a row a message, from the models of the head side by side.

    The mean of their log odds: on the dev chats, cross-validated, one softmax over all features has
    a point less right of what is acted on.
    """
    each, *others = np.split(scores, scores.shape[1] // labels, axis=1)
    odds = [each]
    for one in others:
        share = np.clip(np.exp(log_softmax(one)), LEAST_SHARE, 1.0 - LEAST_SHARE)
        odds.append(np.log(share / (1.0 - share)))
    return sigmoid(np.mean(odds, axis=0))


def join_rows(
    head: Mapping[str, float], verdict: IntentVerdict, message: str, place: Place
) -> tuple[Floats, tuple[str, ...]]:
    """What the join weighs: a row for each label that either reading knows.

    What the verdict bars has the least log probability there is; `revised` does not choose it.
    """
    labels = tuple(sorted({*verdict.log_p, *verdict.barred, *head}))
    words, known = len(message.split()), float(place.answered)
    most = max(head.values(), default=0.0)
    gates = (1.0, verdict.confidence, verdict.in_scope, known, math.log1p(words), most)
    alone = verdict.confidence * (not place.answered)
    rows = []
    for label in labels:
        likely = min(max(head.get(label, LEAST), LEAST), 1.0 - LEAST)
        odds = math.log(likely / (1.0 - likely))
        log_p = max(verdict.log_p.get(label, FLOOR), FLOOR)
        p = math.exp(log_p)
        sure = (log_p, p, p * (words <= FEW_WORDS), float(label == verdict.intent))
        rows.append([
            odds * p,
            float(label in head),
            *(sign * gate for sign in (odds, log_p, p) for gate in gates),
            *(sign * alone for sign in sure),
        ])  # fmt: skip
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
        tuple(map(str, found["labels"])),
        Linear(found["weights"].astype(np.float32), found["bias"]),
        Calibrator(found["join"]),
        found["needs"].astype(np.float32),
        float(found["needs_bias"]),
    )


def dump_turn_model(model: TurnModel) -> bytes:
    """The model as a compressed `.npz` of plain arrays; the weights in half precision."""
    return packed({
        "labels": np.array(model.labels),
        "weights": model.head.weights.astype(np.float16),
        "bias": model.head.bias,
        "join": model.join.table,
        "needs": model.needs.astype(np.float16),
        "needs_bias": np.array(model.needs_bias),
    })  # fmt: skip
