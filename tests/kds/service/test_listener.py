"""What a connection may cost: real sockets, with short limits, against a small application."""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from kds.service import listener
from kds.service.listener import (
    BATCH,
    FAULT_PAUSE_S,
    AcceptFaults,
    HttpAddress,
    Listener,
    bind_http,
)
from kds.service.resident.instance import bind_private
from kds.service.wire.errors import Receive, Scope, Send

from ...effort import PATIENCE_S
from .conftest import wait_until

LIMIT = 4
"""Connections that the listeners of these tests hold."""

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
REQUEST = HEAD + b"body"

LONG = b"x" * 20_000_000
"""More than the system keeps for who does not read it."""


class Desk:
    """Answers `done` to whole requests, once its gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0
        self.busy = 0
        self.gone = 0
        self.answer = b"done"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more:
            event = await receive()
            if event["type"] != "http.request":
                self.gone += 1
                return
            more = event["more_body"]
        self.asked += 1
        self.busy += 1
        await self.gate.wait()
        self.busy -= 1
        headers = [(b"content-length", str(len(self.answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.answer})


class Place:
    """A running listener."""

    def __init__(self, bound: socket.socket, address: Any = None) -> None:
        self.bound = bound
        self.address = address or bound.getsockname()
        self.desk = Desk()
        self._closing = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._clients = ExitStack()
        self._thread.start()

    def call(self, does: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(does)

    def connect(self, content: bytes = b"") -> socket.socket:
        client = socket.socket(self.bound.family, socket.SOCK_STREAM)
        self._clients.enter_context(closing(client))
        client.settimeout(PATIENCE_S)
        wait_until(lambda: self._lets_in(client))
        client.sendall(content)
        return client

    def _lets_in(self, client: socket.socket) -> bool:
        """A unix socket turns away whom its queue, short while it starts, has no place for."""
        try:
            client.connect(self.address)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._clients.close()
        self.call(self._closing.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self._loop.close()

    def _run(self) -> None:
        server = Listener(self.desk, self._closing)
        self._loop.run_until_complete(server.serve(sockets=[self.bound]))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a request little time, and who is to read its answer."""
    monkeypatch.setattr(listener, "REQUEST_S", 0.05)
    monkeypatch.setattr(listener, "UNREAD_S", 0.05)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold few connections."""
    monkeypatch.setattr(listener, "connection_limit", lambda: LIMIT)


@pytest.fixture
def tcp() -> Iterator[Place]:
    place = Place(bind_http(HttpAddress())[0])
    with closing(place):
        yield place


@pytest.fixture
def unix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("no unix sockets here")
    monkeypatch.chdir(tmp_path)  # its path may be too long for an address
    place = Place(bind_private(Path("s")), address="s")
    with closing(place):
        yield place


def was_dropped(client: socket.socket) -> bool:
    """Wait for the end of a connection; False when an answer comes instead."""
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def drained(client: socket.socket) -> int:
    """Read to the end of a connection; returns how much there was."""
    read = 0
    with suppress(ConnectionResetError):
        while chunk := client.recv(1_000_000):
            read += len(chunk)
    return read


def was_answered(client: socket.socket) -> bool:
    answer = b""
    while not answer.endswith(b"done"):
        if not (chunk := client.recv(100)):
            return False
        answer += chunk
    return True


# -- time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", HEAD[:20], HEAD, HEAD + b"bod", REQUEST + HEAD[:20]])
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_who_does_not_finish_a_request_in_time_is_dropped(
    quick: None, kind: str, content: bytes, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(kind).connect(content)
    if content.startswith(REQUEST):
        assert was_answered(client)
        client.sendall(HEAD[20:40])
    assert was_dropped(client)


def test_who_is_silent_after_an_answer_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "KEEP_ALIVE_S", 0.05)
    with closing(Place(bind_http(HttpAddress())[0])) as place:
        client = place.connect(REQUEST)
        assert was_answered(client)
        assert was_dropped(client)


@pytest.mark.parametrize("times", [1, 3])
def test_who_does_not_read_its_answers_is_dropped(quick: None, tcp: Place, times: int) -> None:
    tcp.desk.answer = LONG
    client = tcp.connect(REQUEST * times)
    for _ in range(2):  # so much time has passed since it was answered
        assert was_dropped(tcp.connect())
    assert drained(client) < len(LONG)


def test_who_reads_slowly_gets_all_of_it(tcp: Place) -> None:
    tcp.desk.answer = LONG
    client = tcp.connect(REQUEST + HEAD)
    read = 0
    while read < len(LONG):
        read += len(client.recv(100_000))
    tcp.desk.answer = b"done"
    client.sendall(b"body")
    assert was_answered(client)


def test_a_head_without_end_is_refused(tcp: Place) -> None:
    client = tcp.connect(HEAD[:-2] + b"X-Long: " + b"a" * 20_000)
    assert client.recv(100).startswith(b"HTTP/1.1 400 ")
    while not was_dropped(client):
        pass  # the rest of the refusal


def test_sending_byte_by_byte_wins_no_time(quick: None, tcp: Place) -> None:
    client = tcp.connect(HEAD[:-2])
    client.settimeout(0.005)

    def was_dropped_though_it_sends() -> bool:
        try:
            client.sendall(b"X: y\r\n")
            return client.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    wait_until(was_dropped_though_it_sends)


def test_the_application_is_told_that_half_a_body_is_all(quick: None, tcp: Place) -> None:
    assert was_dropped(tcp.connect(HEAD + b"bo"))
    wait_until(lambda: tcp.desk.gone == 1)


def test_an_answer_may_take_longer_than_the_request(quick: None, tcp: Place) -> None:
    tcp.desk.gate.clear()
    slow = tcp.connect(REQUEST)
    assert was_dropped(tcp.connect())  # so much time has passed
    tcp.call(tcp.desk.gate.set)
    assert was_answered(slow)


def test_a_connection_may_rest_between_two_requests(quick: None, tcp: Place) -> None:
    client = tcp.connect(REQUEST)
    assert was_answered(client)
    assert was_dropped(tcp.connect())
    client.sendall(REQUEST)
    assert was_answered(client)


# -- room ------------------------------------------------------------------------------------


def test_beyond_the_limit_the_one_that_waits_longest_makes_room(few: None, tcp: Place) -> None:
    waiting = [tcp.connect() for _ in range(LIMIT + 2)]
    assert was_dropped(waiting[0])
    assert was_dropped(waiting[1])
    assert was_answered(tcp.connect(REQUEST))
    assert was_dropped(waiting[2])
    for client in waiting[-2:]:
        client.sendall(REQUEST)
        assert was_answered(client)


def test_a_connection_that_is_being_answered_is_not_dropped_for_another(
    few: None, tcp: Place
) -> None:
    tcp.desk.gate.clear()
    served = [tcp.connect(REQUEST) for _ in range(LIMIT)]
    wait_until(lambda: tcp.desk.busy == LIMIT)
    assert was_dropped(tcp.connect())
    tcp.call(tcp.desk.gate.set)
    assert all(was_answered(client) for client in served)
    assert was_answered(tcp.connect(REQUEST))


def test_a_crowd_that_asks_and_does_not_read_keeps_nobody_out(few: None, tcp: Place) -> None:
    tcp.desk.answer = LONG
    crowd = [tcp.connect(REQUEST * 3) for _ in range(LIMIT)]
    wait_until(lambda: tcp.desk.busy == 0 and tcp.desk.asked >= 2 * LIMIT)
    tcp.desk.answer = b"done"
    assert was_answered(tcp.connect(REQUEST))
    assert len(crowd) == LIMIT


def test_a_crowd_on_the_unix_socket_that_asks_nothing_keeps_nobody_out(
    few: None, unix: Place
) -> None:
    crowd = [unix.connect(HEAD[:9]) for _ in range(10 * LIMIT)]
    assert was_answered(unix.connect(REQUEST))
    assert all(was_dropped(client) for client in crowd[: -2 * LIMIT])


def test_a_crowd_larger_than_what_is_accepted_at_once_is_let_in(tcp: Place) -> None:
    clients = [tcp.connect(REQUEST) for _ in range(2 * BATCH)]
    assert all(was_answered(client) for client in clients)


# -- the log ---------------------------------------------------------------------------------


def test_a_lack_of_descriptors_is_one_line_a_minute() -> None:
    lines: list[str] = []
    now = 0.0
    faults = AcceptFaults(lines.append, clock=lambda: now)
    loop = asyncio.new_event_loop()
    context = {"exception": OSError(errno.EMFILE, "Too many open files"), "socket": object()}
    for _ in range(1000):
        faults(loop, context)
    assert lines == ["cannot accept connections: Too many open files"]
    now = FAULT_PAUSE_S
    faults(loop, context)
    assert len(lines) == 2
    loop.close()


def test_other_faults_of_the_loop_are_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    loop = asyncio.new_event_loop()
    for fault in (OSError(errno.EMFILE, "in a store"), ValueError("a bug")):
        AcceptFaults(lines.append)(loop, {"message": "fault", "exception": fault})
    loop.close()
    assert lines == []
    assert [record.name for record in caplog.records] == ["asyncio", "asyncio"]
