"""The running service: takes the user's lock, listens, and leaves nothing behind.

Beside requests it reloads changed files, embeds, and has contexts expire. Files are polled, which
works on network file systems too. Embedding happens in small batches, after a pause: it keeps the
interpreter busy, and a hook must not wait for it.
"""

import asyncio
import faulthandler
import itertools
import math
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp

from kds.api.embeddings import embed_waiting
from kds.brain.clock import moment, utc_now
from kds.brain.context.journal import MAX_AGE, Contexts
from kds.brain.errors import KdsError, OutageError, StoreError
from kds.brain.store.postgres_schema import require
from kds.brain.workspace import Texts, Workspace, shared_database
from kds.service.errors import BusyError, describe_fault
from kds.service.freshness import Installation, fingerprint
from kds.service.lifecycle import Instance
from kds.service.listening import (
    GRACE_S,
    AnswerMcp,
    HttpAddress,
    Listeners,
    MakeSite,
    SiteHost,
    bind_http,
)
from kds.service.routes import Vitals, make_app
from kds.service.security import TokenAuth, open_token
from kds.service.service_client import ServiceAddress
from kds.service.team_auth import TeamAuth, Tell
from kds.service.workspaces import Log, ServedWorkspace, Workspaces, give_memory_back

LOOK_S: Final = 5.0
"""How often it is looked whether the service is to end, and what nobody uses."""

TRIM_LOOKS: Final = 6
"""Memory is given back at each so many looks, when it was used meanwhile."""

RELOAD_LOOK_S: Final = 0.5
"""A change counts when the next look finds the files as they are: they are written by then."""

EMBED_LOOK_S: Final = 5.0
"""Seconds between two looks for chunks that wait: words find a chunk at once."""

PAUSE_S: Final = 1.0
"""Silence after which the service counts as idle: people read for longer than that."""

BATCH: Final = 8
"""Chunks embedded at once: 0.1-0.3 s for a MiniLM-class model on one core."""

BACK_OFF_S: Final = 60.0
"""Rest after a failure of a model."""

TIDY_S: Final = 600.0
"""How often lines of contexts that have expired leave the disk."""

