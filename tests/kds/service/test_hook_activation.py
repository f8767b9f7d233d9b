"""The hook names the skill that a prompt calls for: once a session, when it is sure."""

import json
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.activation.uses import Uses
from kds.brain.workspace import Workspace
from kds.hooks.call import WORKSPACE_HEADER

from .conftest import routed, running_for_user, socket_client, wait_until

NOTES = (
    "Write release notes from merged pull requests. Use when a version is about to be published."
)
PROMPT = "write the release notes for version 2.4"
LINE = 'KDS: the skill "release-notes" fits this (use it with the Skill tool).'


@pytest.fixture
def root(folder: Path) -> Path:
    """A workspace with a skill for two clients."""
    for place in (".claude/skills", ".codex/skills"):
        path = folder / place / "release-notes/SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: release-notes\ndescription: {NOTES}\n---\nDo it.\n")
    return folder


@pytest.fixture
def client(root: Path) -> Iterator[httpx.Client]:
    with running_for_user(root), socket_client(root) as client:
        sessions = map(str, count())  # the library is read while prompts go on without it
        wait_until(lambda: said(client, PROMPT, session=next(sessions)))
        yield client


def said(client: httpx.Client, prompt: str, session: str = "s", **more: Any) -> str:
    reply = client.post("/hook", json={"session_id": session, "prompt": prompt, **more})
    assert reply.status_code in {200, 204}, reply.text
    return (
        str(reply.json()["hookSpecificOutput"]["additionalContext"])
        if reply.status_code == 200
        else ""
    )


def test_the_skill_is_named_once_a_session(client: httpx.Client) -> None:
    assert said(client, PROMPT) == LINE
    assert said(client, f"{PROMPT}, please") == ""
    assert said(client, PROMPT, session="another") == LINE


def test_the_chat_of_the_editor_is_told_once_a_conversation_and_only_when_it_asks(
    client: httpx.Client,
) -> None:
    turn = partial(routed, client, log=False)
    names = map(str, count())
    found = wait_until(lambda: turn(PROMPT, fits=True, conversation=next(names))["fits"])
    assert found == {"name": "release-notes", "kind": "skill"}
    assert turn(PROMPT, fits=True, conversation="0" * 8)["fits"] == found
    assert turn(PROMPT, fits=True, conversation="0" * 8)["fits"] is None
    assert turn("make the button purple", fits=True)["fits"] is None
    assert "fits" not in turn(PROMPT)
    for path in Path(client.headers[WORKSPACE_HEADER]).glob(".*/skills/*/SKILL.md"):
        path.write_text(path.read_text().replace("name:", "user-invocable: false\nname:"))
    assert turn(PROMPT, fits=True, conversation="1" * 8)["fits"] is None  # no button
    assert said(client, PROMPT, session="model") == LINE


@pytest.mark.parametrize(
    ("prompt", "more"),
    [
        ("don't write the release notes yet", {}),
        ("what does the release-notes skill do?", {}),
        ("make the button purple", {}),
        ("/release-notes 2.4", {}),
        (PROMPT, {"permission_mode": "plan"}),
        (f"{PROMPT}\nTraceback (most recent call last):\n  ValueError: no tag", {}),
    ],
)
def test_nothing_is_named_where_it_is_not_wanted(
    client: httpx.Client, prompt: str, more: dict[str, Any]
) -> None:
    assert said(client, prompt, session=prompt, **more) == ""


def test_what_runs_after_a_prompt_is_learned_and_so_is_a_name_in_vain(
    client: httpx.Client, tmp_path: Path
) -> None:
    session = tmp_path / "session.jsonl"

    def wrote(role: str, *blocks: dict[str, Any]) -> None:
        with session.open("a") as file:
            line = {"type": role, "message": {"role": role, "content": list(blocks)}}
            file.write(json.dumps(line) + "\n")

    uses = Uses(Workspace.find(Path(client.headers[WORKSPACE_HEADER])))

    def learned() -> list[str]:
        return [f"{use.entry} {use.outcome}: {use.prompt}" for use in uses.read()]

    more = {"session": "learning", "transcript_path": str(session)}
    wrote("user", {"type": "text", "text": "tell the world about 2.4"})
    wrote("assistant", {"type": "tool_use", "name": "Skill", "input": {"skill": "release-notes"}})
    wrote("assistant", {"type": "tool_use", "name": "Skill", "input": {"skill": "of-nobody"}})
    assert said(client, PROMPT, **more) == LINE
    used = "release-notes used: tell the world about 2.4"
    wait_until(lambda: learned() == [used])
    wrote("user", {"type": "text", "text": PROMPT})
    wrote("assistant", {"type": "text", "text": "I wrote them by hand."})
    said(client, "thanks", **more)
    wait_until(lambda: learned() == [used, f"release-notes ignored: {PROMPT}"])


def test_a_setting_switches_it_off(root: Path) -> None:
    (root / "kds-brain/settings.yaml").write_text("activation: {enabled: false}\n")
    with running_for_user(root), socket_client(root) as client:
        assert [said(client, PROMPT, session=str(number)) for number in range(3)] == [""] * 3
