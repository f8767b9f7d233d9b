"""What cannot be taken back waits for a yes, in this process or the next."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import kds
from kds.amnesia.backup import list_backups

from ...agents.openai_server import FakeProvider, Text
from .conftest import Open

FAB = "I want to add a FAB button"
COMMIT = "commit this"
AMNESIA = "Forget everything about this application"


pytestmark = pytest.mark.usefixtures("either_engine")
in_files = pytest.mark.parametrize("either_engine", ["files"], indirect=True)
on_server = pytest.mark.parametrize("either_engine", ["server"], indirect=True)


def test_a_commit_asks_first(model: FakeProvider, open_session: Open) -> None:
    session = open_session()
    session.ask(FAB)
    answer = session.ask(COMMIT)
    assert answer.question == answer.text
    assert '"commit this" goes to commit-handler' in answer.text
    assert "Shall it commit or push the work?" in answer.text
    assert (answer.replies, len(model.asked)) == ((), 1)


@pytest.mark.parametrize("yes", ["yes", "Yes, please.", "ok go ahead", "yes, commit it"])
def test_a_yes_does_it_in_another_process(
    yes: str, model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("committed"))
    open_session().ask(COMMIT)
    answer = open_session().ask(yes)
    assert answer.text == "committed"
    assert (answer.turn.message, answer.turn.intent) == (COMMIT, "COMMIT")
    assert model.asked[0].messages[0]["content"].startswith("# Commit handler")
    assert open_session().work.confirm is None


@on_server
def test_a_yes_does_it_on_another_machine_once(
    model: FakeProvider, open_session: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_DATABASE_PROJECT", "shop")
    model.play(Text("committed"))
    open_session().ask(COMMIT)
    with kds.Session.open(tmp_path) as elsewhere:
        answer = elsewhere.ask("yes")
    assert (answer.text, answer.turn.intent) == ("committed", "COMMIT")
    again = open_session().ask("yes")
    assert [reply.agent for reply in again.replies] != ["commit-handler"]


@on_server
def test_a_session_goes_on_while_the_server_is_away(
    model: FakeProvider,
    open_session: Open,
    url: str,
    outage: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KDS_DATABASE", url)
    model.play(Text("planned"), Text("committed"))
    session = open_session()
    assert session.ask(FAB).text == "planned"
    outage(True)
    asked = session.ask(COMMIT)
    assert asked.question is not None
    assert any("the work in progress is what this process knows" in note for note in asked.notes)
    outage(False)
    assert session.ask("yes").text == "committed"
    assert open_session().work.confirm is None


def test_it_is_done_once(model: FakeProvider, open_session: Open) -> None:
    open_session().ask(COMMIT)
    open_session().ask("yes")
    again = open_session().ask("yes")
    assert again.turn.message == "yes"
    assert [reply.agent for reply in again.replies] != ["commit-handler"]


@pytest.mark.parametrize("no", ["no", "No, thanks", "cancel", "don't do it"])
def test_a_no_drops_it_and_is_no_message_of_its_own(
    no: str, model: FakeProvider, open_session: Open
) -> None:
    open_session().ask(COMMIT)
    answer = open_session().ask(no)
    assert answer.text == "commit-handler was not started; nothing has changed."
    assert model.asked == []
    assert open_session().ask("yes").turn.message == "yes"


@pytest.mark.parametrize("other", [FAB, "yes, but leave the tests out", "commit this"])
def test_anything_else_drops_it_and_is_routed(
    other: str, model: FakeProvider, open_session: Open
) -> None:
    open_session().ask(COMMIT)
    answer = open_session().ask(other)
    assert answer.turn.message == other
    assert "not confirmed, so COMMIT was dropped" in answer.notes


def test_a_yes_of_tomorrow_confirms_nothing(model: FakeProvider, open_session: Open) -> None:
    now = datetime.now(UTC)
    open_session(clock=lambda: now).ask(COMMIT)
    later = open_session(clock=lambda: now + timedelta(hours=2, seconds=1)).ask("yes")
    assert later.turn.message == "yes"
    assert "commit-handler" not in [reply.agent for reply in later.replies]


def test_the_yes_is_logged_for_what_it_stands_for(model: FakeProvider, open_session: Open) -> None:
    session = open_session()
    session.ask(FAB)
    session.ask(COMMIT)
    session.ask("yes")
    entries = session.conversations.journal().load().entries
    assert [entry.intent for entry in entries] == ["PLAN", "COMMIT", "COMMIT"]
    assert len({entry.session_id for entry in entries}) == 1


def test_the_rest_of_the_message_comes_after_the_yes(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("12 passed"), Text("committed"))
    first = open_session().ask("Run the tests and then commit this")
    assert [reply.agent for reply in first.replies] == ["test-generator"]
    assert first.text.startswith("12 passed\n\n")
    assert first.question is not None
    second = open_session().ask("yes")
    assert second.text == "committed"


def test_amnesia_says_what_goes_and_what_stays(model: FakeProvider, open_session: Open) -> None:
    session = open_session()
    session.ask(FAB)
    answer = session.ask(AMNESIA)
    assert "- conversation context: 2 messages" in answer.text
    assert "prompts/ and kds-brain/rules/: your prompts and rules" in answer.text
    assert "Shall it forget what was learned?" in answer.text


@in_files
def test_amnesia_forgets_after_a_yes_and_keeps_a_backup(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    session = open_session()
    session.ask(FAB)
    session.ask(AMNESIA)
    answer = session.ask("yes")
    assert "- conversation context: 3 messages" in answer.text
    assert "Nothing of it is left." in answer.text
    assert len(model.asked) == 1  # for the plan: no model is asked to delete
    brain = fitted_workspace / "kds-brain"
    assert not (brain / "memory.db").exists()
    assert not (brain / "conversation-context.jsonl").exists()
    assert len(list_backups(session.workspace)) == 1
    fresh = session.ask("Make it purple")
    assert fresh.turn.context == ()
    assert [one["role"] for one in model.asked[1].messages] == ["system", "user"]


def test_amnesia_without_a_yes_forgets_nothing(open_session: Open, fitted_workspace: Path) -> None:
    session = open_session()
    session.ask(FAB)
    session.ask(AMNESIA)
    session.ask("no")
    assert len(session.conversations.journal().load().entries) == 3
    assert list_backups(session.workspace) == ()


def test_a_question_leaves_no_confirmation_where_nothing_is_kept(
    model: FakeProvider, open_session: Open
) -> None:
    assert open_session(log=False).ask(COMMIT).question is not None
    assert open_session().work.confirm is None