ENDING: Final = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that end the service, unless it was started with them ignored (nohup)."""


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
    """How long they are answered after SIGTERM, so that a balancer can take note first."""


class Service:
    """Serves a user's workspaces until it is told to stop: `run` blocks, `stop` ends it."""

    def __init__(
        self,
        workspaces: Iterable[Workspace],
        options: ServiceOptions,
        *,
        log: Log,
        site: MakeSite | None = None,
        mcp: AnswerMcp | None = None,
        address: ServiceAddress | None = None,
    ) -> None:
        """``workspaces`` stay open; others are opened when they are named.

        ``site`` makes the web page, when somebody asks for it; ``mcp`` answers MCP clients.
        """
        self._kept = tuple(dict.fromkeys(workspaces))
        self._options = options
        self._unix_socket = options.unix_socket and hasattr(socket, "AF_UNIX")
        listens = self._unix_socket or options.http or options.team
        self._http = options.http if listens else HttpAddress()
        self._log = log
        self._make_site, self._mcp = site, mcp
        self._address = address or ServiceAddress()
        self._vitals = Vitals()
        self._installation = Installation()
        self._workspaces = Workspaces(self._jobs, log=log)
        self._reason: str | None = None
        self.places: list[str] = []
        """Where it answers: addresses and paths, once it is ready."""
        self._instance: Instance | None = None
        self._team: TeamAuth | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._owns_process = False
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
            self._owns_process = threading.current_thread() is threading.main_thread()
            # One that only answers people, all of whose things are on a server, is not the user's
            # service: there may be several.
            if self._unix_socket or self._http is not None:
                self._instance = Instance.claim(self._address)
                stack.callback(self._instance.release)
                stack.callback(self._instance.withdraw)
                self._announce(None, None)
            stack.callback(self._workspaces.close)
            asyncio.run(self._serve(stack))
        self._log(f"stopped: {self._reason}")

    def stop(self, reason: str = "asked to") -> None:
        """Finish the requests in flight and end; from any thread.

        A process that does not end by itself is ended, with a trace of where it stands: the lock
        must not be held for ever.
        """
        drain_s = 0.0
        if self._team is not None:
            self._team.draining = True
            drain_s = self._options.drain_s if reason == "SIGTERM" else 0.0
        if self._reason is None and self._owns_process:
            faulthandler.dump_traceback_later(drain_s + GRACE_S, exit=True)
        self._reason = self._reason or reason
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._loop.call_later, drain_s, self._stopping.set)

    def _jobs(self, served: ServedWorkspace) -> tuple[Coroutine[Any, Any, None], ...]:
        return reload_on_change(served), embed_when_idle(served, self._workspaces.attendance.idle_s)

    async def _serve(self, stack: ExitStack) -> None:
        self._loop = asyncio.get_running_loop()
        for name in ENDING if self._owns_process else ():
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(NotImplementedError):  # Windows: an interrupt ends the process
                    self._loop.add_signal_handler(number, self.stop, name)
        for workspace in self._kept:
            await self._workspaces.open(str(workspace.root), keep=True)
        app = make_app(self._workspaces, self._vitals, is_replaced=self._is_replaced, log=self._log)
        app.state.mcp = self._mcp
        listeners = Listeners(self._log)
        self._listen(stack, listeners, app)
        if self._make_site is not None:
            app.state.site = SiteHost(
                self._make_site, app.state, listeners, self._address.page_path
            )
        if self._reason is not None:  # told to stop while it was loading
            self._stopping.set()
        chores = [tidy(self._workspaces, self._log), self._look_around()]
        tasks = [asyncio.create_task(chore) for chore in chores]
        who = f"kds {self._vitals.version}, pid {self._vitals.pid}"
        self._log(f"started: {who}; at {', '.join(self.places)}")
        self.ready.set()
        await self._stopping.wait()
        self._hide()
        for one in self._workspaces:
            one.stop()
        if app.state.site is not None:
            app.state.site.stop()
        for task in tasks:
            task.cancel()
        await listeners.close()

    def _listen(self, stack: ExitStack, listeners: Listeners, app: FastAPI) -> None:
        """Bind the sockets that are wanted, and write down where they are."""

        def bind(wanted: HttpAddress, inner: ASGIApp) -> HttpAddress:
            listener, address = bind_http(wanted)
            listeners.add(stack.enter_context(listener), inner)
            self.places.append(address.url)
            return address

        http = unix = None
        if self._http is not None:
            http = bind(self._http, TokenAuth(app, open_token(self._address.token_path)))
        if self._options.team is not None:
            self._team = self._team_auth(stack, app)
            bind(self._options.team, self._team)
        if self._unix_socket and self._instance is not None:
            listeners.add(stack.enter_context(self._instance.bind()), app)
            self.places.append(unix := str(self._address.socket_path))
        self._announce(http, unix)

    def _team_auth(self, stack: ExitStack, app: FastAPI) -> TeamAuth:
        """The way in of people with tokens; all use the first workspace's rules and prompts.

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
        project = shared.tenant[2]
        return TeamAuth(app, server, str(workspace.root), self._options.tell, project=project)

    async def _look_around(self) -> None:
        """End when nobody asks or the installation was replaced; let go of what nobody uses."""
        limit_s, idle_s = self._options.idle_s or math.inf, self._workspaces.attendance.idle_s
        for look in itertools.count(1):
            await asyncio.sleep(min(LOOK_S, limit_s))
            if idle_s() >= limit_s:
                self.stop(f"no request for {limit_s:g} s")
            self._is_replaced()
            await self._workspaces.let_go()
            if look % TRIM_LOOKS == 0 and idle_s() < TRIM_LOOKS * LOOK_S:  # memory was needed
                await asyncio.to_thread(give_memory_back)

    def _is_replaced(self) -> bool:
        """Whether the installation was replaced; if so, the service ends."""
        if self._installation.is_replaced() and not self.replaced:
            self.replaced = True
            if self._reason is None:  # once: the mark of the next start must stay
                with suppress(OSError):  # clients may start the next service at once
                    self._address.starting_path.unlink()
            self.stop("the installation was replaced")
        return self.replaced

    def _hide(self) -> None:
        """Take no new requests, and see to it that contexts expire all the same."""
        if self._instance is None:
            return
        try:
            self._instance.hide()
        except KdsError as error:
            self._log(f"cannot clean up: {' '.join(str(error).split())}")
        for workspace in self._workspaces.remembering:
            expire_later(workspace)

    def _announce(self, http: HttpAddress | None, unix: str | None) -> None:
        """Write service.json. Before it listens, only the process is known."""
        if self._instance is not None:
            self._instance.announce(
                {
                    "pid": self._vitals.pid,
                    "version": self._vitals.version,
                    "started_at": moment(self._vitals.started_at, "auto"),
                    "http": http and {"host": http.host, "port": http.port, "url": http.url},
                    "socket": unix,
                }
            )


async def reload_on_change(served: ServedWorkspace) -> None:
    """Swap in what loads of changed prompts and rules. Runs until it is cancelled."""
    before = served.seen
    while True:
        await asyncio.sleep(RELOAD_LOOK_S)
        found = await asyncio.to_thread(fingerprint, served.workspace)
        if found == before != served.seen:
            with suppress(BusyError):
                await served.archivist.run(served.look)
        before = found


async def embed_when_idle(served: ServedWorkspace, idle_s: Callable[[], float]) -> None:
    """Embed what waits while there is no request. Runs until it is cancelled."""
    record = served.embedding
    while True:
        await asyncio.sleep(BACK_OFF_S if record.last_error else EMBED_LOOK_S)
        if idle_s() < PAUSE_S:
            continue
        try:
            done = await served.archivist.run(lambda: embed(served, idle_s))
        except BusyError:
            continue
        except Exception as error:  # noqa: BLE001  # the service goes on without vectors
            known = isinstance(error, KdsError)
            reason = str(error) if known else f"internal error: {describe_fault(error)}"
            if record.last_error is None:
                line = " ".join(reason.split())
                served.log(f"cannot embed in {served.root}, trying again later: {line}")
            record.failures += 1
            record.last_error = reason
        else:
            if done and record.last_error:
                served.log(f"embedding works again in {served.root}")
                record.last_error = None


def embed(served: ServedWorkspace, idle_s: Callable[[], float]) -> int:
    """Embed what waits until a request comes, of its people too; returns how many chunks got a
    vector."""
    done = 0

    def goes_on() -> bool:
        return not served.closing and idle_s() >= PAUSE_S

    for one in (served, *served.people.values()):
        stores = [one.memory_if_any(), one.queries.library.store] if one.unembedded else []
        one.unembedded = one is served
        embedder = served.queries.embedder.load() if any(stores) else None
        for store in filter(None, stores if embedder else ()):
            if embedder and store.awaits(embedder.name):
                done += embed_waiting(store, embedder, batch=BATCH, goes_on=goes_on)
        one.unembedded |= not goes_on()
    served.embedding.embedded += done
    return done


async def tidy(workspaces: Workspaces, log: Log) -> None:
    """Have what has expired leave the disk, of workspaces that were closed as well."""

    def entries(workspace: Workspace) -> int:
        Texts(workspace).remove_older(workspace.conversations_dir.name, utc_now() - MAX_AGE)
        return len(Contexts(workspace).journal().load().entries)

    while True:
        for workspace in workspaces.remembering:
            try:
                if not await asyncio.to_thread(entries, workspace):
                    workspaces.left.discard(workspace)
            except (KdsError, OSError) as error:
                log(f"cannot tidy up {workspace.root}: {describe_fault(error)}")
        await asyncio.sleep(TIDY_S)


_TIDY_LATER: Final = """\
until=$1; shift
while [ -s "$0" ] && left=$((until - $(date +%s))) && [ "$left" -gt 0 ]; do
  sleep "$((left < 60 ? left : 60))"
done
[ -s "$0" ] && exec "$@"
"""
"""$0 is the file of the context: where it is gone or empty, nothing is left to do."""


def expire_later(workspace: Workspace, *, age_s: float = MAX_AGE.total_seconds()) -> None:
    """Have the lines of a context leave the disk once all are older than ``age_s`` seconds.

    Nothing happens where there are no lines, or the system has no shell.
    """
    shell = shutil.which("sh")
    with suppress(KdsError):
        if shell is None or not Contexts(workspace).journal().load().entries:
            return
        until = f"{time.time() + age_s + 1:.0f}"
        load = (sys.executable, "-P", "-m", "kds", "context", "load", "--workspace", workspace.root)
        process = subprocess.Popen(  # a shell takes a megabyte, Python ten
            [shell, "-c", _TIDY_LATER, workspace.context_path, until, *load],
            cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        process.returncode = 0  # nobody waits for it, and Python need not warn of that
