"""What `kds prompts check` warns of."""

import re
from pathlib import Path

import pytest

from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.lint import BEHAVIOUR, lost_behaviour, stray_files
from kds.router.prompts.promptfile import PromptFile

PROMPT = "---\nname: x\ndescription: d\n---\nHello\n"
RULES = "rules:\n  - id: pron.own\n    signal: {kind: pronoun}\n"


def strays(root: Path, place: str, text: str) -> list[tuple[str, str, str]]:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (root / "kds-brain").mkdir(exist_ok=True)
    found = stray_files(Workspace.find(environ={"KDS_HOME": str(root)}))
    return [(one.where.removeprefix(f"{root}/"), one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("place", "text", "hint"),
    [
        ("prompts/x.md", PROMPT, "move it to prompts/user, prompts/internal or prompts/shared"),
        ("prompts/internal/old/x.md", PROMPT, "prompts/internal"),
        ("prompts/Internals/x.md", PROMPT, "did you mean prompts/internal?"),
        ("prompts/x.examples.yaml", "examples: [a]\n", "move it beside its prompt file"),
        (
            "prompts/internal/x.examples.yaml",
            "examples: [a]\n",
            "its prompt file x.md must lie beside it: add it, or remove this",
        ),
        (
            "prompts/internal/x.examples.yml",
            "examples: [a]\n",
            "examples are read from x.examples.yaml, rules from kds-brain/rules/",
        ),
        ("kds-brain/rules/x.yml", RULES, "name it x.yaml"),
        ("rules/x.yaml", RULES, "kds-brain/rules/x.yaml"),
        ("rules/x.yml", RULES, "kds-brain/rules/x.yaml"),
    ],
)
def test_each_is_named_with_the_place_where_it_would_be_read(
    tmp_path: Path, place: str, text: str, hint: str
) -> None:
    found = strays(tmp_path, place, text)
    assert [where for where, _, _ in found] == [f"{place}:1"]
    assert found[0][2].endswith(hint)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("prompts/README.md", "# Our prompts\n"),
        ("prompts/marketing/launch.md", PROMPT),
        ("prompts/internal/x.md", PROMPT),
        ("rules/eslint.yaml", "extends: recommended\n"),
        ("kds-brain/rules/x.yaml", RULES),
    ],
)
def test_what_a_project_keeps_for_itself_is_left_alone(
    tmp_path: Path, place: str, text: str
) -> None:
    assert strays(tmp_path, place, text) == []


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
