"""KDS in the real clients by its MCP server, which the files of `kds init` name."""

import pytest

from .clients import Client
from .conftest import Install
from .dialects import Call

ENTRANCE = "#file:KDS/prompts/user/kds.md"
"""In front of a message it asks the assistant to go to KDS itself: the hook leaves it alone."""


@pytest.mark.parametrize("with_service", [True, False], ids=["service", "alone"])
def test_the_tool_answers_the_model_with_the_expanded_message_and_the_prompt(
    request: pytest.FixtureRequest,
    client: Client,
    install: Install,
    executor_sentence: str,
    with_service: bool,
) -> None:
    if with_service:
        request.getfixturevalue("service")
    install(client.name, "--mcp")
    for message in ("I want to add a FAB button", "Make it purple"):
        client.model.play([Call(client.mcp_tool, {"message": message})])
        client.ask(f"{ENTRANCE} {message}")
    assert not client.model.script, f"the client offers no {client.mcp_tool}"
    asked, told = client.model.turns
    assert "Make the FAB button purple" not in asked.text
    assert "Make the FAB button purple" in told.newest
    assert executor_sentence in told.newest
