from datetime import UTC, datetime
from pathlib import Path

import kds
from kds.brain.turn import (
    NOT_ENGLISH,
    Edit,
    IntentScore,
    Reference,
    Turn,
    from_wire,
    to_wire,
)
from kds.router.understanding import leave_foreign

AT = datetime(2025, 11, 3, 12, 0, tzinfo=UTC)


def read(message: str, confidence: float = 0.9) -> Turn:
    reference = Reference("es", 5, 7, "FAB button", "pron.it", 0.9)
    turn = Turn(
        message, AT, references=(reference,), edits=(Edit(5, 7, "the FAB button"),),
        expanded="something else", context_ref="FAB button", intent="TEST",
        confidence=confidence, alternatives=(IntentScore("ASK", 0.2),),
        secondary_intents=("COMMIT",),
    )  # fmt: skip
    return leave_foreign(turn)


def test_a_foreign_message_is_its_own_prompt_and_nothing_later_refers_to_it(
    workspace: Path,
) -> None:
    router = kds.Router.open(workspace)
    turn = router.route("Füge bitte einen Button hinzu")
    assert (turn.action, turn.agent, turn.prompt) == ("abstain", None, turn.message)
    assert turn.as_dict()["notice"] == NOT_ENGLISH
    assert from_wire(to_wire(turn)).english is False
    assert router.route("Make it purple").expanded == "Make it purple"


def test_a_foreign_message_that_names_its_agent_goes_there(workspace: Path) -> None:
    router = kds.Router.open(workspace)
    turn = router.route("#file:KDS/prompts/internal/work-planner.md mach das bitte")
    assert (turn.action, turn.intent, turn.english) == ("route", "PLAN", True)
