"""The meaning of a text as a vector, by the encoder that ships with KDS.

all-MiniLM-L6-v2 with weights of eight bits (``tools/make_encoder.py``), run by onnxruntime on one
thread. Vectors have unit length, so a dot product is a cosine.

The weights stay in their file, which is mapped: of the vectors of 30,522 word pieces, half the
file, only those in use take memory. `WordPieces` takes 4 MB, where the tokenizers library takes 13.
"""

import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import regex

from kds.brain.errors import KdsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

NAME: Final = "shipped"
"""Under which its vectors are stored; other weights need another name."""

FOLDER: Final = Path(__file__).parent / "minilm"
MODEL: Final = "graph.onnx"
"""The model without its large weights: it says where in `WEIGHTS` they stand."""

WEIGHTS: Final = "model.onnx"
VOCABULARY: Final = "vocabulary.txt"
"""The word pieces in the order of their numbers, one a line."""

DIMENSIONS: Final = 384
WORD_PIECES: Final = 256
"""The length that the model was trained for; longer texts are cut there."""

CACHED_TEXTS: Final = 4096
"""Six megabytes of vectors: the examples of a workspace and a day of messages."""

CACHED_PIECES: Final = 8
"""Texts whose pieces are kept: those of the turns that are being read, each asked for in parts."""


class EncoderError(KdsError):
    """The encoder cannot be loaded."""


@dataclass(frozen=True)
class Pieces:
    """The word pieces of a text, without the two marks around it.

    ``ids`` are numbers in the vocabulary, which is ordered by frequency; ``spelt`` says which
    pieces are letters or digits; ``rows`` are the last layer's vectors, of any length.
    """

    ids: "NDArray[np.int64]"
    spelt: "NDArray[np.bool_]"
    rows: "Vector"


class Encoder:
    """``encode(texts)``, loaded at the first text. Safe to share between threads.

    A text is encoded by itself: in a batch, its neighbours would change its rounding.
    """

    def __init__(self, folder: Path = FOLDER, *, cached_texts: int = CACHED_TEXTS) -> None:
        self._folder = folder
        self._cached_texts = cached_texts
        self._known: OrderedDict[bytes, Vector] = OrderedDict()
        self._read = lru_cache(maxsize=CACHED_PIECES)(self._read_anew)
        self._reader: _Reader | None = None
        self._lock = Lock()

    @cached_property
    def available(self) -> bool:
        """Whether the model and what runs it are installed; loads neither."""
        return find_spec("onnxruntime") is not None and (self._folder / MODEL).is_file()

    def encode(self, texts: Sequence[str], *, within: str = "") -> "Vector":
        """Return one row of unit length a text. Raises EncoderError when it is unavailable.

        A text that is a part of ``within`` is taken as it first reads there: its pieces together.
        """
        import numpy as np

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            part = self._part(text, within) if text != within else None
            vectors[row] = self._vector(text) if part is None else part
        return vectors

    def pieces(self, text: str) -> Pieces:
        """Return the word pieces of a text. Raises EncoderError when it is unavailable."""
        return self._read(text)[1]

    def _part(self, text: str, whole: str) -> "Vector | None":
        import numpy as np

        if text not in whole:
            return None
        pieces, ids = self.pieces(whole), self._loaded().numbers(text)
        count, known = len(ids), pieces.ids.tolist()
        starts = range(len(known) - count + 1) if count else ()
        at = next((at for at in starts if known[at : at + count] == ids), None)
        if at is None:
            return None
        total: Vector = pieces.rows[at : at + count].sum(axis=0)
        total /= np.linalg.norm(total)
        return total

    def _vector(self, text: str) -> "Vector":
        key = _key(text)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        return self._read(text)[0]

    def _read_anew(self, text: str) -> tuple["Vector", Pieces]:
        vector, pieces = self._loaded()(text)
        with self._lock:
            self._known[_key(text)] = vector
            if len(self._known) > self._cached_texts:
                self._known.popitem(last=False)
        return vector, pieces

    def _loaded(self) -> "_Reader":
        with self._lock:
            if self._reader is None:
                self._reader = _Reader(self._folder)
            return self._reader


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


@cache
def shared_encoder() -> Encoder:
    """Return the encoder of this process."""
    return Encoder()


class ShippedEmbedder:
    """The encoder in the shape of langchain-core's ``Embeddings``."""

    name = NAME

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of length one a text."""
        return [list(map(float, vector)) for vector in shared_encoder().encode(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


class _Reader:
    """The loaded model, and what cuts its texts."""

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise EncoderError(
                f"the encoder cannot be loaded: {error}", hint="pip install onnxruntime"
            ) from error
        if not (folder / MODEL).is_file():
            raise EncoderError(
                "the encoder's model is missing", where=str(folder), hint="reinstall KDS"
            )
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Both would keep the memory that the longest text needed, some 10 MB.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        self._session = onnxruntime.InferenceSession(
            folder / MODEL,
            options,
            providers=["CPUExecutionProvider"],
            # On CPUs the one fused operation takes seven times as long as the two it stands for.
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        self._cut = WordPieces((folder / VOCABULARY).read_text("utf-8").splitlines())

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces."""
        return [self._cut.numbers[one] for one in self._cut(text)]

    def __call__(self, text: str) -> tuple["Vector", Pieces]:
        import numpy as np

        pieces = self._cut(text)
        ids = np.array([[CLS, *(self._cut.numbers[one] for one in pieces), SEP]], dtype=np.int64)
        (vector,), (rows,) = self._session.run(["vectors", "each"], {"ids": ids})
        spelt = np.array([piece.removeprefix(INSIDE).isalnum() for piece in pieces], bool)
        return vector, Pieces(ids[0, 1:-1], spelt, rows[1:-1])


CLS, SEP, UNKNOWN, INSIDE = 101, 102, "[UNK]", "##"
"""What stands before and behind a text, a word without pieces, what begins a piece in a word."""

WORD_CHARS: Final = 100
"""A longer word is unknown."""

_HAN: Final = (
    r"\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ceaf"
    r"\uf900-\ufaff\U0002f800-\U0002fa1f"
)
_MARK: Final = r"\p{P}!-/:-@\[-`{-~"
_WORD: Final = regex.compile(rf"[{_HAN}{_MARK}]|[^\s{_HAN}{_MARK}]+")
_DROPPED: Final = regex.compile(r"(?V1)[\p{Cc}\p{Cf}\p{Co}--\t\n\r]|[\ufffd\p{Mn}]")
"""Control characters and the accents of decomposed letters."""


class WordPieces:
    """Cuts a text as BERT's tokenizer for lower-case English does."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def __call__(self, text: str) -> list[str]:
        """Return the pieces of a text, as many as the model can read.

        >>> WordPieces(["un", "##known", "!"])("Unknown!")
        ['un', '##known', '!']
        """
        plain = _DROPPED.sub("", unicodedata.normalize("NFD", text)).replace("Σ", "σ").lower()
        found = chain.from_iterable(self._cut(one[0]) for one in _WORD.finditer(plain))
        return list(islice(found, WORD_PIECES - 2))

    def _cut(self, word: str) -> Sequence[str]:
        """The longest pieces from the left; a word with a part that is not a piece is unknown."""
        pieces: list[str] = []
        start = 0
        while start < len(word) <= WORD_CHARS:
            begins = INSIDE if start else ""
            for end in range(len(word), start, -1):
                if (piece := begins + word[start:end]) in self.numbers:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return (UNKNOWN,)
        return pieces or (UNKNOWN,)
