"""What learned examples would do to the shipped ones: read with them and without.

Only the text head is fitted, 0.2 seconds a fit where the whole model takes two: patterns and
calibration, which only soften what an example does, stay out. Each shipped example is read by a
head that has seen it, as the router's has, and in turns by one that has not, as the messages of
tomorrow will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kds.brain.learning.learned_file import LearnedExample
from kds.router.intents.features import FeatureSpace, readable
from kds.router.intents.lessons import lessons
from kds.router.intents.terms import terms
from kds.router.intents.text_head import ExampleMatrix
from kds.router.intents.training import FOLDS
from kds.router.prompts.promptfile import PromptFile

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flip:
    """A shipped example that would be read as another intent; ``seen`` by the head itself."""

    text: str
    intent: str
    becomes: str
    seen: bool


@dataclass(frozen=True)
class Bench:
    """Shipped and learned examples as rows of one matrix, the shipped ones first.

    ``seen`` are the labels that the shipped ones get by a head that has seen no learned one.
    ``standing`` are the margins of the learned ones by the same head, which has seen none of them.
    """

    matrix: ExampleMatrix
    labels: Sequence[str]
    texts: Sequence[str]
    seen: Ints
    standing: NDArray[np.float64]

    @classmethod
    def of(cls, prompts: Sequence[PromptFile], learned: Sequence[LearnedExample]) -> "Bench":
        """Lay out the examples. Every intent of ``learned`` is one of the prompts'."""
        shipped, _ = lessons(prompts)
        pairs = [*shipped, *((one.text, one.intent) for one in learned)]
        labels = sorted({intent for _, intent in pairs})
        counts = [terms(readable(text)) for text, _ in pairs]
        space = FeatureSpace.fit(counts)
        targets = np.array([labels.index(intent) for _, intent in pairs])
        matrix = ExampleMatrix.build(space.vectors_of(counts), targets, space)
        rows = np.arange(len(pairs))
        margins = matrix.margins(rows[: len(shipped)], rows)
        seen = margins[: len(shipped)].argmax(axis=1)
        texts = [text for text, _ in shipped]
        return cls(matrix, labels, texts, seen, margins[len(shipped) :])

    @cached_property
    def unseen(self) -> Ints:
        """The same labels, each by a head that has not seen the example: half of the cost, so only
        for learned ones that the shipped do not contradict clearly."""
        shipped = np.arange(len(self.texts))
        return _unseen(self.matrix, shipped, shipped[:0])

    def distance(self, number: int) -> tuple[float, str]:
        """How far the shipped examples put a learned one below the intent they speak for."""
        margins = self.standing[number]
        best, own = int(margins.argmax()), self.matrix.labels[len(self.texts) + number]
        return float(margins[best] - margins[own]), self.labels[best]

    def nearest(self, number: int, label: str) -> str:
        """The shipped example of ``label`` that is most like a learned one."""
        rows = np.flatnonzero(self.matrix.labels[: len(self.texts)] == self.labels.index(label))
        learned = self.matrix.matrix[len(self.texts) + number]
        likeness = (self.matrix.matrix[rows] @ learned.T).toarray()
        return self.texts[int(rows[likeness.argmax()])]

    def flips(self, learned: Sequence[int]) -> tuple[Flip, ...]:
        """The shipped examples that are read right without these learned ones, wrong with them."""
        truth = self.matrix.labels[: len(self.texts)]
        found: dict[int, Flip] = {}
        before = (self.seen, self.unseen)
        for was, now, seen in zip(before, self._read(learned), (True, False), strict=True):
            for row in np.flatnonzero((was == truth) & (now != truth)).tolist():
                intent, becomes = self.labels[truth[row]], self.labels[now[row]]
                found.setdefault(row, Flip(self.texts[row], intent, becomes, seen))
        return tuple(found.values())

    def _read(self, learned: Sequence[int]) -> tuple[Ints, Ints]:
        shipped = np.arange(len(self.texts))
        added = np.array([len(self.texts) + number for number in learned], dtype=np.int64)
        everything = np.concatenate([shipped, added])
        seen = self.matrix.margins(everything, shipped).argmax(axis=1)
        return seen, _unseen(self.matrix, shipped, added)


def _unseen(matrix: ExampleMatrix, shipped: Ints, added: Ints) -> Ints:
    """Labels of the shipped examples, each by a head that has seen the others of them."""
    labels = np.zeros(len(shipped), dtype=np.int64)
    for fold in range(FOLDS):
        held = shipped[shipped % FOLDS == fold]
        others = np.concatenate([shipped[shipped % FOLDS != fold], added])
        if len(held) and len(others):
            labels[held] = matrix.margins(others, held).argmax(axis=1)
    return labels
