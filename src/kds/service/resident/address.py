"""Where the service of a workspace is found: names of files in its ``kds-brain`` folder.

Little is loaded for it: the command line asks this on every call.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError

LOOPBACK: Final = "127.0.0.1"

_PORT_MAX: Final = 65_535


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
    def starting_path(self) -> Path:
        """When a service was last started in the background, and by which process id."""
        return self.brain / "service.starting"

    @property
    def log_path(self) -> Path:
        """What a service in the background has to say."""
        return self.brain / "service.log"


def host_and_port(text: str) -> tuple[str, int]:
    """Read `[HOST:]PORT`, this machine where no host is named. Raises KdsError without a port.

    >>> host_and_port("8765"), host_and_port("[::1]:0")
    (('127.0.0.1', 8765), ('::1', 0))
    """
    named, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise KdsError(f"'{text}' names no port", hint="use PORT or HOST:PORT, such as 8765")
    return named.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)
