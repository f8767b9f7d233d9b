"""A workspace with mistakes: the service goes on without them, an editor is told where they are."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kds.brain.workspace import Workspace
from kds.router.prompts.library import packaged_root
from kds.testing.findings import Finding, check

from .conftest import routed, run_hook, running_for_user, socket_client

RULE = """\
rules:
  - id: my.place
    description: d
    signal: {kind: pattern, cues: ['\\bthe usual place\\b']}
    render: {text: the place of this project}
    tests:
      - {in: Open the usual place, out: Open the place of this project}
      - {in: Open the settings page, out: unchanged}
"""
PROMPT = """\
---
name: mine
description: Mine.
intent: MINE
inputs: [message]
---
# Mine 😀 {{ message }}
"""
DIALOGUE = "- id: fab\n  turns:\n    - user: 😀 I want tea\n      intent: PLAN\n"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    for folder in ("kds-brain/rules", "kds-brain/english", "prompts/internal", "prompts/user"):
        (tmp_path / folder).mkdir(parents=True)
    return Workspace.find(environ={"KDS_HOME": str(tmp_path)})


def found(place: Workspace, name: str, text: str) -> list[Finding]:
    """What is wrong when a file that is in order is being edited."""
    path = place.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return [one for one in check(place, {path: text}).problems if one.path == name]


@pytest.mark.parametrize(
    ("name", "text", "wrong", "code", "instead"),
    [
        ("kds-brain/rules/mine.yaml", RULE.replace("description", "descripton"),
         "descripton", "unknown-key", "description"),
        ("kds-brain/rules/mine.yaml", RULE.replace("out: Open the place of", "out: Start"),
         "Start this project", "fails", None),
        ("kds-brain/rules/mine.yaml", "rules: [\n", "rules: [", "is-not-yaml", None),
        ("kds-brain/english/people.yaml", "peple: x\n", "peple", "there-is-no-list", None),
        ("kds-brain/settings.yaml", "memry: {}\n", "memry", "unknown-key", "memory"),
        ("prompts/internal/mine.md", PROMPT.replace("name: mine", "name: other"),
         "other", "name-is-not-the-file", "mine"),
        ("prompts/internal/mine.md", PROMPT.replace("😀 {{ message", "😀 {{ mesage"),
         "mesage", "uses", "message"),
        ("prompts/internal/mine.md", PROMPT.replace("MINE", "MINE\nhandoffs: [PLAM]"),
         "PLAM", "hands-off-to-unknown-intent", "PLAN"),
        ("prompts/internal/mine.md", "a stranger's notes", "a stranger's notes",
         "has-no-front-matter", None),
        ("dialogues/fab.yaml", DIALOGUE.replace("PLAN", "PLAM"), "PLAM", "unknown-intent", "PLAN"),
        ("dialogues/fab.yaml", DIALOGUE + DIALOGUE, "fab", "id-is-already-used-at", None),
    ],
)  # fmt: skip
def test_a_text_that_is_not_saved_is_told_what_is_wrong_to_the_word(
    place: Workspace, name: str, text: str, wrong: str, code: str, instead: str | None
) -> None:
    one = next(one for one in found(place, name, text) if one.code == code)
    line = text.split("\n")[one.line].encode("utf-16-le")
    assert line[2 * one.start : 2 * one.end].decode("utf-16-le") == wrong
    assert (one.replacement, one.severity) == (
        instead, "warning" if code == "has-no-front-matter" else "error",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kds-brain/rules/mine.yaml", RULE),
        ("prompts/internal/mine.md", PROMPT),
        ("prompts/notes/deep/ours.md", "# Notes"),
        ("dialogues/fab.yaml", DIALOGUE),
    ],
)
def test_a_text_that_is_in_order_has_nothing_to_tell(
    place: Workspace, name: str, text: str
) -> None:
    assert found(place, name, text) == []


BROKEN = [
    ("kds-brain/rules/mine.yaml", "rules: [{id: x}]\n"),
    ("kds-brain/rules/pronouns.yaml", "rules: 3\n"),
    ("kds-brain/english/people.yaml", "peple: x\n"),
    ("kds-brain/settings.yaml", "memry: {}\n"),
    ("prompts/user/mine.md", "---\nnme: mine\n---\n"),
    ("prompts/internal/work-planner.md", "notes"),
    ("prompts/internal/work-planner.examples.yaml", "examples: 3\n"),
    ("prompts/internal/mine.md", "---\n\ud800"),
]


def test_a_mistake_in_one_file_is_told_and_the_service_answers(
    new_workspace: Callable[[], Path],
) -> None:
    said = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Make it purple"}
    shipped = (packaged_root() / "internal" / "work-planner.md").read_text()
    with running_for_user(new_workspace()):
        for name, text in BROKEN:
            folder = new_workspace()
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("examples.yaml"):
                path.with_name("work-planner.md").write_text(shipped)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            with socket_client(folder) as client:
                planned = routed(client, "I want to add a FAB button", conversation="s")
            assert (planned["intent"], planned["agent"]) == ("PLAN", "work-planner")
            wrong = {one["where"].rpartition(":")[0] for one in planned["problems"]}
            assert wrong == {str(path)}
            assert "FAB button" in str(run_hook(folder, **said))


def test_an_editor_asks_the_service_which_keeps_nothing(client: httpx.Client) -> None:
    texts = {"kds-brain/settings.yaml": "memry: {}\n", "dialogues/fab.yaml": DIALOGUE}
    reply = client.post("/check", json={"texts": texts, "full": True}).json()
    assert reply["dialogues"] == [["dialogues/fab.yaml", "fab", 0]]
    client.post("/check", json={"texts": {"a\0b": "", "../../etc/x.yaml": "- 3"}})
    assert client.get("/context").json()["entries"] == []
