"""Learning from use: what ran after a prompt counts for prompts like it, and can be forgotten."""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kds.activation import Activator
from kds.activation.uses import KEPT, PROMPT_CHARS, Uses, runs_in
from kds.brain.workspace import Workspace

from .conftest import Write

SKILLS = {
    "deploy": "Deploy a branch to staging or production.",
    "release-notes": "Write release notes from merged pull requests.",
    "db-migration": "Write a migration of the database.",
    "load-check": "Run the load test and compare it with the last one.",
}
JARGON = [
    "push it to bert please",
    "bert needs the newest build",
    "get the new build onto bert",
    "bring bert up to date with main",
    "bert is behind, ship main to it",
]


@pytest.fixture
def workspace(project: Path, home: Path, write: Write) -> Workspace:
    for name, description in SKILLS.items():
        write(f".claude/skills/{name}/SKILL.md", description)
    return Workspace.find(project)


def test_what_ran_after_a_prompt_is_found_for_prompts_like_it(workspace: Workspace) -> None:
    activator = Activator.open(workspace)
    before = dict(activator.suggest("please put main onto bert").ranked)
    for prompt in JARGON:
        Uses(workspace).add(prompt, "deploy", "used")
    told = activator.suggest("please put main onto bert")  # the file is followed
    assert told.ranked[0][0] == "deploy"
    assert told.ranked[0][1] > before["deploy"]
    assert told.why["use_nearest"] > 0.5
    for prompt in ("yes", "ok", "yes please", "go ahead", "sure, do it"):  # to some offer
        Uses(workspace).add(prompt, "release-notes", "used")
    assert activator.suggest("yes, go").why["use_said"] < 0.1
    unlearned = Activator.open(workspace, learn=False)
    assert dict(unlearned.suggest("please put main onto bert").ranked) == before


def test_a_name_that_was_ignored_is_less_probable(workspace: Workspace) -> None:
    activator = Activator.open(workspace)
    Uses(workspace).add("push it to bert please", "deploy", "used")
    before = activator.suggest("is the load on bert fine? deploy is done").ranked[0][1]
    Uses(workspace).add("is the load on bert fine? deploy was done", "deploy", "ignored")
    assert activator.suggest("is the load on bert fine? deploy is done").ranked[0][1] < before


def test_uses_are_private_without_secrets_and_of_a_limited_number(workspace: Workspace) -> None:
    uses = Uses(workspace)
    uses.add("deploy with password=hunter2secret9 " + "x" * PROMPT_CHARS, "deploy", "used")
    assert stat.S_IMODE(uses.path.stat().st_mode) == 0o600
    assert "hunter2secret9" not in uses.path.read_text()
    assert len(uses.read()[0].prompt) == PROMPT_CHARS
    line = uses.path.read_text()
    uses.path.write_text("not a line\n" + line * (KEPT + 5))
    uses.add("ship it to bert", "deploy", "used")
    assert [len(uses.read()), uses.read()[-1].prompt] == [KEPT, "ship it to bert"]


def test_what_is_forgotten_is_gone(workspace: Workspace) -> None:
    uses = Uses(workspace)
    uses.add("ship it to bert", "deploy", "used")
    uses.add("what changed?", "release-notes", "used")
    assert uses.forget("deploy") == 1
    assert "bert" not in uses.path.read_text()
    assert uses.forget() == 1
    assert uses.read() == ()


@dataclass
class Line:
    kind: str
    text: str = ""
    tool: str = ""
    arguments: Any = None


def test_what_runs_is_read_in_the_spellings_of_the_clients() -> None:
    session = [
        Line("call", tool="Skill", arguments={"skill": "early"}),
        Line("user", "ship it"),
        Line("call", tool="Bash", arguments={"command": "ls"}),
        Line("call", tool="Skill", arguments={"skill": "deploy"}),
        Line("user", "have it reviewed"),
        Line("call", tool="Task", arguments={"subagent_type": "reviewer", "prompt": "go"}),
        Line("call", tool="task", arguments="damaged"),
    ]
    assert list(runs_in(session)) == [("ship it", "deploy"), ("have it reviewed", "reviewer")]
