"""The MCP Inspector's command line against `kds mcp`, over stdio and over HTTP."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import KDS
from .token_proxy import serving_mcp

TIMEOUT_S = 120

Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, fitted_brain: Path) -> Path:
    folder = tmp_path_factory.mktemp("inspected")
    shutil.copytree(fitted_brain, folder / "kds-brain")
    return folder


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(request: pytest.FixtureRequest, npm: Path, served: Path) -> Iterator[list[str]]:
    """What the Inspector is told to connect to."""
    if request.param == "stdio":
        yield [str(KDS), "mcp", "--workspace", str(served)]
    else:
        with serving_mcp(served) as url:
            yield [url]


@pytest.fixture
def inspect(npm: Path, target: list[str]) -> Inspect:
    program = npm / "mcp-inspector"
    if not program.exists():
        pytest.skip(f"no mcp-inspector in {npm}; run `make test-clients`")

    def run(method: str, *arguments: str) -> Any:
        done = subprocess.run(
            [npm / "node", program, "--cli", *target, "--method", method, *arguments],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


def test_tools_are_listed_with_their_schemas_and_called_prompts_rendered_and_resources_read(
    inspect: Inspect,
) -> None:
    tools = {tool["name"]: tool for tool in inspect("tools/list")["tools"]}
    assert set(tools) == {
        "route_message", "resolve_references", "context_load", "context_clear", "memory_search",
        "recall", "recall_session",
    }  # fmt: skip
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools.values())
    result = inspect(
        "tools/call", "--tool-name", "route_message", "--tool-arg",
        "message=I want to add a FAB button", "log=false",
    )  # fmt: skip
    assert result["structuredContent"]["intent"] == "PLAN"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    result = inspect(
        "prompts/get", "--prompt-name", "work-planner", "--prompt-args", "message=Add dark mode"
    )
    assert "Add dark mode" in result["messages"][0]["content"]["text"]
    [content] = inspect("resources/read", "--uri", "kds://context")["contents"]
    assert json.loads(content["text"])["entries"] == []
