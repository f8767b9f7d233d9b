"""`kds serve`: the resident service, in the foreground."""

import re
from pathlib import Path
from typing import Final

import click

from kds.cli.command import command
from kds.cli.guard import Refusal
from kds.cli.options import NamedPath, find_workspace
from kds.service.service_client import host_and_port

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smh]?)", re.IGNORECASE)


@command(
    "kds serve",
    "kds serve --idle-timeout 30m",
    "kds serve --workspace ~/shop --workspace ~/blog --http 8765",
    "curl --unix-socket kds-brain/service.sock http://localhost/healthz",
    'curl -H "Authorization: Bearer $(cat kds-brain/service.token)" http://127.0.0.1:8765/healthz',
)
@click.option(
    "--workspace",
    "folders",
    type=NamedPath(),
    metavar="DIR",
    multiple=True,
    help="Folder of a workspace; may be given several times.  [default: $KDS_HOME, else searched]",
)
@click.option(
    "--http",
    metavar="[HOST:]PORT",
    help="Also answer HTTP on loopback, with the token in kds-brain/service.token; port 0: any "
    "free one, named in kds-brain/service.json.",
)
@click.option(
    "--team",
    metavar="[HOST:]PORT",
    help="Also answer people with tokens of their own (`kds team add`), each with conversations "
    "of their own in the database that KDS_DATABASE names; port 0: any free one.",
)
@click.option(
    "--json-log",
    is_flag=True,
    help="Write the log as JSON, a line each; with --team a line for every request, too: its kind, "
    "status, time and person, never a text.",
)
@click.option(
    "--drain",
    metavar="TIME",
    default="0",
    help="With --team: go on answering for this time after SIGTERM, while /readyz says no, so that "
    "a balancer sends nothing more by then.  [default: 0]",
)
@click.option(
    "--idle-timeout",
    metavar="TIME",
    default="0",
    help="End after this time without a request: 90s, 30m, 2h; 0: never.  [default: 0]",
)
@click.option(
    "--no-socket",
    is_flag=True,
    help="No unix socket, only HTTP on loopback: for file systems without sockets. With --team, "
    "nothing but that: services may share a folder.",
)
def serve(
    folders: tuple[Path, ...],
    *,
    http: str | None,
    team: str | None,
    json_log: bool,
    drain: str,
    idle_timeout: str,
    no_socket: bool,
) -> int:
    """Keep routers warm, and answer over a unix socket in each workspace's kds-brain/.

    Prompts and rules are read anew when they change. Exit code 3: another process serves the
    workspace already.
    """
    idle_s, drain_s = _seconds(idle_timeout), _seconds(drain) or 0.0
    workspaces = [find_workspace(folder) for folder in folders or (None,)]
    address = None if http is None else host_and_port(http)
    from kds.cli.setup.serving import serve_now  # late: see there

    return serve_now(
        workspaces,
        http=address,
        team=None if team is None else host_and_port(team),
        json_log=json_log,
        drain_s=drain_s,
        unix_socket=not no_socket,
        idle_s=idle_s,
    )


def _seconds(text: str) -> float | None:
    """Read a time; None is never.

    >>> _seconds("30m"), _seconds("90"), _seconds("0")
    (1800.0, 90.0, None)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise Refusal(f"'{text}' is no time", "use 90s, 30m or 2h; 0 is never")
    return float(match[1]) * _UNITS_S[match[2].lower() or "s"] or None
