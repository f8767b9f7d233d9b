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
def test_the_plugin_serves_the_project(client: Client, plugin: Path, run_kds: Run) -> None:
    options = ("--plugin-dir", str(plugin))
    for carry_on, message in enumerate(("I want to add a FAB button", "Make it purple")):
        client.ask(message, *options, carry_on=bool(carry_on))
    _, second = client.model.turns
    assert 'KDS: "it" probably means "the FAB button".' in second.newest
    assert logged_messages(client.project) == ["I want to add a FAB button", "Make it purple"]
    run_kds("route", "I want to add a FAB button")
    asked = ("#file:KDS/prompts/user/kds.md Make it purple", *options)
    client.model.play([Call(MCP_TOOLS[client.name], {"message": "Make it purple"})])
    client.ask(*asked)
    assert not client.model.script, "the client offers no such tool"
    assert "Make the FAB button purple" in client.model.turns[-1].newest
    client.model.play([client.skill(SKILLS[client.name])])
    client.ask(*asked)
    assert opening_sentence(plugin / "skills" / "kds" / "SKILL.md") in client.model.turns[-1].text
