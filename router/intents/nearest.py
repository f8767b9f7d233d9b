"""How like a message is to the examples: cosine over the TF-IDF terms they share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.features import Floats, Ints, Vector


@dataclass(frozen=True, slots=True)
class ExampleIndex:
    """The examples by term: those of term t stand at ``starts[t]:starts[t + 1]``.

    Examples are numbered label by label: those of label c are ``label_starts[c]`` and on.
    """

    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    label_starts: NDArray[np.int32]
    count: int

    @classmethod
    def build(cls, vectors: Sequence[Vector], labels: Ints, size: int) -> "ExampleIndex":
        """Index ``vectors`` over ``size`` terms. Every label from 0 to the last has one."""
        by_label = np.argsort(labels, kind="stable")
        placed = [vectors[row] for row in by_label.tolist()]
        ids = np.concatenate([vector.ids for vector in placed])
        rows = np.repeat(np.arange(len(placed)), [len(vector.ids) for vector in placed])
        values = np.concatenate([vector.values for vector in placed])
        order = np.argsort(ids, kind="stable")
        starts = np.searchsorted(ids[order], np.arange(size + 1))
        label_starts = np.searchsorted(labels[by_label], np.arange(int(labels.max()) + 1))
        return cls(
            starts.astype(np.int32),
            rows[order].astype(np.int32),
            values[order].astype(np.float32),
            label_starts.astype(np.int32),
            len(placed),
        )

    def likeness(self, vector: Vector) -> Floats:
        """For each label: likeness in [0, 1] to the nearest of its examples."""
        begins, ends = self.starts[vector.ids], self.starts[vector.ids + 1]
        lengths = ends - begins
        offsets = np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        places = offsets + np.arange(int(lengths.sum()))
        weights = self.values[places] * np.repeat(vector.values, lengths)
        alike = np.bincount(self.rows[places], weights=weights, minlength=self.count)
        return np.maximum.reduceat(alike.astype(np.float64), self.label_starts)
