"""Entity memories of a conversation: what it refers to, for as long as it is used."""

import pytest

from kds.brain.memory.entities import REACH_TURNS, EntityMemory, EntityTable
from kds.brain.memory.memory_store import SqliteStore


def known_of(entities: EntityTable) -> EntityMemory:
    known = entities.load("chat")
    assert known is not None
    return known


def terms(entities: EntityTable) -> list[str]:
    return [one.term for one in known_of(entities).recent]


@pytest.fixture
def entities(store: SqliteStore) -> EntityTable:
    return store.entities


def test_terms_fade_after_some_turns(entities: EntityTable) -> None:
    entities.remember_turn("chat", ["login form"])
    for _ in range(REACH_TURNS):
        entities.remember_turn("chat", [])
    assert terms(entities) == []


def test_documents_and_sections_stay_until_an_answer_names_others(entities: EntityTable) -> None:
    entities.remember_turn("chat", [], answer="## Setup\nSee `docs/setup.md` and app.py.")
    entities.remember_turn("chat", [], answer="Yes.")
    known = known_of(entities)
    assert (known.documents, known.sections) == (("docs/setup.md", "app.py"), ("Setup",))
    assert known.turn_count == 2
    entities.remember_turn("chat", [], documents=["a.md"], sections=[])
    known = known_of(entities)
    assert (known.documents, known.sections) == (("a.md",), ())


def test_a_new_topic_begins_with_nothing(entities: EntityTable) -> None:
    entities.remember_turn("chat", ["login form"])
    entities.remember_turn("chat", ["dark mode"], fresh=True)
    assert terms(entities) == ["dark mode"]
    assert entities.forget("chat")
    assert not entities.forget("chat")
