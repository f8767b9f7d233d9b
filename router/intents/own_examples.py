"""Examples that one person taught, laid over a model that many share: nothing is fitted for them.

Fitting a model takes a second of CPU; somebody who teaches a phrase should not wait for that. So
the weights of the shared head stay, and each example pushes them as an online SVM does
(passive-aggressive, Crammer et al. 2006): as far as it takes to stand on the right side of every
label, in the direction of the example. An example that says too little by itself ("ship it")
counts for exactly that message and pushes nothing. docs/learning.md has what it costs, and how
near it comes to a fit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kds.brain.learning.phrases import phrase_key, says_little
from kds.router.intents.evidence import bare_request, readings
from kds.router.intents.features import Floats, Ints, Vector, readable

if TYPE_CHECKING:
    from kds.router.intents.model import Learned

MARGIN: Final = 1.0
"""From where on an example stands on the right side, as for the SVM of `text_head`."""

FOR: Final = 10.0
AGAINST: Final = 1.0
"""How far one example can push its own label, and the others: C of `text_head`, and its
OWN_WEIGHT."""

ROUNDS: Final = 3
"""Examples that are alike push one another; after three rounds nothing moves any more."""


_WORDS: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?|\?|[^\w\s,;:.!()\"]")


@dataclass(frozen=True, slots=True)
class OwnExamples:
    """The examples as vectors of the shared space, one after the other, and their pushes."""

    phrases: dict[str, int]
    """The label of each, by what the spellings of it share."""
    starts: Ints
    ids: Ints
    values: Floats
    labels: Ints
    pushes: Floats
    """Examples x labels: what a message just like one adds to the margin of each label."""
    size: int

    @classmethod
    def of(cls, examples: Sequence[tuple[str, str]], shared: "Learned") -> "OwnExamples | None":
        """Lay pairs of text and label over a model; None when there are none of its labels.

        Of two labels for one message the last one counts.
        """
        labels, space = shared.labels, shared.space
        phrases = {_key(text): labels.index(label) for text, label in examples
                   if label in labels}  # fmt: skip
        if not phrases:
            return None
        telling = {_key(text): text for text, _ in examples if not says_little(text)}
        known = [(text, phrases[key]) for key, text in telling.items() if key in phrases]
        vectors = [_shortened(space.vector(readable(text))) for text, _ in known]
        own = cls(
            phrases,
            *_stacked(vectors),
            np.array([label for _, label in known], dtype=np.int64),
            np.zeros((len(known), len(labels))),
            space.size,
        )
        margins = [vector.values @ shared.weights[vector.ids] + shared.bias for vector in vectors]
        moved = np.zeros((space.size, len(labels)))  # what the pushes add to the shared weights
        for row in list(range(len(vectors))) * ROUNDS:
            ids, values = vectors[row].ids, vectors[row].values
            further = own._push(row, margins[row] + values @ moved[ids], float(values @ values))
            moved[ids] += np.outer(values, further)
        return own

    def label_of(self, message: str) -> int | None:
        """The label of an example that the message is, however it is spelt or asked for.

        "Can you ship it?" and "ok, let's ship it" are the example "ship it".
        """
        asked_for = readings(readable(bare_request(message)))
        keys = [_key(message), *(_key(form).rstrip(" ?") for form in asked_for)]
        found = (self.phrases.get(key) for key in keys)
        return next((label for label in found if label is not None), None)

    def margins(self, vector: Vector) -> Floats:
        """What these examples add to the margin of each label."""
        return np.asarray(self._alike(_shortened(vector)) @ self.pushes)

    def likeness(self, vector: Vector) -> Floats:
        """For each label: likeness in [0, 1] to the nearest of these examples."""
        found = np.zeros(self.pushes.shape[1])
        np.maximum.at(found, self.labels, self._alike(_shortened(vector)))
        return found

    def _alike(self, vector: Vector) -> Floats:
        if not len(self.starts):
            return np.zeros(0)
        spread = np.zeros(self.size)
        spread[vector.ids] = vector.values
        return np.asarray(np.add.reduceat(spread[self.ids] * self.values, self.starts))

    def _push(self, row: int, margins: Floats, square: float) -> Floats:
        """Push as far as an example lacks; returns how much further that is than before."""
        before = self.pushes[row].copy()
        if square:
            wanted = np.full(len(margins), -MARGIN)
            wanted[self.labels[row]] = MARGIN
            limit = np.where(wanted > 0, FOR, AGAINST)
            lacking = np.maximum(0.0, (wanted - margins) * np.sign(wanted)) / square
            self.pushes[row] = np.sign(wanted) * np.minimum(np.abs(before) + lacking, limit)
        return np.asarray(self.pushes[row] - before)


def _key(text: str) -> str:
    """What the spellings of an example share: case and signs do not count, but for a question.

    >>> _key("Hmm, it covers the footer!"), _key("is it green?")
    ('hmm it covers the footer', 'is it green ?')
    """
    return " ".join(_WORDS.findall(phrase_key(text)))


def _stacked(vectors: Sequence[Vector]) -> tuple[Ints, Ints, Floats]:
    """Where each vector begins, and all their ids and values."""
    if not vectors:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    return (
        np.cumsum([0, *(len(vector.ids) for vector in vectors[:-1])]),
        np.concatenate([vector.ids for vector in vectors]),
        np.concatenate([vector.values for vector in vectors]),
    )


def _shortened(vector: Vector) -> Vector:
    """A vector as long as the share of its words that the shared model knows.

    Words that no shipped example has leave no trace in it: "sort the xyzzy" is not "sort the foo".
    """
    return Vector(vector.ids, vector.values * vector.covered, vector.unknown, vector.covered)
