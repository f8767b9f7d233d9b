"""Noun phrases as things that can be referred to."""

import pytest

from kds.router.discourse.mention import Mention, is_time
from kds.router.discourse.mentions import mentions_in
from kds.router.language.analysis import Language


def mentions(language: Language, text: str) -> dict[str, Mention]:
    return {mention.text: mention for mention in mentions_in(language.analyse(text), 0)}


def test_a_mention_leaves_its_determiner_aside(language: Language) -> None:
    found = mentions(language, "Restyle the pending pull requests")["pending pull requests"]
    assert (found.determiner, found.head, found.number) == ("the", "request", "pl")
    assert found.modifiers == ("pending", "pull")
    assert found.compound == "pull requests"


def test_a_mention_knows_the_verb_and_the_preposition_it_stands_with(language: Language) -> None:
    found = mentions(language, "Move the logo to the navbar")
    assert (found["logo"].verb, found["logo"].role) == ("move", "obj")
    assert (found["navbar"].prep, found["navbar"].role) == ("to", "pobj")


def test_a_coordination_is_a_mention_of_its_own(language: Language) -> None:
    found = mentions(language, "Add a map and a list")["map and list"]
    assert [part.text for part in found.parts] == ["map", "list"]
    assert (found.number, found.conjunction) == ("pl", "and")


def test_alternatives_remember_their_or(language: Language) -> None:
    assert mentions(language, "Use tabs or spaces")["tabs or spaces"].conjunction == "or"


def test_a_thing_called_by_a_name_is_one_mention(language: Language) -> None:
    found = mentions(language, "Create a folder called scripts/ops")
    assert list(found) == ["folder"]
    assert (found["folder"].name, found["folder"].called) == ("scripts/ops", True)


def test_a_label_and_a_canonical_name_come_from_the_entities(language: Language) -> None:
    found = mentions(language, "Use a toggle switch")["toggle switch"]
    assert (found.label, found.canonical) == ("UI", "toggle")


@pytest.mark.parametrize(
    "text", ["Ask Priya", "Please tell Omar", "Assign the ticket to Priya", "Ping Oluwaseun again"]
)
def test_who_is_addressed_by_name_is_a_person(language: Language, text: str) -> None:
    assert next(m for m in mentions(language, text).values() if m.name_like).person


@pytest.mark.parametrize("text", ["Send the diff to Oluwaseun", "Move the data to Mongo"])
def test_a_capitalised_word_may_be_a_person(language: Language, text: str) -> None:
    found = list(mentions(language, text).values())[-1]
    assert (found.person, found.name_like) == (False, True)


def test_two_capitalised_words_are_most_likely_a_person(language: Language) -> None:
    assert mentions(language, "Write to Priya Nair")["Priya Nair"].person_like


@pytest.mark.parametrize("text", ["Open the Dashboard", "Ask the team", "Use Redis"])
def test_a_thing_is_not_a_person(language: Language, text: str) -> None:
    assert not any(mention.person for mention in mentions(language, text).values())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Replace the modal with a drawer", "drawer"),
        ("Swap the spinner for a skeleton", "skeleton"),
        ("Turn the list into a grid", "grid"),
    ],
)
def test_what_something_becomes_is_the_result(language: Language, text: str, result: str) -> None:
    found = mentions(language, text)
    assert [mention.text for mention in found.values() if mention.result] == [result]


@pytest.mark.parametrize("text", ["this week", "thirty seconds", "next Friday", "the last month"])
def test_a_time_is_told_from_a_thing(language: Language, text: str) -> None:
    assert all(is_time(mention) for mention in mentions(language, text).values())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("the login form", "the form", True),
        ("the login form", "a login form", True),
        ("the login form", "the signup form", False),
        ("the login form", "the login forms", False),
        ("the login form", "the login page", False),
    ],
)
def test_things_are_the_same_when_head_and_modifiers_agree(
    language: Language, one: str, other: str, same: bool
) -> None:
    first, second = (
        mentions_in(language.analyse(f"Open {text}"), turn)[0]
        for turn, text in enumerate([one, other])
    )
    assert first.same_thing(second) is same
    assert second.same_thing(first) is same
