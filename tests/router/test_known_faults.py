"""Rewrites that are known to be wrong. A fault that is mended fails here: move it to a dialogue."""

from collections.abc import Callable

import pytest


def fault(reason: str, *messages: str, right: tuple[str, ...] = ()) -> object:
    """Messages of which the last comes out wrong; what is right, or that it stays."""
    marks = pytest.mark.xfail(reason=reason)
    return pytest.param(messages, right or messages[-1:], marks=marks, id=messages[-1])


@pytest.mark.parametrize(
    ("messages", "right"),
    [
        fault(
            "a language counts as a person: 'Could plain French read the guide?'",
            *("Write the guide in plain French", "Could she read it?"),
            right=("Could she read it?", "Could she read the guide?"),
        ),
        fault(
            "an acronym counts as a person: 'Can FIXMEs start?'",
            *("Find all FIXMEs in lib/", "Assign them to Omar", "Can he start?"),
            right=("Can he start?", "Can Omar start?"),
        ),
        fault(
            "only 'which servers are idle' keeps what was asked, not 'which of the servers are'",
            *("Which of the servers are idle?", "Stop them"),
            right=("Stop them", "Stop the idle servers"),
        ),
        fault(
            "of two main clauses side by side the first subject always wins",
            *("My phone runs Android and my tablet runs iOS", "Does it have a browser?"),
        ),
        fault(
            "what the last 'it' meant does not weigh more: 'Share the song'",
            *("Create a playlist", "Add a song to it", "Share it"),
            right=("Share the playlist", "Share it"),
        ),
        fault(
            "the parts behind 'for' are counted, not the things: 'Make the images read-only'",
            *("Create two folders for images and fonts", "Make the first one read-only"),
            right=("Make the first folder read-only", "Make the first one read-only"),
        ),
        fault(
            "two parts side by side get no owner: it stays 'Add an icon and a label'",
            *("Build a signup form", "Add an icon and a label"),
            right=("Add an icon and a label to the signup form",),
        ),
        fault(
            "the predicate is swallowed with the slot: 'Is the email worker?'",
            *("Is the progress bar accessible?", "And the email worker?"),
            right=("Is the email worker accessible?",),
        ),
        fault(
            "a correction cannot narrow things down with 'only'",
            *("Make the tab bar sticky", "Actually only the header"),
            right=("Make only the header sticky",),
        ),
        fault(
            "a correction cannot narrow things down with 'just'",
            *("Make the tab bar sticky", "No, just the menu"),
            right=("Make just the menu sticky",),
        ),
        fault(
            "a pronoun and a direction count as a pair: 'Hide the right'",
            *("Add a logout button", "and a profile link", "Align them to the right"),
            "Hide the latter",
            right=("Hide the profile link", "Hide the latter"),
        ),
    ],
)
def test_what_comes_out_right_one_day(
    rewrite: Callable[..., str], messages: tuple[str, ...], right: tuple[str, ...]
) -> None:
    assert rewrite(*messages) in right
