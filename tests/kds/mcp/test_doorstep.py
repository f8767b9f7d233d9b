"""The first answers over stdio: quick, for little is loaded, and those of the server itself."""

import io
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kds.mcp.doorstep import Lines, Wire, greet
from kds.mcp.greeting import FILE, Greeting
from kds.mcp.recording import recorded

from ...effort import PATIENCE_S
from .conftest import KDS

HEAVY = {"mcp", "mcp_types", "pydantic", "anyio", "numpy", "spacy", "fastapi", "langchain_core"}
MODULES = 330
"""All that is loaded when the first answer is given; a Python that does nothing has 60, and with
the MCP package it would be 1,300."""

SPY = """
import sys
import kds.cli.setup.mcp as command
def load(workspace):
    sys.stderr.write(" ".join(sys.modules))
    raise SystemExit(3)
command.load_server = load
from kds.cli import main
main(["mcp"])
"""


def request(method: str, number: int = 1, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def introduction(version: str = "2025-11-25", **more: Any) -> str:
    client = {"name": "test", "version": "1"}
    given = {"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": client}
    return request("initialize", **given | more)


def test_what_is_answered_at_once_is_what_the_server_answers() -> None:
    kept = json.loads(files("kds.mcp").joinpath(FILE).read_text(encoding="utf-8"))
    assert kept == recorded(), "python -m kds.mcp.recording > src/kds/mcp/greeting.json"


def test_the_first_answers_load_neither_the_mcp_package_nor_the_router(
    workspace: Path, environment: dict[str, str]
) -> None:
    lines = f"{introduction()}\n{request('tools/list', 2)}\n"
    done = subprocess.run(
        [sys.executable, "-c", SPY], input=lines, cwd=workspace, env=environment,
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 3
    first, second = (json.loads(line)["result"] for line in done.stdout.splitlines())
    assert first["serverInfo"]["name"] == "kds"
    assert "route_message" in [tool["name"] for tool in second["tools"]]
    loaded = done.stderr.split()
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert not [name for name in loaded if name.startswith(("kds.router", "kds.api", "kds.query"))]
    assert len(loaded) <= MODULES


@pytest.mark.parametrize(
    "line",
    [
        "this is no JSON",
        "[]",
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        request("tools/list"),  # nobody has introduced himself
        introduction("2024-01-01"),
        introduction(clientInfo={"name": "no version"}),
        introduction(capabilities=None),
        '{"jsonrpc": "2.0", "id": null, "method": "initialize"}',
        '{"jsonrpc": "2.0", "id": 1, "method": ["initialize"]}',
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": [1]}',
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": []}}',
        request("server/discover"),
    ],
)
def test_all_else_is_left_to_the_server(line: str) -> None:
    greeting = Greeting()
    assert greeting.answer(line) is None
    assert not greeting.done


def test_who_introduces_himself_twice_or_turns_pages_gets_the_servers_answer() -> None:
    greeting = Greeting()
    assert greeting.answer(introduction("2024-11-05"))["result"]["protocolVersion"] == "2024-11-05"  # type: ignore[index]
    assert greeting.answer(introduction()) is None
    assert greeting.answer(request("tools/list", cursor="2")) is None
    assert greeting.answer(request("tools/list", _meta={"progressToken": 1}))


def test_a_probe_that_the_client_gave_up_on_does_not_reach_the_server() -> None:
    """Claude Code 2.1.330 probes, waits some seconds, and then speaks the older protocol."""
    sent = [request("server/discover", 7), introduction(), request("prompts/list", 2)]
    lines = Lines(io.BytesIO("".join(f"{line}\n" for line in sent).encode()))
    told = io.StringIO()
    greet(lines, Wire(told), lambda: cast(Any, SimpleNamespace()))
    assert json.loads(told.getvalue())["id"] == 1
    kept = [json.loads(lines.readline())["method"] for _ in range(2)]
    assert kept == ["initialize", "prompts/list"]


def test_each_request_is_answered_once_whoever_answers_it(
    workspace: Path, environment: dict[str, str]
) -> None:
    with subprocess.Popen(
        [KDS, "mcp"], cwd=workspace, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        initialized = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
        lines = [introduction(), initialized, request("prompts/list", 2), request("tools/list", 3)]
        print(*lines, sep="\n", file=process.stdin, flush=True)
        answers = [json.loads(process.stdout.readline()) for _ in range(3)]
        print(request("tools/list", 4), file=process.stdin, flush=True)
        answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.stdout.read() == ""
    by_id = {answer["id"]: answer["result"] for answer in answers}
    assert [answer["id"] for answer in answers] == [1, 3, 2, 4]
    assert by_id[3] == by_id[4]
    assert by_id[2]["prompts"]


def test_a_message_with_half_an_emoji_is_answered(
    workspace: Path, environment: dict[str, str]
) -> None:
    initialized = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    half = {"name": "resolve_references", "arguments": {"message": "Make it purple \ud83d"}}
    lines = "\n".join([introduction(), initialized, request("tools/call", 2, **half), ""])
    with subprocess.Popen(
        [KDS, "mcp"], cwd=workspace, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        print(lines, end="", file=process.stdin, flush=True)
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
    assert "Make it purple \ufffd" in str(answers[1]["result"])


def test_what_a_tool_says_of_itself_is_not_indented() -> None:
    assert "\\n  " not in (files("kds.mcp") / "greeting.json").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
def test_at_a_terminal_it_says_what_it_waits_for_and_how_to_leave(
    workspace: Path, environment: dict[str, str]
) -> None:
    ours, theirs = os.openpty()
    try:
        with subprocess.Popen(
            [KDS, "mcp"], cwd=workspace, env=environment, text=True,
            stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            line = process.stderr.readline()
            process.terminate()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "waiting for an MCP client" in line
    assert "Ctrl+C" in line
