"""KDS in the real clients by its skill: its text reaches the model, and its command runs."""

from pathlib import Path

import pytest

from .clients import SHARING, Claude, Client
from .conftest import Install, Run, opening_sentence

ROUTE = "kds route --json 'Make it purple'"


def _skill(project: Path) -> str:
    [skill] = project.glob(".*/skills/kds/SKILL.md")
    return opening_sentence(skill)


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("client", SHARING, indirect=True)
def test_the_skill_tool_hands_over_the_skill_and_its_command_answers(
    client: Client, install: Install, run_kds: Run, executor_sentence: str
) -> None:
    install(client.name, "--skills")
    run_kds("route", "I want to add a FAB button")
    client.model.play([client.skill("kds"), client.shell(ROUTE)])
    client.ask("#file:KDS/prompts/user/kds.md Make it purple")
    asked, taught, told = client.model.turns
    assert _skill(client.project) not in asked.text
    assert _skill(client.project) in taught.text
    assert "Make the FAB button purple" not in taught.text
    assert "Make the FAB button purple" in told.newest
    assert executor_sentence in told.newest


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("client", [Claude.name], indirect=True)
def test_a_slash_command_opens_the_skill_which_may_run_its_command_unasked(
    client: Client, install: Install, run_kds: Run, executor_sentence: str
) -> None:
    install(client.name, "--skills")
    run_kds("route", "I want to add a FAB button")
    client.model.play([client.shell(ROUTE)])
    client.run("-p", "/kds Make it purple")
    taught, told = client.model.turns
    assert _skill(client.project) in taught.text
    assert "Make it purple" in taught.text
    assert "Make the FAB button purple" in told.newest
    assert executor_sentence in told.newest
