"""A skill of the project, named beside the prompt it fits, in the real clients."""

import json

import pytest

from .clients import Client
from .conftest import Install

FOLDERS = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "copilot": ".github/skills",
    "gemini": ".gemini/skills",
    "opencode": ".opencode/skills",
}
SKILLS = {
    "release-notes": "Write release notes from merged pull requests. Use when a version is about "
    "to be published.\n---\nList the merged pull requests since the last tag.",
    "database-migration": "Write a migration of the database schema. Use when a table or column "
    "changes.\n---\nWrite an up and a down script.",
}
"""Name -> description and body."""
LINE = 'KDS: the skill "release-notes" fits this'
FITTING, OTHER = "write the release notes for 2.4", "why is the sky blue?"


@pytest.mark.usefixtures("service")
def test_the_fitting_skill_is_named_once_and_known(client: Client, install: Install) -> None:
    folder = client.project / FOLDERS[client.name]
    for name, text in SKILLS.items():
        (folder / name).mkdir(parents=True)
        skill = f"---\nname: {name}\ndescription: {text}\n"
        (folder / name / "SKILL.md").write_text(skill, encoding="utf-8")
    install(client.name)
    client.ask(OTHER)
    client.ask(FITTING, carry_on=True)
    client.ask("now the release notes for 2.5, too", carry_on=True)
    other, fitting, again = client.model.turns[:3]
    assert "KDS: the" not in other.newest
    assert fitting.newest.count(LINE) == 1
    assert LINE not in again.newest
    known = json.dumps(fitting.body).replace(json.dumps(LINE)[1:-1], "")
    assert "release-notes" in known  # the client told the model of it
    assert "Write release notes from merged pull requests" in known
