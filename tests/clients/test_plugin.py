"""KDS in the real clients as a plugin, made by `kds export plugin`; no file in the project."""

from pathlib import Path

import pytest

from .clients import SHARING, Client
from .conftest import Run, logged_messages, opening_sentence
from .dialects import Call

MCP_TOOLS = {"claude": "mcp__plugin_kds_kds__route_message", "copilot": "kds-route_message"}
SKILLS = {"claude": "kds:kds", "copilot": "kds"}


@pytest.fixture
def plugin(run_kds: Run, tmp_path: Path) -> Path:
    """The plugin in a folder outside the project."""
    folder = tmp_path / "plugin"
    run_kds("export", "plugin", "--to", str(folder))
    return folder


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("client", SHARING, indirect=True)
def test_the_hook_of_the_plugin_hints_at_what_the_second_message_means(
    client: Client, plugin: Path
) -> None:
    for carry_on, message in enumerate(("I want to add a FAB button", "Make it purple")):
        client.ask(message, "--plugin-dir", str(plugin), carry_on=bool(carry_on))
    _, second = client.model.turns
    assert 'KDS: "it" probably means "the FAB button".' in second.newest
    assert logged_messages(client.project) == ["I want to add a FAB button", "Make it purple"]


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("client", SHARING, indirect=True)
def test_the_mcp_server_of_the_plugin_serves_the_project_the_client_is_in(
    client: Client, plugin: Path, run_kds: Run
) -> None:
    run_kds("route", "I want to add a FAB button")
    client.model.play([Call(MCP_TOOLS[client.name], {"message": "Make it purple"})])
    client.ask("#file:KDS/prompts/user/kds.md Make it purple", "--plugin-dir", str(plugin))
    assert not client.model.script, "the client offers no such tool"
    assert "Make the FAB button purple" in client.model.turns[-1].newest


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("client", SHARING, indirect=True)
def test_the_skills_of_the_plugin_are_there(client: Client, plugin: Path) -> None:
    client.model.play([client.skill(SKILLS[client.name])])
    client.ask("#file:KDS/prompts/user/kds.md Make it purple", "--plugin-dir", str(plugin))
    assert opening_sentence(plugin / "skills" / "kds" / "SKILL.md") in client.model.turns[-1].text
