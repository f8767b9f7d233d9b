"""The running service: claims its workspaces, loads them, listens, and leaves nothing behind."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from fastapi import FastAPI

from kds.api.conversations import Conversations
from kds.brain.clock import moment
from kds.brain.errors import KdsError, StoreError
from kds.brain.store.postgres_schema import require
from kds.brain.workspace import Workspace, shared_database
from kds.service.background import start_of
from kds.service.errors import describe_fault
from kds.service.http_app import make_app
from kds.service.jobs import EmbeddingQueue, Reloader, catch_up
from kds.service.layers import AsgiApp, Attendance, Attended, BodyLimit
from kds.service.lifecycle import Instance, ended_by_signals, expire_later, woken_by_signals
from kds.service.listening import (
    HttpAddress,
    Listeners,
    MakeSite,
    SiteHost,
    TeamAddress,
    bind_http,
)
from kds.service.replaced import CurrentInstallation, Installation
from kds.service.security import HttpDoor, SocketDoor, open_token
from kds.service.service_client import ServiceAddress
from kds.service.team_door import Passes, TeamDoor, Tell, tell_nobody
from kds.service.telemetry import Figures, Traces, Vitals
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace, Workspaces

TIDY_S: Final = 600.0
"""How often what has expired leaves the disk: lines of the context, and conversations that nobody
speaks in any more. Both expire after two hours (DESIGN 3)."""

GRACE_S: Final = 10.0
"""Seconds that a request in flight has to end after a stop: the slowest measured took 1.3 s."""

STUCK: Final = 70
"""Exit code when it did not (EX_SOFTWARE of sysexits)."""

LOOK_S: Final = 5.0
"""How often all files of the installation are looked at, which takes 5 ms of CPU. Each request
looks at some of them."""

Log = Callable[[str], None]
Entrance = tuple[socket.socket, AsgiApp]
"""A socket that listens, and what answers there."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve: ``idle_s`` seconds without a request end the service, None: nothing does."""

    http: HttpAddress | None = None
    unix_socket: bool = True
    idle_s: float | None = None
    team: TeamAddress | None = None
    """Where people with tokens of their own are answered; None: nowhere."""
    tell: Tell = tell_nobody
    """Is told of each of their requests."""
    drain_s: float = 0.0
    """How long they are answered on after SIGTERM, so that a balancer can take note first."""

    def possible(self) -> "ServiceOptions":
        """The same, with loopback HTTP where there would be nothing to listen on."""
        unix_socket = self.unix_socket and hasattr(socket, "AF_UNIX")
        http = self.http if unix_socket or self.http or self.team else HttpAddress()
        return replace(self, unix_socket=unix_socket, http=http)


