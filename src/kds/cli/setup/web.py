"""`kds web`: the page of the service, opened in the browser."""

import os
import sys
import webbrowser
from typing import Final

import click

from kds.brain.errors import KdsError
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import common_options
from kds.cli.output import print_lines, say
from kds.cli.progress import slow
from kds.service.resident import background
from kds.service.resident.service_client import reach

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
