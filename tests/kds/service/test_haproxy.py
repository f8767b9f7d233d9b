"""HAProxy as docs/deploy/haproxy.cfg sets it up, before two services that are processes.

Skipped where the program `haproxy` is not installed, and where `openssl` is not, which makes the
certificate.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from kds.brain.store.team import Team

from ...effort import PATIENCE_S
from .conftest import TeamProcess, wait_until
from .talking import FAB, Talk, expanded, heard

PROGRAM = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")
SETTINGS = Path(__file__).parents[3] / "docs" / "deploy" / "haproxy.cfg"

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]


class Balancer:
    """HAProxy, and clients of it."""

    def __init__(self, folder: Path, places: list[str], *, most: int = 1_000_000) -> None:
        self._socket, self._stats = folder / "kds", folder / "stats"
        certificate = _certificate(folder)
        # Where it is told how it sees the services: the settings themselves have no such door.
        (folder / "stats.cfg").write_text(f"global\n stats socket {self._stats} level user\n")
        settings = {"LISTEN": f"unix@{self._socket}", "CERTIFICATE": str(certificate)}
        settings |= {"SERVICE_1": places[0], "SERVICE_2": places[1], "MOST_REQUESTS": str(most)}
        self._process = subprocess.Popen(
            [str(PROGRAM), "-db", "-f", str(SETTINGS), "-f", str(folder / "stats.cfg")],
            env={**os.environ, **settings},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(lambda: self._stats.exists() and self.ready() == {"UP"})

    def client(self, token: str) -> httpx.Client:
        return httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self._socket), verify=False),
            base_url="https://localhost",
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE_S,
        )

    def ready(self) -> set[str]:
        """What it takes the services for: UP, DOWN, or on the way."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self._stats))
            asked.sendall(b"show stat\n")
            said = b"".join(iter(lambda: asked.recv(1 << 16), b"")).decode()
        rows = [line.split(",") for line in said.splitlines()]
        return {row[17] for row in rows if row[0] == "ready" and row[1] != "BACKEND"}

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def _certificate(folder: Path) -> Path:
    key, certificate = folder / "key", folder / "certificate"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    return both


@pytest.fixture
def services(
    launchers: Path, new_workspace: Callable[[], Path], url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[TeamProcess]]:
    monkeypatch.setenv("KDS_DATABASE", url)
    monkeypatch.setenv("KDS_DATABASE_PROJECT", "shop")
    monkeypatch.setenv("KDS_MEMORY", "on")
    both = [TeamProcess(launchers, new_workspace()) for _ in range(2)]
    yield both
    for one in both:
        one.end(signal.SIGINT)  # at once
    wait_until(lambda: all(one.ended for one in both))


@pytest.fixture
def balancer(services: list[TeamProcess]) -> Iterator[Balancer]:
    with tempfile.TemporaryDirectory(
        prefix="kds-", dir="/tmp"
    ) as folder:  # a socket's name is short
        balancer = Balancer(Path(folder), [service.place for service in services])
        yield balancer
        balancer.end()


def test_a_conversation_goes_from_service_to_service_and_through_an_outage(
    balancer: Balancer, services: list[TeamProcess], team: Team, outage: Callable[[bool], None]
) -> None:
    with balancer.client(team.make_token("acme", "ann")) as ann:
        assert expanded(ann, FAB) == FAB
        said = [FAB]
        for color in ("purple", "green", "red", "blue", "black"):
            said.append(f"Make it {color}")
            assert expanded(ann, said[-1]) == f"Make the FAB button {color}"
            assert heard(ann) == said
        for service in services:  # each had its part
            figures = httpx.get(
                f"http://{service.place}/metrics",
                headers={"Authorization": f"Bearer {team.make_token('acme', 'eve', 'admin')}"},
            ).text
            assert 'kds_request_seconds_count{operation="route",status="200"}' in figures
        outage(True)
        wait_until(lambda: balancer.ready() == {"DOWN"})
        reply = ann.post("/route", json={"message": "Make it white", "conversation": "c"})
        assert reply.json()["expanded"] == "Make the FAB button white"
        assert "not stored yet" in reply.text
        outage(False)
        wait_until(lambda: balancer.ready() == {"UP"})
        for _ in services:  # the service that has the waiting message adds it with the next
            expanded(ann, "Add tests for that")
        assert sorted(heard(ann)) == sorted([*said, "Make it white", *["Add tests for that"] * 2])


def test_too_many_requests_of_a_token_are_refused_and_those_of_others_are_not() -> None:
    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Ready) as service, tempfile.TemporaryDirectory(
        prefix="kds-", dir="/tmp"
    ) as folder:  # fmt: skip
        Thread(target=service.serve_forever, daemon=True).start()
        balancer = Balancer(Path(folder), [f"127.0.0.1:{service.server_port}"] * 2, most=3)
        with balancer.client("kds_ann") as ann, balancer.client("kds_bob") as bob:
            refused = wait_until(lambda: (one := ann.get("/context")).is_error and one)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert refused.json()["error"]["hint"] == "ask again in some seconds"
            assert bob.get("/context").status_code == 200
        balancer.end()
        service.shutdown()


def test_a_service_that_is_ended_ends_without_an_error_for_anybody(
    balancer: Balancer, services: list[TeamProcess], team: Team
) -> None:
    token = team.make_token("acme", "ann")
    with ExitStack() as stack:
        clients = [stack.enter_context(balancer.client(token)) for _ in range(3)]
        talks = [Talk(client, f"c{number}") for number, client in enumerate(clients)]
        wait_until(lambda: all(talk.goes_on(0) for talk in talks))
        services[0].end(signal.SIGTERM)
        wait_until(lambda: services[0].ended)
        before = [len(talk.acknowledged) for talk in talks]
        wait_until(
            lambda: all(talk.goes_on(mark) for talk, mark in zip(talks, before, strict=True))
        )
        for talk in talks:
            talk.end()
        assert [talk.faults for talk in talks] == [[], [], []]
        for talk, client in zip(talks, clients, strict=True):
            assert heard(client, talk.name) == talk.said[-10:]
