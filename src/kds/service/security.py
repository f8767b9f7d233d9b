"""Who may ask: the checks in front of every listener.

A unix socket is guarded by its file mode and that of its folder. Loopback TCP is open to every
user and web page of the machine, so there a bearer token is asked for, and `Host` and `Origin` are
checked: a page that rebinds its DNS name to 127.0.0.1 sends its own name in `Host`, and one that
posts across origins sends `Origin`.
"""

import hmac
import ipaddress
import os
import re
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile, failure
from kds.hooks.call import Trouble, read_owned
from kds.service.errors import ForbiddenError, UnauthorizedError
from kds.service.requests import error_response

TOKEN_BYTES: Final = 32  # 256 bits, the default of `secrets` and beyond any guessing
_TOKEN_LENGTH: Final = 43  # characters of TOKEN_BYTES in URL-safe base64 without padding
_ROOT: Final = 0

_HOST: Final = re.compile(r"\[([\da-f:.]+)\](?::\d+)?|([\w.-]+)(?::\d+)?", re.ASCII | re.IGNORECASE)

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if sys.platform == "linux" else ()
"""Every TCP socket of this machine with its user: proc_net_tcp of the kernel's documents."""


def is_loopback(host: str) -> bool:
    """Tell whether ``host`` names this machine's loopback interface, and nothing else.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("0.0.0.0"), is_loopback("localhost.example.com")
    (False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def open_token(path: Path) -> str:
    """Return the token in ``path``, made when there is none, or when others could read it.

    Raises StoreError when the file can neither be read nor written.
    """
    try:
        token = read_owned(str(path)).decode("ascii", "replace").strip()
    except (FileNotFoundError, Trouble):
        token = ""
    except OSError as error:
        raise failure("read", path, error) from error
    if len(token) < _TOKEN_LENGTH:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        PrivateFile(path).replace(f"{token}\n".encode())
    return token


def neighbour_is_trusted(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Tell whether the process at the other end of a loopback connection is this user's, or root's.

    Other users can listen on loopback, too, and a browser sends them the cookies of every port.
    True where the system does not say: the tables are Linux's.
    """
    near, far = (
        f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
        for host, port in (client, server)
    )  # as the tables spell them; an IPv6 one has a prefix before it
    for table in _TABLES:
        with suppress(OSError):
            for line in table.read_text("ascii").splitlines()[1:]:
                row = line.split()
                if row[1].endswith(near) and row[2].endswith(far):
                    return int(row[7]) in (os.geteuid(), _ROOT)
    return True


class TokenAuth:
    """ASGI layer of loopback TCP: `Host`, `Origin`, then the user's token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass the request on."""
        headers = Headers(scope=scope)
        try:
            check_origin(headers)
            if not hmac.compare_digest(bearer(headers).encode("utf-8", "replace"), self._token):
                raise UnauthorizedError(
                    "no valid token",
                    where="Authorization",
                    hint="send `Authorization: Bearer TOKEN`: it is in ~/.config/kds/service.token",
                )
        except KdsError as error:
            await error_response(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def bearer(headers: Headers) -> str:
    """Return the token of a request; "" when it has none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def check_origin(headers: Headers) -> None:
    """Raise ForbiddenError when a request was sent elsewhere, or comes from another page."""
    hosts = headers.getlist("host")
    named = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if named is None or not is_loopback(named[1] or named[2]):
        where, hint = "Host", "use http://127.0.0.1, http://[::1] or http://localhost"
    elif any(one.lower() != f"http://{hosts[0]}".lower() for one in headers.getlist("origin")):
        where, hint = "Origin", "a web page from elsewhere may not ask this service"
    else:
        return
    raise ForbiddenError(f"refused: {where} is not this machine", where=where, hint=hint)
