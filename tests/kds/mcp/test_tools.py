"""The tools over stdio: a real `kds mcp` process and the client of the `mcp` package."""

from typing import Any

import pytest

from .conftest import Talk


def test_a_follow_up_is_routed_with_its_reference_filled_in(stdio: Talk) -> None:
    stdio.data("route_message", message="I want to add a FAB button", conversation="fab")
    routed = stdio.data("route_message", message="Make it purple", conversation="fab")
    assert routed["expanded"] == "Make the FAB button purple"
    assert (routed["action"], routed["intent"]) == ("route", "EXECUTE")
    assert routed["agent"] == "code-executor"
    assert "Make the FAB button purple" in routed["prompt"]
    assert "Make the FAB button purple" in routed["next_step"]
    assert routed["references"][0]["target"] == "FAB button"


def test_the_workspace_has_one_conversation_and_named_ones_are_apart(stdio: Talk) -> None:
    stdio.data("context_clear")
    stdio.data("route_message", message="I want to add a search box")
    apart = stdio.data("route_message", message="Make it purple", conversation="another")
    assert apart["expanded"] == "Make it purple"
    shared = stdio.data("route_message", message="Make it purple", conversation=None)
    assert shared["expanded"] == "Make the search box purple"
    assert stdio.data("context_clear") == {"conversation": None, "cleared": 2}


def test_references_are_resolved_and_nothing_is_remembered(stdio: Talk) -> None:
    stdio.data("route_message", message="I want to add a FAB button", conversation="refs")
    found = stdio.data("resolve_references", message="Make it purple", conversation="refs")
    assert found["expanded"] == "Make the FAB button purple"
    assert found["context_ref"] == "FAB button"
    assert found["context_switch"] is False
    assert "prompt" not in found
    assert len(stdio.data("context_load", conversation="refs")["entries"]) == 1


LONG = "x" * 129
INVOKED = "#file:KDS/prompts/internal/work-planer.md go"
MEANT = "did you mean 'prompts/internal/work-planner.md'?"


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong", "fix"),
    [
        ("route_message", {"message": "  "}, "the message is empty", "write what you want"),
        ("route_message", {"message": "x" * 100_001}, "100,001 characters", "without the files"),
        ("route_message", {"message": INVOKED}, "no prompt file", MEANT),
        ("context_load", {"conversation": LONG}, "1 to 128", "use the session id of the client"),
        ("route_message", {"message": "hm", "conversation": " "}, "1 to 128 characters", "use"),
        ("route_message", {"message": "hm", "conversation": LONG}, "1 to 128 characters", "use"),
        ("route_mesage", {"message": "hm"}, "route_mesage", ""),
        ("route_message", {}, "Field required", ""),
        ("route_message", {"message": 5}, "valid string", ""),
        ("resolve_references", {"message": "hm", "conv": "a"}, "no argument 'conv'", "message, "),
        ("context_clear", {"all": "yes"}, "no argument 'all'", "use conversation"),
        ("memory_search", {"query": "  "}, "the query is empty", ""),
        ("memory_search", {"query": "bus", "limit": 0}, "greater than or equal to 1", ""),
    ],
)
def test_what_goes_wrong_is_a_tool_error_with_the_fix(
    stdio: Talk, tool: str, arguments: dict[str, Any], wrong: str, fix: str
) -> None:
    result = stdio.call(tool, **arguments)
    [block] = result.content
    assert result.is_error
    assert result.structured_content is None
    assert wrong in block.text
    assert fix in block.text
    assert "Traceback" not in block.text


def test_every_tool_says_what_it_is_and_what_it_returns(stdio: Talk) -> None:
    tools = {tool.name: tool for tool in stdio.do("list_tools").tools}
    assert set(tools) == {
        "route_message", "resolve_references", "context_load", "context_clear",
        "memory_search", "recall", "recall_session",
    }  # fmt: skip
    for tool in tools.values():
        assert tool.title
        assert tool.description
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {
        "resolve_references", "context_load", "memory_search", "recall", "recall_session",
    }  # fmt: skip
    assert tools["context_clear"].annotations.destructive_hint is True
    assert tools["route_message"].input_schema["required"] == ["message"]


def test_what_is_not_clear_comes_back_as_a_question_and_another_language_is_left_to_the_assistant(
    stdio: Talk,
) -> None:
    routed = stdio.data("route_message", message="Mach es bitte lila", conversation="german")
    assert (routed["action"], routed["expanded"]) == ("abstain", "Mach es bitte lila")
    assert routed["notice"].startswith("KDS reads English only")
    assert routed["next_step"].startswith(routed["notice"])
    asked = stdio.data("route_message", message="header", conversation="asked")
    assert (asked["action"], bool(asked["question"])) == ("clarify", True)
    assert "then call route_message with the answer" in asked["next_step"]
    later = stdio.data("route_message", message="the first one", conversation="asked")
    assert (later["action"], later["intent"]) == ("route", asked["candidates"][0])
