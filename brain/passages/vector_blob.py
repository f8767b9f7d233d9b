"""Vectors as they are stored: of length one, in half precision, little-endian.

Half precision changes a cosine by less than 0.001 and halves the file.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kds.brain.errors import StoreError

if TYPE_CHECKING:  # 0.1 s: numpy is imported by those who have vectors
    import numpy as np

Key = TypeVar("Key", int, str)

FORMAT = "<f2"


def to_blobs(
    vectors: Mapping[Key, Sequence[float]], *, where: str
) -> tuple[int | None, dict[Key, bytes]]:
    """Return the common length of the vectors (None: there are none) and their bytes.

    Raises StoreError when they differ in length or hold anything but numbers.
    """
    import numpy as np

    if not vectors:
        return None, {}
    try:
        matrix = np.asarray(list(vectors.values()), dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise _bad("the vectors are not lists of numbers of one length", where) from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise _bad("the vectors are empty", where)
    if not np.isfinite(matrix).all():
        raise _bad("a vector holds something other than numbers", where)
    rows = unit(matrix).astype(FORMAT)
    return int(matrix.shape[1]), {
        key: row.tobytes() for key, row in zip(vectors, rows, strict=True)
    }


def from_blob(blob: bytes) -> "np.ndarray[Any, Any]":
    """Return the vector that was kept as these bytes."""
    import numpy as np

    return np.frombuffer(blob, dtype=FORMAT)


def unit(matrix: "np.ndarray[Any, np.dtype[np.float32]]") -> "np.ndarray[Any, Any]":
    """Scale each row to length one; a row of zeros stays."""
    import numpy as np

    largest = np.abs(matrix).max(axis=-1, keepdims=True)
    scaled = matrix / np.where(largest > 0, largest, 1)  # so that squares do not overflow
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    scaled /= np.where(length > 0, length, 1)
    return scaled


def _bad(message: str, where: str) -> StoreError:
    return StoreError(message, where=where, hint="see what the embedding model returns")
