"""A copy of a packaged prompt that has lost what follows from its intent."""

import re
from pathlib import Path

import pytest

from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.lint import BEHAVIOUR, lost_behaviour
from kds.router.prompts.promptfile import PromptFile

SHIPPED = PromptLibrary.load().agents()
WITH = [(agent, key) for agent in SHIPPED for key in BEHAVIOUR if getattr(agent, key)]


def lost(tmp_path: Path, agent: PromptFile, *, key: str, instead: str = "") -> list[str]:
    """What is said of a copy of ``agent`` without ``key``, or with a line ``instead``."""
    folder = tmp_path / "internal"
    folder.mkdir()
    text = agent.path.read_text(encoding="utf-8")
    changed, count = re.subn(rf"^{key}:.*\n(?:(?: |- ).*\n)*", instead, text, flags=re.MULTILINE)
    assert count == 1
    (folder / agent.path.name).write_text(changed, encoding="utf-8")
    found = lost_behaviour(PromptLibrary.load(tmp_path), SHIPPED)
    assert all(one.where.startswith(f"{folder / agent.path.name}:") for one in found)
    assert all(f"copy it from {agent.path}:" in one.hint for one in found)
    return [one.message for one in found]


def test_some_packaged_agent_has_each_of_the_keys() -> None:
    assert {key for _, key in WITH} == {*BEHAVIOUR}


@pytest.mark.parametrize(("agent", "key"), WITH, ids=lambda one: getattr(one, "name", one))
def test_a_copy_without_a_key_says_what_is_lost(
    tmp_path: Path, agent: PromptFile, key: str
) -> None:
    [message] = lost(tmp_path, agent, key=key)
    assert message.startswith(f"has no '{key}', which the packaged {agent.path.name} has: ")
    assert message.endswith(BEHAVIOUR[key])


@pytest.mark.parametrize(
    ("key", "instead"),
    [("starts_session", "starts_session: false\n"), ("context", "context: []\n")],
)
def test_a_copy_that_denies_a_key_means_it(tmp_path: Path, key: str, instead: str) -> None:
    agent = next(agent for agent, has in WITH if has == key)
    assert lost(tmp_path, agent, key=key, instead=instead) == []


def test_packaged_prompts_and_agents_of_new_intents_have_lost_nothing(tmp_path: Path) -> None:
    assert lost_behaviour(PromptLibrary.load(), SHIPPED) == ()
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "waterer.md").write_text(
        "---\nname: waterer\ndescription: Waters.\nintent: WATER\nexamples: [water it]\n---\nGo.\n"
    )
    assert lost_behaviour(PromptLibrary.load(tmp_path), SHIPPED) == ()
