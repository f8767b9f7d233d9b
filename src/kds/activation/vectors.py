"""The meaning of texts and of their word pieces, kept in a file for what a library holds.

Pieces are compared in the 64 directions in which those of the packaged examples differ most: what
developers ask for. On the development libraries that ranks better than all 384 (.733 of the best
entries right, .711), and needs a sixth of the space.
"""

import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from kds.brain import encoder
from kds.brain.errors import KdsError
from kds.brain.files import make_private_folder, read_private, replace_private

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Known = dict[bytes, NDArray[Any]]

MEANING: Final = "meaning.npz"
"""`mean` and `axes` project pieces; `intents` and `bias` tell packaged intents by a vector."""

RARE: Final = 1000
"""The encoder's vocabulary is ordered by frequency: a piece weighs log(1 + its number / RARE)."""


class Encodes(Protocol):
    """What turns texts into rows of unit length, and into pieces; `kds.brain.encoder.Encoder`."""

    def encode(self, texts: Sequence[str]) -> "Vector":
        """Return one row a text."""
        ...

    def pieces(self, text: str) -> encoder.Pieces:
        """Return the word pieces of a text."""
        ...


@dataclass(frozen=True)
class Pieces:
    """The word pieces of a text: a weight and a row of unit length each."""

    weights: "Vector"
    rows: "Vector"


@dataclass(frozen=True)
class Meaning:
    """What `MEANING` holds, fitted by ``tools/fit_activation.py`` on the packaged examples."""

    mean: "Vector"
    axes: "Vector"
    intents: "Vector"
    bias: "Vector"

    def project(self, found: encoder.Pieces) -> Pieces:
        """Return the pieces of a text as they are compared."""
        import numpy as np

        lengths = np.linalg.norm(found.rows, axis=1, keepdims=True)
        rows = (found.rows / np.maximum(lengths, 1e-9) - self.mean) @ self.axes
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        weights = np.log1p(found.ids / RARE) * found.spelt
        return Pieces(weights.astype("f4"), rows)

    def asked(self, vectors: "Vector") -> "Vector":
        """Return the square roots of the probabilities of the packaged intents, one row a vector.

        The product of two such rows is 1 for the same distribution (Bhattacharyya 1943).
        """
        import numpy as np

        scores = vectors @ self.intents + self.bias
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        roots: Vector = np.sqrt(odds / odds.sum(axis=1, keepdims=True))
        return roots


@cache
def meaning() -> Meaning:
    """Return what ships."""
    import numpy as np

    with files(__package__).joinpath(MEANING).open("rb") as file, np.load(file) as data:
        return Meaning(**{name: data[name].astype("f4") for name in data.files})


class StoredVectors:
    """An encoder that knows the texts in ``path``. `keep` writes those it was asked for: once."""

    def __init__(self, encoder: Encodes, path: Path | None = None) -> None:
        self._encoder = encoder
        self._path = path
        self._known = self._load()
        self._asked: Known | None = {}

    def encode(self, texts: Sequence[str]) -> "Vector":
        """Return one row of unit length a text."""
        import numpy as np

        if self._asked is None or not texts:  # the library is read: what comes now are prompts
            return self._encoder.encode(texts)
        return np.stack([self._vector(text, self._asked) for text in texts])

    def pieces(self, text: str) -> Pieces:
        """Return the pieces of a text."""
        import numpy as np

        if self._asked is None:
            return meaning().project(self._encoder.pieces(text))
        key = _key(text, b"pieces")
        if (kept := self._known.get(key)) is None:
            found = meaning().project(self._encoder.pieces(text))
            kept = np.hstack([found.weights[:, None], found.rows]).astype("f2")
        self._asked[key] = kept
        return Pieces(kept[:, 0].astype("f4"), kept[:, 1:].astype("f4"))

    def keep(self) -> None:
        """Write what was asked for, nothing else. A full disk costs the cache."""
        asked, self._asked = self._asked, None
        if self._path is None or not asked or asked.keys() == self._known.keys():
            return
        import numpy as np

        file = io.BytesIO()
        vectors = {key: value for key, value in asked.items() if value.ndim == 1}
        pieces = {key: value for key, value in asked.items() if value.ndim == 2}
        np.savez(
            file,
            keys=np.frombuffer(b"".join([*vectors, *pieces]), dtype="V16"),
            vectors=np.stack([*vectors.values()]),
            pieces=np.concatenate([*pieces.values()]),
            lengths=np.array([len(value) for value in pieces.values()]),
        )
        with suppress(KdsError, OSError):
            make_private_folder(self._path.parent)
            replace_private(self._path, file.getvalue())

    def _vector(self, text: str, asked: "Known") -> "Vector":
        key = _key(text)
        found = asked.get(key, self._known.get(key))
        vector: Vector = self._encoder.encode([text])[0] if found is None else found
        asked[key] = vector
        return vector

    def _load(self) -> "Known":
        """What the file holds; nothing where it is missing or damaged: it is made again."""
        import numpy as np

        try:
            content = self._path and read_private(self._path)
            if not content:
                return {}
            with np.load(io.BytesIO(content), allow_pickle=False) as data:
                ends = np.cumsum(data["lengths"])[:-1]
                values = [*data["vectors"], *np.split(data["pieces"], ends)]
                return dict(zip((key.tobytes() for key in data["keys"]), values, strict=True))
        except (KdsError, OSError, ValueError, KeyError, EOFError):
            return {}


def _key(text: str, kind: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16, person=kind).digest()
