"""`kds intents lint`, on few prompts with a pair among them that collides."""

import json
import shutil
from pathlib import Path

import pytest

from kds.cli.library.intent_lint import print_findings
from kds.router.prompts import library
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.texts import packaged_root
from kds.testing.prompt_examples import LintFinding

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
    result = kds_call("intents", "lint", "--json")
    report = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    found = {(one["kind"], one["intent"], one["text"]) for one in report["findings"]}
    assert ("same", "SING", "sing the song of the sea") in found
    assert ("same", "HUM", "sing the song of the sea") in found
    assert {intent for kind, intent, _ in found if kind == "silent"} >= {"SING", "HUM"}
    assert sum(report["counts"].values()) == len(report["findings"])
    assert {"kind", "where", "intent", "text", "message"} == set(report["findings"][0])
    assert not list(colliding.glob("kds-brain/*"))


def test_a_person_reads_files_as_the_prompts_list_names_them(
    colliding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = PromptLibrary.load(colliding / "prompts").prompts()
    path = colliding / "prompts" / "internal" / "sea-singer.md"
    finding = LintFinding("same", f"{path}:7", "SING", "sing", "is an example of HUM too")
    print_findings([finding], prompts)
    out = capsys.readouterr().out
    assert out.startswith("same: examples that another intent has too\n")
    assert "prompts/internal/sea-singer.md:7" in out
    assert out.endswith("1 to look at\n")


def test_when_all_is_well_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings([], [])
    assert capsys.readouterr().out == "nothing to look at\n"
