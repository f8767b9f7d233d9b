"""Processes at a terminal of their own."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Self

from ...effort import PATIENCE_S


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, *command: str, folder: Path) -> None:
        self._end, inner = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=inner, stdout=inner, stderr=inner,
            start_new_session=True, preexec_fn=_own_terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        os.close(inner)
        self.shown = self.before = ""

    def type(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def wait_for(self, text: str, *, timeout_s: float = PATIENCE_S) -> None:
        """Wait until ``text`` is shown behind what was waited for before."""
        end = monotonic() + timeout_s
        while text not in self.shown:
            assert select.select([self._end], [], [], end - monotonic())[0], self.shown
            self.shown += os.read(self._end, 4096).decode(errors="replace")
        self.before, _, self.shown = self.shown.partition(text)

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C until ``text`` is shown, as people do.

        One that comes between readline's prompt and its waiting shows only at the next key.
        """
        while text not in self.shown:
            self.type("\x03")
            if select.select([self._end], [], [], 1)[0]:
                self.shown += os.read(self._end, 4096).decode(errors="replace")
        self.wait_for(text)

    def rest(self) -> str:
        """All that is shown until the process ends."""
        with suppress(OSError):  # nobody writes to it any more
            while piece := os.read(self._end, 4096):
                self.shown += piece.decode(errors="replace")
        return self.shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)


def _own_terminal() -> None:
    """Make the standard input the controlling terminal, so that Ctrl-C is a signal.

    A test run in the background ignores it, and its children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
