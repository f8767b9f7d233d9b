"""Teaching what a description means: counts at once, is undone byte for byte, and harms nothing."""

from collections.abc import Callable

import pytest

import kds
from kds.brain.errors import WorkspaceError
from kds.brain.files import LockedText
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning import Learning, LearningError, teach_reference
from kds.router.references.taught import TAUGHT
from kds.web.chat_page import MOST_CORRECTIONS, corrections_of

BUTTONS = ("Add a save button to the toolbar", "Add a cancel button to the footer")
RED = "Make the button red"
Kept = Callable[[], object]
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def said(place: Workspace, *messages: str) -> Turn:
    """What the workspace's router makes of the last of some messages."""
    router = kds.Router.open(place)
    router.context.clear()
    return [router.route(message) for message in messages][-1]


def test_it_counts_at_once_and_is_taken_back_byte_for_byte(
    place: Workspace, learned: LockedText
) -> None:
    before = said(place, *BUTTONS, RED)
    assert before.expanded == "Make the cancel button red"
    done = teach_reference(place, "the  button", "The save button")
    assert (done.new, done.reference.told) == (True, "'the button' means 'save button'")
    turn = said(place, *BUTTONS, RED)
    assert (turn.expanded, turn.context_ref) == ("Make the save button red", "save button")
    assert [one.rule for one in turn.references] == [TAUGHT]
    assert [one.probability for one in turn.proposals] == [1.0]
    assert any(f"kds learn undo {done.reference.id}" in note for note in turn.why)
    assert Learning(place).undo(done.reference.id[:6]).told == done.reference.told
    assert learned.read() is None
    assert said(place, *BUTTONS, RED).expanded == before.expanded


def test_what_cannot_be_learned_is_refused_and_not_stored(place: Workspace, kept: Kept) -> None:
    for description, antecedent in (("it", "button"), ("the token", TOKEN), (f"the {TOKEN}", "x")):
        with pytest.raises(LearningError) as refused:
            teach_reference(place, description, antecedent)
        assert TOKEN not in str(refused.value)
    assert kept() == (None, None)
    with pytest.raises(WorkspaceError, match="no such folder"):
        teach_reference(
            Workspace.find(environ={"KDS_HOME": str(place.root / "none")}),
            "the button",
            "save button",
        )


def test_a_message_offers_everything_else_that_was_talked_about(place: Workspace) -> None:
    resolver = kds.Router.open(place, log=False)._parts.resolver
    found = corrections_of(said(place, *BUTTONS, "Make the button red and test it"), resolver)
    said_so = {(one.text, one.antecedent): one.message for one in found}
    assert said_so["the button", "the save button"] == "Make the save button red and test it"
    assert not any(text == antecedent for text, antecedent in said_so)
    taken = corrections_of(said(place, *BUTTONS, "Make it red"), resolver)
    assert ("it", "the save button") in [(one.text, one.antecedent) for one in taken]
    left = corrections_of(said(place, *BUTTONS, "Why is the job slow?"), resolver)
    assert "Why is the save button slow?" in [one.message for one in left]
    assert corrections_of(said(place, "Why is the job slow?"), resolver) == ()
    many = said(place, *BUTTONS, " ".join(f"Stop the job {number}." for number in range(40)))
    assert len(corrections_of(many, resolver)) <= MOST_CORRECTIONS
