"""A team's service as this user asks it: where they are logged in, and one way to ask.

A token goes to the address that it was given for and nowhere else: redirects are not followed,
certificates are verified, and plain HTTP to another machine has to be asked for.
"""

import json
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack
from urllib.parse import quote, urlsplit

from pydantic import TypeAdapter, ValidationError

from kds.brain.context.journal import LoadedContext
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import PrivateFile, failure, make_private_folder
from kds.brain.turn import Turn, from_wire
from kds.brain.workspace import own_settings_path
from kds.hooks.call import Trouble, read_owned
from kds.service.security import is_loopback
from kds.service.service_client import (
    ANSWER_LIMIT,
    ANSWER_S,
    BUSY,
    LOGIN_NAME,
    How,
    ServiceUnavailableError,
    Tell,
    route_request,
)

T = TypeVar("T")

LOGIN_AGAIN: Final = "log in again: kds login URL"

_REDIRECTS: Final = range(300, 400)
_MISSING, _UNAUTHORIZED = 404, 401
_NOT_SERVED: Final = "a shared service does not have this"


class NotThereError(KdsError):
    """The service has nothing of that name."""


@dataclass(frozen=True, slots=True)
class Login:
    """Where somebody is logged in, and their token."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose a token is, as the service says."""

    organisation: str
    person: str
    role: str
    project: str


def login_path() -> Path:
    """Where the login is kept: beside the user's own settings."""
    return own_settings_path().with_name(LOGIN_NAME)


def read_login() -> Login | None:
    """Return the login; None when there is none. Raises StoreError when it cannot be trusted."""
    path = login_path()
    try:
        found = json.loads(read_owned(str(path)))
        return Login(str(found["url"]), str(found["token"]))
    except FileNotFoundError:
        return None
    except (Trouble, OSError) as error:
        hint = f"others may have that token: have it ended, and {LOGIN_AGAIN}"
        raise StoreError(
            f"the login is not safe to use: {error}", where=str(path), hint=hint
        ) from (error)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError("the login is damaged", where=str(path), hint=LOGIN_AGAIN) from error


def keep_login(login: Login) -> None:
    """Keep a login for this user alone. Raises StoreError."""
    path = login_path()
    try:
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise failure("make", path.parent.parent, error) from error
    make_private_folder(path.parent)
    PrivateFile(path).replace(json.dumps(asdict(login)).encode())


def forget_login() -> bool:
    """Remove the login; returns whether there was one."""
    there = login_path().exists()
    PrivateFile(login_path()).remove()
    return there


