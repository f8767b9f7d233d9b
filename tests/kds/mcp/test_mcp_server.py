"""The server as a whole: its process, its silence on stdout, and changes of the workspace."""

import json
import signal
import subprocess
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_types import PromptListChangedNotification

from kds.brain.errors import MessageError
from kds.brain.workspace import Workspace
from kds.mcp.mcp_server import KdsServer
from kds.mcp.workplace import Workplace

from ...effort import PATIENCE_S
from .conftest import INITIALIZE, KDS, Talk

pytestmark = pytest.mark.anyio

DEPLOYER = """---
name: deployer
description: Ships what is ready.
intent: DEPLOY
priority: 45
inputs: [expanded]
patterns:
  - {weight: 0.9, literal: deploy}
examples: [deploy it, ship the release, roll it out to staging]
---
# Deployer

Ship this: {{ expanded }}
"""


def add_deployer(folder: Path, text: str = DEPLOYER) -> None:
    path = folder / "prompts" / "internal" / "deployer.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_server_introduces_itself_and_says_that_lists_change(stdio: Talk) -> None:
    client = stdio.client
    assert client.server_info.name == "kds"
    assert client.server_info.version
    assert "route_message" in client.instructions
    assert client.server_capabilities.prompts.list_changed is True
    assert client.server_capabilities.resources.list_changed is True
    assert client.server_capabilities.completions is not None


def test_only_the_protocol_is_on_stdout_and_the_end_of_stdin_ends_it(
    workspace: Path, environment: dict[str, str]
) -> None:
    lines = f"{json.dumps(INITIALIZE)}\nthis is no JSON\n"
    done = subprocess.run(
        [KDS, "mcp"], input=lines, cwd=workspace, env=environment, capture_output=True, text=True,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0]["result"]["serverInfo"]["name"] == "kds"
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_it_while_it_waits_for_input(
    workspace: Path, environment: dict[str, str]
) -> None:
    with subprocess.Popen(
        [KDS, "mcp"], cwd=workspace, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(INITIALIZE)}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGINT


async def test_a_folder_without_a_workspace_is_left_alone_until_something_is_routed(
    tmp_path: Path,
) -> None:
    async with Client(KdsServer(Workspace.find(tmp_path)), mode="legacy") as client:
        assert (await client.list_tools()).tools
        assert (await client.list_prompts()).prompts
        assert await client.read_resource("kds://context")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_prompt_that_is_added_is_announced_listed_and_routed_to(
    fitted_workspace: Path, mode: str
) -> None:
    changed = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, PromptListChangedNotification):
            changed.set()

    server = KdsServer(Workspace.find(fitted_workspace), watch_s=0.02)
    async with Client(server, mode=mode, message_handler=note) as client:  # type: ignore[arg-type]
        before = {prompt.name for prompt in (await client.list_prompts()).prompts}
        if mode == "legacy":
            add_deployer(fitted_workspace)
            with anyio.fail_after(20):
                await changed.wait()
        else:
            async with client.listen(prompts_list_changed=True) as events:
                add_deployer(fitted_workspace)
                with anyio.fail_after(20):
                    await anext(aiter(events))
        after = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert after - before == {"deployer"}
        if mode == "legacy":  # once is enough: the intents are fitted anew
            found = await client.get_prompt("deployer", {"message": "ship it"})
            assert found.messages[0].content.text == "# Deployer\n\nShip this: ship it"


async def test_a_prompt_that_breaks_leaves_the_set_before_in_use(
    fitted_workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = KdsServer(Workspace.find(fitted_workspace))
    async with Client(server) as client:
        before = await client.list_prompts()
        await client.call_tool("route_message", {"message": "Add a header"})
        add_deployer(fitted_workspace, "---\nno end of it")
        assert await client.list_prompts(cache_mode="bypass") == before
        routed = await client.call_tool("route_message", {"message": "Add a footer"})
        assert routed.structured_content["intent"] == "PLAN"
        [warning] = routed.structured_content["warnings"]
        assert "deployer.md:1: has no front matter" in warning
        (fitted_workspace / "prompts" / "internal" / "deployer.md").unlink()
        routed = await client.call_tool("route_message", {"message": "Add a footer"})
        assert routed.structured_content["warnings"] == []
    assert "stay in use" in caplog.text


def test_what_cannot_be_routed_is_refused_before_a_service_is_asked(workspace: Path) -> None:
    place = Workplace(Workspace.find(workspace))
    for message, conversation in (("", None), (" \n", "a"), ("hm", "x" * 129), ("hm", " ")):
        with pytest.raises(MessageError) as caught:
            place.route(message, conversation=conversation, log=True)
        assert caught.value.hint


def test_prompts_that_never_loaded_are_not_said_to_stay_in_use(
    workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = workspace / "prompts" / "internal" / "deployer.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: [\n---\n", encoding="utf-8")
    Workplace(Workspace.find(workspace)).refresh()
    assert "nothing can be routed yet" in caplog.text
    assert "stay in use" not in caplog.text


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ("prompts/internal/deployer.md", "---\nname"),
        ("kds-brain/rules/mine.yaml", "- nonsense"),
        ("kds-brain/english/people.yaml", "- nonsense"),
    ],
)
async def test_files_that_never_loaded_are_told_where_and_how_to_mend(
    fitted_workspace: Path, broken: str, text: str
) -> None:
    path = fitted_workspace / broken
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    server = KdsServer(Workspace.find(fitted_workspace))
    async with Client(server) as client:
        result = await client.call_tool("route_message", {"message": "Add a footer"})
        assert result.is_error
        assert f"{path}:1" in result.content[0].text
        assert "fix:" in result.content[0].text
        path.unlink()
        result = await client.call_tool("route_message", {"message": "Add a footer"})
        assert not result.is_error
