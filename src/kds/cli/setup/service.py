"""`kds service` and `kds web`: the resident service in the background, and its page (DESIGN 7)."""

import json
import os
import re
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import click

from kds.brain.clock import moment, utc_now
from kds.brain.errors import KdsError
from kds.brain.files import read_private
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import command, group
from kds.cli.options import common_options, workspace_option
from kds.cli.output import counted, print_line, print_lines, say
from kds.cli.palette import ago, for_people, shown_text
from kds.cli.progress import slow
from kds.hooks import start as hook_start
from kds.hooks.log import read_hook_log
from kds.service import background
from kds.service.background import standing_of
from kds.service.service_client import ServiceAddress, reach

STOPPING: Final = "waiting for the service to end"

NOT_RUNNING: Final = 3
"""Exit code of `kds service status` without a service, as LSB init scripts have it."""

DEGRADED: Final = 1

SHOWN_LINES: Final = 20

_STAMP: Final = re.compile(r"(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?) (?P<text>.*)")

_NEXT: Final = {
    "not running": "start it: kds service start",
    "starting": "it answers in some seconds, the first time in a workspace after 10 s and more",
    "not answering": "end it with `kds service stop --force`, then: kds service start",
}
"""What to do about a service that does not answer."""


@group("kds service start", "kds service status", "kds service stop")
def service() -> None:
    """Start, stop or look at the service that keeps this workspace's router warm.

    Every command works the same without it, only slower.
    """


@command("kds service start --idle-minutes 0", of=service)
@click.option(
    "--idle-minutes",
    type=click.FloatRange(min=0),
    help="End it after that long without a request; 0: never.  [default: the settings, 30]",
)
@click.option("--no-wait", is_flag=True, help="Return at once, without seeing whether it came up.")
@click.option("--auto", is_flag=True, hidden=True, help="For the hook and commands: if set so.")
@common_options
def start(*, idle_minutes: float | None, no_wait: bool, auto: bool, workspace: Workspace) -> None:
    """Start the service in the background, unless it runs already."""
    settings = load_settings(workspace).service
    idle = settings.idle_minutes if idle_minutes is None else idle_minutes
    if auto and not (settings.enabled and settings.auto):
        hook_start.leave_word(str(workspace.brain), hook_start.DECLINED)
        return
    if not (no_wait or auto):
        with slow("waiting for the service to load"):
            health = background.start(workspace, idle_minutes=idle)
        _show(health)
        return
    if auto:  # nobody waits for this process: a service that is ending may do so first
        background.settle(workspace)
    _show(_started(workspace, idle))


@command("kds service hand-over < hook-input.json", of=service, name="hand-over", hidden=True)
@workspace_option
def hand_over(*, workspace: Workspace) -> None:
    """Pass the input of a hook that found no service, on stdin, to the one that is starting.

    It is held in memory alone: what the service writes down has its secrets taken out.
    """
    given = json.loads(sys.stdin.buffer.read(hook_start.HANDED_LIMIT))
    settings = load_settings(workspace).service
    if settings.enabled and settings.auto:
        background.hand_over(workspace, given)


def _started(workspace: Workspace, idle_minutes: float) -> Mapping[str, Any]:
    """The service that runs, or is on its way; else a new one, which nobody waits for."""
    now = standing_of(workspace)
    if now.health is not None:
        return now.health
    there = now.pid if now.state != "not running" else None
    pid = there or background.spawn_service(workspace, idle_minutes=idle_minutes)
    return {"status": "starting" if there is None else now.state, "pid": pid}


@command("kds service stop", of=service)
@click.option("--force", is_flag=True, help="Kill it when it does not end by itself.")
@common_options
def stop(*, force: bool, workspace: Workspace) -> None:
    """End the service; requests in flight are answered first."""
    with slow(STOPPING):
        outcome = background.stop(workspace, force=force)
    say({"status": outcome}, f"the service is {outcome}" if outcome == "not running" else outcome)


@command("kds service status --json", of=service)
@common_options
@click.pass_context
def status(ctx: click.Context, *, workspace: Workspace) -> None:
    """Show whether the service runs, and how it is.

    Exit code 1: it answers by earlier rules and prompts, for the new ones do not load. 3: it does
    not answer.
    """
    now = standing_of(workspace)
    if now.health is not None:
        _show({**now.health, "socket": now.socket, "http": now.http})
        ctx.exit(DEGRADED if now.health["status"] == "degraded" else 0)
    who = f", pid {now.pid}" if now.pid else ""
    say(
        {"status": now.state} | ({"pid": now.pid} if now.pid else {}),
        f"the service is {now.state}{who}; {_NEXT[now.state]}",
    )
    ctx.exit(NOT_RUNNING)


