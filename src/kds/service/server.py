"""The running service: takes the user's lock, listens, and leaves nothing behind."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Coroutine, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from fastapi import FastAPI
from starlette.types import ASGIApp

from kds.api.records import tidy_conversations
from kds.brain.clock import moment
from kds.brain.context.conversations import Contexts
from kds.brain.errors import KdsError, OutageError, StoreError
from kds.brain.store.postgres_schema import require
from kds.brain.workspace import Workspace, shared_database
from kds.service.errors import describe_fault
from kds.service.freshness import Installation
from kds.service.jobs import catch_up, embed_when_idle, reload_on_change
from kds.service.lifecycle import Instance, expire_later
from kds.service.listening import HttpAddress, Listeners, MakeSite, SiteHost, bind_http
from kds.service.routes import make_app
from kds.service.routes.health import Vitals
from kds.service.security import TokenAuth, open_token
from kds.service.service_client import ServiceAddress
from kds.service.team_auth import TeamAuth, Tell
from kds.service.workspaces import Log, ServedWorkspace, Workspaces, give_memory_back

TIDY_S: Final = 600.0
"""How often what has expired leaves the disk: lines of the context, and conversations that nobody
speaks in any more. Both expire after two hours."""

GRACE_S: Final = 10.0
"""Seconds that a request in flight has to end after a stop: the slowest measured took 1.3 s."""

STUCK: Final = 70
"""Exit code when it did not (EX_SOFTWARE of sysexits)."""

LOOK_S: Final = 5.0
"""How often all files of the installation are looked at, which takes 5 ms of CPU. Each request
looks at some of them."""

LET_GO_LOOK_S: Final = 30.0
"""How often it is looked for workspaces that nobody uses."""

ENDING: Final = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that end the service, unless it was started with them ignored (nohup)."""

_Result = TypeVar("_Result")

Entrance = tuple[socket.socket, ASGIApp]
"""A socket that listens, and what answers there."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve: ``idle_s`` seconds without a request end the service, None: nothing does."""

    http: HttpAddress | None = None
    unix_socket: bool = True
    idle_s: float | None = None
    team: HttpAddress | None = None
    """Where people with tokens of their own are answered; None: nowhere."""
    tell: Tell = lambda _: None
    """Is told of each of their requests."""
    drain_s: float = 0.0
    """How long they are answered on after SIGTERM, so that a balancer can take note first."""

    def possible(self) -> "ServiceOptions":
        """The same, with loopback HTTP where there would be nothing to listen on."""
        unix_socket = self.unix_socket and hasattr(socket, "AF_UNIX")
        http = self.http if unix_socket or self.http or self.team else HttpAddress()
        return replace(self, unix_socket=unix_socket, http=http)


