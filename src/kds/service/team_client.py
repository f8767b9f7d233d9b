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
from urllib.parse import quote, urlencode, urlsplit

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
        told = f"the login is not safe to use: {error}"
        hint = f"others may have that token: have it ended, and {LOGIN_AGAIN}"
        raise StoreError(told, where=str(path), hint=hint) from error
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
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
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


def part(name: str) -> str:
    """Return a name as it stands in a path."""
    return quote(name, safe="")


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

    def call(self, name: str, kind: type[T], /, **asked: object) -> T:
        """Call a method of what is kept there (`kds.service.routes.team`)."""
        return self.ask("POST", f"/calls/{name}", kind, asked)

    def ask(
        self, method: str, path: str, kind: type[T], body: object = None, /, **query: object
    ) -> T:
        """Return the answer as a value of ``kind``; bytes are sent as they are, else JSON."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        content = body
        if isinstance(body, bytes):
            headers["Content-Type"] = "application/octet-stream"
        elif body is not None:
            content = TypeAdapter(object).dump_json(body)
        target = f"{urlsplit(self.url).path}{path}{'?' if given else ''}{given}"
        try:
            with closing(self._connection()) as connection:
                connection.request(method, target, content, headers)  # type: ignore[arg-type]
                reply = connection.getresponse()
                answer = reply.read(ANSWER_LIMIT)
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
                hint="try again later; kds login --out goes back to what is kept on this machine",
            ) from error
        try:
            if reply.status < 300:
                return TypeAdapter(kind).validate_json(answer)
            problem = json.loads(answer)["error"]
            told = {name: problem[name] for name in ("message", "where", "hint")}
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise KdsError(
                f"the answer (status {reply.status}) is not one of KDS, or of another version",
                where=self.url,
                hint="check the address, and that this KDS is as new as the service; "
                "redirects are not followed",
            ) from error
        if reply.status == 401:
            raise KdsError("the token is not valid, or not any more", where=self.url,
                           hint=f"ask an admin for a new one, and {LOGIN_AGAIN}")  # fmt: skip
        refusal = ServiceUnavailableError if reply.status == BUSY else KdsError
        raise refusal(told["message"], where=told["where"] or self.url, hint=told["hint"])

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(checked_url(self.url, plain_http=True))
        if parts.scheme == "https":
            verified = ssl.create_default_context()
            return HTTPSConnection(
                str(parts.hostname), parts.port, timeout=self._timeout_s, context=verified
            )
        return HTTPConnection(str(parts.hostname), parts.port, timeout=self._timeout_s)
