from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.brain.context.journal import ContextJournal
from kds.brain.turn import Action, Turn
from kds.router.remembering import make_log

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)

ROUTED = Turn(
    "Make it purple",
    AT,
    expanded="Make the FAB button purple",
    context_ref="FAB button",
    intent="EXECUTE",
    action="route",
    session_id="fab-button-20251103",
)


@pytest.fixture
def journal(tmp_path: Path) -> ContextJournal:
    return ContextJournal(tmp_path / "context.jsonl", clock=lambda: AT)


@pytest.mark.parametrize(("action", "intent"), [("clarify", "PLAN"), ("abstain", "UNKNOWN")])
def test_a_question_back_is_remembered_with_its_intent_and_an_abstention_as_unknown(
    action: Action, intent: str, journal: ContextJournal
) -> None:
    make_log(journal).run(replace(ROUTED, action=action, intent="PLAN"))
    assert journal.load().entries[0].intent == intent


def test_the_eleventh_message_drops_the_first_and_says_so(journal: ContextJournal) -> None:
    log = make_log(journal)
    for number in range(11):
        turn = log.run(replace(ROUTED, message=str(number)))
    assert [entry.user_message for entry in journal.load().entries] == list(map(str, range(1, 11)))
    assert turn.notes[1] == "rotated: 1 oldest dropped"
