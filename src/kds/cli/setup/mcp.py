"""`kds mcp`: the router for clients of the Model Context Protocol (DESIGN 7)."""

import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import workspace_option
from kds.mcp.doorstep import Lines, Wire, claimed, greet
from kds.service.service_client import host_and_port

if TYPE_CHECKING:
    from kds.mcp.mcp_server import KdsServer

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

    The client starts it and talks to it over stdin and stdout; what there is to say besides
    goes to stderr. With --http a client sends the content of kds-brain/service.token as its
    bearer token.
    """
    wanted = None if address is None else host_and_port(address)
    load = partial(load_server, workspace)
    if wanted is not None:
        from kds.mcp.http import serve_http  # FastAPI: 0.2 s of CPU
        from kds.service.listening import HttpAddress

        place = HttpAddress(*wanted)
        serve_http(load(), place, announce=lambda line: click.echo(line, err=True))
        return
    if sys.stdin.isatty():
        click.echo(WAITING, err=True)
    # Stdin is read in a thread that an interrupt does not reach; clients send one to end the
    # server. Whatever is being written is whole, before or after (private_file.py).
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stdin, stdout = claimed()
    lines, wire = Lines(stdin), Wire(stdout)
    server = greet(lines, wire, load)
    import anyio

    anyio.run(server.run_lines, lines, wire)


def load_server(workspace: Workspace) -> "KdsServer":
    """The server, and the MCP package with it: over a second of CPU."""
    from kds.mcp.mcp_server import KdsServer

    return KdsServer(workspace)
