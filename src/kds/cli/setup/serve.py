"""`kds serve`: the resident service, in the foreground."""

import re
import sys
from pathlib import Path
from typing import Final

import click
from starlette.datastructures import State

from kds.brain.clock import utc_now
from kds.cli.guard import Refusal, complain_about
from kds.cli.options import find_workspace
from kds.service.address import host_and_port
from kds.service.errors import AlreadyServedError
from kds.service.listener import LOOPBACK, HttpAddress
from kds.service.server import Service, ServiceOptions
from kds.service.site import Site

ALREADY_SERVED: Final = 3
"""Exit code when another process serves the workspace: for a start that is as good."""

SWITCH_S: Final = 0.0005
"""How long a thread may keep the interpreter while another one waits for it. A hook goes from
thread to thread: beside an answer that is made up as HTML for fifty tabs, nine of ten take 63 ms or
less instead of 79 with Python's 5 ms (300 calls each, in turns, on a busy machine)."""

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smh]?)", re.IGNORECASE)


@click.command(
    epilog="""\b
Examples:
  kds serve
  kds serve --idle-timeout 30m
  kds serve --workspace ~/shop --workspace ~/blog --http 8765
  curl --unix-socket kds-brain/service.sock http://localhost/healthz
  curl -H "Authorization: Bearer $(cat kds-brain/service.token)" http://127.0.0.1:8765/healthz"""
)
@click.option(
    "--workspace",
    "folders",
    type=click.Path(path_type=Path),
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
    "--idle-timeout",
    metavar="TIME",
    default="0",
    help="End after this time without a request: 90s, 30m, 2h; 0: never.  [default: 0]",
)
@click.option(
    "--no-socket",
    is_flag=True,
    help="No unix socket, only HTTP on loopback: for file systems without sockets.",
)
def serve(
    folders: tuple[Path, ...], *, http: str | None, idle_timeout: str, no_socket: bool
) -> int:
    """Keep routers warm, and answer over a unix socket in each workspace's kds-brain/.

    Prompts and rules are read anew when they change. Exit code 3: another process serves the
    workspace already.
    """
    idle_s = _seconds(idle_timeout)
    workspaces = [find_workspace(folder) for folder in folders or (None,)]
    address = None if http is None else _address(http)
    options = ServiceOptions(http=address, unix_socket=not no_socket, idle_s=idle_s)
    sys.setswitchinterval(SWITCH_S)
    try:
        Service(workspaces, options, log=_log, site=_make_site).run()
    except AlreadyServedError as error:
        complain_about(error)
        return ALREADY_SERVED
    return 0


def _make_site(state: State, port: int) -> Site:
    from kds.web.site import open_site  # half a second of imports, when somebody looks

    return open_site(state, port)


def _address(text: str) -> HttpAddress:
    if (found := host_and_port(text, host=LOOPBACK)) is None:
        raise Refusal(f"'{text}' names no port", "use PORT or HOST:PORT, such as 8765")
    return HttpAddress(*found)


def _seconds(text: str) -> float | None:
    """Read a time; None is never.

    >>> _seconds("30m"), _seconds("90"), _seconds("0")
    (1800.0, 90.0, None)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise Refusal(f"'{text}' is no time", "use 90s, 30m or 2h; 0 is never")
    return float(match[1]) * _UNITS_S[match[2].lower() or "s"] or None


def _log(line: str) -> None:
    moment = utc_now().isoformat(timespec="seconds").replace("+00:00", "Z")
    click.echo(f"{moment} {line}", err=True)
