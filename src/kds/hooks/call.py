"""One request to the user's service, and starting it: for `kds-hook` and the commands.

Written by hand, as `http.client` costs 25 ms of imports. The request goes over the unix socket in
the user's runtime folder, or where there is none (Windows, `kds serve --no-socket`) over loopback
HTTP, to the address in ``service.json`` with the user's token. The folder must be this user's.
"""

import json
import os
import stat
import sys
import time

try:
    import _socket  # `socket` costs 7 ms
except ImportError:  # an interpreter other than CPython
    import socket as _socket  # type: ignore[no-redef]

from kds.brain.environment import OFF, runtime_folder

SOCKET_NAME = "service.sock"
STATE_NAME = "service.json"
LOCK_NAME = "service.lock"
STARTING_NAME = "service.starting"  # in the runtime folder: when a service was last started
TOKEN_NAME = "service.token"  # in the user's own folder: the bearer token of the HTTP side

PAUSE_S = 60  # a service takes some seconds to load: by then a start has worked, or has failed

WORKSPACE_HEADER = "Kds-Workspace"  # names the root of the workspace that a request is about

GUARDS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Against links that lead elsewhere, and pipes that would be waited for."""


class Trouble(Exception):  # noqa: N818  # the prompt of a hook goes on
    """There is no answer. The text goes to the log, and never holds a word of the prompt."""


class NoService(Trouble):
    """No service is running."""


class Call:
    """An open connection, and the header that lets its request in."""

    def __init__(self, connection: _socket.socket, header: str = "") -> None:
        self.connection = connection
        self.header = header


def connect(folder: str, token_path: str, timeout_s: float) -> Call:
    """Connect to the service in a runtime folder.

    Raises NoService when none listens, Trouble when others may write to the folder.
    """
    path = os.path.join(folder, SOCKET_NAME)
    unix = hasattr(_socket, "AF_UNIX")
    try:
        _check_private(os.lstat(folder), "the runtime folder")
        if unix and os.path.lexists(path):
            return Call(_opened(_socket.AF_UNIX, path, timeout_s))
        if unix and not _is_held(os.path.join(folder, LOCK_NAME)):
            raise NoService("no service is running")  # its port may belong to another user by now
        side = json.loads(read_owned(os.path.join(folder, STATE_NAME)))["http"]
        address = str(side["host"]), int(side["port"])
        token = read_owned(token_path).decode("ascii", "replace").strip()
        family = _socket.AF_INET6 if ":" in address[0] else _socket.AF_INET
        return Call(_opened(family, address, timeout_s), f"Authorization: Bearer {token}\r\n")
    except (FileNotFoundError, ConnectionRefusedError, ValueError, LookupError, TypeError):
        raise NoService("no service is running") from None


def exchange(call: Call, what: str, root: str, content: bytes, *, limit: int) -> tuple[int, bytes]:
    """Send a request for ``what`` ("POST /hook") about a workspace; return status and body.

    Raises Trouble without a whole answer of at most ``limit`` bytes, TimeoutError when it is late.
    """
    head = (
        f"{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        f"{WORKSPACE_HEADER}: {in_header(root)}\r\n{call.header}\r\n"
    )
    call.connection.sendall(head.encode() + content)
    received = b""
    while chunk := call.connection.recv(65_536):
        received += chunk
        if len(received) > limit:
            raise Trouble(f"the service's answer is larger than {limit:,} bytes")
    head_sent, _, body = received.partition(b"\r\n\r\n")
    words = head_sent.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise Trouble("the service's answer is not HTTP")
    if b"\r\ncontent-length: %d\r\n" % len(body) not in head_sent.lower() + b"\r\n" and body:
        raise Trouble("the service broke off its answer")
    return int(words[1]), body


def in_header(path: str) -> str:
    """Percent-encode what is not plain ASCII in a path, for a header.

    >>> in_header("/home/me/my shop")
    '/home/me/my%20shop'
    """
    return "".join(
        chr(byte) if 32 < byte < 127 and byte != 37 else f"%{byte:02X}"
        for byte in os.fsencode(path)
    )


def read_owned(path: str) -> bytes:
    """Read a small file that only this user may read; links are not followed."""
    file = os.open(path, os.O_RDONLY | GUARDS)
    try:
        _check_private(os.fstat(file), os.path.basename(path))
        return os.read(file, 2**16)
    finally:
        os.close(file)


def start_service(root: str) -> bool:
    """Start the user's service, detached, unless that is switched off or was just tried.

    The settings are YAML, too much for a hook to read: what is started reads them. Returns whether
    one was started. Raises OSError when it cannot be.
    """
    wanted = (os.environ.get(name, "").strip() for name in ("KDS_SERVICE_AUTO", "KDS_SERVICE"))
    if not sys.executable or any(one.lower() in OFF for one in wanted) or _was_just_started():
        return False
    import subprocess  # 11 ms: where there is no service, and nowhere else

    # -P: a `kds` folder or a `json.py` in the user's project must not be taken for ours
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kds", "service", "start", "--auto", "--workspace", root],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
    )
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
    return True


def _was_just_started() -> bool:
    """Leave a mark; a mark from the future (the clock was put back) is an old one."""
    stamp = os.path.join(runtime_folder(), STARTING_NAME)
    os.makedirs(os.path.dirname(stamp), 0o700, exist_ok=True)
    try:
        if abs(time.time() - os.lstat(stamp).st_mtime) < PAUSE_S:
            return True
        os.utime(stamp)
    except FileNotFoundError:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    return False


def _opened(family: int, address: "str | tuple[str, int]", timeout_s: float) -> _socket.socket:
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_held(path: str) -> bool:
    """Whether a process holds the lock of the service, as `kds.service.lifecycle` takes it."""
    import fcntl

    lock = os.open(path, os.O_RDONLY | GUARDS)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)  # which gives a lock back that was free
    return False


def _check_private(status: os.stat_result, what: str) -> None:
    """Another user who could write there could pose as the service."""
    if stat.S_ISLNK(status.st_mode):
        raise Trouble(f"{what} is a link")
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise Trouble(f"{what} is not private to this user")
