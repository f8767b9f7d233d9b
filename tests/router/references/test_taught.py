"""What the user taught settles a reference, and nothing else changes."""

import pytest

from kds.brain.learning.examples import LearnedReference
from kds.router.language.analysis import Language
from kds.router.references.resolver import Resolution, Resolver, apply_edits
from kds.router.references.ruleset import RuleSet
from kds.router.references.taught import TAUGHT

BUTTONS = ("Add a save button to the toolbar", "Add a cancel button to the footer")


def lesson(text: str, antecedent: str) -> LearnedReference:
    return LearnedReference(f"id-of-{antecedent}", text, antecedent, "you")


@pytest.fixture
def taught(language: Language, packaged_rules: RuleSet) -> Resolver:
    lessons = [
        lesson("the button", "mute button"),
        lesson("The  Button", "the save button"),
        lesson("the button", "FAB button"),
    ]
    return Resolver(language, packaged_rules.rules, packaged_rules.knowledge, taught=lessons)


def resolved(resolver: Resolver, *messages: str) -> Resolution:
    *context, message = messages
    return resolver.resolve(message, resolver.replay(tuple(context)))


def written(resolver: Resolver, *messages: str) -> str:
    return apply_edits(messages[-1], resolved(resolver, *messages).edits)


@pytest.mark.parametrize(
    ("message", "expanded"),
    [
        ("Make the button red", "Make the save button red"),
        ("Where is that button?", "Where is the save button?"),
        ("And the button?", "And the save button?"),
        ("Delete this button", "Delete the save button"),
    ],
)
def test_a_description_is_what_was_taught_for_it(
    taught: Resolver, message: str, expanded: str
) -> None:
    assert written(taught, *BUTTONS, message) == expanded


@pytest.mark.parametrize(
    "message",
    [
        "Make it red",
        "Make the cancel button red",
        "Fix the button on the login page",
        "Make the button that I added red",
        "Make the other button red",
        "Make my button red",
    ],
)
def test_every_other_description_is_as_without_it(
    resolver: Resolver, taught: Resolver, message: str
) -> None:
    assert resolved(taught, *BUTTONS, message) == resolved(resolver, *BUTTONS, message)


def test_nothing_changes_where_the_thing_was_not_talked_about(
    resolver: Resolver, taught: Resolver
) -> None:
    said = ("Add a login button", "Make the button red")
    assert resolved(taught, *said) == resolved(resolver, *said)


def test_what_was_taught_last_counts_first(taught: Resolver) -> None:
    context = ("I want to add a FAB button", *BUTTONS)
    assert written(taught, *context, "Make the button red") == "Make the FAB button red"


def test_the_reference_names_no_rule_and_says_how_it_is_taken_back(taught: Resolver) -> None:
    found = resolved(taught, *BUTTONS, "Make the button red")
    [one] = found.references
    assert (one.text, one.target, one.rule, one.score) == ("the button", "save button", TAUGHT, 1.0)
    assert "you taught it: kds learn undo id-of-the save button takes it back" in found.notes[0]


def test_rules_are_tested_alone(resolver: Resolver, taught: Resolver) -> None:
    message = (*BUTTONS, "Make the button red")
    assert resolved(taught.untaught(), *message) == resolved(resolver, *message)