class Service:
    """Serves a user's workspaces until it is told to stop: `run` blocks, `stop` ends it."""

    def __init__(
        self,
        workspaces: Iterable[Workspace],
        options: ServiceOptions,
        *,
        log: Log,
        site: MakeSite | None = None,
        address: ServiceAddress | None = None,
    ) -> None:
        """``workspaces`` stay open; others are opened when they are named.

        ``site`` makes the web page, when somebody asks for it.
        """
        self._kept = tuple(dict.fromkeys(workspaces))
        self._options = options.possible()
        self._log = log
        self._make_site = site
        self._address = address or ServiceAddress()
        self._vitals = Vitals()
        self._installation = Installation()
        self._workspaces = Workspaces(self._jobs, log=log)
        self._reason: str | None = None
        self.places: list[str] = []
        """Where it answers: addresses and paths, once it is ready."""
        self._team: TeamAuth | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._owns_process = False
        self._watchdog: threading.Timer | None = None
        self.replaced = False
        """Whether it ended because its installation was replaced: it is to be started again."""
        self.ready = threading.Event()
        """Set once connections are accepted."""

    def run(self) -> None:
        """Serve, and return when the service has stopped and left nothing behind.

        Raises AlreadyServedError when another process is the user's service, KdsError when a
        workspace that is to stay open does not load, or an address cannot be used.
        """
        with ExitStack() as stack:
            stack.callback(self._call_off)
            self._owns_process = threading.current_thread() is threading.main_thread()
            instance = self._claim(stack)
            stack.callback(self._workspaces.close)
            for workspace in self._kept:
                self._workspaces.keep(workspace)
            app = make_app(
                self._workspaces, self._vitals, is_replaced=self._is_replaced, log=self._log
            )
            entrances = self._listen(stack, instance, app)
            asyncio.run(self._serve(app, entrances, instance))
        self._log(f"stopped: {self._reason}")

    def stop(self, reason: str = "asked to") -> None:
        """Finish the requests in flight and end; from any thread."""
        self._reason = self._reason or reason
        if self._team is not None:
            self._team.draining = True
        draining = self._team is not None and reason == "SIGTERM"
        drain_s = self._options.drain_s if draining else 0.0
        if self._owns_process and self._watchdog is None:
            self._watchdog = threading.Timer(drain_s + GRACE_S, self._leave_at_once)
            self._watchdog.daemon = True
            self._watchdog.start()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has come to its end meanwhile
                self._loop.call_soon_threadsafe(self._loop.call_later, drain_s, self._stopping.set)

    def _jobs(self, served: ServedWorkspace) -> tuple[Coroutine[Any, Any, None], ...]:
        return reload_on_change(served), embed_when_idle(served, self._workspaces.attendance.idle_s)

    def _claim(self, stack: ExitStack) -> Instance | None:
        """Become the user's service.

        Not when it only answers people, all of whose things are on a server: there may be several.
        """
        if not self._options.unix_socket and self._options.http is None:
            return None
        instance = Instance.claim(self._address)
        stack.callback(instance.release)
        stack.callback(instance.withdraw)
        instance.announce(self._state(None, listening=False))
        return instance

    def _listen(self, stack: ExitStack, instance: Instance | None, app: ASGIApp) -> list[Entrance]:
        """Bind the sockets that are wanted, and write down where they are."""
        entrances: list[Entrance] = []
        http = None
        if self._options.http is not None:
            token = open_token(self._address.token_path)
            listener, http = bind_http(self._options.http)
            stack.callback(listener.close)
            entrances.append((listener, TokenAuth(app, token)))
            self.places.append(http.url)
        if self._options.team is not None:
            entrances.append(self._team_entrance(stack, self._options.team, app))
        if instance is not None:
            if self._options.unix_socket:
                listener = instance.bind()
                stack.callback(listener.close)
                entrances.append((listener, app))
                self.places.append(str(self._address.socket_path))
            instance.announce(self._state(http, listening=True))
        return entrances

    def _team_entrance(self, stack: ExitStack, address: HttpAddress, app: ASGIApp) -> Entrance:
        """Listen for people with tokens; everybody uses the first workspace's rules and prompts.

        Raises StoreError when there is no server, ConfigError when its settings are wrong.
        """
        workspace = self._kept[0]
        shared = shared_database(workspace)
        if shared is None:
            raise StoreError(
                "a shared service keeps conversations on a server, and none is named",
                where="KDS_DATABASE",
                hint="set it to postgresql://..., and run kds db upgrade",
            )
        server = shared.server()
        stack.callback(server.close)
        try:
            require(server)
        except OutageError as error:  # people are told, and the balancer, until it is back
            self._log(f"not ready yet: {' '.join(str(error).split())}")
        listener, bound = bind_http(address)
        stack.callback(listener.close)
        root, uptime_s = str(workspace.root), self._vitals.uptime_s
        self._team = TeamAuth(app, server, root, uptime_s, self._options.tell)
        self.places.append(bound.url)
        return listener, self._team

    async def _serve(
        self, app: FastAPI, entrances: Iterable[Entrance], instance: Instance | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._heed_signals(self._loop)
        if self._reason is not None:  # told to stop while it was loading
            self._stopping.set()
        listeners = Listeners(self._log)
        for listener, inner in entrances:
            listeners.add(listener, inner)
        site = app.state.site = SiteHost(self._make_site, app.state, listeners.add)
        self._workspaces.begin()
        chores = [self._tidy(), self._let_go(), self._end_when_replaced()]
        if self._team is not None:
            chores.append(catch_up(self._workspaces, self._team.passes.reachable))
        if self._options.idle_s is not None:
            chores.append(self._end_when_idle(self._options.idle_s))
        tasks = [asyncio.create_task(chore) for chore in chores]
        who = f"kds {self._vitals.version}, pid {self._vitals.pid}"
        self._log(f"started: {who}; at {', '.join(self.places)}")
        self.ready.set()
        await self._stopping.wait()
        if instance is not None:
            self._hide(instance)
        for one in self._workspaces:
            one.queries.stop()
        site.stop()
        for task in tasks:
            task.cancel()
        self._workspaces.end()
        await listeners.close()

    def _heed_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        for name in ENDING if self._owns_process else ():
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(NotImplementedError):  # Windows: an interrupt ends the process
                    loop.add_signal_handler(number, self.stop, name)

    async def _end_when_idle(self, limit_s: float) -> None:
        await self._workspaces.attendance.wait_idle(limit_s)
        self.stop(f"no request for {limit_s:g} s")

    async def _let_go(self) -> None:
        while True:
            await asyncio.sleep(LET_GO_LOOK_S)
            await self._workspaces.let_go()
            if (
                self._workspaces.attendance.idle_s() < LET_GO_LOOK_S
            ):  # there was a request meanwhile
                await asyncio.to_thread(give_memory_back)

    async def _end_when_replaced(self) -> None:
        """Look at the installation's files now and again."""
        while not await asyncio.to_thread(self._installation.is_changed):
            await asyncio.sleep(LOOK_S)
        self._end_replaced()

    def _is_replaced(self) -> bool:
        """Whether the installation was replaced; if so, the service ends."""
        if self._installation.is_replaced():
            self._end_replaced()
        return self.replaced

    def _end_replaced(self) -> None:
        self.replaced = True
        if self._reason is None:  # once: the mark of the next start must stay
            with suppress(OSError):  # clients may start the next service at once
                self._address.starting_path.unlink()
        self.stop("the installation was replaced")

    async def _tidy(self) -> None:
        """Have what has expired leave the disk, of workspaces that were let go as well."""
        while True:
            for one in self._workspaces:
                await self._try(one.workspace, one.worker.run(one.conversations.tidy))
                await self._try(one.workspace, one.worker.run(one.conversations.journal().load))
            for key, workspace in list(self._workspaces.left.items()):
                left = await self._try(workspace, asyncio.to_thread(_entries, workspace))
                if not left:
                    self._workspaces.left.pop(key, None)
            await asyncio.sleep(TIDY_S)

    async def _try(self, workspace: Workspace, chore: Awaitable[_Result]) -> _Result | None:
        try:
            return await chore
        except (KdsError, OSError) as error:
            self._log(f"cannot tidy up {workspace.root}: {describe_fault(error)}")
            return None

    def _hide(self, instance: Instance) -> None:
        try:
            instance.hide()
        except KdsError as error:
            self._log(f"cannot clean up: {' '.join(str(error).split())}")
        for workspace in self._workspaces.remembering:
            expire_later(workspace)

    def _call_off(self) -> None:
        """However the service has ended: a late stop must not end the process any more."""
        self._owns_process = False
        if self._watchdog is not None:
            self._watchdog.cancel()

    def _leave_at_once(self) -> None:
        """End the process although a request still runs: the lock must not be held for ever."""
        self._log(f"stopped: a request had not ended {GRACE_S:g} s after {self._reason}")
        os._exit(STUCK)

    def _state(self, http: HttpAddress | None, *, listening: bool) -> Mapping[str, object]:
        """The content of service.json. Before it listens, only the process is known."""
        unix = listening and self._options.unix_socket
        return {
            "pid": self._vitals.pid,
            "version": self._vitals.version,
            "started_at": moment(self._vitals.started_at, "auto"),
            "http": http and {"host": http.host, "port": http.port, "url": http.url},
            "socket": str(self._address.socket_path) if unix else None,
        }


def _entries(workspace: Workspace) -> int:
    """How many lines of context a workspace has; those that have expired leave the disk."""
    tidy_conversations(workspace.conversations_dir, now=time.time)
    return len(Contexts(workspace).journal().load().entries)
