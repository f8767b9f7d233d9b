"""Prompts and settings that change under a running service: used if they load, else not."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import ask, running, wait_until

PROMPT = """---
name: tea-maker
description: Makes tea.
intent: TEA
patterns:
  - regex: '\\b(?:brew|make)\\b.*\\btea\\b'
    weight: 0.9
examples: [brew a pot of tea, make some green tea, please make tea for all of us]
inputs: [message]
---
Make the tea: {{ message }}
"""


@pytest.mark.parametrize("whose", ["project", "own"])
def test_a_service_sees_prompts_come_and_go_and_files_break_and_mend(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    monkeypatch.setattr("kds.service.workspaces.RELOAD_LOOK_S", 0.02)
    monkeypatch.setenv("KDS_CONFIG", str(tmp_path / "own.yaml"))
    path = folder / "prompts" / "internal" / "tea-maker.md"
    with running(folder) as service, service.client() as client:

        def listed() -> bool:
            return "tea-maker" in client.get("/prompts").text

        def health() -> Any:
            return client.get("/healthz").json()

        for _ in range(2):
            path.parent.mkdir(parents=True)
            path.write_text(PROMPT)
            wait_until(listed)
            path.write_text(PROMPT.replace("weight: 0.9", "weight: 9"))
            wait_until(lambda: f"{path}:7" in str(health()["workspaces"][0]["problems"]))
            assert not listed()
            shutil.rmtree(folder / "prompts")
            wait_until(lambda: health()["status"] == "ok")
        path = tmp_path / "own.yaml" if whose == "own" else folder / "kds-brain" / "settings.yaml"
        path.write_text("rewriting:\n  mode: model-frist\n")
        found = health()["workspaces"][0]
        assert health()["status"] == "degraded"
        assert [one["where"] for one in found["problems"]] == [f"{path}:2"]
        assert "did you mean 'model-first'?" in found["warnings"][-1]
        assert f"{path}:2" in ask(client, "What is it?", answer=False)["warnings"][0]
        path.write_text("rewriting: {mode: model-first}\n")
        assert health()["status"] == "ok"
        assert ask(client, "What is it?", answer=False)["warnings"] == []
