"""Arguments that a command leaves out."""

from collections.abc import Callable

import pytest

from kds.router.resolver import Resolution

BUG = pytest.mark.xfail

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["Build a stopwatch", "Change the font to Inter"],
            "Change the font of the stopwatch to Inter",
        ),
        (
            ["Build a stopwatch", "Increase the font size"],
            "Increase the font size of the stopwatch",
        ),
        (
            ["Build a stopwatch", "Make the background gray"],
            "Make the background of the stopwatch gray",
        ),
        (["Build a stopwatch", "Hello", "Change the color"], "Change the color of the stopwatch"),
        (
            ["Write a Dockerfile for the API", "Use Alpine as the base image"],
            "Use Alpine as the base image for the Dockerfile",
        ),
    ],
)
def test_an_attribute_gets_its_owner(rewrite: Rewrite, messages: list[str], written: str) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "message",
    [
        "Change the font of the title",
        "Change the button font",
        "Change a font",
        "Change the database",
        "Delete the font",
        "The font is too small",
        "Use Alpine as the base image for the crawler",
    ],
)
def test_an_attribute_that_has_an_owner_or_is_none_stays(rewrite: Rewrite, message: str) -> None:
    assert rewrite("Build a stopwatch", message) == message


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (["Build a stopwatch", "Add a pulse animation"], "Add a pulse animation to the stopwatch"),
        (["Build a signup form", "Add validation"], "Add validation to the signup form"),
        (["Build a signup form", "Add a tooltip"], "Add a tooltip to the signup form"),
        pytest.param(
            ["Build a signup form", "Add an icon and a label"],
            "Add an icon and a label to the signup form",
            marks=BUG(
                reason="the owner lands between the two: 'an icon to the signup form and ...'"
            ),
        ),
    ],
)
def test_a_part_gets_the_thing_it_belongs_to(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "message",
    [
        "Add a tooltip to the volume slider",
        "Add a tooltip below it",
        "Add a login page",
        "Add the tooltip",
        "Show a tooltip",
        "Remove the tooltips",
    ],
)
def test_a_part_with_a_place_or_a_thing_of_its_own_gets_none(
    rewrite: Rewrite, message: str
) -> None:
    assert " to the stopwatch" not in rewrite("Build a stopwatch", message)


def test_one_left_out_argument_is_filled_in_once(rewrite: Rewrite) -> None:
    assert (
        rewrite("Build a stopwatch", "Change the color to that of the sky").count("stopwatch") <= 1
    )


def test_a_place_and_an_owner_are_not_the_same_thing_twice(rewrite: Rewrite) -> None:
    assert rewrite("Build a signup form", "Change the icon there").count("signup form") == 1


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            ["I want to add offline mode", "Use a checkbox, not a button"],
            "Use a checkbox for offline mode, not a button",
        ),
        (
            ["I want to add offline mode", "Actually, use IndexedDB, not cookies"],
            "Actually, use IndexedDB for offline mode, not cookies",
        ),
    ],
)
def test_a_constraint_names_what_it_is_for(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "messages",
    [
        ["I want to add offline mode", "Use IndexedDB for the drafts, not cookies"],
        ["Replace polling with a websocket", "Use long polling, not a websocket"],
        ["I want to add offline mode", "Use IndexedDB"],
    ],
    ids=lambda messages: messages[-1],
)
def test_a_constraint_about_something_known_or_specified_stays(
    rewrite: Rewrite, messages: list[str]
) -> None:
    assert rewrite(*messages) == messages[-1]


def test_a_widget_gives_a_feature_its_form(rewrite: Rewrite) -> None:
    messages = [
        "I want to add offline mode",
        "Use a checkbox, not a button",
        "Put it in the footer",
    ]
    assert rewrite(*messages) == "Put the offline mode checkbox in the footer"


def test_an_alias_gives_the_form_its_canonical_name(rewrite: Rewrite) -> None:
    messages = [
        "I want to add offline mode",
        "Use drop-down menu, not button",
        "Put it in the footer",
    ]
    assert rewrite(*messages) == "Put the offline mode dropdown in the footer"


def test_what_is_left_out_is_a_reference_without_text(resolve: Callable[..., Resolution]) -> None:
    (reference,) = resolve("Build a stopwatch", "Change the font to Inter").references
    assert (reference.text, reference.start, reference.end) == ("", 15, 15)
    assert reference.target == "stopwatch"


def test_a_question_about_a_relation_is_about_the_topic(rewrite: Rewrite) -> None:
    opening, message = "Tell me about coral bleaching", "What are the main causes?"
    assert rewrite(opening, message) == "What are the main causes of coral bleaching?"
    specific = "What are the main causes of acid rain?"
    assert rewrite(opening, specific) == specific


def test_a_rule_of_ones_own_brings_verbs_nouns_and_a_preposition(rewrite_by: By) -> None:
    rewrite = rewrite_by(
        "signal: {kind: attribute, verbs: [tune], nouns: [gain]}, render: {preposition: in}"
    )
    assert rewrite("Build a mixer", "Tune the gain") == "Tune the gain in the mixer"
    assert rewrite("Build a mixer", "Tune the color") == "Tune the color"
    assert rewrite("Build a mixer", "Change the gain") == "Change the gain"


def test_a_part_rule_of_ones_own_names_the_parts(rewrite_by: By) -> None:
    rewrite = rewrite_by("signal: {kind: part, verbs: [solder], nouns: [jack]}")
    assert rewrite("Build a mixer", "Solder a jack") == "Solder a jack to the mixer"
    assert rewrite("Build a mixer", "Solder a fuse") == "Solder a fuse"