def checked_url(text: str, *, plain_http: bool = False) -> str:
    """Return the address of a service. Raises KdsError when a token may not be sent there."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise KdsError(
            f"'{text}' is not an address", hint="such as https://team.example"
        ) from error
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise KdsError(f"'{text}' is not an address", hint="such as https://team.example")
    if parts.username is not None:
        raise KdsError("the address holds a user or a password", hint="leave them out of it")
    if parts.scheme == "http" and not plain_http and not is_loopback(host):
        raise KdsError(
            "over http everybody on the way can read the token",
            where=text,
            hint="use https; or, where the network is safe, add --plain-http",
        )
    return text.rstrip("/")


class TeamService:
    """Asks a team's service with somebody's token. Every call is a connection of its own.

    Calls raise ServiceUnavailableError when it does not answer, KdsError as it reports it.
    """

    alone = False
    """Nothing is done in this process for want of a service."""

    def __init__(self, login: Login, *, timeout_s: float = ANSWER_S) -> None:
        self.url = login.url
        self._token = login.token
        self._timeout_s = timeout_s

    def __str__(self) -> str:
        return self.url

    def whoami(self) -> Identity:
        """Whose the token is."""
        return self.ask("GET", "/whoami", Identity)

    def route(self, message: str, *, tell: Tell = lambda _: None, **how: Unpack[How]) -> Turn:
        """Have ``message`` routed, as `kds.api.conversations.Conversations.route` does.

        The terminal is not told: another machine cannot see whether it is open still.
        """
        how.pop("origin", None)
        answer = self.ask("POST", "/route", dict[str, Any], route_request(message, None, how))
        for warning in answer.get("warnings", ()):
            tell(str(warning))
        return from_wire(answer)

    def context(self, conversation: str | None) -> LoadedContext:
        """What a conversation remembers, oldest first."""
        return self.ask("GET", "/context", LoadedContext, conversation=conversation)

    def log(self, said: Mapping[str, str | None]) -> LoadedContext:
        """Remember a message as it stands, and return the context."""
        return self.ask("POST", "/context", LoadedContext, said)

    def clear(self, conversation: str | None) -> int:
        """Forget a conversation; returns how many entries it had."""
        told = self.ask("DELETE", "/context", dict[str, int], conversation=conversation)
        return told["cleared"]

    def ask(
        self, method: str, path: str, kind: type[T], body: object = None, /, **query: object
    ) -> T:
        """Return the answer as a value of ``kind``; bytes are sent as they are, else JSON."""
        given = "&".join(
            f"{name}={quote(str(value), safe='')}" for name, value in query.items()
            if value is not None
        )  # fmt: skip
        content = body if isinstance(body, bytes) else b""
        if body is not None and not isinstance(body, bytes):
            content = TypeAdapter(object).dump_json(body)
        status, headers, answer = self._exchange(
            method, f"{path}?{given}" if given else path, content, raw=isinstance(body, bytes)
        )
        if status in _REDIRECTS:
            place = urlsplit(headers.get("location", "")).hostname or "elsewhere"
            raise KdsError(f"the service sends to {place}, where the token was not sent",
                           where=self.url, hint="log in there: kds login URL")  # fmt: skip
        try:
            if status < 400:
                return TypeAdapter(kind).validate_json(answer)
            problem = json.loads(answer)["error"]
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise KdsError(
                f"the answer (status {status}) is not one of KDS, or of another version",
                where=self.url,
                hint="check the address, and that this KDS is as new as the service",
            ) from error
        raise self._refusal(status, problem)

    def _refusal(self, status: int, problem: Mapping[str, Any]) -> KdsError:
        message, where, hint = (problem.get(name) for name in ("message", "where", "hint"))
        if status == _UNAUTHORIZED:
            return KdsError("the token is not valid, or not any more", where=self.url,
                            hint=f"ask an admin for a new one, and {LOGIN_AGAIN}")  # fmt: skip
        if status == _MISSING and message == _NOT_SERVED:
            message, hint = "the service is too old for this command", "have it updated"
        kinds = {BUSY: ServiceUnavailableError, _MISSING: NotThereError}
        return kinds.get(status, KdsError)(
            str(message or f"refused ({status})"), where=where or self.url, hint=hint
        )

    def _exchange(
        self, method: str, path: str, content: bytes, *, raw: bool
    ) -> tuple[int, Mapping[str, str], bytes]:
        sort = "application/octet-stream" if raw else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": sort}
        try:
            with closing(self._connection()) as connection:
                target = urlsplit(self.url).path + path
                connection.request(method, target, content or None, headers)
                reply = connection.getresponse()
                answer = reply.read(ANSWER_LIMIT)
                told = {name.lower(): value for name, value in reply.getheaders()}
                return reply.status, told, answer
        except ssl.SSLCertVerificationError as error:
            raise KdsError(
                f"the certificate of the service is not trusted: {error.verify_message}",
                where=self.url,
                hint="with an authority of your own: SSL_CERT_FILE=/path/ca.pem",
            ) from error
        except (OSError, HTTPException) as error:
            raise ServiceUnavailableError(
                f"the team's service does not answer: {str(error) or type(error).__name__}",
                where=self.url,
                hint="try again later; kds logout goes back to what is kept on this machine",
            ) from error

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(checked_url(self.url, plain_http=True))
        host = parts.hostname or ""
        if parts.scheme == "https":
            verified = ssl.create_default_context()
            return HTTPSConnection(host, parts.port, timeout=self._timeout_s, context=verified)
        return HTTPConnection(host, parts.port, timeout=self._timeout_s)


def part(name: str) -> str:
    """Return a name as it stands in a path."""
    return quote(name, safe="")
