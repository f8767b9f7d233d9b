"""The web page's listener: on loopback, in the process that is warm, opened when it is asked for.

The pages belong to a room above this one (`kds.web`), so what makes them is handed in.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

from starlette.datastructures import State

from kds.service.listener import HttpAddress, bind_http
from kds.service.wire.errors import AsgiApp, ConflictError


class Site(Protocol):
    """The pages behind their door."""

    @property
    def app(self) -> AsgiApp:
        """What answers at the listener."""
        ...

    def admit(self, root: str) -> str:
        """A path that lets one browser in to the workspace ``root``, once."""
        ...

    def stop(self) -> None:
        """Let everybody go who waits for an answer; from the event loop."""
        ...


MakeSite = Callable[[State, int], Site]
"""Makes the pages over the state of the service's application, for a port."""

Listen = Callable[[socket.socket, AsgiApp], None]


class SiteHost:
    """Opens the web page of a service, and knows where it is."""

    def __init__(self, make: MakeSite | None, state: State, listen: Listen) -> None:
        self._make = make
        self._state = state
        self._listen = listen
        self._opening = asyncio.Lock()
        self._site: Site | None = None
        self._address = HttpAddress()

    async def open(self, root: str, port: int | None) -> tuple[str, str]:
        """Open the page unless it is open; returns its address, and a link that lets one in.

        Raises ConflictError when there is none, or it is open at another port; ServiceError when
        it cannot listen.
        """
        make = self._make
        if make is None:
            raise ConflictError("this service has no web page", hint="start it with kds serve")
        async with self._opening:
            if self._site is None:
                listener, self._address = bind_http(HttpAddress(port=port or 0))
                try:
                    self._site = await asyncio.to_thread(make, self._state, self._address.port)
                except BaseException:
                    listener.close()
                    raise
                self._listen(listener, self._site.app)
        if port and port != self._address.port:
            raise ConflictError(
                f"the page is open at {self._address.url} already",
                where="port",
                hint="use that one, or end it: kds service stop",
            )
        return self._address.url, f"{self._address.url}{self._site.admit(root)}"

    def stop(self) -> None:
        """Let everybody go who waits. The listener ends with the others."""
        if self._site is not None:
            self._site.stop()
