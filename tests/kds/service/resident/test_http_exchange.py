"""The few lines of HTTP that the client speaks, against answers of every kind."""

import socket
import threading

import pytest

from kds.service.resident.http_exchange import BrokenAnswerError, exchange


def _answered(answer: bytes) -> tuple[tuple[int, bytes], bytes]:
    """What the exchange makes of ``answer``, and what the other side was sent."""
    ours, theirs = socket.socketpair()
    asked: list[bytes] = []

    def reply() -> None:
        with theirs:
            asked.append(theirs.recv(65_536))
            theirs.sendall(answer)

    thread = threading.Thread(target=reply)
    thread.start()
    try:
        with ours:
            ours.settimeout(30)
            return exchange(ours, "POST", "/route", b"{}", "X-Own: 1\r\n"), asked[0]
    finally:
        thread.join()


def test_the_status_and_the_body_come_back() -> None:
    (status, body), asked = _answered(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}more")
    assert (status, body) == (200, b"{}")
    assert asked.startswith(b"POST /route HTTP/1.1\r\n")
    assert b"\r\nConnection: close\r\n" in asked
    assert b"\r\nContent-Length: 2\r\n" in asked
    assert asked.endswith(b"\r\nX-Own: 1\r\n\r\n{}")


def test_a_body_without_a_length_goes_to_the_end() -> None:
    assert _answered(b"HTTP/1.0 404 Not Found\r\n\r\nno")[0] == (404, b"no")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
    ],
)
def test_an_answer_that_is_none_is_a_broken_connection(answer: bytes) -> None:
    with pytest.raises(BrokenAnswerError):
        _answered(answer)
