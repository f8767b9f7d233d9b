from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kds.brain.errors import DispatchError
from kds.brain.turn import UNKNOWN, ContextEntry, IntentScore, Reference, Turn
from kds.router.dispatch import make_dispatch
from kds.router.pipeline import Step
from kds.router.prompts.library import PromptLibrary

NOW = datetime(2025, 11, 3, 12, 0, tzinfo=UTC)

BODY = """\
{{ message }} > {{ expanded }} [{{ intent }} {{ confidence }}] {{ session_id or "no session" }}
{% for entry in context %}
- {{ entry.timestamp }} {{ entry.user_message }} {{ entry.context_ref }}
{% endfor %}
{% for reference in references %}
{{ reference.text }} = {{ reference.target }}
{% endfor %}
{{ context_ref }} {{ context_switch }} {{ secondary_intents|join(" ") }} {{ workspace }}
{{ question }} {{ candidates|join(" ") }} {{ agents|map(attribute="intent")|join(" ") }}
"""
INPUTS = (
    "message, expanded, intent, confidence, session_id, context, references, context_ref, "
    "context_switch, secondary_intents, workspace, question, candidates, agents"
)


@pytest.fixture
def library(tmp_path: Path) -> PromptLibrary:
    (tmp_path / "internal").mkdir()
    for name, intent, extra in (
        ("work-planner", "PLAN", "ask: plan something new\nstarts_session: true\n"),
        ("code-executor", "EXECUTE", "ask: change what is there\n"),
        ("knowledge-retriever", "ASK", ""), ("intent-router", UNKNOWN, "priority: 999\n"),
    ):  # fmt: skip
        front = f"name: {name}\ndescription: d\nintent: {intent}\ninputs: [{INPUTS}]\n{extra}"
        (tmp_path / f"internal/{name}.md").write_text(f"---\n{front}---\n{BODY}")
    return PromptLibrary.load(packaged=tmp_path)


FEATURES = {
    "I want to add a FAB button": "FAB button",
    "Actually, let's work on dark mode first": "dark mode",
}


@pytest.fixture
def step(library: PromptLibrary) -> Step:
    return make_dispatch(library, feature_of=FEATURES.get, workspace="/w")


def turn(message: str, intent: str, confidence: float = 0.9) -> Turn:
    return Turn(message, NOW, expanded=message, intent=intent, confidence=confidence)


def entry(message: str, intent: str, session: str | None, minutes: int = 1) -> ContextEntry:
    return ContextEntry(NOW - timedelta(minutes=minutes), message, intent, session)


FAB = entry("I want to add a FAB button", "PLAN", "fab-button-20251103")
SWITCH = entry("Actually, let's work on dark mode first", "PLAN", None)
YESTERDAY = replace(SWITCH, timestamp=NOW - timedelta(hours=13))


def test_the_agent_gets_original_expanded_and_context(step: Step) -> None:
    it = Reference("it", 5, 7, "FAB button", "pron.it", 0.91)
    given = replace(
        turn("Make it purple", "EXECUTE"), expanded="Make the FAB button purple", context=(FAB,),
        references=(it,), context_ref="FAB button", secondary_intents=("TEST",),
    )  # fmt: skip
    assert step.run(given).prompt == (
        "Make it purple > Make the FAB button purple [EXECUTE 0.9] fab-button-20251103\n"
        "- 2025-11-03T11:59:00Z I want to add a FAB button None\n"
        "it = FAB button\n"
        "FAB button False TEST /w\n"
        "None  EXECUTE ASK PLAN UNKNOWN"
    )


def test_a_plan_that_points_back_inherits_the_session(step: Step) -> None:
    plan = replace(turn("I want to add a FAB button", "PLAN"), context=(FAB,))
    newer = replace(FAB, session_id="toolbar-20251103")
    by_ref = replace(plan, context=(newer,), context_ref="toolbar")
    by_reference = replace(
        plan, context=(newer,), references=(Reference("", 0, 0, "toolbar", "implicit", 0.8),)
    )
    assert step.run(by_ref).session_id == "toolbar-20251103"
    assert step.run(by_reference).session_id == "toolbar-20251103"
    assert step.run(replace(plan, context=(newer,))).session_id == "fab-button-20251103"


def test_a_switch_ends_the_session_and_the_next_message_begins_one(step: Step) -> None:
    for message, intent, context, switch, session in (
        # a plan without a feature goes on with the session
        ("plan it all anew", "PLAN", (FAB,), False, "fab-button-20251103"),
        # a topic switch has none
        ("Actually, let's work on dark mode first", "PLAN", (FAB,), True, None),
        # the message after it begins one, with the date of the switch
        ("use a toggle", "EXECUTE", (FAB, SWITCH), False, "dark-mode-20251103"),
        ("use a toggle", "EXECUTE", (YESTERDAY,), False, "dark-mode-20251102"),
    ):
        given = replace(turn(message, intent), context=context, context_switch=switch)
        assert step.run(given).session_id == session


def test_without_a_context_there_is_no_session(step: Step) -> None:
    done = step.run(turn("continue", "EXECUTE"))
    assert (done.action, done.agent, done.session_id) == ("route", "code-executor", None)
    asked = entry("what is this?", "ASK", None)
    assert step.run(replace(turn("continue", "EXECUTE"), context=(asked,))).session_id is None


def test_a_close_call_becomes_a_question_and_a_lone_candidate_too(step: Step) -> None:
    given = replace(
        turn("do the button", "PLAN", 0.4),
        alternatives=(IntentScore("EXECUTE", 0.35), IntentScore("ASK", 0.2)),
    )
    done = step.run(given)
    assert (done.action, done.intent, done.agent) == ("clarify", "PLAN", "intent-router")
    assert done.candidates == ("PLAN", "EXECUTE", "ASK")
    assert done.question == (
        "Did you mean to plan something new, change what is there, "
        "or have the knowledge retriever take it?"
    )
    assert done.question in done.prompt
    given = replace(turn("x", "PLAN", 0.4), alternatives=(IntentScore(UNKNOWN, 0.38),))
    assert step.run(given).question == "Did you mean to plan something new, or something else?"


def test_what_is_not_understood_goes_to_the_intent_router_and_no_agent_is_an_error(
    step: Step,
) -> None:
    for given in (turn("what's for lunch?", UNKNOWN), turn("hm", "PLAN", 0.1)):
        done = step.run(replace(given, context=(FAB,)))
        assert (done.action, done.agent) == ("abstain", "intent-router")
        assert (done.question, done.candidates) == (None, ())
        assert done.session_id == "fab-button-20251103"
    with pytest.raises(DispatchError, match="no agent for intent DANCE"):
        step.run(turn("dance", "DANCE"))
