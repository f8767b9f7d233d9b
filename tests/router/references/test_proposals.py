"""What the rules propose, before it is decided: follow-ups that the decision leaves as typed."""

from dataclasses import replace
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock, RehearsalJournal
from kds.api.routing import Router
from kds.brain.workspace import Workspace
from kds.testing.dialogues import Dialogue, read_dialogues
from kds.testing.playing import play

LEFT_AS_TYPED = """\
- id: lease-deposit
  turns:
    - user: How much is the security deposit for a one-bedroom unit?
    - {user: And for a two-bedroom?, expanded: How much is the security deposit for a two-bedroom?}
    - {user: when do i get it back, expanded: when do i get the security deposit back}
    - user: and if the landlord refuses?
      expanded: when do i get the security deposit back if the landlord refuses?
- id: probation
  turns:
    - user: How long is the probation period for engineers?
    - user: and for sales people?
      expanded: How long is the probation period for sales people?
    - {user: same for interns?, expanded: How long is the probation period for interns?}
    - {user: Can it be extended?, expanded: Can the probation period be extended?}
    - {user: "for how long?", expanded: "for how long can the probation period be extended?"}
    - {user: "By whom?", expanded: "By whom can the probation period be extended?"}
- id: sick-note
  turns:
    - user: Do employees need a doctor's note on the first day of sickness?
    - user: And on the third day?
      expanded: Do employees need a doctor's note on the third day of sickness?
    - user: What about part-time employees?
      expanded: Do part-time employees need a doctor's note on the third day of sickness?
    - user: To whom do they send it?
      expanded: To whom do part-time employees send the doctor's note?
- id: at-an-office-and-not-in-it
  turns:
    - user: Where is the records office?
    - user: Can I hand in a form there?
      expanded: Can I hand in a form at the records office?
"""


def _dialogues(folder: Path) -> tuple[Dialogue, ...]:
    path = folder / "left.yaml"
    path.write_text(LEFT_AS_TYPED)
    return read_dialogues(path)


@pytest.mark.parametrize("number", range(4))
def test_the_rules_still_propose_what_the_decision_does_not_write(
    workspace: Path, number: int
) -> None:
    parts = replace(Parts.load(Workspace.at(workspace), may_write=False), decider=None)

    def propose(clock: MinuteClock) -> Router:
        return Router(parts, RehearsalJournal(clock=clock), clock=clock)

    played = play(_dialogues(workspace)[number], propose)
    assert [turn.mismatches for turn in played.turns if turn.mismatches] == []
