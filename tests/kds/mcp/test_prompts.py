"""The agents' prompts as MCP prompts."""

import pytest
from mcp import MCPError

from .conftest import Talk


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


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("work-planer", {"message": "hm"},
         "no prompt 'work-planer'\n  fix: did you mean 'work-planner'?"),
        ("work-planner", {}, "needs 'message'"),
        ("work-planner", {"message": " "}, "needs 'message'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_the_fix(
    stdio: Talk, name: str, arguments: dict[str, str], told: str
) -> None:
    with pytest.raises(MCPError) as error:
        stdio.do("get_prompt", name, arguments)
    assert told in error.value.message
