"""One request to the user's service, written by hand (see `kds.hooks.client`).

The commands ask it in the same way (`kds.service.service_client`): `http.client` costs
25 ms of imports, a fifth of what `kds route` costs with a service.

Over the unix socket in the user's runtime folder; where there is none (Windows, `kds serve
--no-socket`), over HTTP on loopback with the address in ``service.json`` and the user's token.
The folder has to be this user's alone: then everything in it is.
"""

import os
import stat
import time
from _collections_abc import Callable  # loaded already, by `os`; `collections` is not

from kds.hooks.json_text import parsed
from kds.hooks.trouble import Late, NoService, Trouble

try:
    import _socket
except ImportError:  # an interpreter that is not CPython
    import socket as _socket  # type: ignore[no-redef]

ANSWER_LIMIT = 2**18
"""Bytes of an answer: 10,000 characters, twice, with up to twelve bytes for each, fit."""

PATH_LIMIT = 103
"""Bytes of a socket's path that every system takes (sun_path: 104 on macOS, 108 on Linux,
the closing zero included)."""

HUNG_NAME = "service.hung"
"""Names the start of the service that let a hook wait in vain; the service takes it away with the
next hook that it answers."""

_DESCRIPTORS = "/proc/self/fd"
_STATE_LIMIT = 2**16
_GUARDS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

TOKEN_NAME = "service.token"
"""In the user's own folder of KDS: the bearer token of the HTTP side."""

WORKSPACE_HEADER = "Kds-Workspace"
"""Names the root of the workspace that a request is about."""


class Call:
    """An open connection, and the line that its request has to carry to be let in."""

    def __init__(self, connection: _socket.socket, header: str = "") -> None:
        self.connection = connection
        self.header = header


def connect(folder: str, token_path: str, ends: float) -> Call:
    """Connect to the service in a runtime folder before ``ends`` (of `time.monotonic`).

    Raises NoService when nobody listens, Trouble when others may write to the folder.
    """
    path = os.path.join(folder, "service.sock")
    try:
        _check_private(folder)
        if hasattr(_socket, "AF_UNIX") and os.path.lexists(path):
            return Call(over_unix(path, ends))
        return _over_tcp(folder, token_path, ends)
    except (FileNotFoundError, ConnectionRefusedError):
        raise NoService("no service is running") from None


def has_hung(brain: str, folder: str) -> bool:
    """Whether the service that listens now let a hook wait in vain, and has answered none since."""
    try:
        return _read_own(os.path.join(brain, HUNG_NAME)) == _start_of(folder)
    except (OSError, Trouble):
        return False


def note_hung(brain: str, folder: str) -> None:
    """Note that the service that listens now lets hooks wait in vain, if that can be written."""
    if os.path.islink(brain):
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _GUARDS
    try:
        mark = os.open(os.path.join(brain, HUNG_NAME), flags, 0o600)
        try:
            os.write(mark, _start_of(folder))
        finally:
            os.close(mark)
    except OSError:  # the next prompt waits as long
        pass


def _start_of(folder: str) -> bytes:
    """What a restart changes: its socket is another file, as is its state where it has none."""
    for name in ("service.sock", "service.json"):
        try:
            status = os.lstat(os.path.join(folder, name))
        except OSError:
            continue
        return b"%d %d\n" % (status.st_ino, status.st_mtime_ns)
    return b""


def ask(call: Call, root: str, content: bytes, ends: float) -> bytes:
    """Post the hook input; return the body of the answer, empty when there is nothing to say.

    Raises NoService when its installation was replaced, Trouble when the answer is another one,
    TimeoutError or Late when it is late.
    """
    status, body = exchange(call, "POST /hook", root, content, ends, limit=ANSWER_LIMIT)
    if status == 503 and b'"where":"installation"' in body:
        raise NoService("the service ends: its installation was replaced")
    if status not in (200, 204):
        raise Trouble(f"the service answered {status}")
    return body


