"""The loop: route, run the agent, remember both sides."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import kds
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.passages.values import Message
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.words.tokens import estimate_tokens
from kds.documents.indexing import add_documents

from ...agents.openai_server import Calls, FakeProvider, Text
from ..conftest import said_in
from .conftest import Open

FAB = "I want to add a FAB button"
PURPLE = "Make it purple"


def remembered(workspace: Path) -> list[Message]:
    """Every message of the memory, in order; none when there is no file."""
    path = workspace / "kds-brain" / "memory.db"
    if not path.exists():
        return []
    with SqliteStore(path) as store:
        return [message for one in store.sessions() for message in store.messages(one.id)]


def test_the_two_line_loop(model: FakeProvider, fitted_workspace: Path) -> None:
    model.play(Text("1. Add the button."), Text("It is purple now."))
    session = kds.Session.open()
    session.ask(FAB)
    answer = session.ask(PURPLE)
    session.close()
    assert answer.text == "It is purple now."
    assert answer.answered
    assert (answer.turn.intent, answer.turn.expanded) == ("EXECUTE", "Make the FAB button purple")
    assert [(one.role, one.content) for one in remembered(fitted_workspace)] == [
        ("user", FAB), ("assistant", "1. Add the button."),
        ("user", PURPLE), ("assistant", "It is purple now."),
    ]  # fmt: skip
    assert said_in(fitted_workspace) == [FAB, PURPLE]


def test_an_agent_sees_its_prompt_what_was_said_before_and_the_message(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("1. Add the button."), Text("done"))
    session = open_session()
    session.ask(FAB)
    answer = session.ask(PURPLE)
    sent = [(one["role"], one["content"]) for one in model.asked[1].messages]
    assert sent[0][0] == "system"
    assert sent[0][1].startswith("# Code executor")
    assert answer.turn.prompt in sent[0][1]
    assert sent[1:] == [
        ("user", FAB),
        ("assistant", "1. Add the button."),
        ("user", "Make the FAB button purple"),
    ]


def test_what_was_said_before_stays_within_its_budget(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(default=Text("the pipeline has a stage for every kind of build " * 30))
    session = open_session()
    for number in range(8):
        session.ask(f"Add the stage number {number} to the release pipeline, please")
    earlier = model.asked[-1].messages[1:-1]
    assert len(earlier) > 2
    assert sum(estimate_tokens(one["content"]) for one in earlier) <= 1_100


def test_without_a_model_the_answer_is_the_prompt(
    open_session: Open, fitted_workspace: Path
) -> None:
    session = open_session()
    answer = session.ask(FAB)
    assert not session.has_model
    assert not answer.answered
    assert answer.text == answer.turn.prompt
    assert answer.text.startswith("# Work planner")
    assert [one.content for one in remembered(fitted_workspace)] == [FAB]


def test_a_stream_yields_the_pieces_and_then_the_answer(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("Here is the plan you asked for."))
    *pieces, answer = open_session().stream(FAB)
    assert isinstance(answer, kds.Answer)
    assert len(pieces) > 3
    assert "".join(map(str, pieces)) == answer.text == "Here is the plan you asked for."
    assert answer.as_dict()["replies"][0]["usage"] == {  # type: ignore[index]  # JSON
        "input_tokens": 12, "output_tokens": 5, "total_tokens": 17,
    }  # fmt: skip


def test_the_message_is_kept_before_anybody_reads_the_stream(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    open_session().stream(FAB)
    assert said_in(fitted_workspace) == [FAB]
    assert [one.content for one in remembered(fitted_workspace)] == [FAB]


def test_the_same_in_an_event_loop(model: FakeProvider, open_session: Open) -> None:
    model.play(Text("a plan"), Text("all of it"))
    session = open_session()

    async def talk() -> tuple[kds.Answer, list[str | kds.Answer]]:
        first = await session.aask(FAB)
        return first, [piece async for piece in session.astream(PURPLE)]

    first, pieces = asyncio.run(talk())
    assert first.text == "a plan"
    assert isinstance(pieces[-1], kds.Answer)
    assert "".join(map(str, pieces[:-1])) == pieces[-1].text == "all of it"


def test_the_memory_can_be_off(
    model: FakeProvider,
    open_session: Open,
    fitted_workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "off")
    session = open_session()
    session.ask(FAB)
    answer = session.ask("hello")
    assert answer.session is None
    assert remembered(fitted_workspace) == []
    assert [one["role"] for one in model.asked[1].messages] == ["system", "user"]
    assert said_in(fitted_workspace) == [FAB, "hello"]


def test_with_the_memory_on_for_routing_too_a_message_is_stored_once(
    model: FakeProvider,
    open_session: Open,
    fitted_workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    open_session().ask(FAB)
    assert [one.role for one in remembered(fitted_workspace)] == ["user", "assistant"]


def test_other_windows_go_on_in_the_same_conversation(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("a plan"))
    first = open_session().ask(FAB)
    second = open_session().ask(PURPLE)
    assert first.session == second.session
    assert "a plan" in model.asked[1].text


def test_two_hours_later_it_is_a_new_conversation(model: FakeProvider, open_session: Open) -> None:
    now = datetime.now(UTC)
    first = open_session(clock=lambda: now).ask(FAB)
    later = open_session(clock=lambda: now + timedelta(hours=2, seconds=1)).ask(PURPLE)
    assert first.session != later.session
    assert [one["role"] for one in model.asked[1].messages] == ["system", "user"]


def test_a_named_conversation_is_one_of_its_own_and_is_resumed(
    model: FakeProvider, open_session: Open
) -> None:
    open_session().ask("I want to add a login form")
    begun = open_session(name="Buttons").ask(FAB)
    resumed = open_session(name="buttons").ask(PURPLE)
    assert begun.session == resumed.session
    assert resumed.turn.expanded == "Make the FAB button purple"
    assert "login" not in model.asked[2].text
    assert open_session(name=begun.session).ask("Add a shadow").session == begun.session
    titles = [one.title for one in open_session().memory.sessions()]
    assert titles == ["Buttons", "I want to add a login form"]


def test_last_names_the_conversation_that_was_changed_last(open_session: Open) -> None:
    with pytest.raises(kds.StoreError, match="no last session"):
        open_session(name="last")
    shared = open_session().ask(FAB)
    answer = open_session(name="last").ask(PURPLE)
    assert answer.session == shared.session
    assert answer.turn.context_ref == "FAB button"  # the very conversation, context and all


def test_an_agent_can_be_named(model: FakeProvider, open_session: Open) -> None:
    session = open_session()
    assert session.ask("Make it purple", agent="PLAN").turn.agent == "work-planner"
    assert session.ask("Make it purple", agent="test-generator").turn.intent == "TEST"
    with pytest.raises(kds.DispatchError, match="no prompt file 'work-planer'"):
        session.ask("Make it purple", agent="work-planer")


def test_small_talk_goes_to_the_model_and_a_question_of_the_router_does_not(
    model: FakeProvider, open_session: Open
) -> None:
    model.play(Text("Hello!"))
    session = open_session()
    assert session.ask("hello").text == "Hello!"
    answer = session.ask("the header")
    if answer.turn.action == "clarify":
        assert answer.text == answer.question == answer.turn.question
        assert len(model.asked) == 1


def test_a_preview_is_what_is_sent_and_leaves_no_trace(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    session = open_session()
    session.ask(FAB)
    before = said_in(fitted_workspace)
    preview = session.preview(PURPLE)
    assert said_in(fitted_workspace) == before
    session.ask(PURPLE)
    sent = [(one["role"], one["content"]) for one in model.asked[1].messages]
    assert [(one.role, one.text) for one in preview.messages] == sent


def test_nothing_is_kept_without_a_log(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    answer = open_session(log=False).ask(FAB)
    assert answer.text == "ok"
    assert said_in(fitted_workspace) == []
    assert remembered(fitted_workspace) == []
    assert not (fitted_workspace / "kds-brain" / "work").exists()


def test_clearing_begins_afresh(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    session = open_session()
    first = session.ask(FAB)
    assert session.clear() == 1
    again = session.ask(PURPLE)
    assert again.turn.context == ()
    assert again.session != first.session
    assert [one["role"] for one in model.asked[1].messages] == ["system", "user"]
    assert len(remembered(fitted_workspace)) == 4


def test_an_empty_message_is_refused(open_session: Open) -> None:
    with pytest.raises(kds.MessageError) as caught:
        open_session().ask("  ")
    assert caught.value.hint == "write what you want"


@pytest.mark.parametrize("message", [None, b"hello", ["hello"], 5, {"message": "hello"}], ids=str)
def test_what_is_no_text_is_refused_with_a_fix(message: Any, open_session: Open) -> None:
    session = open_session()
    for ask in (session.ask, session.stream, session.preview):
        with pytest.raises(kds.MessageError, match="is no message") as caught:
            ask(message)
        assert "pass a text" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("agent", "hint"), [("PLANN", "did you mean PLAN?"), (5, "name an intent")]
)
def test_an_agent_that_is_none_is_refused_with_the_nearest(
    agent: Any, hint: str, open_session: Open
) -> None:
    with pytest.raises(kds.DispatchError) as caught:
        open_session().ask(FAB, agent=agent)
    assert hint in str(caught.value.hint)


def test_the_first_message_of_a_fresh_folder_makes_the_workspace(
    model: FakeProvider, tmp_path: Path
) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    model.play(Text("a plan"))
    with kds.Session.open(folder) as session:
        assert session.halt() is None
        assert session.clear() == 0
        assert list(folder.iterdir()) == []
        assert session.ask(FAB).text == "a plan"
    assert said_in(folder) == [FAB]
    brain = folder / "kds-brain"
    assert brain.stat().st_mode & 0o777 == 0o700
    assert (brain / ".gitignore").read_text().startswith("# Conversations")


def test_without_a_log_a_fresh_folder_stays_as_it_is(model: FakeProvider, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    with kds.Session.open(folder, log=False) as session:
        assert session.ask(FAB).text == "ok"
    assert [one.name for one in folder.rglob("*") if one.name != "kds-brain"] == []


def test_a_slip_in_the_name_of_a_conversation_is_pointed_out(
    model: FakeProvider, open_session: Open
) -> None:
    open_session(name="Bells").ask(FAB)
    assert open_session(name="bells").warnings == ()
    assert open_session(name="Roof").warnings == ()
    (told,) = open_session(name="bels").warnings
    assert told == "'bels' is a new conversation; did you mean 'Bells'?"


def test_a_question_is_answered_from_the_indexed_documents(
    model: FakeProvider, open_session: Open, fitted_workspace: Path
) -> None:
    lease = fitted_workspace / "lease.md"
    lease.write_text("# Lease\n\n## Deposit\n\nThe deposit is three months of rent.\n")
    with DocumentPlace(kds.Workspace.find(fitted_workspace)).open() as store:
        add_documents(store, [lease])
    model.play(
        Calls(("search_documents", {"query": "how high is the deposit"})),
        Text("Three months of rent (Lease, Deposit)."),
    )
    answer = open_session().ask("How high is the deposit?")
    assert answer.turn.intent == "ASK"
    assert {"search_documents", "search_memory"} <= set(model.asked[0].tools)
    assert answer.text == "Three months of rent (Lease, Deposit)."
    (use,) = answer.replies[0].tools
    assert use.result == "[Lease, Deposit] The deposit is three months of rent."
    assert use.result in model.asked[1].text
