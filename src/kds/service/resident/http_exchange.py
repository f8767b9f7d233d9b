"""One HTTP exchange over a socket that is open: the little of HTTP/1.1 that the service speaks.

Written by hand, for `http.client` costs 25 ms of imports (the parsers of `email`, `ssl`), a fifth
of what `kds route` costs with a service.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # `socket` itself is 3 ms of imports
    from _socket import socket

ANSWER_LIMIT: Final = 2**26
"""Bytes of an answer: 64 MiB, where a turn with its prompt has some ten thousand."""

_CHUNK: Final = 65_536


class BrokenAnswerError(ConnectionError):
    """What came back is no whole answer."""


def exchange(
    connection: "socket",
    method: str,
    path: str,
    content: bytes | None = None,
    header: str = "",
) -> tuple[int, bytes]:
    """Send a request, with one more ``header`` line, and return status and body of its answer.

    The other side closes the connection behind it. Raises OSError, BrokenAnswerError among them.
    """
    body = content or b""
    lines = {
        "Host": "localhost",
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    connection.sendall(f"{method} {path} HTTP/1.1\r\n{head}{header}\r\n".encode() + body)
    return _read(_received(connection))


def _received(connection: "socket") -> bytes:
    parts, size = [], 0
    while chunk := connection.recv(_CHUNK):
        size += len(chunk)
        if size > ANSWER_LIMIT:
            raise BrokenAnswerError(f"the answer is larger than {ANSWER_LIMIT:,} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _read(received: bytes) -> tuple[int, bytes]:
    head, end, body = received.partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    if not end or not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise BrokenAnswerError("the connection was closed without an answer")
    for field in fields:
        name, _, value = field.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            if len(body) < int(value):
                raise BrokenAnswerError("the answer broke off")
            return int(rest[:3]), body[: int(value)]
    return int(rest[:3]), body
