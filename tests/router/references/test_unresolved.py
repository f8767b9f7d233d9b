"""Which messages point back although the rules abstain, and which stand alone."""

from collections.abc import Callable

import pytest

from kds.router.references.resolver import Resolution

Resolve = Callable[..., Resolution]


@pytest.mark.parametrize(
    ("said", "message", "words"),
    [
        ("Create a settings view and a help view", "Make it scrollable", ("it",)),
        ("Deploy to staging", "What did they say?", ("they",)),
        ("Deploy to staging", "Archive that spreadsheet", ("that spreadsheet",)),
        ("Deploy to staging", "Was that successful?", ("that",)),
        ("Deploy to staging", "Who else may do so?", ("else",)),
        ("Deploy to staging", "Delete the others", ("the others",)),
        ("Deploy to staging", "Why not?", ("Why not?",)),
        ("Deploy to staging", "Compare it with the former", ("it", "the former")),
        ("What is the Fee?", "Can either be changed?", ("either",)),
        ("What is the Fee?", "Does the above apply to the Agency Fee?", ("the above",)),
        ("What are Servicer Advances?", "When must they do it?", ("they", "it")),
        ("What is the Maturity Date?", "What about the Closing Date - same rule?",
         ("What about the Closing Date - same rule?",)),
    ],
)  # fmt: skip
def test_what_points_back_without_an_antecedent_is_named(
    resolve: Resolve, said: str, message: str, words: tuple[str, ...]
) -> None:
    resolution = resolve(said, message)
    left = set(resolution.unresolved) | {one.text for one in resolution.references}
    assert set(words) <= left | {edit.text for edit in resolution.edits}


def test_without_a_conversation_nothing_points_back(resolve: Resolve) -> None:
    assert resolve("Make it purple").unresolved == ()


def test_a_change_of_topic_leaves_nothing_unresolved(resolve: Resolve) -> None:
    assert resolve("Add a map", "Actually, let's build a login page first").unresolved == ()


def test_a_long_message_is_left_alone(resolve: Resolve) -> None:
    assert resolve("Deploy to staging", "It is what they said. " * 120).unresolved == ()
