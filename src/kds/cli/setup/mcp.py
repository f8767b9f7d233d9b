"""`kds mcp`: the router for clients of the Model Context Protocol (DESIGN 7)."""

import signal
from pathlib import Path

import anyio
import click

from kds.cli.options import find_workspace, workspace_option
from kds.mcp.address import HttpAddress
from kds.mcp.server import KdsServer


@click.command(
    epilog="""\b
Examples:
  claude mcp add kds -- kds mcp
  kds mcp --http 8765"""
)
@click.option(
    "--http",
    "address",
    metavar="[HOST:]PORT",
    help="Serve streamable HTTP there, for this machine and with a token, instead of stdio.",
)
@workspace_option
def mcp(*, address: str | None, workspace: Path | None) -> None:
    """Serve the router to MCP clients: tools, prompts and resources.

    The client starts it and talks to it over stdin and stdout; what there is to say besides
    goes to stderr. With --http a client sends the content of kds-brain/service.token as its
    bearer token.
    """
    wanted = None if address is None else HttpAddress.parse(address)
    server = KdsServer(find_workspace(workspace))
    if wanted is None:
        # The SDK reads stdin in a thread that an interrupt does not reach; clients send one to
        # end the server. Whatever is being written is whole, before or after (private_file.py).
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(server.run_stdio_async)
    else:
        from kds.mcp.http import serve_http  # FastAPI: 0.2 s of CPU

        serve_http(server, wanted, announce=lambda line: click.echo(line, err=True))
