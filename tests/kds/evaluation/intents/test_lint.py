from dataclasses import replace

import pytest

from kds.evaluation.intents.lint import LintFinding, lint_intents
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern, PromptFile

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


def test_tidy_prompts_have_no_findings(agents: dict[str, PromptFile]) -> None:
    tidy = replace(agents["PLAN"], patterns=(pattern("paint"),))
    assert lint(agents, PLAN=tidy) == ()


def test_the_same_example_under_two_intents_is_found_on_both_sides(
    agents: dict[str, PromptFile],
) -> None:
    twice = replace(agents["ASK"], examples=("paint the doors please", *agents["ASK"].examples[1:]))
    found = [one for one in lint(agents, ASK=twice) if one.kind == "same"]
    assert {one.intent for one in found} == {"PLAN", "ASK"}
    assert "work-planner.examples.yaml:" in found[0].where


def test_nearly_the_same_example_under_two_intents_is_found(agents: dict[str, PromptFile]) -> None:
    text = "could you paint the long wooden bench in the garden before the guests arrive"
    plan = replace(agents["PLAN"], examples=(*agents["PLAN"].examples, text + " tonight"))
    ask = replace(agents["ASK"], examples=(*agents["ASK"].examples, text))
    (found,) = [one for one in lint(agents, PLAN=plan, ASK=ask) if one.kind == "near"]
    assert "likeness 0.9" in found.message


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


def test_an_example_that_misleads_is_found(agents: dict[str, PromptFile]) -> None:
    ask = replace(agents["ASK"], examples=tuple(f"where is the {thing}" for thing in THINGS[:4]))
    decoy = "where is where is where is the"
    plan = replace(agents["PLAN"], examples=(*agents["PLAN"].examples, decoy))
    (found,) = [one for one in lint(agents, PLAN=plan, ASK=ask) if one.kind == "harmful-example"]
    assert (found.intent, found.text) == ("PLAN", decoy)
    assert found.message == "without it 4 more unseen examples are read right"


def test_a_pattern_that_misleads_is_found(agents: dict[str, PromptFile]) -> None:
    wrong = replace(agents["PLAN"], patterns=(pattern("sell", 0.99), pattern("paint", 0.99)))
    ask = replace(agents["ASK"], examples=tuple(f"{thing} to sell" for thing in THINGS[:8]))
    kinds = {one.kind for one in lint(agents, PLAN=wrong, ASK=ask) if one.text == "sell"}
    assert "greedy" in kinds


def test_one_intent_alone_cannot_collide(agents: dict[str, PromptFile]) -> None:
    assert lint_intents((agents["PLAN"],)) == ()


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


def test_suspects_of_the_users_are_left_out_before_others_are(
    agents: dict[str, PromptFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.evaluation.intents.lint.MAX_TRIED", 1)
    monkeypatch.setattr("kds.evaluation.intents.lint.LEAST_HARM", -99)
    folder = agents["ASK"].path.parent / "mine"
    wrong = {
        "PLAN": ("sell the door please",),
        "ASK": ("paint the lamp please", "paint the roof please"),
    }
    both = [
        replace(
            agents[intent],
            path=folder / "mine.md" if intent == "ASK" else agents[intent].path,
            front=replace(agents[intent].front, path=str(folder / "mine.md"), data=None)
            if intent == "ASK"
            else agents[intent].front,
            more=None if intent == "ASK" else agents[intent].more,
            examples=(*agents[intent].examples, *wrong[intent]),
        )
        for intent in ("PLAN", "ASK")
    ]
    (tried,) = [one for one in lint_intents(both, own=folder) if one.kind == "harmful-example"]
    assert tried.intent == "ASK"
    (usual,) = [one for one in lint_intents(both) if one.kind == "harmful-example"]
    assert usual.intent == "PLAN"


def test_the_progress_is_told_step_by_step(agents: dict[str, PromptFile]) -> None:
    told: list[tuple[str, int, int]] = []
    lint_intents(tuple(agents.values()), progress=lambda *step: told.append(step))
    assert told[0] == ("reading the examples", 0, 20)
    assert ("trying the patterns", 0, 20) in told
    assert all(0 <= done < total for _, done, total in told)
