"""Examples of agents: which of them reach their own agent, which collide, which never fire."""

import json
from pathlib import Path

from ..conftest import Run

AGENT = """\
---
name: {name}
description: Does {intent}.
intent: {intent}
{keys}
inputs: [message]
---
{{{{ message }}}}
"""


def write(workspace: Path, name: str, intent: str, keys: str) -> None:
    """Write an agent of the workspace's own, with these keys."""
    path = workspace / "prompts" / "internal" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AGENT.format(name=name, intent=intent, keys=keys))


def test_every_example_that_ships_reaches_its_own_agent(kds_call: Run, workspace: Path) -> None:
    result = kds_call("prompts", "check", "--json")
    told = json.loads(result.out)["examples"]
    assert [stray for one in told for stray in one["astray"]] == []
    assert sum(one["reached"] for one in told) == sum(one["examples"] for one in told) > 2000
    assert list(workspace.glob("kds-brain/*")) == []


def test_an_agent_of_ones_own_is_counted_and_a_pattern_that_takes_an_example_away_is_a_warning(
    kds_call: Run, workspace: Path
) -> None:
    keys = "examples: [deploy to staging, 'roll this out, then run the smoke tests']"
    write(workspace, "deploy-runner", "DEPLOY", keys)
    result = kds_call("prompts", "check")
    assert result.code == 0
    assert result.out.endswith("deploy-runner: 2 of 2\n")
    assert "astray" not in result.err
    keys = "patterns:\n  - {literal: run the tests, weight: 0.9, exact: true}"
    write(workspace, "deploy-runner", "DEPLOY", keys)
    result = kds_call("prompts", "check")
    assert result.code == 0
    assert "the example 'Run the tests' reaches DEPLOY" in result.err
    assert "fix: leave it to one of TEST and DEPLOY" in result.err
    assert "  test-generator: " in result.out
