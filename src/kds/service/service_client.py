"""Asking the user's service, over its unix socket.

`RouterClient` routes for a surface: by the service, else in this very process.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from kds.brain.clock import Clock, utc_now
from kds.brain.environment import own_folder, routing_variables, runtime_folder, switch
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import failure, make_private_folder
from kds.brain.turn import Turn, Utterance, from_wire
from kds.brain.workspace import Workspace, own_settings_path, shared_database
from kds.hooks.call import SOCKET_NAME, STARTING_NAME, Trouble, connect, exchange
from kds.service.freshness import Installation

if TYPE_CHECKING:  # the router and the memory: a client of a service needs neither
    from kds.api.conversations import Conversations
    from kds.api.turn_log import TurnRecord
    from kds.service.team_client import TeamService

INSTALLATION: Final = Installation()  # what this process was started from

LOADING: Final = "loading rules, prompts and the intent model"

Tell = Callable[[str], None]
Watch = Callable[[str], AbstractContextManager[object]]
"""Is told what may take a while, for as long as it does."""

CONNECT_S: Final = 0.5
"""Seconds to connect on one machine: it takes well under a millisecond, or never succeeds."""

ANSWER_S: Final = 30.0
"""Seconds to wait for an answer. A turn takes milliseconds; a queue of 256 some seconds."""

ANSWER_LIMIT: Final = 2**26
"""Bytes of an answer: 64 MiB, where a turn with its prompt has some ten thousand."""

BUSY: Final = 503
CONFLICT: Final = 409

SWITCHED_OFF: Final = "service.enabled"
"""Where a service declines because the settings say that commands are not to ask: no fault."""

HISTORY_LIMIT: Final = 32  # utterances that go along with a message: a rewriter reads six

SAID_LIMIT: Final = 8_000  # characters of each: a rewriter reads 600, once the code is taken out

KNOWN_LIMIT: Final = 200  # terms that go along: a conversation refers to a handful

LOOPBACK: Final = "127.0.0.1"

LOGIN_NAME: Final = "login.json"
"""Beside the user's own settings: where the user is logged in (`kds.service.team_client`)."""


class ServiceAddress:
    """The files through which the user's service and its clients find each other.

    In the runtime folder: the socket; a lock that is held while the service lives; the state file
    with its pid, version and addresses; when one was last started in the background; the log. In
    the user's own folder, and outliving the service: the bearer token of the HTTP side, and the
    port of the web page.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` stands in for both folders."""
        self.folder = folder or Path(runtime_folder())
        self.socket_path = self.folder / SOCKET_NAME
        self.lock_path = self.folder / "service.lock"
        self.state_path = self.folder / "service.json"
        self.starting_path = self.folder / STARTING_NAME
        self.log_path = self.folder / "service.log"
        own = folder or Path(own_folder())
        self.token_path, self.page_path = own / "service.token", own / "page.port"

    def ensure(self) -> None:
        """Make the folders, for this user alone. Raises StoreError."""
        for folder in (self.folder, self.token_path.parent):
            try:
                folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise failure("make", folder.parent, error) from error
            make_private_folder(folder)
        try:
            self.folder.chmod(0o700)
        except OSError as error:
            raise failure("protect", self.folder, error) from error


def host_and_port(text: str) -> tuple[str, int]:
    """Read `[HOST:]PORT`, this machine where no host is named. Raises KdsError without a port.

    >>> host_and_port("8765"), host_and_port("[::1]:0")
    (('127.0.0.1', 8765), ('::1', 0))
    """
    named, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 2**16):
        raise KdsError(f"'{text}' names no port", hint="use PORT or HOST:PORT, such as 8765")
    return named.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


class ServiceUnavailableError(KdsError):
    """There is no service, it is busy, or it ended while it was asked."""


class ServiceDeclinedError(KdsError):
    """The service runs, and this is not for it: it is switched off, or was started otherwise."""


class How(TypedDict, total=False):
    """How a message is to be routed, of what `kds.api.conversations.Conversations.route` takes."""

    conversation: str | None
    join: bool
    origin: str | None
    log: bool
    history: Sequence[Utterance]
    rewrite: bool | None


def route_request(message: str, known: Sequence[str] | None, how: How) -> dict[str, object]:
    """Return what `POST /route` is sent for a message: the latest of what was said and is known.

    Of a reply its end goes along, where its question stands.
    """
    said = [
        {
            "role": one.role,
            "content": one.text[-SAID_LIMIT:] if one.role == "assistant" else one.text[:SAID_LIMIT],
        }
        for one in how.get("history", ())
    ]
    terms = None if known is None else list(known)[-KNOWN_LIMIT:]
    return {**how, "message": message, "history": said[-HISTORY_LIMIT:], "known": terms}


