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
patterns:
  - {{literal: zyzzyva, weight: 0.5}}
examples: [sing the song of the sea, {example}]
inputs: [message]
---
{{{{ message }}}}
"""


@pytest.fixture
def colliding(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two agents that share an example and have a pattern that never fires.

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


def test_what_collides_or_never_fires_is_named(colliding: Path, kds_call: Run) -> None:
    result = kds_call("prompts", "check", "--lint", "--json")
    linted = json.loads(result.out)["lint"]
    assert (result.code, result.err) == (0, "")
    found = {(one["kind"], one["intent"], one["text"]) for one in linted}
    assert ("same", "SING", "sing the song of the sea") in found
    assert ("same", "HUM", "sing the song of the sea") in found
    assert {intent for kind, intent, _ in found if kind == "silent"} >= {"SING", "HUM"}
    assert {"kind", "where", "intent", "text", "message"} == set(linted[0])
    assert not list(colliding.glob("kds-brain/*"))
    shown = kds_call("intents", "lint").out
    assert "same: examples that another intent has too\n" in shown
    assert "prompts/internal/sea-singer.md:7" in shown
    assert "lint" not in json.loads(kds_call("prompts", "check", "--json").out)
