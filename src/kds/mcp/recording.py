"""Writes ``greeting.json``: what the server answers first, asked of the server itself.

Run it after a change to a tool: `python -m kds.mcp.recording > src/kds/mcp/greeting.json`.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from kds.brain.workspace import Workspace
from kds.mcp.doorstep import Lines, Wire
from kds.mcp.greeting import Json
from kds.mcp.mcp_server import KdsServer

_NOWHERE: Final = Workspace.find(Path(os.devnull).parent)
"""Nothing is routed: any folder will do."""


def recorded() -> Json:
    """What the server says to the first requests, as `Greeting` keeps it.

    Raises ValueError when it lists other tools to clients of another protocol version.
    """
    answers = {version: _first_answers(version) for version in HANDSHAKE_PROTOCOL_VERSIONS}
    introduction, tools = next(iter(answers.values()))
    if any(tools != others for _, others in answers.values()):
        raise ValueError("the tools depend on the version: keep a list for each")
    introduction["serverInfo"] |= {"version": ""}
    return {
        "versions": [*answers],
        "initialize": introduction | {"protocolVersion": ""},
        "tools": tools,
    }


def _first_answers(version: str) -> tuple[Json, Json]:
    reads, writes = os.pipe()
    answers, speaks = os.pipe()
    with os.fdopen(answers, encoding="utf-8") as heard, os.fdopen(speaks, "w") as spoken:
        server, lines, wire = KdsServer(_NOWHERE), Lines(os.fdopen(reads, "rb")), Wire(spoken)
        serving = threading.Thread(target=anyio.run, args=(server.run_lines, lines, wire))
        serving.start()
        with os.fdopen(writes, "w", encoding="utf-8") as said:

            def ask(method: str, **params: Any) -> Json:
                request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                print(json.dumps(request), file=said, flush=True)
                result: Json = json.loads(heard.readline())["result"]
                return result

            client = {"name": "recording", "version": "1"}
            first = ask("initialize", protocolVersion=version, capabilities={}, clientInfo=client)
            tools = ask("tools/list")
        serving.join()
    return first, tools


if __name__ == "__main__":
    sys.stdout.write(json.dumps(recorded(), indent=1, ensure_ascii=False) + "\n")
