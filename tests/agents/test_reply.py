import json
from dataclasses import replace
from datetime import UTC, datetime

from kds.agents import AgentReply, Handoff, ToolUse, Usage
from kds.brain.turn import Turn

TURN = Turn("dark mode", datetime(2025, 11, 3, tzinfo=UTC))
BLANK = AgentReply("work-planner", "PLAN", "", "the prompt", TURN)


def test_a_reply_is_json() -> None:
    reply = AgentReply(
        "work-planner", "PLAN", "Done.", "the prompt", TURN, answered=True, data={"steps": [1]},
        handoffs=(Handoff("EXECUTE", "code-executor", "agreed"),),
        tools=(ToolUse("recall", {"query": "x"}, "nothing"),), usage=Usage(3, 1, 4), model="m",
    )  # fmt: skip
    data = json.loads(json.dumps(reply.as_dict()))
    assert data["handoffs"] == [{"intent": "EXECUTE", "agent": "code-executor", "reason": "agreed"}]
    assert data["tools"][0]["failed"] is False
    assert data["usage"] == {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    assert data["turn"]["message"] == "dark mode"
    assert json.loads(json.dumps(BLANK.as_dict()))["usage"] is None


def test_pieces_add_up_to_the_reply() -> None:
    first = replace(BLANK, text="Do", answered=True, usage=Usage(1, 1, 2), notes=("cut off",))
    whole = first + replace(BLANK, text="ne.", usage=Usage(1, 1, 2), notes=("slow",))
    assert (whole.text, whole.answered) == ("Done.", True)
    assert (whole.usage, whole.notes) == (Usage(2, 2, 4), ("cut off", "slow"))
