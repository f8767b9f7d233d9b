"""The messages so far."""

import pytest

from kds.router.discourse.history import Discourse
from kds.router.discourse.mentions import mentions_in
from kds.router.language.analysis import Language


def discourse(language: Language, *messages: str) -> Discourse:
    told = Discourse()
    for message in messages:
        told = told.then(language.analyse(message))
    return told


def test_an_empty_discourse_is_false_and_has_no_last_message() -> None:
    assert not Discourse()
    assert list(Discourse().mentions()) == []
    with pytest.raises(IndexError):
        _ = Discourse().last


def test_mentions_come_newest_message_first(language: Language) -> None:
    told = discourse(language, "Add a map", "Sort the list and print the table")
    assert [mention.text for mention in told.mentions()] == ["list", "table", "map"]


def test_age_counts_the_messages_since(language: Language) -> None:
    told = discourse(language, "Add a map", "Sort the list", "Print the table")
    assert {m.text: told.age(m) for m in told.mentions()} == {"table": 0, "list": 1, "map": 2}


def test_a_message_more_leaves_the_discourse_before_it_as_it_was(language: Language) -> None:
    before = discourse(language, "Add a map")
    after = before.then(language.analyse("Sort the list"))
    assert (len(before.moments), len(after.moments)) == (1, 2)


def test_what_is_in_focus_comes_before_the_rest_of_its_message(language: Language) -> None:
    focus = mentions_in(language.analyse("dark mode"), 0)[0]
    told = discourse(language, "Add a map").then(language.analyse("Use a toggle"), focus=focus)
    assert [mention.text for mention in told.mentions()] == ["dark mode", "toggle", "map"]
    assert told.age(next(told.mentions())) == 0
