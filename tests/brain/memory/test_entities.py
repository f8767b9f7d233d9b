"""Entity memories of a conversation: what it refers to, for as long as it is used."""

import pytest

from kds.brain.memory.entities import REACH_TURNS, EntitySession, snippet
from kds.brain.memory.memory_store import SqliteStore


@pytest.fixture
def session(store: SqliteStore) -> EntitySession:
    return EntitySession(store.entities, "chat")


def terms(session: EntitySession) -> list[str]:
    return [antecedent.term for antecedent in session.antecedents()]


def test_terms_come_back_oldest_first_with_their_answers(session: EntitySession) -> None:
    session.remember_turn(["login form"], answer="Done. The login form has two fields.")
    session.remember_turn(["FAB  button"], answer="It is purple now.")
    first, second = session.antecedents()
    assert (first.term, first.snippet, first.turns_ago) == (
        "login form",
        "The login form has two fields.",
        1,
    )
    assert (second.term, second.snippet, second.turns_ago) == ("FAB button", "It is purple now.", 0)


def test_terms_fade_after_some_turns(session: EntitySession) -> None:
    session.remember_turn(["login form"])
    for _ in range(REACH_TURNS):
        session.remember_turn([])
    assert session.antecedents() == ()


def test_documents_and_sections_stay_until_an_answer_names_others(session: EntitySession) -> None:
    session.remember_turn([], answer="## Setup\nSee `docs/setup.md` and app.py.")
    session.remember_turn([], answer="Yes.")
    memory = session.memory()
    assert memory is not None
    assert (memory.documents, memory.sections) == (("docs/setup.md", "app.py"), ("Setup",))
    assert memory.turn_count == 2
    session.remember_turn([], documents=["a.md"], sections=[])
    memory = session.memory()
    assert memory is not None
    assert (memory.documents, memory.sections) == (("a.md",), ())


def test_a_new_topic_begins_with_nothing(session: EntitySession) -> None:
    session.remember_turn(["login form"])
    session.remember_turn(["dark mode"], fresh=True)
    assert terms(session) == ["dark mode"]
    assert session.forget()
    assert not session.forget()


def test_a_snippet_is_the_beginning_when_no_sentence_names_the_term() -> None:
    assert snippet("login form", "It works. Try it. More.") == "It works. Try it."
    assert snippet("login form", "") == ""
