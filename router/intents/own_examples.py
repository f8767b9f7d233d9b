"""Examples of one person, laid over a model that many share: nothing is fitted for them.

A service for hundreds of people cannot keep a fitted model for each, nor fit one (a second of CPU)
when somebody teaches it a phrase. So the weights of the shared head stay, and each example pushes
them as an online SVM does (passive-aggressive, Crammer et al. 2006): as far as it takes to stand
on the right side of every label, in the direction of the example. docs/learning.md has what it
costs, and how near it comes to a fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kds.brain.learning.phrase import phrase_key
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
        """Lay pairs of text and label over a model; None when there are none of its labels."""
        labels, space = shared.labels, shared.space
        known = [(text, labels.index(label)) for text, label in examples if label in labels]
        if not known:
            return None
        vectors = [_shortened(space.vector(readable(text))) for text, _ in known]
        own = cls(
            {phrase_key(text): label for text, label in known},
            *_stacked(vectors),
            np.array([label for _, label in known]),
            np.zeros((len(known), len(labels))),
            space.size,
        )
        margins = [vector.values @ shared.weights[vector.ids] + shared.bias for vector in vectors]
        for row in list(range(len(vectors))) * ROUNDS:
            own._push(row, vectors[row], margins[row])
        return own

    def label_of(self, message: str) -> int | None:
        """The label of an example that the message is, however it is spelt."""
        return self.phrases.get(phrase_key(message))

    def margins(self, vector: Vector) -> Floats:
        """What these examples add to the margin of each label."""
        return np.asarray(self._alike(_shortened(vector)) @ self.pushes)

    def likeness(self, vector: Vector) -> Floats:
        """For each label: likeness in [0, 1] to the nearest of these examples."""
        found = np.zeros(self.pushes.shape[1])
        np.maximum.at(found, self.labels, self._alike(_shortened(vector)))
        return found

    def _alike(self, vector: Vector) -> Floats:
        spread = np.zeros(self.size)
        spread[vector.ids] = vector.values
        return np.asarray(np.add.reduceat(spread[self.ids] * self.values, self.starts))

    def _push(self, row: int, vector: Vector, shared: Floats) -> None:
        square = float(vector.values @ vector.values)
        if not square:
            return
        margins = shared + self._alike(vector) @ self.pushes
        wanted = np.full(len(margins), -MARGIN)
        wanted[self.labels[row]] = MARGIN
        limit = np.where(wanted > 0, FOR, AGAINST)
        lacking = np.maximum(0.0, (wanted - margins) * np.sign(wanted)) / square
        pushed = np.abs(self.pushes[row]) + lacking
        self.pushes[row] = np.sign(wanted) * np.minimum(pushed, limit)


def _stacked(vectors: Sequence[Vector]) -> tuple[Ints, Ints, Floats]:
    """Where each vector begins, and all their ids and values."""
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
