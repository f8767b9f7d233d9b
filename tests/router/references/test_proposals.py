"""What the rules propose, before it is decided: follow-ups that the decision leaves as typed."""

from dataclasses import replace
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock, RehearsalJournal
from kds.api.routing import Router
from kds.brain.workspace import Workspace
from kds.testing.dialogues import Dialogue, play, read_dialogues

LEFT_AS_TYPED = read_dialogues(Path(__file__).with_name("left_as_typed.yaml"))


@pytest.mark.parametrize("dialogue", LEFT_AS_TYPED, ids=lambda dialogue: dialogue.id)
def test_the_rules_still_propose_what_the_decision_does_not_write(
    workspace: Path, dialogue: Dialogue
) -> None:
    parts = replace(Parts.load(Workspace.at(workspace)), decider=None)

    def propose(clock: MinuteClock) -> Router:
        return Router(parts, RehearsalJournal(clock=clock), clock=clock)

    assert [row["mismatches"] for row in play(dialogue, propose) if not row["right"]] == []
