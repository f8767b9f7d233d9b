"""Where the service of a workspace is found: names of files in its ``kds-brain`` folder.

Standard library only, and little of it: the command line asks this on every call.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PATH_LIMIT: Final = 103
"""Bytes of a socket's path that every system takes (sun_path: 104 on macOS, 108 on Linux,
the closing zero included)."""

_DESCRIPTORS: Final = Path("/proc/self/fd")


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The files through which a service and those who ask it find each other."""

    brain: Path
    """The ``kds-brain`` folder of the workspace."""

    @property
    def socket_path(self) -> Path:
        """The unix socket, mode 0600."""
        return self.brain / "service.sock"

    @property
    def lock_path(self) -> Path:
        """Held locked by the one service of the workspace while it lives."""
        return self.brain / "service.lock"

    @property
    def state_path(self) -> Path:
        """What the service says of itself: pid, version, address of its HTTP side."""
        return self.brain / "service.json"

    @property
    def token_path(self) -> Path:
        """The bearer token of the HTTP side, mode 0600."""
        return self.brain / "service.token"

    @property
    def log_path(self) -> Path:
        """What a service in the background has to say."""
        return self.brain / "service.log"

    @contextmanager
    def reachable_socket(self) -> Iterator[str]:
        """Yield a spelling of ``socket_path`` that is short enough to connect or bind to.

        A long path goes by way of an open descriptor of its folder. Raises OSError when the
        folder does not exist, or when the path is too long on a system without /proc.
        """
        plain = str(self.socket_path)
        if len(os.fsencode(plain)) <= PATH_LIMIT or not _DESCRIPTORS.is_dir():
            yield plain
            return
        folder = os.open(self.brain, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield str(_DESCRIPTORS / str(folder) / self.socket_path.name)
        finally:
            os.close(folder)

    def connect(self, *, timeout_s: float) -> socket.socket:
        """Connect to the service's unix socket. Raises OSError when nobody listens there."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            with self.reachable_socket() as path:
                connection.connect(path)
        except BaseException:
            connection.close()
            raise
        return connection
