"""`kds mcp`: the router for clients of the Model Context Protocol."""

import signal
import sys
from typing import Final

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import workspace_option
from kds.service.service_client import host_and_port

WAITING: Final = (
    "kds: waiting for an MCP client on stdin. Assistants start `kds mcp` themselves: "
    "`kds init` tells them to. Leave with Ctrl+C."
)


@command("claude mcp add kds -- kds mcp", "kds mcp --http 8765")
@click.option(
    "--http",
    "address",
    metavar="[HOST:]PORT",
    help="Serve streamable HTTP there, for this machine and with a token, instead of stdio.",
)
@workspace_option
def mcp(*, address: str | None, workspace: Workspace) -> None:
    """Serve the router to MCP clients: tools, prompts and resources.

    The client starts it and talks to it over stdin and stdout; everything else goes to stderr.
    With --http a client sends the content of kds-brain/service.token as its bearer token.
    """
    place = None if address is None else host_and_port(address)
    if place is None and sys.stdin.isatty():
        click.echo(WAITING, err=True)
    from kds.mcp.mcp_server import KdsServer, serve_http, serve_stdio  # 0.8 s of CPU

    server = KdsServer(workspace)
    if place is not None:
        serve_http(server, *place, announce=lambda line: click.echo(line, err=True))
        return
    # Stdin is read in a thread that an interrupt does not reach; clients send one to end the
    # server. A file that is being written is complete, before or after (private_file.py).
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve_stdio(server)