class ServiceClient:
    """Asks one service. Every call is a connection of its own, so threads may share it.

    Calls raise ServiceUnavailableError when nobody answers, ServiceDeclinedError when the service
    cannot do it as it would be done here, KdsError as the service reports it.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        timeout_s: float = ANSWER_S,
        address: ServiceAddress | None = None,
    ) -> None:
        self._root = str(workspace.root)
        self._address = address or ServiceAddress()
        self._timeout_s = timeout_s

    def route(
        self,
        message: str,
        *,
        known: Sequence[str] | None = None,
        tell: Tell = lambda _: None,
        **how: Unpack[How],
    ) -> Turn:
        """Have ``message`` routed; see `kds.api.conversations.Conversations.route`.

        The settings of this process's environment count. ``tell`` hears the service's warnings.
        """
        sent = {**route_request(message, known, how), "variables": routing_variables()}
        answer = self.ask("POST /route", sent)
        for warning in answer.get("warnings", ()):
            tell(str(warning))
        return from_wire(answer)

    def web(self) -> tuple[str, str]:
        """Have the web page opened; its address, and a link that lets one browser in."""
        answer = self.ask("POST /web")
        return str(answer["url"]), str(answer["login"])

    def ask(self, what: str, body: Mapping[str, object] | None = None) -> Mapping[str, Any]:
        """Return the answer to a request such as "GET /healthz" (docs/service.md)."""
        content = b"" if body is None else json.dumps(body).encode()
        where, hint = str(self._address.socket_path), "see `kds service status`"
        try:
            with closing(connect(str(self._address.folder), CONNECT_S)) as connection:
                connection.settimeout(self._timeout_s)
                status, answer = exchange(connection, what, self._root, content, limit=ANSWER_LIMIT)
            told: Mapping[str, Any] = json.loads(answer)
        except TimeoutError as error:
            raise KdsError(
                f"the service took longer than {self._timeout_s:g} s",
                where=where,
                hint=f"{hint}; the message may have been remembered",
            ) from error
        except (OSError, Trouble) as error:
            text = f"the service does not answer: {str(error) or type(error).__name__}"
            raise ServiceUnavailableError(text, where=where, hint=hint) from error
        except ValueError as error:
            raise StoreError("the service's answer is not JSON", hint="kds service stop") from error
        if status < 400:
            return told
        if status == BUSY:
            raise ServiceUnavailableError("the service is busy or stopping", hint="try again")
        refusal = ServiceDeclinedError if status == CONFLICT else KdsError
        raise refusal(**told["error"])


def reach(workspace: Workspace, *, timeout_s: float = ANSWER_S) -> ServiceClient | None:
    """Return a client for ``workspace`` when the service accepts connections, else None."""
    try:
        connect(str(ServiceAddress().folder), CONNECT_S).close()
    except (OSError, Trouble):
        return None
    return ServiceClient(workspace, timeout_s=timeout_s)


def team_of(workspace: Workspace) -> "TeamService | None":
    """The team's service that commands ask; None, told at once, where nobody is logged in.

    A database that is named goes before it. Raises StoreError when the login cannot be used.
    """
    if not own_settings_path().with_name(LOGIN_NAME).exists() or shared_database(workspace):
        return None
    from kds.service.team_client import TeamService, read_login  # pydantic: 0.1 s of CPU

    login = read_login()
    return TeamService(login) if login else None


class RouterClient:
    """Asks the service at each call, and does the work here when there is none."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        turns: "TurnRecord | None" = None,
        clock: Clock = utc_now,
        tell: Tell = lambda _: None,
        watch: Watch = lambda _: nullcontext(),
    ) -> None:
        """``turns`` stands in for the memory of the workspace, ``tell`` hears warnings.

        With a ``clock`` of the caller's own no service is asked: it goes by the time of day.
        """
        self._workspace = workspace
        self._turns = turns
        self._clock = clock
        self._tell = tell
        self._watch = watch
        self._own: Conversations | None = None
        self.alone = False
        """Whether a message found no service that might have answered it."""

    def route(self, message: str, **how: Unpack[How]) -> Turn:
        """Route ``message``; see `kds.api.conversations.Conversations.route`.

        What cannot be remembered is refused before anything is loaded.
        """
        if (client := self.find()) is not None:
            known = None if self._turns is None else self._turns.known(how.get("conversation"))
            try:
                with self._watch("waiting for the service"):
                    return client.route(message, known=known, tell=self._tell, **how)
            except ServiceUnavailableError:
                self.alone = True  # the next command finds a new one
            except ServiceDeclinedError as error:
                if error.where != SWITCHED_OFF:  # the user did that
                    self._tell(f"{error.message}; routing without it")
        if how.get("log", True):
            self._workspace.check()
        with self._watch(LOADING if self._own is None else "routing"):
            return self.own().route(message, **how)

    def own(self) -> "Conversations":
        """What routes in this process; loaded when it is first needed.

        Raises KdsError when KDS was updated meanwhile: its files are not those of the code that
        runs here.
        """
        if self._own is None:
            if INSTALLATION.is_replaced():
                raise KdsError(
                    "KDS was updated while this program was running",
                    hint="start it again, or start the service that it asks: kds service start",
                )
            from kds.api.conversations import Conversations  # 1.2 s of CPU

            self._own = Conversations.open(self._workspace, clock=self._clock, turns=self._turns)
            for warning in self._own.warnings:
                self._tell(warning)
            if (wrong := self._own.config.problem) is not None:
                self._tell(f"wrong settings do not count: {wrong}")
        return self._own

    def find(self) -> ServiceClient | None:
        """The service, where one runs that is to be asked."""
        if switch("KDS_SERVICE") is False or self._clock is not utc_now:
            return None
        client = reach(self._workspace)
        self.alone = client is None
        return client
