"""Prompts and rules that change while the service runs: read anew, and used when they load.

The files that count are looked at twice a second, which takes 0.2 ms and works on network file
systems too, that send no events. What a change means is decided by their fingerprint, so KDS's own
writes beside them and an editor's temporary files are no reason to reload. In a service that people
share it is taken at each message, too: what one of them edits in a shared folder reaches all
services at once.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from kds.brain.errors import KdsError
from kds.service.fingerprint import Fingerprint, fingerprint
from kds.service.wire.errors import describe_fault
from kds.service.workspaces import ServedWorkspace

LOOK_S: Final = 0.5
"""Seconds between two looks. A change counts when the next one finds the files as they are: an
editor has written them by then."""

STOP_S: Final = 10.0
"""Seconds a set that is being read may hold up a stop; it takes one to three."""


class Reloader:
    """Watches the files of every workspace, on a thread of its own, and swaps new parts in."""

    def __init__(self, served: Iterable[ServedWorkspace], log: Callable[[str], None]) -> None:
        self._served = tuple(served)
        self._log = log
        self._settings: dict[str, str | None] = {}
        self._seen = {one.root: _state(one) for one in self._served}
        self._found: list[Fingerprint] = []
        self._looking = threading.Lock()
        for one in self._served:
            one.look = partial(self._look_at_files, one)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kds-reload", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more, and wait for the thread: it must not outlive the interpreter."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def look(self) -> None:
        """Check what does not change any more; what is being written waits for the next look."""
        found = [fingerprint(one.workspace) for one in self._served]
        if found == self._found:
            self.check()
        self._found = found

    def check(self) -> None:
        """Read anew what has changed since the last look; what is broken changes nothing."""
        for one in self._served:
            self._look_at_files(one)
            self._look_at_settings(one)

    def _look_at_files(self, served: ServedWorkspace) -> None:
        """Read anew what has changed; whoever has a message meanwhile waits, and has the new."""
        with self._looking:
            if _state(served) != self._seen[served.root] and not self._stopping.is_set():
                before = fingerprint(served.workspace)
                self._reload(served)
                self._seen[served.root] = before, served.reload.count

    def _look_at_settings(self, served: ServedWorkspace) -> None:
        """Log once what is wrong with settings, and once that they are right again."""
        wrong, before = served.settings_error, self._settings.get(served.root)
        self._settings[served.root] = wrong
        if wrong is not None and wrong != before:
            self._log(f"settings not read, those before stay in use: {wrong}")
        elif wrong is None and before is not None:
            self._log(f"read the settings of {served.root} again")

    def _reload(self, served: ServedWorkspace) -> None:
        try:
            served.read_anew()
        except KdsError as error:
            served.kept(error)
            self._log(f"reload failed, the last good set stays: {served.reload.error}")
        except Exception as error:  # noqa: BLE001  # the service goes on with what it has
            served.kept(f"internal error: {describe_fault(error)}")
            self._log(f"reload failed, the last good set stays: {served.reload.error}")
        else:
            self._log(f"reloaded prompts and rules of {served.root}")

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_S):
            with suppress(OSError):  # a folder went away meanwhile
                self.look()


def _state(served: ServedWorkspace) -> tuple[Fingerprint, int]:
    """The files as they are, and how often the set in use was replaced, by whomever.

    A page that saves reads anew by itself; what it saved may be gone again at the next look.
    """
    return fingerprint(served.workspace), served.reload.count