def exchange(
    call: Call, what: str, root: str, content: bytes, ends: float, *, limit: int
) -> tuple[int, bytes]:
    """Send a request for ``what``, a method and a path, about the workspace ``root``.

    Returns status and body of the answer.

    Raises Trouble when no whole answer of at most ``limit`` bytes comes, TimeoutError or Late when
    it is late.
    """
    head = (
        f"{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        f"{WORKSPACE_HEADER}: {in_header(root)}\r\n{call.header}\r\n"
    )
    call.connection.settimeout(_left(ends))
    call.connection.sendall(head.encode() + content)
    received = b""
    while (answer := _answer(received)) is None:
        call.connection.settimeout(_left(ends))
        chunk = call.connection.recv(65_536)
        if not chunk:
            raise Trouble("the service broke off its answer")
        received += chunk
        if len(received) > limit:
            raise Trouble(f"the service's answer is larger than {limit:,} bytes")
    return answer


def in_header(path: str) -> str:
    """Spell a path for a header: what is not plain ASCII is percent-encoded, as in a URL.

    >>> in_header("/home/me/my shop")
    '/home/me/my%20shop'
    """
    return "".join(
        chr(byte) if 32 < byte < 127 and byte != 37 else f"%{byte:02X}"
        for byte in os.fsencode(path)
    )


def _answer(received: bytes) -> tuple[int, bytes] | None:
    """Status and body of an answer; None while some of it is missing."""
    head, end, body = received.partition(b"\r\n\r\n")
    if not received.startswith(b"HTTP/1."[: len(received)]):
        raise Trouble("the service's answer is not HTTP")
    if not end:
        return None
    first, *fields = head.split(b"\r\n")
    if not first[9:12].isdigit():
        raise Trouble("the service's answer is not HTTP")
    status = int(first[9:12])
    if status == 204:
        return status, b""
    for field in fields:
        name, _, value = field.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            return (status, body[:length]) if len(body) >= length else None
    raise Trouble("the service's answer has no length")


def over_unix(path: str, ends: float) -> _socket.socket:
    """Connect to a socket. Raises OSError."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(ends))
        at_short(path, connection.connect)
    except BaseException:
        connection.close()
        raise
    return connection


def at_short(path: str, call: Callable[[str], object]) -> None:
    """Call ``call`` with a spelling of a socket's path that fits into an address.

    A long one goes by way of an open descriptor of its folder; where the system has no /proc, by
    way of the current folder, which is put back: better called before there are threads. Raises
    OSError when the folder does not exist, and what ``call`` raises.
    """
    if len(os.fsencode(path)) <= PATH_LIMIT:
        call(path)
        return
    folder, name = os.path.split(path)
    if os.path.isdir(_DESCRIPTORS):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            call(f"{_DESCRIPTORS}/{opened}/{name}")
        finally:
            os.close(opened)
        return
    here = os.getcwd()
    os.chdir(folder)
    try:
        call(name)
    finally:
        os.chdir(here)


def _over_tcp(folder: str, token_path: str, ends: float) -> Call:
    if hasattr(_socket, "AF_UNIX") and not _is_held(os.path.join(folder, "service.lock")):
        raise NoService("no service is running")  # its port may be somebody else's by now
    state = parsed(_read_own(os.path.join(folder, "service.json")))
    side = state.get("http") if isinstance(state, dict) else None
    if not isinstance(side, dict):
        raise NoService("no service is running")
    host, port = str(side.get("host")), int(side.get("port", 0))
    token = _read_own(token_path).decode("ascii", "replace").strip()
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(ends))
        connection.connect((host, port))
    except BaseException:
        connection.close()
        raise
    return Call(connection, f"Authorization: Bearer {token}\r\n")


def _is_held(path: str) -> bool:
    """Whether a process holds the lock of the service, as `kds.service.lifecycle` takes it."""
    import fcntl  # 0.3 ms, on this way only

    lock = os.open(path, os.O_RDONLY | _GUARDS)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)  # which gives a lock back that was free
    return False


def _read_own(path: str) -> bytes:
    """The content of a small file that this user alone may read; links are not followed."""
    file = os.open(path, os.O_RDONLY | _GUARDS)
    try:
        _check_mode(os.fstat(file), os.path.basename(path))
        return os.read(file, _STATE_LIMIT)
    finally:
        os.close(file)


def _check_private(folder: str) -> None:
    """Another user who could write to the folder could pose as the service."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise Trouble("the runtime folder is not a folder")
    _check_mode(status, "the runtime folder")


def _check_mode(status: os.stat_result, what: str) -> None:
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise Trouble(f"{what} is not private to this user")


def _left(ends: float) -> float:
    """Seconds until ``ends``. Raises Late when there are none."""
    left = ends - time.monotonic()
    if left <= 0:
        raise Late
    return left