def _show(health: Mapping[str, Any]) -> None:
    say(health, lambda: _print(health))


def _print(health: Mapping[str, Any]) -> None:
    print_line("service", f"{health['status']}, pid {health['pid']}")
    if "started_at" not in health:
        return
    print_line("since", f"{_since(health['started_at'])}, {counted(health['turns'], 'turn')}")
    print_line("memory", f"{health['rss_bytes'] / 2**20:.0f} MB")
    for address in (health.get("socket"), health.get("http")):
        if address:
            print_line("address", address)
    for place in health["workspaces"]:
        print_line("workspace", place["root"])
        error = place["reload"]["error"]
        if error:
            print_line("reload", f"failed; the earlier rules and prompts stay. {error}")
        for warning in place["warnings"]:
            if not error or error not in warning:  # every reply warns of it as well
                print_line("warning", warning)


def _since(started_at: str) -> str:
    started = datetime.fromisoformat(started_at)
    return ago(started, now=utc_now()) if for_people() else f"{started:%Y-%m-%d %H:%M:%S} UTC"


@command(
    "kds service logs", "kds service logs --log hook -n 5", "kds service logs --json", of=service
)
@click.option("-n", "count", type=click.IntRange(min=1), default=SHOWN_LINES, show_default=True,
              help="How many of the newest lines.")  # fmt: skip
@click.option("--log", type=click.Choice(["hook", "service"]), help="Only this one.")
@common_options
def logs(*, count: int, log: str | None, workspace: Workspace) -> None:
    """Show the logs of the service and of the hook, the newest line last.

    They never hold what you wrote. Times are UTC.
    """
    lines = [*_hook_log(workspace), *_service_log(workspace)]
    timed, last = [], ""
    for line in lines:  # a line without a time belongs to the one before it
        last = line["at"] or last
        timed.append((last, line))
    lines = [line for _, line in sorted(timed, key=lambda pair: pair[0])]
    lines = [line for line in lines if log in (None, line["log"])][-count:]
    rows = [
        (
            str(line["log"]),
            f"{shown_text(at)} {line['text']}" if (at := line["at"]) else str(line["text"]),
        )
        for line in lines
    ]
    say(lines, (lambda: print_lines(rows)) if lines else "nothing was written down")


def _hook_log(workspace: Workspace) -> Iterator[dict[str, str | None]]:
    for trouble in read_hook_log(workspace.brain):
        at = moment(trouble.at) if trouble.at else None
        yield {"log": "hook", "at": at, "text": trouble.reason}


def _service_log(workspace: Workspace) -> Iterator[dict[str, str | None]]:
    content = read_private(ServiceAddress(workspace.brain).log_path) or b""
    for line in content.decode("utf-8", "replace").splitlines():
        if found := _STAMP.fullmatch(line):
            yield {"log": "service", "at": found["at"], "text": found["text"]}
        elif line.strip():
            yield {"log": "service", "at": None, "text": line}


_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY")


@command("kds web", "kds web --port 8765 --no-open")
@click.option(
    "--port", type=click.IntRange(1, 65_535), help="Where to listen.  [default: any free port]"
)
@click.option("--no-open", is_flag=True, help="Print the link; open no browser.")
@common_options
def web(*, port: int | None, no_open: bool, workspace: Workspace) -> None:
    """Open the web page of this workspace: chat, and a look at all that KDS knows.

    The service is started unless it runs. The link works once, within a few minutes, on this
    machine only; from elsewhere forward the port (`ssh -L`).
    """
    with slow("waiting for the service to load"):
        background.start(workspace, idle_minutes=load_settings(workspace).service.idle_minutes)
    client = reach(workspace)
    if client is None:
        raise KdsError("the service went away", hint="try again, or see `kds service status`")
    url, login = client.web(port)
    opened = not no_open and _has_display() and webbrowser.open(login)
    say(
        {"url": url, "login": login, "opened": opened},
        lambda: print_lines([("page", url), ("log in", f"{login}  (works once)")]),
    )


def _has_display() -> bool:
    """Whether a browser could show itself, not in the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in _DISPLAYS)
