"""What cannot be taken back waits for a yes, in this process or the next."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from kds.forget import backups

from ...agents.openai_server import Text
from .conftest import Chat

FAB = "I want to add a FAB button"
COMMIT = "commit this"
AMNESIA = "Forget everything about this application"


pytestmark = pytest.mark.usefixtures("either_engine")
in_files = pytest.mark.parametrize("either_engine", ["files"], indirect=True)
on_server = pytest.mark.parametrize("either_engine", ["server"], indirect=True)


@pytest.mark.parametrize("yes", ["yes", "Yes, please.", "ok go ahead", "yes, commit it"])
def test_a_yes_does_it_in_another_process(chat: Chat, yes: str) -> None:
    chat.model.play(Text("committed"))
    chat.open().ask(COMMIT)
    answer = chat.open().ask(yes)
    assert answer.text == "committed"
    assert (answer.turn.message, answer.turn.intent) == (COMMIT, "COMMIT")
    assert chat.model.asked[0].messages[0]["content"].startswith("# Commit handler")
    assert chat.open().work.confirm is None


@on_server
def test_a_session_goes_on_while_the_server_is_away(
    chat: Chat, url: str, outage: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_DATABASE", url)
    chat.model.play(Text("planned"), Text("committed"))
    session = chat.open()
    assert session.ask(FAB).text == "planned"
    outage(True)
    asked = session.ask(COMMIT)
    assert asked.question is not None
    assert any("the work in progress is what this process knows" in note for note in asked.notes)
    outage(False)
    assert session.ask("yes").text == "committed"
    assert chat.open().work.confirm is None


@pytest.mark.parametrize("no", ["no", "No, thanks", "cancel", "don't do it"])
def test_a_no_drops_it_and_is_not_routed(chat: Chat, no: str) -> None:
    chat.open().ask(COMMIT)
    answer = chat.open().ask(no)
    assert answer.text == "commit-handler was not started; nothing has changed."
    assert chat.model.asked == []
    assert chat.open().ask("yes").turn.message == "yes"


@pytest.mark.parametrize("other", [FAB, "yes, but leave the tests out", "commit this"])
def test_anything_else_drops_it_and_is_routed(chat: Chat, other: str) -> None:
    chat.open().ask(COMMIT)
    answer = chat.open().ask(other)
    assert answer.turn.message == other
    assert "not confirmed, so COMMIT was dropped" in answer.notes


def test_a_yes_of_tomorrow_confirms_nothing(chat: Chat) -> None:
    now = datetime.now(UTC)
    chat.open(clock=lambda: now).ask(COMMIT)
    later = chat.open(clock=lambda: now + timedelta(hours=2, seconds=1)).ask("yes")
    assert later.turn.message == "yes"
    assert "commit-handler" not in [reply.agent for reply in later.replies]


def test_the_rest_of_the_message_comes_after_the_yes(chat: Chat) -> None:
    chat.model.play(Text("12 passed"), Text("committed"))
    first = chat.open().ask("Run the tests and then commit this")
    assert [reply.agent for reply in first.replies] == ["test-generator"]
    assert first.text.startswith("12 passed\n\n")
    assert first.question is not None
    second = chat.open().ask("yes")
    assert second.text == "committed"


@in_files
def test_amnesia_forgets_after_a_yes_and_keeps_a_backup(chat: Chat) -> None:
    session = chat.open()
    session.ask(FAB)
    session.ask(AMNESIA)
    answer = session.ask("yes")
    assert "- conversation context: 1 file" in answer.text
    assert len(chat.model.asked) == 1  # for the plan: no model is asked to delete
    brain = chat.folder / "kds-brain"
    assert not (brain / "memory.db").exists()
    assert not (brain / "conversation-context.jsonl").exists()
    assert len(backups(session.workspace)) == 1
    fresh = session.ask("Make it purple")
    assert fresh.turn.context == ()
    assert [one["role"] for one in chat.model.asked[1].messages] == ["system", "user"]
