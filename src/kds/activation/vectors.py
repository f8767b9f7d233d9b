"""Vectors of texts kept in a file, so that a library is not encoded at every start."""

import io
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from kds.activation.features import Encodes
from kds.brain.errors import KdsError
from kds.brain.files import make_private_folder, read_private, replace_private

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


class StoredVectors:
    """An encoder that knows the vectors of ``path``. `keep` writes those it was asked for: once."""

    def __init__(self, encoder: Encodes, path: Path) -> None:
        self._encoder = encoder
        self._path = path
        self._known = self._load()
        self._asked: dict[bytes, Vector] | None = {}

    def encode(self, texts: Sequence[str]) -> "Vector":
        """Return one row of unit length a text."""
        import numpy as np

        if self._asked is None:  # the library is read: what comes now are prompts
            return self._encoder.encode(texts)
        rows = [self._row(text, self._asked) for text in texts]
        return np.stack(rows) if rows else self._encoder.encode(texts)

    def keep(self) -> None:
        """Write the vectors that were asked for, no others. A full disk costs the cache."""
        asked, self._asked = self._asked, None
        if not asked or asked.keys() == self._known.keys():
            return
        import numpy as np

        file = io.BytesIO()
        keys = np.frombuffer(b"".join(asked), dtype="V16")
        np.savez(file, keys=keys, vectors=np.stack([*asked.values()]))
        with suppress(KdsError, OSError):
            make_private_folder(self._path.parent)
            replace_private(self._path, file.getvalue())

    def _row(self, text: str, asked: "dict[bytes, Vector]") -> "Vector":
        key = blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        vector = asked.get(key)
        if vector is None:
            vector = self._known.get(key)
        if vector is None:
            (vector,) = self._encoder.encode([text])
        asked[key] = vector
        return vector

    def _load(self) -> "dict[bytes, Vector]":
        """What the file holds; nothing where it is missing or damaged: it is made again."""
        import numpy as np

        try:
            content = read_private(self._path)
            if content is None:
                return {}
            with np.load(io.BytesIO(content), allow_pickle=False) as data:
                keys, vectors = data["keys"], data["vectors"]
                return dict(zip((key.tobytes() for key in keys), vectors, strict=True))
        except (KdsError, OSError, ValueError, KeyError, EOFError):
            return {}
