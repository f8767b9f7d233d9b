"""Noun phrases as things that can be referred to."""

import pytest

from kds.router.discourse.mentions import Mention, mentions_in
from kds.router.language.analysis import Language


def mentions(language: Language, text: str) -> dict[str, Mention]:
    return {mention.text: mention for mention in mentions_in(language.analyse(text), 0)}


def test_a_mention_knows_the_verb_and_the_preposition_it_stands_with(language: Language) -> None:
    found = mentions(language, "Move the logo to the navbar")
    assert (found["logo"].verb, found["logo"].role) == ("move", "obj")
    assert (found["navbar"].prep, found["navbar"].role) == ("to", "pobj")


def test_a_thing_called_by_a_name_is_one_mention(language: Language) -> None:
    found = mentions(language, "Create a folder called scripts/ops")
    assert list(found) == ["folder"]
    assert (found["folder"].name, found["folder"].called) == ("scripts/ops", True)


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
