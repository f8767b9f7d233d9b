"""The server as a whole: its process, its silence on stdout, and changes of the workspace."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from kds.brain.workspace import Workspace
from kds.mcp.mcp_server import KdsServer

from ...effort import PATIENCE_S
from .conftest import INITIALIZE, KDS, Talk

pytestmark = pytest.mark.anyio

DEPLOYER = """---
name: deployer
description: Ships what is ready.
intent: DEPLOY
inputs: [expanded]
examples: [deploy it, ship the release, roll it out to staging]
---
Ship this: {{ expanded }}
"""


MOST_MB = 40
"""What a window may add beside the service."""


def serve(workspace: Path, environment: dict[str, str], *lines: str) -> list[Any]:
    """The answers of a `kds mcp` process to these lines, until it has answered the last one."""
    with subprocess.Popen(
        [KDS, "mcp"], cwd=workspace, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for line in lines:
            print(line, file=process.stdin, flush=True)
            if '"id"' in line:
                answers.append(json.loads(process.stdout.readline()))
        rest, errors = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, "Traceback" in errors) == (0, False)
        return [*answers, *map(json.loads, rest.splitlines())]


def test_the_server_introduces_itself(stdio: Talk) -> None:
    client = stdio.client
    assert (client.server_info.name, bool(client.server_info.version)) == ("kds", True)
    assert "route_message" in client.instructions


def test_little_is_loaded_when_the_client_is_answered(
    workspace: Path, environment: dict[str, str]
) -> None:
    """`kds mcp` answers within a second of CPU, most of it the MCP package."""
    spy = (
        "import sys, atexit, kds.cli\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "sys.argv = ['kds', 'mcp']\nkds.cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", spy], input=json.dumps(INITIALIZE) + "\n", cwd=workspace,
        env=environment, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert json.loads(done.stdout)["id"] == 1
    loaded = set(done.stderr.split())
    heavy = {"numpy", "spacy", "fastapi", "langchain_core", "kds.api.routing"}
    assert loaded & heavy == set()
    assert "kds.mcp.mcp_server" in loaded


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_beside_a_service_it_takes_little_memory_and_outlives_it(
    fitted_workspace: Path, environment: dict[str, str], mode: Any
) -> None:
    """The service answers; one that ends is started again."""
    runtime = fitted_workspace.parent / "run"
    runtime.mkdir(mode=0o700)
    env = {**environment, "XDG_RUNTIME_DIR": str(runtime), "KDS_SERVICE_AUTO": "1"}
    service = [KDS, "service", "stop", "--force", "--workspace", fitted_workspace]
    subprocess.run([*service[:2], "start", *service[4:]], env=env, check=True, timeout=PATIENCE_S)
    heard = serve(fitted_workspace, env, asking("subscriptions/listen", 1), asking("tools/list", 2))
    assert [one.get("id") for one in heard] == [None, 2]  # to listen ends with the client
    tasks = set(Path("/proc/self/task").glob("*/children"))
    parameters = StdioServerParameters(
        command=str(KDS), args=["mcp", "--workspace", str(fitted_workspace)], env=env
    )
    try:
        async with Client(stdio_client(parameters), mode=mode) as client:
            for message in ("I want to add a FAB button", "Make it purple"):
                routed = await client.call_tool("route_message", {"message": message})
            assert routed.structured_content["expanded"] == "Make the FAB button purple"
            children = (int(pid) for one in tasks for pid in one.read_text().split())
            own = [pid for pid in children if str(fitted_workspace) in arguments(pid)]
            assert [one for pid in own if (one := memory_mb(pid)) > MOST_MB] == []
            assert own
            subprocess.run(service, env=env, check=True, timeout=PATIENCE_S)
            assert {one.name for one in (await client.list_prompts()).prompts} >= {"kds", "handoff"}
            result = await client.call_tool("context_load", {"conversation": "a"})
            assert result.structured_content["entries"] == []
    finally:
        subprocess.run(service, env=env, check=True, timeout=PATIENCE_S)


def asking(method: str, number: int) -> str:
    """A request in the form of 2026-07-28, which has no greeting."""
    where = "io.modelcontextprotocol/"
    meta = {
        f"{where}protocolVersion": "2026-07-28", f"{where}clientCapabilities": {},
        f"{where}clientInfo": {"name": "test", "version": "1"},
    }  # fmt: skip
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def memory_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def test_a_folder_without_a_workspace_is_left_alone_until_something_is_routed(
    tmp_path: Path,
) -> None:
    async with Client(KdsServer(Workspace.find(tmp_path)), mode="legacy") as client:
        assert (await client.list_tools()).tools
        assert (await client.list_prompts()).prompts
        hits = await client.call_tool("memory_search", {"query": "bus"})
        assert "nothing is remembered yet" in str(hits.structured_content)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_prompt_that_is_added_is_listed_and_routed_to(
    fitted_workspace: Path, mode: str
) -> None:
    server = KdsServer(Workspace.find(fitted_workspace))
    async with Client(server, mode=mode) as client:  # type: ignore[arg-type]
        before = {prompt.name for prompt in (await client.list_prompts()).prompts}
        path = fitted_workspace / "prompts" / "internal" / "deployer.md"
        path.parent.mkdir(parents=True)
        path.write_text(DEPLOYER)
        after = {prompt.name for prompt in (await client.list_prompts(cache_mode="bypass")).prompts}
        assert after - before == {"deployer"}
        if mode == "legacy":  # once is enough: the intents are fitted anew
            found = await client.get_prompt("deployer", {"message": "ship it"})
            assert found.messages[0].content.text == "Ship this: ship it"


async def test_files_that_do_not_load_silence_no_tool(fitted_workspace: Path) -> None:
    for broken, text in (
        ("prompts/internal/deployer.md", "---\nname"), ("kds-brain/rules/mine.yaml", "- nonsense"),
        ("kds-brain/english/people.yaml", "- nonsense"),
    ):  # fmt: skip
        path = fitted_workspace / broken
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    server = KdsServer(Workspace.find(fitted_workspace))
    async with Client(server) as client:
        result = await client.call_tool("route_message", {"message": "Add a footer"})
        assert not result.is_error
        assert result.structured_content["agent"] == "work-planner"
