"""`kds service`, `kds web`, `kds serve` and `kds mcp`: the service, its page, and the servers."""

import asyncio
import importlib
import os
import signal
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kds.brain.clock import moment, utc_now
from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.desktop import install_link
from kds.cli.guard import complain_about
from kds.cli.output import Shown, counted, say
from kds.cli.terminal import shown, slow
from kds.hooks.log import LOG_NAME
from kds.service import lifecycle
from kds.service.lifecycle import standing_of
from kds.service.service_client import ServiceAddress, host_and_port, reach

if TYPE_CHECKING:  # a second and a half of imports, which a wrong option does not pay
    from starlette.datastructures import State

    from kds.brain.settings import ServiceSettings
    from kds.service.routes import Site


NOT_RUNNING: Final = 3
"""Exit code of `kds service status` without a service, as LSB init scripts have it."""
DEGRADED: Final = 1

_NEXT: Final = {
    "not running": "start it: kds service start",
    "starting": "it answers in some seconds; the first time in a workspace it takes 10 s or more",
    "not answering": "end it with `kds service stop --force`, then: kds service start",
}
"""What to do when the service does not answer."""


@base.group("kds service status")
def service() -> None:
    """Start, stop or look at the service that keeps routers warm; commands are slower without."""


@base.command("kds service start", of=service)
@base.flag("--auto", "For the hook and commands: if set so.", hidden=True)
def start(*, auto: bool, workspace: Workspace) -> None:
    """Start the service in the background, unless it runs already."""
    settings = _settings(workspace)
    if not auto:
        with slow("waiting for the service to load"):
            health = lifecycle.start(workspace, idle_minutes=settings.idle_minutes)
        say(health, _lines(health))
    elif settings.enabled and settings.auto:
        # nobody waits for this process: a service that is ending may do so first
        lifecycle.settle(workspace)
        if standing_of(workspace)["status"] == "not running":
            lifecycle.spawn_service(idle_minutes=settings.idle_minutes)


@base.command("kds service stop", of=service)
@base.flag("--force", "Kill it when it does not end by itself.")
def stop(*, force: bool, workspace: Workspace) -> None:  # the same for every workspace
    """End the service; requests in flight are answered first."""
    with slow("waiting for the service to end"):
        outcome = lifecycle.stop(force=force)
    say({"status": outcome}, f"the service is {outcome}" if outcome == "not running" else outcome)


@base.command("kds service status", of=service)
def status(*, workspace: Workspace) -> int:
    """Show whether the service runs, and how it is.

    Exit code 1: files that do not load are left out. 3: it does not answer.
    """
    now = standing_of(workspace)
    if (state := now["status"]) in _NEXT:
        who = f", pid {now['pid']}" if now.get("pid") else ""
        say(now, f"the service is {state}{who}; {_NEXT[state]}")
        return NOT_RUNNING
    health = {**now, "token": str(ServiceAddress().token_path) if now["http"] else None}
    say(health, _lines(health))
    return DEGRADED if state == "degraded" else 0


def _lines(health: Mapping[str, Any]) -> Iterator[Shown]:
    yield "service", f"{health['status']}, pid {health.get('pid')}"
    if "started_at" not in health:
        return
    since = shown(datetime.fromisoformat(health["started_at"]))
    yield "since", f"{since}, {counted(health['turns'], 'turn')}"
    yield "memory", f"{health['rss_bytes'] / 2**20:.0f} MB"
    places = {"socket": "address", "http": "address", "token": "token"}
    yield [(label, health[key]) for key, label in places.items() if health.get(key)]
    for place in health["workspaces"]:  # what is wrong with its files, each thing once
        yield "workspace", place["root"]
        yield [("problem", f"{one['where']}: {one['message']}") for one in place["problems"]]
        told = [one["where"] for one in place["problems"]]
        for warning in place["warnings"]:
            if not any(text in warning for text in told):  # every reply warns of it as well
                yield "warning", warning


@base.command("kds service logs -n 5", of=service)
@base.option("-n N", "Newest lines of each.", to="count", type=base.COUNT, default=20)
def logs(*, count: int, workspace: Workspace) -> None:
    """Show the newest lines of the logs of hook and service: nothing that you wrote; UTC."""
    files = {"hook": workspace.brain / LOG_NAME, "service": ServiceAddress().log_path}
    lines = {
        name: (PrivateFile(path).read() or b"").decode("utf-8", "replace").splitlines()[-count:]
        for name, path in files.items()
    }
    rows = [(name, line) for name, each in lines.items() for line in each]
    say(lines, rows or "nothing was written down")


@base.command("kds web --no-open")
@base.flag("--no-open", "Print the link; open no browser.")
@base.flag("--install", "Only add a link to this page to your desktop or applications menu.")
def web(*, no_open: bool, install: bool, workspace: Workspace) -> None:
    """Open the web page of this workspace: chat, and everything that KDS knows.

    Starts the service if it is not running. The link works once, within a few minutes, on this
    machine only; from elsewhere forward the port (`ssh -L`).
    """
    if install:
        path = install_link(workspace)
        say({"link": path}, ("link", path), "to undo it, delete the file")
        return
    with slow("waiting for the service to load"):
        lifecycle.start(workspace, idle_minutes=_settings(workspace).idle_minutes)
    client = reach(workspace)
    if client is None:
        raise KdsError("the service went away", hint="try again, or see `kds service status`")
    url, login = client.web()
    displays = map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))
    has_display = sys.platform in ("win32", "darwin") or any(displays)
    opened = not no_open and has_display and webbrowser.open(login)
    lines = [("page", url), ("log in", f"{login}  (works once)")]
    say({"url": url, "login": login, "opened": opened}, lines)


