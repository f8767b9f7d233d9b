"""How a service is to serve: what it was started with."""

import socket
from dataclasses import dataclass, replace

from kds.service.listener import HttpAddress, TeamAddress
from kds.service.wire.team_door import Tell, tell_nobody


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve: ``idle_s`` seconds without a request end the service, None: nothing does."""

    http: HttpAddress | None = None
    unix_socket: bool = True
    idle_s: float | None = None
    team: TeamAddress | None = None
    """Where people with tokens of their own are answered; None: nowhere."""
    tell: Tell = tell_nobody
    """Is told of each of their requests."""
    drain_s: float = 0.0
    """How long they are answered on after SIGTERM, so that a balancer can take note first."""

    def possible(self) -> "ServiceOptions":
        """The same, with loopback HTTP where there would be nothing to listen on."""
        unix_socket = self.unix_socket and hasattr(socket, "AF_UNIX")
        http = self.http if unix_socket or self.http or self.team else HttpAddress()
        return replace(self, unix_socket=unix_socket, http=http)
