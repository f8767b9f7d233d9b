"""The router from Python: open, route, explain, compose; what it leaves, and what it does not."""

from pathlib import Path

import pytest

from kds import Router, StoreError
from kds.api.rehearsal import MinuteClock

FAB = "I want to add a FAB button"


@pytest.fixture
def clock() -> MinuteClock:
    return MinuteClock()


@pytest.fixture
def router(fitted_workspace: Path, clock: MinuteClock) -> Router:
    return Router.open(fitted_workspace, clock=clock)


def _messages(router: Router) -> list[str]:
    return [entry.user_message for entry in router.context.load().entries]


def test_the_second_message_is_understood_through_the_first(
    router: Router, clock: MinuteClock
) -> None:
    first = router.route(FAB)
    clock.tick()
    second = router.route("Make it purple")
    assert (first.intent, first.agent, first.session_id) == (
        "PLAN",
        "work-planner",
        "fab-button-20251103",
    )
    assert second.expanded == "Make the FAB button purple"
    assert (second.intent, second.agent, second.context_ref) == (
        "EXECUTE",
        "code-executor",
        "FAB button",
    )
    assert second.session_id == first.session_id
    for part in ("Make it purple", "Make the FAB button purple", FAB):
        assert part in second.prompt


def test_a_topic_switch_clears_the_context_and_starts_a_session_with_the_next_message(
    router: Router, clock: MinuteClock
) -> None:
    router.route(FAB)
    clock.tick()
    switched = router.route("Actually, let's work on dark mode first")
    assert (switched.intent, switched.context_switch, switched.session_id) == ("PLAN", True, None)
    assert _messages(router) == ["Actually, let's work on dark mode first"]
    clock.tick()
    assert router.route("Add a setting for it").session_id == "dark-mode-20251103"


def test_explaining_leaves_the_context_alone(router: Router) -> None:
    records = router.explain(FAB)
    assert [record.step for record in records] == [
        "load", "resolve", "decide", "expand", "need", "rewrite", "classify", "foreign", "answer",
        "dispatch",
    ]  # fmt: skip
    assert any(record.notes for record in records)
    assert _messages(router) == []


def test_an_invocation_of_an_agents_prompt_forces_that_agent(router: Router) -> None:
    router.route(FAB)
    turn = router.route("#file:KDS/prompts/internal/test-generator.md Make it purple")
    assert (turn.message, turn.intent, turn.action) == ("Make it purple", "TEST", "route")
    assert (turn.agent, turn.expanded) == ("test-generator", "Make the FAB button purple")
    assert turn.confidence == 1.0
    assert turn.prompt.startswith("# Test")
    assert any("names its prompt prompts/internal/test-generator.md" in note for note in turn.why)
    assert _messages(router)[-1] == "Make it purple"


def test_a_context_that_cannot_be_written_is_an_error_not_a_loss(
    router: Router, fitted_workspace: Path
) -> None:
    blocked = fitted_workspace / "kds-brain" / "conversation-context.jsonl"
    blocked.mkdir()
    with pytest.raises(StoreError):
        router.route(FAB)


def test_a_router_is_a_runnable(router: Router) -> None:
    runnable = router.as_runnable()
    assert (runnable | (lambda turn: turn.intent)).invoke(FAB) == "PLAN"
    batch = runnable.batch(["Commit it", "Where was I?"])
    assert [turn.message for turn in batch] == ["Commit it", "Where was I?"]
