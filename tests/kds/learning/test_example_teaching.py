"""Teaching: counts at once, through the guard, and is taken back byte for byte."""

from collections.abc import Callable

import pytest

import kds
from kds.brain.errors import DispatchError, MessageError, WorkspaceError
from kds.brain.kept_text import KeptText
from kds.brain.learning.event import LearningEvent
from kds.brain.workspace import Workspace
from kds.learning import Learning, LearningError, teach
from kds.router.prompts.library import PromptLibrary

DASHBOARD = "give the dashboard some love"
Kept = Callable[[], object]
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

MINE = "# mine\nexamples:\n"

pytestmark = pytest.mark.usefixtures("quick_guard")


def intent_of(message: str, place: Workspace) -> str:
    return kds.Router.open(place, log=False).route(message).intent


def test_what_is_taught_counts_at_once_and_is_taken_back_byte_for_byte(
    place: Workspace, learned: KeptText
) -> None:
    learned.replace(MINE.encode())
    assert intent_of(DASHBOARD, place) != "PLAN"
    done = teach(place, DASHBOARD, "plan")
    assert (done.new, done.redacted, done.warnings) == (True, False, ())
    assert (done.example.state, done.example.occurrences) == ("learned", 1)
    assert intent_of(DASHBOARD, place) == "PLAN"
    assert intent_of("can you give the dashboard some love?", place) == "PLAN"
    Learning(place).undo(done.example.id)
    assert learned.read() == MINE.encode()
    assert intent_of(DASHBOARD, place) != "PLAN"


def test_what_the_prompt_files_say_word_for_word_needs_no_model_to_refuse(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach(place, DASHBOARD, "PLAN")
    monkeypatch.delattr("kds.learning.library.find_refusals")
    with pytest.raises(LearningError, match="is an example of TEST in its prompt file"):
        teach(place, "run the tests", "COMMIT")


def test_what_was_taken_back_can_be_taught_again_and_taken_back_as_the_last(
    place: Workspace, learned: KeptText
) -> None:
    for _ in range(2):
        assert teach(place, DASHBOARD, "PLAN").new
        assert [one.text for one in Learning(place).undo_last()] == [DASHBOARD]
    assert learned.read() is None


def test_teaching_the_same_twice_changes_nothing_more(place: Workspace, kept: Kept) -> None:
    first = teach(place, DASHBOARD, "PLAN")
    before = kept()
    again = teach(place, "Give the dashboard  some love!", "PLAN")
    assert (again.new, again.example.id) == (False, first.example.id)
    assert kept() == before


def test_another_intent_for_what_is_learned_names_the_way(place: Workspace) -> None:
    done = teach(place, DASHBOARD, "PLAN")
    with pytest.raises(LearningError, match="is learned as PLAN") as caught:
        teach(place, DASHBOARD, "TEST")
    assert caught.value.hint == f"kds learn undo {done.example.id} first"


def test_what_was_rejected_once_can_be_taught(place: Workspace) -> None:
    learning = Learning(place)
    one = learning.tell(DASHBOARD, "PLAN", PromptLibrary.load())
    learning.reject([one.id])
    done = teach(place, DASHBOARD, "PLAN")
    assert done.example.state == "learned"
    assert learning.undo(one.id).text == DASHBOARD
    assert [one.state for one in learning.candidates()] == ["rejected"]


def test_what_would_turn_what_ships_is_refused_with_an_example_and_leaves_nothing(
    place: Workspace, kept: Kept
) -> None:
    before = kept()
    with pytest.raises(
        LearningError, match=r"clearly for COMMIT.*the nearest is 'Commit the changes"
    ) as one:
        teach(place, "commit the changes and push them", "PLAN")
    assert one.value.hint == "say it in other words, or change the prompt file of PLAN"
    with pytest.raises(LearningError, match="is an example of TEST in its prompt file"):
        teach(place, "run the tests", "PLAN")
    assert kept() == before


def test_a_fixed_phrase_of_another_intent_is_refused_with_its_place(place: Workspace) -> None:
    own = place.prompts_dir / "user"
    own.mkdir(parents=True)
    (own / "waterer.md").write_text(
        "---\nname: waterer\ndescription: Waters.\nintent: WATER\npatterns:\n"
        "- {literal: water plants, exact: true, weight: 0.9}\nexamples: [water them]\n---\nGo.\n"
    )
    with pytest.raises(LearningError, match=r"a fixed phrase of WATER: .*waterer\.md:6"):
        teach(place, "Water plants!", "PLAN")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("word " * 60, "longer than 200 characters"),
        ("do it again", "says too little by itself"),
        ("first line\nsecond line of it", "more than one line"),
        ("make x = {'a': 1} work", "holds code"),
        (f"token {TOKEN}", "says too little by itself"),
    ],
)
def test_what_can_be_no_example_says_why(
    message: str, reason: str, place: Workspace, kept: Kept
) -> None:
    before = kept()
    with pytest.raises(LearningError, match=reason) as caught:
        teach(place, message, "PLAN")
    assert TOKEN not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert kept() == before


def test_an_unknown_intent_an_empty_message_and_a_missing_folder_say_so(place: Workspace) -> None:
    with pytest.raises(DispatchError, match="did you mean VALIDATE"):
        teach(place, DASHBOARD, "VALIDAT")
    with pytest.raises(MessageError, match="empty"):
        teach(place, " \n", "PLAN")
    missing = place.root / "missing"
    with pytest.raises(WorkspaceError, match="no such folder"):
        teach(Workspace(missing, missing / "kds-brain"), DASHBOARD, "PLAN")
    assert not missing.exists()


def test_nothing_is_taught_while_learning_is_off(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_LEARNING", "off")
    with pytest.raises(LearningError, match="learning is off"):
        teach(place, DASHBOARD, "PLAN")


def test_a_secret_is_marked_before_anything_is_stored(place: Workspace) -> None:
    done = teach(place, f"polish the dashboard page with {TOKEN}", "EXECUTE")
    assert done.redacted
    assert "[secret: " in done.example.text
    files = [path for path in place.brain.rglob("*") if path.is_file()]
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert [one.id for one in Learning(place).undo_last()] == [done.example.id]


def test_what_was_said_before_still_counts_as_evidence(place: Workspace) -> None:
    learning = Learning(place)
    learning.tell(DASHBOARD, "PLAN", PromptLibrary.load())
    done = teach(place, DASHBOARD, "PLAN")
    kinds = [event.kind for event in learning.events.load().events]
    assert kinds == ["told", "told", "accepted"]
    assert isinstance(learning.events.load().events[0], LearningEvent)
    assert done.example.why.startswith("told twice")
