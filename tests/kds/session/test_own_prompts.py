"""Prompt files of a project: agents that hand on, and that ask first."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kds
from kds.brain.clock import utc_now
from kds.forget import backups

from ...agents.openai_server import FakeProvider, Text

PROMPT = """---
name: {name}
description: Does a thing of the project.
intent: {intent}
{more}
inputs: [message]
examples: [{example}]
---
{{{{ message }}}}
"""

OWN = (
    ("ping", "PING", "handoffs: [PONG]", "ping the relay station"),
    ("pong", "PONG", "handoffs: [PING]", "pong the relay station"),
    ("deployer", "DEPLOY", "confirm: true\nask: deploy to production", "ship it to production"),
    ("brain-amnesia", "AMNESIA", "confirm: false", "forget everything"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with prompt files of its own, and a model fitted for them."""
    root = tmp_path_factory.mktemp("project")
    folder = root / "prompts" / "internal"
    folder.mkdir(parents=True)
    for name, intent, more, example in OWN:
        text = PROMPT.format(name=name, intent=intent, more=more, example=example)
        (folder / f"{name}.md").write_text(text)
    kds.Router.open(root).rehearse(utc_now).route("ping")
    return root


@pytest.fixture
def session(project: Path, workspace: Path, model: FakeProvider) -> Iterator[kds.Session]:
    shutil.copytree(project, workspace, dirs_exist_ok=True)
    with kds.Session.open(workspace) as opened:
        yield opened


def test_a_chain_never_goes_in_a_circle(session: kds.Session) -> None:
    assert [one.intent for one in session.ask("please", agent="ping").handoffs] == ["PONG"]
    session.ask("go ahead")
    assert session.work.chain == ("PING", "PONG")
    with pytest.raises(kds.DispatchError, match="nobody has offered"):
        session.begin_hand_over()


def test_any_prompt_file_can_ask_first(session: kds.Session, model: FakeProvider) -> None:
    model.play(Text("shipped"))
    answer = session.ask("ship it", agent="deployer")
    assert "Shall it deploy to production?" in answer.text
    assert session.ask("yes").text == "shipped"


def test_a_project_cannot_take_the_question_away(session: kds.Session) -> None:
    assert session.ask("all of it", agent="AMNESIA").question is not None
    assert backups(session.workspace) == ()