START_AGAIN: Final = 75
"""Exit code of a service whose installation was replaced (EX_TEMPFAIL of sysexits): systemd with
`Restart=on-failure` starts the new one."""

ALREADY_SERVED: Final = 3
"""Exit code when another process is the user's service: for a start that is as good."""

SWITCH_S: Final = 0.0005
"""How long a thread may hold the interpreter while another waits. A hook call uses several threads:
while an answer is rendered for fifty tabs, nine of ten calls take 63 ms or less, instead of 79 ms
with Python's default of 5 ms (300 calls each, alternating, on a busy machine)."""


@base.command(
    "kds serve --workspace ~/shop --workspace ~/blog --http 8765",
    'curl --unix-socket "$XDG_RUNTIME_DIR/kds/service.sock" http://localhost/healthz',
    common=(),
)
@base.option("--workspace DIR", "A workspace that stays open; may be given several times. Others "
             "open when a request names them.", to="folders", type=base.PATH, multiple=True,
             )  # fmt: skip
@base.option("--http [HOST:]PORT", "Also answer HTTP on loopback, with a token; 0: any free port.")
@base.option("--team [HOST:]PORT", "Also answer people with tokens (`kds team add`), each with "
             "conversations of their own in the database that KDS_DATABASE names.")  # fmt: skip
@base.flag("--json-log", "The log as JSON; with --team a line for every request, never a text.")
@base.option("--drain TIME", "With --team: how long to answer after SIGTERM; /readyz says no.",
             default="0", type=base.read_span)  # fmt: skip
@base.option("--idle-timeout TIME", "End after this time without a request: 30m, 2h; 0: never.",
             default="0", type=base.read_span)  # fmt: skip
@base.flag("--no-socket", "No unix socket, only HTTP; with --team there may be several services.")
@base.flag("--background", "Keep no workspace open.", hidden=True)
def serve(
    folders: tuple[Path, ...], *, http: str | None, team: str | None, json_log: bool,
    drain: timedelta, idle_timeout: timedelta, no_socket: bool, background: bool,
) -> int:  # fmt: skip
    """Keep routers warm, and answer over a unix socket in your runtime folder.

    One service serves all your workspaces. Exit code 3: another process is your service already.
    """
    workspaces = [] if background else [base.find_workspace(one) for one in folders or (None,)]
    places = [None if place is None else host_and_port(place) for place in (http, team)]
    from kds.cli.json_log import log_faults, log_json
    from kds.service.errors import AlreadyServedError
    from kds.service.listening import HttpAddress
    from kds.service.server import Service, ServiceOptions

    options = ServiceOptions(
        http=HttpAddress(*places[0]) if places[0] else None,
        team=HttpAddress(*places[1], team=True) if places[1] else None,
        unix_socket=not no_socket,
        idle_s=idle_timeout.total_seconds() or None,
        drain_s=drain.total_seconds(),
    )
    if json_log:
        options = replace(options, tell=lambda request: log_json("request", None, **request))
        log_faults()
    sys.setswitchinterval(SWITCH_S)

    def log(line: str) -> None:
        if json_log:
            log_json("service", line)
        else:
            click.echo(f"{moment(utc_now())} {line}", err=True)

    service = Service(workspaces, options, log=log, site=_make_site, mcp=_answer_mcp)
    try:
        service.run()
    except AlreadyServedError as error:
        complain_about(error)
        return ALREADY_SERVED
    return START_AGAIN if service.replaced else 0


async def _answer_mcp(workspace: Workspace, messages: Sequence[str]) -> list[str]:
    module = await asyncio.to_thread(importlib.import_module, "kds.mcp.mcp_server")  # 0.8 s of CPU
    found: list[str] = await module.answered(workspace, messages)
    return found


def _make_site(state: "State", port: int) -> "Site":
    from kds.web.site import open_site  # half a second of imports, for the first visitor

    return open_site(state, port)


@base.command("claude mcp add kds -- kds mcp", common=(base.WORKSPACE,))
def mcp(*, workspace: Workspace) -> None:
    """Serve the router to MCP clients, over stdin and stdout: tools and prompts."""
    if sys.stdin.isatty():
        waiting = "kds: waiting for an MCP client on stdin. Assistants start `kds mcp` themselves"
        click.echo(f"{waiting}: `kds init` tells them to. Leave with Ctrl+C.", err=True)
    # Stdin is read in a thread that an interrupt does not reach; clients send one to end the
    # server. A file that is being written is complete, before or after (`PrivateFile`).
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kds.mcp.relay import serve_stdio

    serve_stdio(workspace)


def _settings(workspace: Workspace) -> "ServiceSettings":
    from kds.brain.settings import LiveConfig  # a wrong key must not stop the service

    return LiveConfig(workspace).settings.service
