"""The agents' prompts as MCP prompts, and the resources."""

import json
from typing import Any

import pytest
from mcp import MCPError

from .conftest import Talk


def read(talk: Talk, uri: str) -> str:
    [content] = talk.do("read_resource", uri).contents
    text: str = content.text
    return text


def test_the_entrance_comes_first_then_the_agents_by_priority(stdio: Talk) -> None:
    prompts = stdio.do("list_prompts").prompts
    names = [prompt.name for prompt in prompts]
    assert names[0] == "kds"
    assert (
        names.index("error-corrector") < names.index("work-planner") < names.index("code-executor")
    )
    assert "conversation-context-manager" not in names
    for prompt in prompts:
        assert prompt.title
        assert prompt.description
        taken = [(argument.name, argument.required) for argument in prompt.arguments]
        assert taken == [("to", False) if prompt.name == "handoff" else ("message", True)]


def test_a_prompt_is_rendered_for_its_message_and_nothing_is_remembered(stdio: Talk) -> None:
    stdio.data("context_clear")
    stdio.data("route_message", message="I want to add a FAB button")
    found = stdio.do("get_prompt", "code-executor", {"message": "Make it purple"})
    [message] = found.messages
    assert message.role == "user"
    assert "# Code executor" in message.content.text
    assert "Make the FAB button purple" in message.content.text
    assert stdio.data("context_clear")["cleared"] == 1
    found = stdio.do("get_prompt", "kds", {"message": "I want to add a FAB button"})
    assert "# Work planner" in found.messages[0].content.text


def test_the_context_and_the_prompts_are_resources(stdio: Talk) -> None:
    stdio.data("route_message", message="Add a footer", conversation="resource/one two")
    view = json.loads(read(stdio, "kds://context/resource%2Fone%20two"))
    assert view["conversation"] == "resource/one two"
    assert [entry["user_message"] for entry in view["entries"]] == ["Add a footer"]
    assert json.loads(read(stdio, "kds://context"))["conversation"] is None
    listed = {resource.uri for resource in stdio.do("list_resources").resources}
    summaries = json.loads(read(stdio, "kds://prompts"))
    assert {f"kds://prompts/{summary['name']}" for summary in summaries} <= listed
    body = read(stdio, "kds://prompts/work-planner")
    assert body.lstrip().startswith("# Work planner")
    assert '{% include "shared/_ground_rules.md" %}' in body


@pytest.mark.parametrize(
    ("method", "arguments", "told"),
    [
        ("get_prompt", ("work-planer", {"message": "hm"}),
         "no prompt 'work-planer'\n  fix: did you mean 'work-planner'?"),
        ("get_prompt", ("work-planner", {}), "needs 'message'"),
        ("get_prompt", ("work-planner", {"message": " "}), "needs 'message'"),
        ("read_resource", ("kds://prompts/work-planer",), "did you mean 'work-planner'?"),
        ("read_resource", ("kds://contexts",), "kds://contexts"),
        ("read_resource", (f"kds://context/{'x' * 129}",), "use the session id of the client"),
        ("read_resource", ("file:///etc/passwd",), "file:///etc/passwd"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_the_fix(
    stdio: Talk, method: str, arguments: tuple[Any, ...], told: str
) -> None:
    with pytest.raises(MCPError) as error:
        stdio.do(method, *arguments)
    assert told in error.value.message
