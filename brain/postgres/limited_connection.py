"""Connections whose answers are waited for no longer than agreed, whatever the server does.

The server's own limit (``statement_timeout``) does not hold while it stands still, while nobody can
tell that the line is dead, nor for a commit that waits until a standby has it.
"""

from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import Any, Final

GRACE_S: Final = 0.5
"""For the server to keep its own limit first; and then to do as it is told, and give up."""


def limited(driver: Any, most_s: float) -> Any:
    """Return the driver's class of connections, with a limit; ``limit_s`` of one may be changed.

    What is not answered in time is cancelled; where that is not answered either, the connection is
    closed, and ``ConnectionTimeout`` raised.
    """

    class Limited(driver.Connection):  # type: ignore[misc]  # the library is an extra
        limit_s = most_s

        def wait(self, gen: Any, *how: Any, **named: Any) -> Any:
            """Wait for whatever goes over the connection."""
            return super().wait(self._limited(gen), *how, **named)

        def _limited(self, gen: Any) -> Generator[Any, Any, Any]:
            """Pass on to ``gen`` what becomes ready; the driver asks ten times a second."""
            ends, cancelled = monotonic() + self.limit_s + GRACE_S, False
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and monotonic() > ends:
                        self._hurry(cancelled=cancelled)
                        ends, cancelled = monotonic() + GRACE_S, True
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

        def _hurry(self, *, cancelled: bool) -> None:
            if cancelled:
                self.close()
                raise driver.errors.ConnectionTimeout("the server did not answer in time")
            with suppress(driver.Error):
                self.cancel_safe(timeout=GRACE_S)

    return Limited
