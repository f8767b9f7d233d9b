"""The linear text head, and how it reads messages it has not seen. Needs scikit-learn.

The only module that imports scikit-learn and scipy, and only when a fit runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.certainty import Readings
from kds.router.intents.features import FeatureSpace, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MARGIN_COST: Final = 1.0
"""C of the linear SVM. 1 to 5 are within noise of each other on CLINC150 and Banking77 with 10
examples an intent; 0.1 to 0.4 lose 0.3 to 1 point with all of them."""

OWN_WEIGHT: Final = 10.0
"""An example of a label counts so much more than one of another label: +0.5 points on CLINC150
with 10 examples an intent over 1, at C = 1; the same from 3 to 30."""

TOLERANCE: Final = 1e-2
"""Same accuracy as scikit-learn's 1e-4, in two thirds of the time."""

CHUNK: Final = 200
"""Messages compared with all examples at a time: bounds the memory."""


@dataclass(frozen=True, slots=True)
class ExampleMatrix:
    """All examples as one sparse matrix, a row each."""

    matrix: "csr_matrix[Any]"
    labels: Ints
    space: FeatureSpace
    width: int

    @classmethod
    def build(cls, vectors: Sequence[Vector], labels: Ints, space: FeatureSpace) -> "ExampleMatrix":
        """Stack ``vectors`` of ``space``; every label from 0 to the last has an example."""
        from scipy.sparse import csr_matrix

        starts = np.cumsum([0, *(len(vector.ids) for vector in vectors)])
        ids = np.concatenate([vector.ids for vector in vectors])
        values = np.concatenate([vector.values for vector in vectors])
        matrix = csr_matrix((values, ids, starts), shape=(len(vectors), space.size))
        matrix.sort_indices()
        return cls(matrix, labels, space, int(labels.max()) + 1)

    def fit(self, seen: Ints) -> tuple[Floats, Floats]:
        """One-against-rest weights and bias; labels without an example get none, and bias -1."""
        from sklearn.svm import LinearSVC

        labels = self.labels[seen]
        present = np.unique(labels)
        weights = np.zeros((self.matrix.shape[1], self.width))
        bias = np.full(self.width, -1.0)
        if len(present) < 2:
            bias[present] = 1.0
            return weights, bias
        machine = LinearSVC(
            C=MARGIN_COST,
            tol=TOLERANCE,
            class_weight=dict.fromkeys(present.tolist(), OWN_WEIGHT),
            random_state=0,
        )
        machine.fit(self.matrix[seen], labels)
        if len(present) == 2:
            weights[:, present] = np.stack([-machine.coef_[0], machine.coef_[0]], axis=1)
            bias[present] = [-machine.intercept_[0], machine.intercept_[0]]
        else:
            weights[:, present] = machine.coef_.T
            bias[present] = machine.intercept_
        return weights, bias

    def margins(self, seen: Ints, held: Ints) -> Floats:
        """The margins of ``held`` by a head that was fitted on ``seen`` alone."""
        weights, bias = self.fit(seen)
        messages, _, _ = self._as_unseen(held, self._known(seen))
        return np.asarray(messages @ weights) + bias

    def read(self, seen: Ints, held: Ints, rule_scores: Floats | None) -> Readings:
        """Read ``held`` as a model would that was fitted on ``seen`` alone."""
        weights, bias = self.fit(seen)
        examples = self.matrix[seen]
        messages, unknown, covered = self._as_unseen(held, self._known(seen))
        return Readings(
            margins=np.asarray(messages @ weights) + bias,
            rule_scores=np.zeros((len(held), self.width)) if rule_scores is None else rule_scores,
            likeness=self._likeness(messages, examples, self.labels[seen]),
            unknown=unknown,
            covered=covered,
            terms=messages.getnnz(axis=1).astype(np.float64),
        )

    def _known(self, seen: Ints) -> NDArray[np.bool_]:
        return np.asarray(self.matrix[seen].getnnz(axis=0)) > 0

    def _as_unseen(
        self, held: Ints, known: NDArray[np.bool_]
    ) -> tuple["csr_matrix[Any]", Floats, Floats]:
        """Messages without the terms that only they have, at full length again; and the shares
        of their words that are unknown, and of their weight that is on known ones.
        """
        messages = self.matrix[held]
        column = messages.indices.copy()
        row = np.repeat(np.arange(len(held)), np.diff(messages.indptr))
        starts = np.array(self.space.starts)
        block = np.searchsorted(starts, column, side="right") - 1
        kept = known[column]
        values = messages.data * kept
        cell = row * len(self.space.blocks) + block
        squares = np.bincount(cell, values**2, minlength=len(held) * len(self.space.blocks))
        values *= self.space.shares[block] / np.sqrt(np.maximum(squares, 1e-30))[cell]
        messages.data = values
        messages.eliminate_zeros()

        idf = self.space.blocks[0].idf
        word = block == 0
        words = np.bincount(row[word], minlength=len(held))
        missing = np.bincount(row[word & ~kept], minlength=len(held))
        mass = np.bincount(row[word & kept], idf[column[word & kept]], minlength=len(held))
        covered = mass / np.maximum(mass + float(idf.max()) * missing, 1e-12)
        return messages, missing / np.maximum(words, 1), covered

    def _likeness(
        self, messages: "csr_matrix[Any]", examples: "csr_matrix[Any]", labels: Ints
    ) -> Floats:
        """Likeness to the nearest example of each label; 0 for labels without one."""
        order = np.argsort(labels, kind="stable")
        present, starts = np.unique(labels[order], return_index=True)
        turned = examples[order].T.tocsr()
        likeness = np.zeros((messages.shape[0], self.width))
        for begin in range(0, messages.shape[0], CHUNK):
            alike = (messages[begin : begin + CHUNK] @ turned).toarray()
            likeness[begin : begin + CHUNK, present] = np.maximum.reduceat(alike, starts, axis=1)
        return likeness
