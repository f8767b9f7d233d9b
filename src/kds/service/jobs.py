"""What the service does in the background: reload changed files, embed, catch up after an outage.

Files are looked at twice a second, which takes 0.2 ms and works on network file systems too, which
send no events. A change is decided by a fingerprint, so KDS's own writes beside them and an
editor's temporary files cause no reload. In a service that people share it is taken at each
message, too: an edit in a shared folder reaches all services at once.

Embedding happens unless `recall.embeddings` is off: in small batches, after a pause, since a model
of this process keeps the interpreter busy and a hook must not wait for it.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from kds.api.embeddings import embed_waiting
from kds.brain.errors import KdsError
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.passages import embedding_queue
from kds.brain.passages.store import Embedder
from kds.service.errors import describe_fault
from kds.service.fingerprint import Fingerprint, fingerprint
from kds.service.workspaces import Log, ServedWorkspace

RELOAD_LOOK_S: Final = 0.5
"""Seconds between two looks. A change counts when the next one finds the files as they are: an
editor has written them by then."""

EMBED_LOOK_S: Final = 5.0
"""Seconds between two looks for chunks that wait: words find a chunk at once."""

PAUSE_S: Final = 1.0
"""Silence after which the service counts as idle: people read for longer than that."""

BATCH: Final = 8
"""Chunks embedded at once: 0.1-0.3 s for a MiniLM-class model on one core."""

BACK_OFF_S: Final = 30.0
BACK_OFF_MOST_S: Final = 3600.0
"""Rest after the first failure of a model, which doubles with each further one, up to an hour."""

STOP_S: Final = 10.0
"""Seconds that a job at hand may hold up a stop: a reload takes one to three."""

CATCH_UP_S: Final = 2.0
"""Between two looks, which cost nothing while nothing waits."""


class _Job:
    """A thread that looks again and again until it is stopped."""

    def __init__(self, served: ServedWorkspace, log: Log, *, name: str, pause_s: float) -> None:
        self._served = served
        self._log = log
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is at hand, and end: a thread must not outlive the interpreter."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def look(self) -> None:
        """Do what there is to do."""
        raise NotImplementedError

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_s):
            with suppress(OSError):  # a folder went away meanwhile
                self.look()


class Reloader(_Job):
    """Watches the prompts and rules of a workspace, and swaps in what loads."""

    def __init__(self, served: ServedWorkspace, log: Log) -> None:
        super().__init__(served, log, name="kds-reload", pause_s=RELOAD_LOOK_S)
        self._settings_error: str | None = None
        self._seen = self._state()
        self._found: Fingerprint | None = None
        self._looking = threading.Lock()
        served.look = self._look_at_files

    def look(self) -> None:
        """Check what does not change any more; what is being written waits for the next look."""
        found = fingerprint(self._served.workspace)
        if found == self._found:
            self.check()
        self._found = found

    def check(self) -> None:
        """Read anew what has changed since the last look; what is broken changes nothing."""
        self._look_at_files()
        wrong, before = self._served.settings_error, self._settings_error
        self._settings_error = wrong
        if wrong is not None and wrong != before:
            self._log(f"settings not read, those before stay in use: {wrong}")
        elif wrong is None and before is not None:
            self._log(f"read the settings of {self._served.root} again")

    def _look_at_files(self) -> None:
        """Read anew what has changed; a message meanwhile waits, and has the new."""
        with self._looking:
            if self._state() != self._seen and not self._stopping.is_set():
                before = fingerprint(self._served.workspace)
                self._reload()
                self._seen = before, self._served.reload.count

    def _state(self) -> tuple[Fingerprint, int]:
        """The files as they are, and how often the set in use was replaced.

        A page that saves reads anew by itself; what it saved may be gone again at the next look.
        """
        return fingerprint(self._served.workspace), self._served.reload.count

    def _reload(self) -> None:
        served = self._served
        try:
            served.read_anew()
        except KdsError as error:
            served.kept(error)
        except Exception as error:  # noqa: BLE001  # the service goes on with what it has
            served.kept(f"internal error: {describe_fault(error)}")
        if served.reload.error is None:
            self._log(f"reloaded prompts and rules of {served.root}")
        else:
            self._log(f"reload failed, the last good set stays: {served.reload.error}")


class EmbeddingQueue(_Job):
    """Gives what waits for a vector one, while there is no request."""

    def __init__(
        self,
        served: ServedWorkspace,
        idle_s: Callable[[], float],
        log: Log,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(served, log, name="kds-embedding", pause_s=EMBED_LOOK_S)
        self._idle_s = idle_s
        self._clock = clock
        self._failures = 0
        self._rests_until = float("-inf")

    def look(self) -> None:
        """Embed what waits, if there is no request and the model is not to be left alone."""
        if not self._may_go_on() or self._clock() < self._rests_until:
            return
        served = self._served
        try:
            embedder = served.queries.embedder.load()
            if embedder is None:
                return
            done = sum(self._embed(store, embedder) for store in _stores(served))
        except KdsError as error:
            self._failed(error.message)
        except Exception as error:  # noqa: BLE001  # the service goes on without vectors
            self._failed(f"internal error: {describe_fault(error)}")
        else:
            served.embedding.embedded += done
            if done and self._failures:
                self._log(f"embedding works again in {served.root}")
            if done:
                self._failures, served.embedding.last_error = 0, None

    def _may_go_on(self) -> bool:
        return not self._stopping.is_set() and self._idle_s() >= PAUSE_S

    def _embed(self, store: embedding_queue.EmbeddingQueue, embedder: Embedder) -> int:
        if not _waits(store, embedder.name):
            return 0
        return embed_waiting(store, embedder, batch=BATCH, goes_on=self._may_go_on)

    def _failed(self, reason: str) -> None:
        """Leave the model alone for a while; the log hears of the first failure only."""
        self._rests_until = self._clock() + min(BACK_OFF_S * 2**self._failures, BACK_OFF_MOST_S)
        if not self._failures:
            line = " ".join(reason.split())
            self._log(f"cannot embed in {self._served.root}, trying again later: {line}")
        self._failures += 1
        self._served.embedding.failures += 1
        self._served.embedding.last_error = reason


async def catch_up(
    served: Iterable[ServedWorkspace], reachable: Callable[[], Awaitable[bool]]
) -> None:
    """Store what a shared service heard during an outage once the database is back.

    The next message of a conversation may come to another service, which should know. Runs until
    it is cancelled.
    """
    while True:
        await asyncio.sleep(CATCH_UP_S)
        late = [(each, one) for each in served for one in each.contexts if one.late]
        if late and await reachable():
            for each, one in late:
                with suppress(KdsError):  # away again, or busy: next time
                    await each.worker.run(one.catch_up, patient=True)


def _stores(served: ServedWorkspace) -> Iterator[embedding_queue.EmbeddingQueue]:
    if (memory := served.memory_if_any()) is not None:
        yield memory
    if (documents := served.queries.library.store) is not None:
        yield documents


def _waits(store: embedding_queue.EmbeddingQueue, name: str) -> bool:
    """Whether anything waits that is still tried, or the store has not heard of the model."""
    if store.awaits(name):
        return True
    return isinstance(store, MemoryStore) and bool(store.summaries_without(name))
