"""Answers of a model that are kept."""

from kds.router.rewriting.asked import Answers, Asked


def test_an_answer_is_kept_under_its_key() -> None:
    answers = Answers()
    answers.keep(("a",), "one")
    assert (answers.kept(("a",)), answers.kept(("b",))) == ("one", None)


def test_the_least_recently_used_answer_goes_first() -> None:
    answers = Answers(limit=2)
    answers.keep(("a",), "one")
    answers.keep(("b",), "two")
    answers.kept(("a",))
    answers.keep(("c",), "three")
    assert [answers.kept((name,)) for name in "abc"] == ["one", None, "three"]


def test_what_was_asked_ahead_is_taken_once() -> None:
    answers = Answers()
    asked = Asked(None, 5.0, "timeout")
    answers.put_ahead(("a",), asked)
    assert answers.take_ahead(("a",)) == asked
    assert answers.take_ahead(("a",)) is None


def test_what_was_asked_ahead_and_never_taken_does_not_pile_up() -> None:
    answers = Answers(limit=2)
    for name in "abc":
        answers.put_ahead((name,), Asked(name))
    assert [answers.take_ahead((name,)) is None for name in "abc"] == [True, False, False]
