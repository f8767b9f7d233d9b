"""What `kds serve` runs: apart, since its imports cost a second and a half, a wrong option none."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import click
from starlette.datastructures import State

from kds.brain.clock import moment, utc_now
from kds.brain.workspace import Workspace
from kds.cli.guard import complain_about
from kds.service.errors import AlreadyServedError
from kds.service.listening import HttpAddress, Site, TeamAddress
from kds.service.server import Service, ServiceOptions

START_AGAIN: Final = 75
"""Exit code of a service whose installation was replaced (EX_TEMPFAIL of sysexits): systemd with
`Restart=on-failure` starts the new one."""

ALREADY_SERVED: Final = 3
"""Exit code when another process serves the workspace: for a start that is as good."""

SWITCH_S: Final = 0.0005
"""How long a thread may keep the interpreter while another one waits for it. A hook goes from
thread to thread: beside an answer that is made up as HTML for fifty tabs, nine of ten take 63 ms or
less instead of 79 with Python's 5 ms (300 calls each, in turns, on a busy machine)."""


def serve_now(
    workspaces: Sequence[Workspace],
    *,
    http: tuple[str, int] | None,
    team: tuple[str, int] | None,
    json_log: bool,
    drain_s: float,
    unix_socket: bool,
    idle_s: float | None,
) -> int:
    """Serve until told to end; returns the exit code."""
    address = None if http is None else HttpAddress(*http)
    shared = None if team is None else TeamAddress(*team)
    options = ServiceOptions(
        http=address, unix_socket=unix_socket, idle_s=idle_s, team=shared, drain_s=drain_s
    )
    log = _log
    if json_log:
        log, options = _log_json, replace(options, tell=_tell)
    sys.setswitchinterval(SWITCH_S)
    service = Service(workspaces, options, log=log, site=_make_site)
    try:
        service.run()
    except AlreadyServedError as error:
        complain_about(error)
        return ALREADY_SERVED
    return START_AGAIN if service.replaced else 0


def _make_site(state: State, port: int) -> Site:
    from kds.web.site import open_site  # half a second of imports, when somebody looks

    return open_site(state, port)


def _tell(request: Mapping[str, object]) -> None:
    click.echo(json.dumps({"at": _now(), "event": "request", **request}), err=True)


def _log_json(line: str) -> None:
    click.echo(json.dumps({"at": _now(), "event": "service", "message": line}), err=True)


def _log(line: str) -> None:
    click.echo(f"{_now()} {line}", err=True)


def _now() -> str:
    return moment(utc_now())
