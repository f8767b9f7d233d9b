"""Examples of agents: which of them reach their own agent, which collide, which never fire."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern, PromptFile
from kds.testing.prompt_examples import LintFinding, lint_intents

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("fitted_once")

AGENT = """\
---
name: deploy-runner
description: Deploys the current branch to an environment.
intent: DEPLOY
{keys}inputs: [message]
---
{{{{ message }}}}
"""


@pytest.fixture
def deploy(workspace: Path) -> Callable[[str], Path]:
    """Write an agent of the workspace's own, with these keys."""

    def write(keys: str) -> Path:
        path = workspace / "prompts" / "internal" / "deploy-runner.md"
        path.parent.mkdir(parents=True)
        path.write_text(AGENT.format(keys=keys))
        return path

    return write


def _of(told: list[dict[str, Any]], intent: str) -> dict[str, Any]:
    return next(one for one in told if one["intent"] == intent)


def test_every_example_that_ships_reaches_its_own_agent(kds_call: Run, workspace: Path) -> None:
    result = kds_call("prompts", "check", "--json")
    told = json.loads(result.out)["examples"]
    assert [stray for one in told for stray in one["astray"]] == []
    assert sum(one["reached"] for one in told) == sum(one["examples"] for one in told) > 2000
    assert list(workspace.glob("kds-brain/*")) == []


def test_an_agent_of_ones_own_is_counted_by_name(
    kds_call: Run, deploy: Callable[[str], Path]
) -> None:
    deploy("examples: [deploy to staging, 'roll this out, then run the smoke tests']\n")
    result = kds_call("prompts", "check")
    assert result.code == 0
    assert result.out.endswith("deploy-runner: 2 of 2\n")
    assert "astray" not in result.err


def test_an_example_that_an_exact_pattern_takes_away_is_a_warning(
    kds_call: Run, deploy: Callable[[str], Path]
) -> None:
    deploy("patterns:\n  - {literal: run the tests, weight: 0.9, exact: true}\n")
    result = kds_call("prompts", "check")
    assert result.code == 0
    assert "the example 'Run the tests' reaches DEPLOY" in result.err
    assert "fix: leave it to one of TEST and DEPLOY" in result.err
    assert "  test-generator: " in result.out


def test_a_copy_that_starts_no_sessions_any_more_is_a_warning(
    kds_call: Run, workspace: Path
) -> None:
    planner = PromptLibrary.load().agent_of("PLAN")
    path = workspace / "prompts" / "internal" / planner.path.name
    path.parent.mkdir(parents=True)
    text = planner.path.read_text(encoding="utf-8")
    path.write_text(text.replace("starts_session: true\n", ""), encoding="utf-8")
    result = kds_call("prompts", "check")
    assert result.code == 0
    lost = "has no 'starts_session', which the packaged work-planner.md has: it starts no sessions"
    assert lost in result.err
    assert "'starts_session: false' if that is meant" in result.err
    [told] = json.loads(kds_call("prompts", "check", "--json").out)["lost"]
    assert (told["message"], Path(told["where"].rpartition(":")[0])) == (lost, path)


THINGS = ("door", "wall", "roof", "fence", "gate", "floor", "chair", "lamp", "shelf", "bench")


@pytest.fixture(scope="module")
def agents() -> dict[str, PromptFile]:
    """Two agents that paint and sell things, without patterns."""
    found = PromptLibrary.load().agents()
    return {
        intent: replace(
            next(prompt for prompt in found if prompt.intent == intent),
            examples=tuple(f"{verb} the {thing} please" for thing in THINGS),
            patterns=(),
            excludes=(),
        )
        for intent, verb in (("PLAN", "paint"), ("ASK", "sell"))
    }


def pattern(source: str, weight: float = 0.9) -> IntentPattern:
    return IntentPattern(source, Pattern.literal(source, where="x:7"), weight, False, "x:7")


def lint(agents: dict[str, PromptFile], **changed: PromptFile) -> tuple[LintFinding, ...]:
    return lint_intents(tuple((agents | changed).values()))


def test_the_same_example_under_two_intents_is_found_on_both_sides(
    agents: dict[str, PromptFile],
) -> None:
    twice = replace(agents["ASK"], examples=("paint the doors please", *agents["ASK"].examples[1:]))
    found = [one for one in lint(agents, ASK=twice) if one.kind == "same"]
    assert {one.intent for one in found} == {"PLAN", "ASK"}
    assert "work-planner.examples.yaml:" in found[0].where


def test_a_pattern_that_matches_nothing_is_silent(agents: dict[str, PromptFile]) -> None:
    silent = replace(agents["PLAN"], patterns=(pattern("varnish"),))
    (found,) = lint(agents, PLAN=silent)
    assert (found.kind, found.where, found.text) == ("silent", "x:7", "varnish")


def test_a_pattern_that_matches_others_more_than_its_own_is_greedy(
    agents: dict[str, PromptFile],
) -> None:
    greedy = replace(agents["PLAN"], patterns=(pattern("sell"),))
    kinds = {one.kind for one in lint(agents, PLAN=greedy)}
    assert "greedy" in kinds


def test_what_stands_in_files_of_the_users_comes_first(agents: dict[str, PromptFile]) -> None:
    folder = agents["PLAN"].path.parent
    mine = replace(
        agents["PLAN"],
        path=folder / "mine" / "work-planner.md",
        ref="prompts/mine/work-planner.md",
        more=None,
        front=replace(agents["PLAN"].front, path=str(folder / "mine" / "work-planner.md")),
        patterns=(replace(pattern("varnish"), where="prompts/mine/work-planner.md:3"),),
    )
    other = replace(agents["ASK"], patterns=(pattern("auction"),))
    both = (other, replace(mine, examples=(*mine.examples[1:], other.examples[0])))
    usual, first = lint_intents(both), lint_intents(both, own=folder / "mine")
    assert set(usual) == set(first)
    places = ["mine" in one.where for one in first]
    assert places == sorted(places, reverse=True)
    assert {True, False} == {*places}
    assert places != ["mine" in one.where for one in usual]