class Service:
    """Serves workspaces until it is told to stop: `run` blocks, `stop` ends it from anywhere."""

    def __init__(
        self,
        workspaces: Iterable[Workspace],
        options: ServiceOptions,
        *,
        log: Log,
        site: MakeSite | None = None,
    ) -> None:
        """``site`` makes the web page, when somebody asks for it."""
        self._workspaces = tuple(dict.fromkeys(workspaces))
        self._options = options.possible()
        self._log = log
        self._make_site = site
        self._vitals = Vitals()
        self._attendance = Attendance()
        self._installation = Installation()
        self._reason: str | None = None
        self.places: list[str] = []
        """Where it answers: addresses and paths, once it is ready."""
        self._door: TeamDoor | None = None
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

        Raises AlreadyServedError when another process serves one of the workspaces, KdsError
        when one cannot be loaded or listened for.
        """
        with ExitStack() as stack:
            stack.callback(self._call_off)
            self._owns_process = threading.current_thread() is threading.main_thread()
            if self._owns_process:
                stack.enter_context(ended_by_signals(self.stop))
            instances = self._claim(stack)
            served = [self._load(workspace) for workspace in self._workspaces]
            for one in served:
                stack.callback(one.close)
            worker, archivist = Worker(), Worker(name="kds-archivist")
            stack.callback(worker.close)
            stack.callback(archivist.close)
            app = make_app(Workspaces(served), worker, self._vitals, archivist=archivist)
            app.state.attendance = self._attendance
            inner = CurrentInstallation(
                BodyLimit(Attended(app, self._attendance)), self._installation, self._end_replaced
            )
            entrances = self._listen(stack, instances, inner)
            if (traces := Traces.wanted(self._log)) is not None:
                stack.callback(traces.close)
                entrances = [(listener, traces.around(door)) for listener, door in entrances]
            reloader = Reloader(served, self._log)
            reloader.start()
            stack.callback(reloader.stop)
            embedding = EmbeddingQueue(served, self._attendance.idle_s, self._log)
            embedding.start()
            stack.callback(embedding.stop)
            asyncio.run(self._serve(app, entrances, instances, served))
        self._log(f"stopped: {self._reason}")

    def stop(self, reason: str = "asked to") -> None:
        """Finish the requests in flight and end; from any thread, or a signal handler."""
        self._reason = self._reason or reason
        if self._door is not None:
            self._door.draining = True
        draining = self._door is not None and reason == "SIGTERM"
        drain_s = self._options.drain_s if draining else 0.0
        if self._owns_process and self._watchdog is None:
            self._watchdog = threading.Timer(drain_s + GRACE_S, self._leave_at_once)
            self._watchdog.daemon = True
            self._watchdog.start()
        if self._loop is not None:
            with suppress(RuntimeError):  # it has come to its end meanwhile
                self._loop.call_soon_threadsafe(self._loop.call_later, drain_s, self._stopping.set)

    def _claim(self, stack: ExitStack) -> dict[Workspace, Instance]:
        """Take every workspace; in one order, so that two services cannot each take half.

        Who only answers people, all of whose things are on a server, shares the folder with others.
        """
        claimed: dict[Workspace, Instance] = {}
        own = self._options.unix_socket or self._options.http is not None
        for workspace in sorted(self._workspaces if own else (), key=lambda one: str(one.root)):
            instance = claimed[workspace] = Instance.claim(workspace)
            stack.callback(instance.release)
            stack.callback(instance.withdraw)
            instance.announce(self._state(instance, None, listening=False))
        return claimed

    def _load(self, workspace: Workspace) -> ServedWorkspace:
        conversations = Conversations.open(workspace)
        for warning in conversations.warnings:
            self._log(f"warning: {warning}")
        return ServedWorkspace(conversations)

    def _listen(
        self, stack: ExitStack, instances: Mapping[Workspace, Instance], app: AsgiApp
    ) -> list[Entrance]:
        """Bind the sockets that are wanted, and write down where they are."""
        entrances: list[Entrance] = []
        http = None
        if self._options.http is not None:
            tokens: dict[str, str] = {}
            for workspace in self._workspaces:
                token = open_token(instances[workspace].address.token_path)
                tokens.setdefault(token, str(workspace.root))
            listener, http = bind_http(self._options.http)
            stack.callback(listener.close)
            entrances.append((listener, HttpDoor(app, tokens)))
            self.places.append(http.url)
        if self._options.team is not None:
            entrances.append(self._team_entrance(stack, self._options.team, app))
        for workspace in filter(instances.get, self._workspaces):
            if self._options.unix_socket:
                listener = instances[workspace].bind()
                stack.callback(listener.close)
                entrances.append((listener, SocketDoor(app, str(workspace.root))))
                self.places.append(str(instances[workspace].address.socket_path))
            state = self._state(instances[workspace], http, listening=True)
            instances[workspace].announce(state)
        return entrances

    def _team_entrance(self, stack: ExitStack, address: TeamAddress, app: AsgiApp) -> Entrance:
        """Listen for people with tokens; everybody uses the first workspace's rules and prompts.

        Raises StoreError when there is no server, ConfigError when its settings are wrong.
        """
        workspace = self._workspaces[0]
        shared = shared_database(workspace)
        if shared is None:
            raise StoreError(
                "a shared service keeps conversations on a server, and none is named",
                where="KDS_DATABASE",
                hint="set it to postgresql://..., and run kds db upgrade",
            )
        server = shared.server()
        stack.callback(server.close)
        require(server)
        listener, bound = bind_http(address)
        stack.callback(listener.close)
        figures = Figures(self._vitals.uptime_s)
        self._door = TeamDoor(app, Passes(server), str(workspace.root), figures, self._options.tell)
        self.places.append(bound.url)
        return listener, self._door

    async def _serve(
        self,
        app: FastAPI,
        entrances: Iterable[Entrance],
        instances: Mapping[Workspace, Instance],
        served: Sequence[ServedWorkspace],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        if self._reason is not None:  # told to stop while it was loading
            self._stopping.set()
        listeners = Listeners(self._log)
        for listener, inner in entrances:
            listeners.add(listener, inner)
        site = app.state.site = SiteHost(self._make_site, app.state, listeners.add)
        chores = [
            asyncio.create_task(self._tidy(served, app.state.worker)),
            asyncio.create_task(self._end_when_replaced(served, app.state.worker)),
        ]
        if self._door is not None:
            catching_up = catch_up(served, self._door.reachable, app.state.worker)
            chores.append(asyncio.create_task(catching_up))
        if self._options.idle_s is not None:
            chores.append(asyncio.create_task(self._end_when_idle(self._options.idle_s)))
        self._say_started()
        self.ready.set()
        with woken_by_signals(self._loop) if self._owns_process else nullcontext():
            await listeners.wait(self._stopping)
        for workspace, instance in instances.items():
            self._hide(instance)
            expire_later(workspace)
        for one in served:
            one.queries.stop()
        site.stop()
        for task in chores:
            task.cancel()
        await listeners.close()

    async def _end_when_idle(self, limit_s: float) -> None:
        await self._attendance.wait_idle(limit_s)
        self.stop(f"no request for {limit_s:g} s")

    async def _end_when_replaced(self, served: Iterable[ServedWorkspace], worker: Worker) -> None:
        """Load what is read late while it is there; then look at the files now and again."""
        for one in served:
            with suppress(KdsError):
                await worker.run(partial(_warm, one), patient=True)
        while not await asyncio.to_thread(self._installation.is_changed):
            await asyncio.sleep(LOOK_S)
        self._end_replaced()

    def _end_replaced(self) -> None:
        self.replaced = True
        if self._reason is None:  # once: the mark of the next start must stay
            for workspace in self._workspaces:
                with suppress(OSError):  # clients may start the next service at once
                    ServiceAddress(workspace.brain).starting_path.unlink()
        self.stop("the installation was replaced")

    async def _tidy(self, served: Iterable[ServedWorkspace], worker: Worker) -> None:
        while True:
            for one in served:
                try:
                    await worker.run(one.conversations.tidy)
                    await worker.run(one.conversations.journal().load)
                except (KdsError, OSError) as error:
                    self._log(f"cannot tidy up {one.root}: {describe_fault(error)}")
            await asyncio.sleep(TIDY_S)

    def _hide(self, instance: Instance) -> None:
        try:
            instance.hide()
        except KdsError as error:
            self._log(f"cannot clean up: {' '.join(str(error).split())}")

    def _call_off(self) -> None:
        """However the service has ended: a late stop must not end the process any more."""
        self._owns_process = False
        if self._watchdog is not None:
            self._watchdog.cancel()

    def _leave_at_once(self) -> None:
        """End the process although a request still runs: the lock must not be held for ever."""
        self._log(f"stopped: a request had not ended {GRACE_S:g} s after {self._reason}")
        os._exit(STUCK)

    def _say_started(self) -> None:
        names = ", ".join(str(workspace.root) for workspace in self._workspaces)
        who = f"kds {self._vitals.version}, pid {self._vitals.pid}"
        self._log(f"started: {who}, serving {names}; at {', '.join(self.places)}")

    def _state(
        self, instance: Instance, http: HttpAddress | None, *, listening: bool
    ) -> Mapping[str, object]:
        """The content of service.json. Before it listens, only the process is known."""
        unix = listening and self._options.unix_socket
        return {
            "pid": self._vitals.pid,
            "process_began": start_of(self._vitals.pid),
            "version": self._vitals.version,
            "started_at": moment(self._vitals.started_at, "auto"),
            "http": http and {"host": http.host, "port": http.port, "url": http.url},
            "socket": str(instance.address.socket_path) if unix else None,
        }


def _warm(served: ServedWorkspace) -> None:
    """Route what nobody said: rules, models and prompts are read when they are first needed."""
    rehearsal = served.conversations.rehearse()
    for message in ("I want to add a button", "Make it purple", "why does it fail?"):
        rehearsal.route(message)
