"""The running service: takes the user's lock, listens, and leaves nothing behind.

Beside requests it has contexts expire, and lets go of what nobody uses.
"""

import asyncio
import faulthandler
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from starlette.types import ASGIApp

from kds.brain.clock import moment, utc_now
from kds.brain.context.journal import MAX_AGE, Contexts
from kds.brain.errors import KdsError, OutageError, StoreError
from kds.brain.files import PrivateFile
from kds.brain.installation import kds_version
from kds.brain.store.postgres_schema import require
from kds.brain.workspace import Texts, Workspace, shared_database
from kds.service import lifecycle
from kds.service.errors import describe_fault
from kds.service.freshness import Installation
from kds.service.listening import GRACE_S, HttpAddress, Listeners, bind_http
from kds.service.routes import MakeSite, SiteHost, make_app
from kds.service.routes.turns import AnswerMcp
from kds.service.security import TokenAuth, open_token
from kds.service.service_client import ServiceAddress
from kds.service.team_auth import TeamAuth, Tell
from kds.service.workspaces import Log, Workspaces

LOOK_S: Final = 5.0  # how often it is looked whether the service is to end, and what nobody uses

TIDY_S: Final = 600.0  # how often lines of contexts that have expired leave the disk


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
        listens = options.unix_socket or options.http or options.team
        self._http = options.http if listens else HttpAddress()
        # One that only answers people, all of whose things are on a server, is not the user's
        # service: there may be several.
        self._is_users = options.unix_socket or self._http is not None
        self._log, self._make_site, self._mcp = log, site, mcp
        self._address = address or ServiceAddress()
        self._installation = Installation()
        self._workspaces = Workspaces(log=log)
        self._team: TeamAuth | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._reason: str | None = None
        self._owns_process = False
        self.places: list[str] = []
        """Where it answers: addresses and paths, once it is ready."""
        self.replaced = False
        """Whether it ended because its installation was replaced: it is to be started again."""
        self.ready = threading.Event()
        """Set once connections are accepted."""

    def run(self) -> None:
        """Serve, and return when the service has stopped and left nothing behind.

        Raises AlreadyServedError when another process is the user's service, KdsError when a
        workspace that is to stay open does not load, or an address cannot be used.
        """
        self._owns_process = threading.current_thread() is threading.main_thread()
        with ExitStack() as stack:
            if self._is_users:
                stack.enter_context(lifecycle.claim(self._address))
                lifecycle.announce(self._address, {"pid": os.getpid()})
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

    async def _serve(self, stack: ExitStack) -> None:
        self._loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT", "SIGHUP") if self._owns_process else ():
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
                with suppress(NotImplementedError):  # Windows: an interrupt ends the process
                    self._loop.add_signal_handler(number, self.stop, name)
        for workspace in self._kept:
            await self._workspaces.open(str(workspace.root), keep=True)
        app = make_app(self._workspaces, is_replaced=self._is_replaced)
        listeners = Listeners(self._log)
        self._listen(stack, listeners, app)
        app.state.mcp = self._mcp
        if self._make_site is not None:
            noted = self._address.page_path
            app.state.site = SiteHost(self._make_site, app.state, listeners, noted)
        if self._reason is not None:  # told to stop while it was loading
            self._stopping.set()
        tasks = [asyncio.create_task(chore) for chore in (self._tidy(), self._look_around())]
        who = f"kds {kds_version()}, pid {os.getpid()}"
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
        told = {"pid": os.getpid(), "version": kds_version(), "http": None, "socket": None,
                "started_at": moment(utc_now(), "auto")}  # fmt: skip

        def bind(wanted: HttpAddress, inner: ASGIApp) -> HttpAddress:
            listener, address = bind_http(wanted)
            listeners.add(stack.enter_context(listener), inner)
            self.places.append(address.url)
            return address

        if self._http is not None:
            at = bind(self._http, TokenAuth(app, open_token(self._address.token_path)))
            told["http"] = {"host": at.host, "port": at.port, "url": at.url}
        if self._options.team is not None:
            self._team = self._team_auth(stack, app)
            bind(self._options.team, self._team)
        if self._options.unix_socket:
            path = self._address.socket_path
            listeners.add(stack.enter_context(lifecycle.bind_socket(path)), app)
            told["socket"] = str(path)
            self.places.append(str(path))
        if self._is_users:
            lifecycle.announce(self._address, told)

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
                hint="set it to postgresql://..., and run kds db --upgrade",
            )
        server = shared.server()
        stack.callback(server.close)
        try:
            require(server)
        except OutageError as error:  # people are told, and the balancer, until it is back
            self._log(f"not ready yet: {' '.join(str(error).split())}")
        project = shared.tenant[2]
        return TeamAuth(app, server, str(workspace.root), self._options.tell, project=project)

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
        if self._is_users:
            with suppress(KdsError):  # `claim` removes what is left, when it lets go
                PrivateFile(self._address.socket_path).remove()
            for workspace in self._workspaces.remembering:
                expire_later(workspace)

    async def _look_around(self) -> None:
        """End when nobody asks or the installation was replaced; let go of what nobody uses."""
        limit_s = self._options.idle_s or math.inf
        while True:
            await asyncio.sleep(min(LOOK_S, limit_s))
            if self._workspaces.attendance.idle_s() >= limit_s:
                self.stop(f"no request for {limit_s:g} s")
            self._is_replaced()
            await self._workspaces.let_go()

    async def _tidy(self) -> None:
        """Have what has expired leave the disk, of workspaces that were closed as well."""

        def entries(workspace: Workspace) -> int:
            Texts(workspace).remove_older(workspace.conversations_dir.name, utc_now() - MAX_AGE)
            return len(Contexts(workspace).journal().load().entries)

        while True:
            for workspace in self._workspaces.remembering:
                try:
                    if not await asyncio.to_thread(entries, workspace):
                        self._workspaces.left.discard(workspace)
                except (KdsError, OSError) as error:
                    self._log(f"cannot tidy up {workspace.root}: {describe_fault(error)}")
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
