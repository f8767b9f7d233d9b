from pathlib import Path

import kds
from kds.brain.turn import NOT_ENGLISH, from_wire, to_wire


def test_a_foreign_message_is_its_own_prompt_unless_it_names_its_agent(workspace: Path) -> None:
    router = kds.Router.open(workspace)
    turn = router.route("Füge bitte einen Button hinzu")
    assert (turn.action, turn.agent, turn.prompt) == ("abstain", None, turn.message)
    assert turn.as_dict()["notice"] == NOT_ENGLISH
    assert from_wire(to_wire(turn)).english is False
    assert router.route("Make it purple").expanded == "Make it purple"
    turn = router.route("#file:KDS/prompts/internal/work-planner.md mach das bitte")
    assert (turn.action, turn.intent, turn.english) == ("route", "PLAN", True)
