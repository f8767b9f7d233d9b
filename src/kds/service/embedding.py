"""Chunks that wait for their vectors get them in the background, while nobody asks anything.

Only where an embedding model is configured (`recall.embeddings`). Batches are small and begin
only after a pause: an embedding model of this process keeps the interpreter busy, and a hook
must not wait for it. A model that fails is left alone for longer and longer.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.api.embeddings import embed_waiting
from kds.brain.errors import KdsError
from kds.brain.passages.outbox import Outbox
from kds.brain.passages.store import Embedder
from kds.brain.sessions.memory_store import MemoryStore
from kds.service.wire.errors import describe_fault
from kds.service.workspaces import ServedWorkspace

LOOK_S: Final = 5.0
"""How often it is looked whether chunks wait: a vector a few seconds late costs nothing, since
words find a chunk at once."""

PAUSE_S: Final = 1.0
"""Silence after which the service counts as idle: people read for longer than that."""

BATCH: Final = 8
"""Chunks embedded at once: 0.1-0.3 s for a MiniLM-class model on one core."""

BACK_OFF_S: Final = 30.0
BACK_OFF_MOST_S: Final = 3600.0
"""Rest after the first failure, which doubles with each further one, up to an hour."""

STOP_S: Final = 10.0
"""Seconds that a batch may hold up a stop; the thread is a daemon."""


@dataclass(slots=True)
class _Place:
    """One workspace: how its model fared, and until when it is left alone."""

    served: ServedWorkspace
    failures: int = 0
    rests_until: float = float("-inf")


class EmbeddingQueue:
    """Empties the queues of several workspaces, on a thread of its own."""

    def __init__(
        self,
        served: Sequence[ServedWorkspace],
        idle_s: Callable[[], float],
        log: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = [_Place(one) for one in served]
        self._idle_s = idle_s
        self._log = log
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kds-embedding", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch at hand, and end."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def look(self) -> None:
        """Embed what waits, if nobody asks anything and no model is to be left alone."""
        for place in self._places:
            if self._may_go_on() and self._clock() >= place.rests_until:
                self._empty(place)

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self.look()

    def _may_go_on(self) -> bool:
        return not self._stopping.is_set() and self._idle_s() >= PAUSE_S

    def _empty(self, place: _Place) -> None:
        served = place.served
        try:
            embedder = served.queries.embedder.load()
            if embedder is None:
                return
            done = sum(self._embed(store, embedder) for store in _stores(served))
        except KdsError as error:
            self._failed(place, error.message)
        except Exception as error:  # noqa: BLE001  # the service goes on without vectors
            self._failed(place, f"internal error: {describe_fault(error)}")
        else:
            served.embedding.embedded += done
            if done and place.failures:
                self._log(f"embedding works again in {served.root}")
            if done:
                place.failures, served.embedding.last_error = 0, None

    def _embed(self, store: Outbox, embedder: Embedder) -> int:
        if not _waits(store, embedder.name):
            return 0
        return embed_waiting(store, embedder, batch=BATCH, goes_on=self._may_go_on)

    def _failed(self, place: _Place, reason: str) -> None:
        """Leave the model alone for a while; the log hears of the first failure only."""
        rest_s = min(BACK_OFF_S * 2**place.failures, BACK_OFF_MOST_S)
        place.rests_until = self._clock() + rest_s
        if not place.failures:
            line = " ".join(reason.split())
            self._log(f"cannot embed in {place.served.root}, trying again later: {line}")
        place.failures += 1
        place.served.embedding.failures += 1
        place.served.embedding.last_error = reason


def _stores(served: ServedWorkspace) -> Iterator[Outbox]:
    if (memory := served.memory_if_any()) is not None:
        yield memory
    if (documents := served.queries.library.store) is not None:
        yield documents


def _waits(store: Outbox, name: str) -> bool:
    """Whether anything waits that is still tried, or the store has not heard of the model."""
    known = [model for model in store.models() if model.name == name]
    if not known or any(model.waiting > model.failed for model in known):
        return True
    return isinstance(store, MemoryStore) and bool(store.summaries_without(name))
