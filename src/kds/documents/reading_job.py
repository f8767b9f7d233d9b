"""Files that are read in the background: how far that is, and how it ended."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from kds.api.embeddings import Teller
from kds.brain.errors import KdsError
from kds.documents.indexing import Report

NOTHING: Final = Report(())


class StoppedError(KdsError):
    """The user has stopped it; what was read until then is kept."""


class ReadingJob:
    """Reads in a thread of its own, and may be looked at and stopped from any other."""

    def __init__(
        self, read: Callable[[Teller], Report], ended: "Callable[[ReadingJob], None]"
    ) -> None:
        """Begin to ``read``; ``ended`` is called behind the end, in the same thread."""
        self.done = self.total = 0
        """Files that were read, of how many; 0: it is not known yet."""
        self.report = NOTHING
        self.error: KdsError | None = None
        """Why it did not come to its end."""
        self._read, self._ended = read, ended
        self._stopped, self._over = Event(), Event()
        Thread(target=self._run, name="kds-reading", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._over.is_set()

    def wait(self, limit_s: float) -> None:
        """Wait until it has ended, or ``limit_s`` have passed."""
        self._over.wait(limit_s)

    def stop(self) -> None:
        """Read no further file."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            self.report = self._read(self._tell)
        except KdsError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001  # the page says it; the service goes on
            self.error = KdsError(f"internal error: {type(error).__name__}")
        finally:
            self._ended(self)
            self._over.set()

    def _tell(self, _: str, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self._stopped.is_set() and done < total:
            raise StoppedError(f"stopped after {done} of {total} files; what was read is kept")
