"""One request to the user's service, and starting it: for `kds-hook` and the commands.

Written by hand, as `http.client` costs 25 ms of imports. The request goes over the unix socket in
the user's runtime folder, which must be this user's alone.
"""

import _socket  # `socket` costs 7 ms
import os
import stat
import sys
import time

from kds.brain.environment import OFF, runtime_folder

SOCKET_NAME = "service.sock"
STARTING_NAME = "service.starting"  # in the runtime folder: when a service was last started

PAUSE_S = 60  # a service takes some seconds to load: by then a start has worked, or has failed

WORKSPACE_HEADER = "Kds-Workspace"  # names the root of the workspace that a request is about

GUARDS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Against links that lead elsewhere, and pipes that would be waited for."""


class Trouble(Exception):  # noqa: N818  # the prompt of a hook goes on
    """There is no answer. The text goes to the log, and never holds a word of the prompt."""


class NoService(Trouble):
    """No service is running."""


def connect(folder: str, timeout_s: float) -> _socket.socket:
    """Connect to the service in a runtime folder.

    Raises NoService when none listens, Trouble when others may write to the folder.
    """
    try:
        _check_private(os.lstat(folder), "the runtime folder")
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(os.path.join(folder, SOCKET_NAME))
        except BaseException:
            connection.close()
            raise
    except (FileNotFoundError, ConnectionRefusedError, AttributeError):  # Windows has no AF_UNIX
        raise NoService("no service is running") from None
    return connection


def exchange(
    connection: _socket.socket, what: str, root: str, content: bytes, *, limit: int
) -> tuple[int, bytes]:
    """Send a request for ``what`` ("POST /hook") about a workspace; return status and body.

    Raises Trouble without a whole answer of at most ``limit`` bytes, TimeoutError when it is late.
    """
    head = (
        f"{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        f"{WORKSPACE_HEADER}: {in_header(root)}\r\n\r\n"
    )
    connection.sendall(head.encode() + content)
    received = b""
    while chunk := connection.recv(65_536):
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
    able = sys.executable and hasattr(_socket, "AF_UNIX")
    if not able or any(one.lower() in OFF for one in wanted) or _was_just_started():
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


def _check_private(status: os.stat_result, what: str) -> None:
    """Another user who could write there could pose as the service."""
    if stat.S_ISLNK(status.st_mode):
        raise Trouble(f"{what} is a link")
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise Trouble(f"{what} is not private to this user")
