from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.brain.context.journal import ContextJournal
from kds.brain.errors import StoreError
from kds.brain.turn import Action, ContextEntry, Turn
from kds.router.log import make_log

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


def test_a_turn_is_remembered_by_its_original_message(journal: ContextJournal) -> None:
    turn = make_log(journal).run(ROUTED)
    assert journal.load().entries == (
        ContextEntry(AT, "Make it purple", "EXECUTE", "fab-button-20251103", "FAB button"),
    )
    assert turn.notes == ("logged as EXECUTE, session fab-button-20251103; 1 entry in the context",)


@pytest.mark.parametrize(("action", "intent"), [("clarify", "PLAN"), ("abstain", "UNKNOWN")])
def test_a_question_back_is_remembered_with_its_intent_and_an_abstention_as_unknown(
    action: Action, intent: str, journal: ContextJournal
) -> None:
    make_log(journal).run(replace(ROUTED, action=action, intent="PLAN"))
    assert journal.load().entries[0].intent == intent


def test_a_topic_switch_starts_the_context_afresh_and_without_a_session(
    journal: ContextJournal,
) -> None:
    log = make_log(journal)
    log.run(ROUTED)
    turn = log.run(replace(ROUTED, message="Actually, dark mode first", context_switch=True))
    (only,) = journal.load().entries
    assert (only.user_message, only.session_id) == ("Actually, dark mode first", None)
    assert turn.notes[1] == "topic switch: the earlier entries were dropped"


def test_the_eleventh_message_drops_the_first_and_says_so(journal: ContextJournal) -> None:
    log = make_log(journal)
    for number in range(11):
        turn = log.run(replace(ROUTED, message=str(number)))
    assert [entry.user_message for entry in journal.load().entries] == list(map(str, range(1, 11)))
    assert turn.notes[1] == "rotated: 1 oldest dropped"


def test_a_context_that_cannot_be_written_is_an_error_not_a_silence(
    journal: ContextJournal,
) -> None:
    journal.text.path.mkdir()
    with pytest.raises(StoreError):
        make_log(journal).run(ROUTED)
