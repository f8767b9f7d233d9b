import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.passages.question import MANY_TERMS, read_question


@pytest.mark.parametrize("text", ["getUserName", "get_user_name", "where is get_user_name()?"])
def test_every_spelling_of_a_name_asks_for_the_joined_one(text: str) -> None:
    question = read_question(text)
    assert "getusername" in [term.word for term in question.terms]
    assert question.asks_for_code


def test_a_few_words_may_be_a_name() -> None:
    question = read_question("get user name")
    assert question.identifiers == ("get_user_name",)
    assert not question.asks_for_code


def test_a_sentence_is_not_a_name() -> None:
    assert read_question("tell me how staging gets its port number").identifiers == ()


@pytest.mark.parametrize("text", ["When did we deploy?", "Which day was it?", "And when again?"])
def test_a_question_for_a_time_is_noticed(text: str) -> None:
    assert read_question(text).asks_when


@pytest.mark.parametrize("text", ["Stop when it fails", "What does the timer do?"])
def test_not_every_when_asks_for_a_time(text: str) -> None:
    assert not read_question(text).asks_when


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    question = read_question(text)
    assert len(question.terms) <= MANY_TERMS
    assert len({term.word for term in question.terms}) == len(question.terms)
    assert all(term.stems and term.forms[0] == term.word for term in question.terms)
