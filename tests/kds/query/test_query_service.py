"""The query service as a Python API, over real documents and a real memory."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kds.api.rehearsal import MinuteClock
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.workspace import Workspace
from kds.query.service import QueryService
from kds.query.values import Query, QueryReply
from kds.transit.history import Message

from .place import add_documents

ASKED = "What is the Determination Date?"
THEN = "And what happens if it falls on a weekend?"


@pytest.fixture
def clock() -> MinuteClock:
    return MinuteClock()


@pytest.fixture
def service(place: Workspace, clock: MinuteClock) -> Iterator[QueryService]:
    add_documents(place)
    with QueryService.open(place, clock=clock) as service:
        yield service


def talk(service: QueryService, *questions: str, session: str = "s") -> list[QueryReply]:
    return [service.ask(Query(question, session=session)) for question in questions]


def test_a_conversation_finds_the_right_passages_and_a_vague_question_leans_on_the_one_before(
    service: QueryService,
) -> None:
    first, then, who = talk(service, ASKED, THEN, "Who is paid on it?")
    assert "12th day" in first.chunks[0].text
    assert then.rewritten_query == "And what happens if the Determination Date falls on a weekend?"
    assert "next Business Day" in then.chunks[0].text
    assert any("Servicer is paid" in chunk.text for chunk in who.chunks[:3])
    assert [one.session.turn for one in (first, then, who) if one.session] == [1, 2, 3]
    for vague in ("what else?", "anything else?"):
        _, reply = talk(service, "What is a late payment charged?", vague, session=vague)
        assert reply.rewritten_query == vague
        assert "2 percent of the amount" in reply.chunks[0].text


def test_what_is_known_of_a_session_counts_later_and_is_not_known_in_another(
    service: QueryService,
) -> None:
    talk(service, "Tell me about the late fee.")
    context = tuple(Message("user", text) for text in ("Hello there.", "Thanks."))
    reply = service.ask(Query("How much is it?", session="s", context=context))
    assert reply.rewritten_query == "How much is the late fee?"
    assert reply.session is not None
    assert reply.session.hit
    talk(service, ASKED, session="one")
    (reply,) = talk(service, THEN, session="two")
    assert reply.rewritten_query == THEN
    assert reply.session is not None
    assert not reply.session.hit


def test_without_a_model_a_term_keeps_what_the_passage_says_of_it(service: QueryService) -> None:
    talk(service, ASKED)
    known = service.memory.store.entities.load("s")
    assert known is not None
    assert ["12th day" in one.snippet for one in known.recent] == [True]
    talk(service, "Does the Zebra Clause change the Determination Date?", session="two")
    other = service.memory.store.entities.load("two")
    assert other is not None
    assert not any(one.snippet for one in other.recent if one.term == "Zebra Clause")


def test_a_passage_of_a_conversation_names_its_day_session_and_speaker(
    service: QueryService,
) -> None:
    said = service.memory.begin(title="Setting up staging").id
    kept = service.memory.add(said, "user", "Staging uses port 8443.")
    reply = service.ask(Query("Which port does staging use?", scope="memory"))
    assert kept is not None
    day = f"{kept.at:%Y-%m-%d}"
    assert reply.chunks[0].citation == f"{day}, session 'Setting up staging', user"


def test_the_document_that_a_session_is_about_steers_its_searches(service: QueryService) -> None:
    service.memory.begin("baking", document="handbook.md")
    plain = service.ask(Query("What does it cost to be late?", scope="documents"))
    (steered,) = talk(service, "What does it cost to be late?", session="baking")
    assert {chunk.bias for chunk in plain.chunks} == {1.0}
    assert {chunk.document for chunk in steered.chunks if chunk.bias > 1} == {"Bakery Handbook"}


def test_a_session_remembers_what_it_is_about_and_forgets_it_with_the_topic(
    service: QueryService,
) -> None:
    reply = talk(service, ASKED, THEN, "Can a notice be given in writing on a Sunday?")[-1]
    assert reply.session is not None
    assert "Determination Date" in reply.session.memory
    assert {"weekend", "writing", "Sunday"}.isdisjoint(reply.session.memory)
    (reply,) = talk(service, "Actually, let's work on dark mode first")
    assert {chunk.bias for chunk in reply.chunks} <= {1.0}
    assert reply.session is not None
    assert "Determination Date" not in reply.session.memory


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ((ASKED, "What about the Closing Date?", "Which of the two comes first?"),
         {"Determination Date", "Closing Date"}),
        (("Compare the dry run and the full run.", "Which of them costs more?"),
         {"dry run", "full run"}),
        (("Who approves the travel budget?", "And meals or hotels?", "Which two apply abroad?"),
         {"travel budget", "meals", "hotels"}),
        (("How is the API key replaced?", "Does the old one keep up for a weekend?"),
         {"API key", "old API key"}),
    ],
    ids=["two-dates", "two-runs", "a-list", "a-time"],
)  # fmt: skip
def test_terms_that_were_named_together_are_remembered_apart_and_without_their_verb(
    service: QueryService, asked: tuple[str, ...], terms: set[str]
) -> None:
    reply = talk(service, *asked)[-1]
    assert reply.session is not None
    assert set(reply.session.memory) == terms


def test_with_the_session_memory_switched_off_the_messages_still_serve(
    service: QueryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_ENABLE_SESSION_MEMORY", "false")
    reply = talk(service, ASKED, THEN)[1]
    assert "Determination Date" in reply.rewritten_query
    assert reply.session is not None
    assert reply.session.memory == ()


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE of_another_program(x)")
        connection.commit()


@pytest.mark.parametrize("broken", ["memory", "documents"])
def test_a_store_that_cannot_be_used_costs_what_is_in_it_alone(
    place: Workspace, broken: str
) -> None:
    if broken == "memory":
        add_documents(place)
        foreign_database(place.brain / SqliteStore.file_name)
    else:
        place.ensure()
        foreign_database(place.brain / "documents.db")
    with QueryService.open(place) as service:
        reply = service.ask(Query(ASKED, session="s"))
    told = {"memory": "session was not read", "documents": "documents not searched"}[broken]
    assert any(told in warning for warning in reply.warnings)
    assert (reply.session is None) is (broken == "memory")
    assert [True for chunk in reply.chunks[:1] if "12th day" in chunk.text] == [True] * (
        broken == "memory"
    )
