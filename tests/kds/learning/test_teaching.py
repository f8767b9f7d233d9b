"""Teaching: the user is right, it counts at once, and is taken back byte for byte."""

from collections.abc import Callable

import pytest

import kds
from kds.brain.errors import WorkspaceError
from kds.brain.files import LockedText
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning import Learning, LearningError, teach
from kds.router.references.taught import TAUGHT

DASHBOARD = "give the dashboard some love"
Kept = Callable[[], object]
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

MINE = "# mine\nexamples:\n"


def intent_of(message: str, place: Workspace) -> str:
    return kds.Router.open(place, log=False).route(message).intent


def test_what_is_taught_counts_at_once_and_is_taken_back_byte_for_byte(
    place: Workspace, learned: LockedText, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned.replace(MINE.encode())
    assert intent_of(DASHBOARD, place) != "PLAN"
    done = teach(place, DASHBOARD, "plan")
    assert (done.new, done.redacted, done.warnings) == (True, False, ())
    assert (done.learned.text, done.learned.intent) == (DASHBOARD, "PLAN")
    assert intent_of(DASHBOARD, place) == "PLAN"
    assert intent_of("can you give the dashboard some love?", place) == "PLAN"
    Learning(place).undo(done.learned.id)
    assert learned.read() == MINE.encode()
    assert intent_of(DASHBOARD, place) != "PLAN"
    monkeypatch.setenv("KDS_LEARNING", "off")
    with pytest.raises(LearningError, match="learning is off"):
        teach(place, DASHBOARD, "PLAN")


def test_the_user_is_right_whatever_ships(place: Workspace) -> None:
    for message, intent, likewise in (
        ("our old friend the footer is back", "DEBUG", "Our old friend the footer is back!"),
        ("ship it", "COMMIT", "ok, ship it"), ("wrap this up", "COMMIT", "can you wrap this up?"),
        ("commit the changes and push them", "PLAN", "COMMIT THE CHANGES AND PUSH THEM"),
        ("run the tests", "PLAN", "please run the tests"), ("fix it", "DEBUG", "Fix it."),
        ("status", "ASK", "Status?"),
    ):  # fmt: skip
        assert intent_of(message, place) != intent
        teach(place, message, intent)
        assert intent_of(message, place) == intent_of(likewise, place) == intent


def test_what_can_be_no_example_says_why(place: Workspace, kept: Kept) -> None:
    before = kept()
    for message, reason in (
        ("word " * 60, "longer than 200 characters"), ("???", "has no word"),
        ("first line\nsecond line of it", "more than one line"),
        ("make x = {'a': 1} work", "holds code"), (TOKEN, "has no word"),
    ):  # fmt: skip
        with pytest.raises(LearningError, match=reason) as caught:
            teach(place, message, "PLAN")
        assert TOKEN not in str(caught.value)
        assert len(str(caught.value)) < 300
    assert kept() == before


def test_an_example_of_an_intent_that_nobody_has_is_a_warning(
    place: Workspace, learned: LockedText
) -> None:
    learned.replace(b"examples:\n- {text: water the plants, intent: GARDEN}\n")
    [warning] = kds.Router.open(place, log=False).warnings
    assert "learned.yaml:2: 'water the plants' is not used: no prompt file has" in warning


BUTTONS = ("Add a save button to the toolbar", "Add a cancel button to the footer")
RED = "Make the button red"


def said(place: Workspace, *messages: str) -> Turn:
    """What the workspace's router makes of the last of some messages."""
    router = kds.Router.open(place)
    router.context.clear()
    return [router.route(message) for message in messages][-1]


def test_what_a_description_means_counts_at_once_and_is_taken_back_byte_for_byte(
    place: Workspace, learned: LockedText
) -> None:
    before = said(place, *BUTTONS, RED)
    assert before.expanded == "Make the cancel button red"
    done = teach(place, "the  button", means="The save button")
    assert (done.new, done.learned.told) == (True, "'the button' means 'save button'")
    turn = said(place, *BUTTONS, RED)
    assert (turn.expanded, turn.context_ref) == ("Make the save button red", "save button")
    assert [one.rule for one in turn.references] == [TAUGHT]
    assert [one.probability for one in turn.proposals] == [1.0]
    assert any(f"kds learn undo {done.learned.id}" in note for note in turn.why)
    assert Learning(place).undo(done.learned.id[:6]).told == done.learned.told
    assert learned.read() is None
    assert said(place, *BUTTONS, RED).expanded == before.expanded


def test_a_description_that_cannot_be_learned_is_refused_and_not_stored(
    place: Workspace, kept: Kept
) -> None:
    for description, antecedent in (("it", "button"), ("the token", TOKEN), (f"the {TOKEN}", "x")):
        with pytest.raises(LearningError) as refused:
            teach(place, description, means=antecedent)
        assert TOKEN not in str(refused.value)
    assert kept() == (None, None)
    nowhere = Workspace.find(environ={"KDS_HOME": str(place.root / "none")})
    with pytest.raises(WorkspaceError, match="no such folder"):
        teach(nowhere, "the button", means="save button")
