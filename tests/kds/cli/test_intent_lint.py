"""`kds prompts check --lint`, on few prompts with a pair among them that collides."""

import json
import shutil
from pathlib import Path

import pytest

from kds.router.prompts import library
from kds.router.prompts.library import packaged_root

from ..conftest import Run

PROMPT = """---
name: {name}
description: Does {intent}.
intent: {intent}
examples: [sing the song of the sea, {example}]
inputs: [message]
---
{{{{ message }}}}
"""


@pytest.fixture
def colliding(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two agents that share an example.

    Of the packaged agents there is one: all of them together are a hundred fits.
    """
    packaged = tmp_path / "packaged"
    shutil.copytree(packaged_root() / "shared", packaged / "shared")
    (packaged / "internal").mkdir()
    shutil.copy(packaged_root() / "internal" / "brain-amnesia.md", packaged / "internal")
    monkeypatch.setattr(library, "packaged_root", lambda: packaged)
    folder = workspace / "prompts" / "internal"
    folder.mkdir(parents=True)
    for name, intent in (("sea-singer", "SING"), ("sea-hummer", "HUM")):
        (folder / f"{name}.md").write_text(
            PROMPT.format(name=name, intent=intent, example=f"{intent.lower()} for me")
        )
    return workspace


def test_an_example_of_two_agents_is_named(colliding: Path, kds_call: Run) -> None:
    result = kds_call("prompts", "check", "--lint", "--json")
    linted = json.loads(result.out)["lint"]
    assert (result.code, result.err) == (0, "")
    found = {(one["intent"], one["text"], *one["others"]) for one in linted}
    assert found == {
        ("SING", "sing the song of the sea", "HUM"), ("HUM", "sing the song of the sea", "SING"),
    }  # fmt: skip
    assert not list(colliding.glob("kds-brain/*"))
    assert "prompts/internal/sea-singer.md:5" in kds_call("intents", "lint").out
    assert "lint" not in json.loads(kds_call("prompts", "check", "--json").out)
