"""Where the service of a workspace is found: names of files in its ``kds-brain`` folder.

Little is loaded for it: the command line asks this on every call.
"""

from pathlib import Path
from typing import Final

from kds.brain.errors import KdsError

LOOPBACK: Final = "127.0.0.1"

_PORT_MAX: Final = 65_535


class ServiceAddress:
    """The files through which a service and those who ask it find each other."""

    def __init__(self, brain: Path) -> None:
        """``brain`` is the ``kds-brain`` folder of the workspace."""
        self.brain = brain
        self.socket_path = brain / "service.sock"
        """The unix socket, mode 0600."""
        self.lock_path = brain / "service.lock"
        """Held locked by the one service of the workspace while it lives."""
        self.state_path = brain / "service.json"
        """What the service says of itself: pid, version, address of its HTTP side."""
        self.token_path = brain / "service.token"
        """The bearer token of the HTTP side, mode 0600."""
        self.starting_path = brain / "service.starting"
        """When a service was last started in the background, and by which process id."""
        self.hung_path = brain / "service.hung"
        """Which start of the service let a hook wait in vain: hooks ask it for a shorter time."""
        self.log_path = brain / "service.log"
        """What a service in the background has to say."""


def host_and_port(text: str) -> tuple[str, int]:
    """Read `[HOST:]PORT`, this machine where no host is named. Raises KdsError without a port.

    >>> host_and_port("8765"), host_and_port("[::1]:0")
    (('127.0.0.1', 8765), ('::1', 0))
    """
    named, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise KdsError(f"'{text}' names no port", hint="use PORT or HOST:PORT, such as 8765")
    return named.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)
