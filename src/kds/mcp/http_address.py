"""Where the server listens when it speaks HTTP. Standard library only: stdio needs no more."""

from dataclasses import dataclass
from typing import Final

from kds.brain.errors import KdsError
from kds.service.resident.address import host_and_port

PATH: Final = "/mcp"
"""The path that the SDKs and the clients' documentation use."""

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """A host of this machine, and a port or 0 for any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "HttpAddress":
        """Read `PORT` or `HOST:PORT`. Raises KdsError when there is no port in it.

        >>> HttpAddress.parse("8765"), HttpAddress.parse("[::1]:0").url
        (HttpAddress(host='127.0.0.1', port=8765), 'http://[::1]:0/mcp')
        """
        if (found := host_and_port(text, host=HOST)) is None:
            port = text.rpartition(":")[2]
            raise KdsError(f"'{port}' is no port", hint="use 0 to 65535, such as 8765")
        return cls(*found)

    @property
    def url(self) -> str:
        """The address that clients are given."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"
