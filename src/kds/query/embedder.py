"""The embedding model behind queries: loaded beside them, asked no longer than they can wait."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Final

from kds.api.embeddings import EmbeddingsError, load_embedder
from kds.brain.passages.store import Embedder
from kds.brain.timeouts import Deadline

QUESTION_S: Final = 1.0
"""Seconds that the vector of one question may take: a model in the process takes 10-30 ms, one
elsewhere 100-300 ms. Without it the words are searched all the same."""

REST_S: Final = 30.0
"""Seconds that a model is left alone after it failed: each try would cost every query its time."""


@dataclass(slots=True)
class PatientEmbedder:
    """An embedder whose questions have a time limit; after a failure it rests.

    ``clock`` returns seconds.
    """

    inner: Embedder
    limit_s: float = QUESTION_S
    clock: Callable[[], float] = monotonic
    _rest: Deadline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rest = Deadline(0.0, clock=self.clock)

    @property
    def name(self) -> str:
        """Under which its vectors are kept."""
        return self.inner.name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, however long that takes."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question. Raises EmbeddingsError, or what the model raises."""
        if left_s := self._rest.left_s:
            raise EmbeddingsError(f"it failed, and is tried again in {left_s:.0f} s")
        try:
            return Deadline(self.limit_s).call(lambda: self.inner.embed_query(text))
        except BaseException:
            self._rest.renew(REST_S)
            raise


class EmbedderSlot:
    """Holds the model that the settings name, once somebody has loaded it."""

    def __init__(self, wanted: Callable[[], str | None]) -> None:
        self._wanted = wanted
        self._lock = Lock()
        self._held: PatientEmbedder | None = None

    @property
    def ready(self) -> PatientEmbedder | None:
        """The model, if it is the one that is wanted and is loaded; never waits."""
        held = self._held
        return held if held is not None and held.name == self._wanted() else None

    def load(self) -> PatientEmbedder | None:
        """Load the model that is wanted; None when none is. Raises EmbeddingsError.

        May take seconds: not for the thread that routes.
        """
        name = self._wanted()
        if name is None:
            return None
        with self._lock:
            if self._held is None or self._held.name != name:
                self._held = PatientEmbedder(load_embedder(name))
            return self._held
