"""What learned examples would do to the shipped ones: read with them and without.

Only the text head is fitted, 0.05 seconds a fit where the whole model takes two: patterns and
calibration, which only soften what an example does, stay out. Each shipped example is read by a
head that has seen it, as the router's has, and in turns by one that has not, as the messages of
tomorrow will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kds.brain.learning.learned_file import LearnedExample
from kds.router.intents.features import FeatureSpace, readable
from kds.router.intents.lessons import lessons
from kds.router.intents.terms import terms
from kds.router.intents.text_head import ExampleMatrix
from kds.router.intents.training import FOLDS
from kds.router.prompts.promptfile import PromptFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flip:
    """A shipped example that would be read as another intent; ``seen`` by the head itself."""

    text: str
    intent: str
    becomes: str
    seen: bool


@dataclass(frozen=True, slots=True)
class Bench:
    """Shipped and learned examples as rows of one matrix, the shipped ones first.

    ``before`` are the labels that the shipped ones get without any learned one: seen, and unseen;
    ``margins`` are those of all rows by a head that has seen the shipped ones alone.
    """

    matrix: ExampleMatrix
    labels: Sequence[str]
    texts: Sequence[str]
    margins: Floats
    before: tuple[Ints, Ints]

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
        margins = matrix.margins(np.arange(len(shipped)), np.arange(len(pairs)))
        seen = margins[: len(shipped)].argmax(axis=1)
        bench = cls(matrix, labels, [text for text, _ in shipped], margins, (seen, seen))
        return replace(bench, before=(seen, bench._unseen(np.zeros(0, np.int64))))

    def distance(self, number: int) -> tuple[float, str]:
        """How far the shipped examples put a learned one below the intent they speak for."""
        row = len(self.texts) + number
        margins = self.margins[row]
        best = int(margins.argmax())
        return float(margins[best] - margins[self.matrix.labels[row]]), self.labels[best]

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
        for was, now, seen in zip(self.before, self._read(learned), (True, False), strict=True):
            for row in np.flatnonzero((was == truth) & (now != truth)).tolist():
                intent, becomes = self.labels[truth[row]], self.labels[now[row]]
                found.setdefault(row, Flip(self.texts[row], intent, becomes, seen))
        return tuple(found.values())

    def _read(self, learned: Sequence[int]) -> tuple[Ints, Ints]:
        shipped = np.arange(len(self.texts))
        added = np.array([len(self.texts) + number for number in learned], dtype=np.int64)
        everything = np.concatenate([shipped, added])
        return self.matrix.margins(everything, shipped).argmax(axis=1), self._unseen(added)

    def _unseen(self, added: Ints) -> Ints:
        shipped = np.arange(len(self.texts))
        unseen = np.zeros(len(shipped), dtype=np.int64)
        for fold in range(FOLDS):
            held = shipped[shipped % FOLDS == fold]
            others = np.concatenate([shipped[shipped % FOLDS != fold], added])
            if len(held) and len(others):
                unseen[held] = self.matrix.margins(others, held).argmax(axis=1)
        return unseen
