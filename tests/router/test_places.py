"""There: the place that was talked about."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (["Create a billing page", "Put a chart there"], "Put a chart on the billing page"),
        (["Open the logs folder", "Save the dump there"], "Save the dump in the logs folder"),
        (["Create a help page", "Navigate there"], "Navigate to the help page"),
        (
            ["Open the logs folder", "Delete everything in there"],
            "Delete everything in the logs folder",
        ),
        (
            ["Create a folder called tools/ci", "Copy the scripts there"],
            "Copy the scripts to the folder called tools/ci",
        ),
        (["Add a spinner to the upload form", "Put a hint there"], "Put a hint in the upload form"),
    ],
)
def test_there_becomes_the_place_with_its_preposition(
    rewrite: Rewrite, messages: list[str], written: str
) -> None:
    assert rewrite(*messages) == written


@pytest.mark.parametrize(
    "message",
    [
        "There are two typos in the title",
        "Is there a search box?",
        "Hi there",
        "We are almost there",
        "There you go",
    ],
)
def test_there_that_is_no_place_stays(rewrite: Rewrite, message: str) -> None:
    assert rewrite("Create a billing page", message) == message


def test_there_with_nothing_before_stays(rewrite: Rewrite) -> None:
    assert rewrite("Put a chart there") == "Put a chart there"


def test_a_rule_of_ones_own_decides_which_nouns_are_places(rewrite_by: By) -> None:
    rewrite = rewrite_by("signal: {kind: place, lemma: [there], nouns: [attic]}")
    messages = ["Move the boxes to the attic", "Put the lamp there"]
    assert rewrite(*messages) == "Put the lamp in the attic"
