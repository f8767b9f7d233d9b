"""How like a message is to the nearest example: cosine over the TF-IDF terms they share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kds.router.intent_features import Vector


@dataclass(frozen=True, slots=True)
class ExampleIndex:
    """The examples by term: those of term t stand at ``starts[t]:starts[t + 1]``."""

    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    labels: NDArray[np.int32]

    @classmethod
    def build(
        cls, vectors: Sequence[Vector], labels: NDArray[np.int64], size: int
    ) -> "ExampleIndex":
        """Index ``vectors`` over ``size`` terms."""
        ids = np.concatenate([vector.ids for vector in vectors])
        rows = np.repeat(np.arange(len(vectors)), [len(vector.ids) for vector in vectors])
        values = np.concatenate([vector.values for vector in vectors])
        order = np.argsort(ids, kind="stable")
        starts = np.searchsorted(ids[order], np.arange(size + 1))
        return cls(
            starts.astype(np.int32),
            rows[order].astype(np.int32),
            values[order].astype(np.float32),
            labels.astype(np.int32),
        )

    def nearest(self, vector: Vector) -> tuple[float, int]:
        """Likeness in [0, 1] and label of the nearest example; (0, -1) when nothing is shared."""
        if not len(vector.ids):
            return 0.0, -1
        begins, ends = self.starts[vector.ids], self.starts[vector.ids + 1]
        lengths = ends - begins
        offsets = np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        places = offsets + np.arange(int(lengths.sum()))
        weights = self.values[places] * np.repeat(vector.values, lengths)
        alike = np.bincount(self.rows[places], weights=weights, minlength=len(self.labels))
        best = int(alike.argmax())
        return float(alike[best]), int(self.labels[best])
