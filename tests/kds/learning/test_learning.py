"""Safeguards of learning, in files and on a server: no jump, thresholds, contradiction, undo."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kds.brain.errors import DispatchError
from kds.brain.learning.candidate import Candidate
from kds.brain.workspace import Workspace
from kds.learning.learning import Learning, LearningError
from kds.learning.library import tried, with_learned
from kds.router.prompts.library import PromptLibrary

DASHBOARD = "give the dashboard some love"
HAPPY = "is the pipeline happy"
EXAMPLES = 25
"""An intent: enough for the guard, and ten times faster than all."""


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def library() -> PromptLibrary:
    found = PromptLibrary.load()
    few = [replace(one, examples=one.examples[:EXAMPLES]) for one in found.prompts()]
    return PromptLibrary(few, found._templates)


@pytest.fixture
def learning(tmp_path: Path, clock: Clock, either_engine: str) -> Learning:
    return Learning(Workspace(tmp_path, tmp_path / "kds-brain"), clock=clock)


@pytest.fixture
def say(learning: Learning, library: PromptLibrary, clock: Clock) -> Callable[..., Candidate]:
    """Say that a message has an intent, so many times, an hour apart."""

    def say(
        text: str = DASHBOARD, intent: str = "PLAN", times: int = 1, **apart: float
    ) -> Candidate:
        for _ in range(times):
            one = learning.tell(text, intent, library)
            clock.pass_by(**(apart or {"hours": 1}))
        return one

    return say


Say = Callable[..., Candidate]


def test_looking_at_nothing_makes_no_file(learning: Learning) -> None:
    assert learning.candidates() == ()
    assert learning.examples() == ()
    assert not learning.workspace.brain.exists()


def test_one_event_changes_nothing_nor_do_two(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    for _ in range(2):
        one = say()
        assert one.state == "waiting"
        assert learning.proposals() == ()
        assert learning.file.text.read() is None
        with pytest.raises(LearningError, match="it takes 3"):
            learning.accept([one.id], library)
    assert with_learned(library, learning.workspace, may_write=True) == (library, ())


def test_three_events_at_different_times_are_proposed_and_change_nothing_yet(
    learning: Learning, say: Say
) -> None:
    assert say(times=3).state == "proposed"
    assert [one.text for one in learning.proposals()] == [DASHBOARD]
    assert learning.file.text.read() is None


def test_a_hundred_events_within_one_sitting_are_one(learning: Learning, say: Say) -> None:
    assert say(times=100, seconds=3).state == "waiting"
    assert learning.proposals() == ()


def test_what_is_accepted_is_an_example_of_its_intent(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    one = say(times=3)
    learning.accept([one.id], library)
    used, warnings = with_learned(library, learning.workspace, may_write=True)
    assert warnings == ()
    assert DASHBOARD in used.agent_of("PLAN").examples
    assert DASHBOARD not in library.agent_of("PLAN").examples
    with pytest.raises(LearningError, match="learned already"):
        learning.accept([one.id], library)


def test_six_events_at_different_times_are_accepted_by_themselves(
    learning: Learning, say: Say
) -> None:
    assert say(times=5).state == "proposed"
    assert say().state == "learned"
    [example] = learning.examples()
    assert (example.by, example.why) == ("itself", "told 6 times, 2026-01-01")


def test_one_contradiction_takes_back_what_was_accepted_by_itself(
    learning: Learning, say: Say
) -> None:
    say(times=6)
    say(intent="TEST")
    assert learning.file.text.read() is None
    assert learning.proposals() == ()


def test_what_the_user_accepted_stays_until_the_user_takes_it_back(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    learning.accept([say(times=3).id], library)
    say(intent="TEST", times=2)
    [one] = [one for one in learning.candidates() if one.intent == "PLAN"]
    assert (one.state, one.confidence < 0.5) == ("learned", True)
    assert len(learning.examples()) == 1


def test_an_intent_that_is_always_confirmed_is_never_accepted_by_itself(
    learning: Learning, say: Say
) -> None:
    one = say("drop all you learned about billing", "AMNESIA", times=8)
    assert one.state == "due"
    assert [found.id for found in learning.proposals()] == [one.id]
    assert learning.examples() == ()


def test_what_would_turn_shipped_examples_is_refused_with_the_reason(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    text = library.agent_of("TEST").examples[0]
    one = say(text.upper(), "PLAN", times=3)
    with pytest.raises(LearningError, match="example of TEST"):
        learning.accept([one.id], library)
    assert learning.file.text.read() is None


def test_what_was_accepted_by_itself_is_not_used_when_the_guard_says_no(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    say(library.agent_of("TEST").examples[0], "PLAN", times=6)
    assert len(learning.examples()) == 1
    used, _ = with_learned(library, learning.workspace, may_write=True)
    assert used.agent_of("PLAN").examples == library.agent_of("PLAN").examples
    assert learning.examples() == ()
    assert [one.state for one in learning.candidates()] == ["refused"]
    say(library.agent_of("TEST").examples[0], "PLAN", times=3)
    assert learning.examples() == ()


def test_what_is_written_by_hand_is_guarded_too_and_stays_in_the_file(
    learning: Learning, library: PromptLibrary
) -> None:
    learning.workspace.ensure()
    text = library.agent_of("TEST").examples[0]
    learning.file.text.replace((f'examples:\n- {{text: "{text}", intent: PLAN}}\n').encode())
    used, [warning] = with_learned(library, learning.workspace, may_write=True)
    assert "learned.yaml:2" in warning
    assert used.agent_of("PLAN").examples == library.agent_of("PLAN").examples
    assert text in (learning.file.text.read() or b"").decode()


def test_a_file_that_does_not_load_is_a_warning_and_routing_goes_on(
    learning: Learning, library: PromptLibrary
) -> None:
    learning.workspace.ensure()
    learning.file.text.replace(b"examples: 3\n")
    used, [warning] = with_learned(library, learning.workspace, may_write=True)
    assert used is library
    assert "learned.yaml:1" in warning


def test_the_guard_is_asked_once_for_the_same_examples(
    learning: Learning, library: PromptLibrary, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning.accept([say(times=3).id], library)
    used = with_learned(library, learning.workspace, may_write=True)
    with monkeypatch.context() as alone:
        alone.setattr("kds.learning.library.find_refusals", None)
        again = with_learned(library, learning.workspace, may_write=True)
    assert again[0].agent_of("PLAN") == used[0].agent_of("PLAN")
    learning.place.keep_verdict(b"no json")
    assert with_learned(library, learning.workspace, may_write=True)[1] == ()
    assert (learning.place.verdict() or b"").startswith(b"{")


def test_what_passed_the_guard_is_used_without_it_until_prompts_contradict_it(
    learning: Learning, library: PromptLibrary, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(HAPPY, "VALIDATE", times=6)  # accepted by itself: the guard has not seen it
    assert tried(library, learning.place).untried
    with_learned(library, learning.workspace, may_write=True)
    learning.accept([say(times=3).id], library)
    monkeypatch.setattr("kds.learning.library.find_refusals", None)
    found = tried(library, learning.place)
    assert ([one.text for one in found.examples], found.untried) == ([HAPPY, DASHBOARD], False)
    prompts = [
        replace(one, examples=(*one.examples, DASHBOARD)) if one.intent == "TEST" else one
        for one in library.prompts()
    ]
    found = tried(PromptLibrary(prompts, library._templates), learning.place)
    assert ([one.text for one in found.examples], found.untried) == ([HAPPY], False)
    assert "example of TEST" in found.warnings[0]
    monkeypatch.setenv("KDS_LEARNING", "off")
    assert tried(library, learning.place).examples == ()


def test_undo_restores_the_file_byte_for_byte(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    first = say(times=3)
    second = say(HAPPY, "VALIDATE", times=3)
    learning.accept([first.id], library)
    before = learning.file.text.read()
    learning.accept([second.id], library)
    assert [one.text for one in learning.undo_last()] == [HAPPY]
    assert learning.file.text.read() == before
    learning.undo_last()
    assert learning.file.text.read() is None
    with pytest.raises(LearningError, match="nothing to undo"):
        learning.undo_last()


def test_undo_takes_back_what_one_command_accepted(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    chosen = [say(times=3), say(HAPPY, "VALIDATE", times=3)]
    learning.accept([one.id for one in chosen], library)
    assert len(learning.undo_last()) == 2
    assert learning.file.text.read() is None


def test_after_an_undo_the_evidence_begins_anew(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    learning.accept([say(times=5).id], library)
    learning.undo_last()
    assert say().state == "waiting"
    assert say(times=2).state == "proposed"


def test_what_is_rejected_is_never_proposed_again(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    one = say(times=3)
    learning.reject([one.id])
    assert say(times=6).state == "rejected"
    assert (learning.proposals(), learning.examples()) == ((), ())
    with pytest.raises(LearningError, match="was rejected"):
        learning.accept([one.id], library)


def test_what_is_learned_has_to_be_undone_before_it_is_rejected(
    learning: Learning, library: PromptLibrary, say: Say
) -> None:
    learning.accept([say(times=3).id], library)
    with pytest.raises(LearningError, match="is learned"):
        learning.reject([one.id for one in learning.candidates()])


def test_secrets_and_phrases_without_content_are_turned_down(
    learning: Learning, library: PromptLibrary
) -> None:
    for text in ("do it", "log in with password: hunter2hunter2", "x = [1, 2]; y = load(x, z)"):
        with pytest.raises(LearningError, match="cannot be learned"):
            learning.tell(text, "PLAN", library)
    assert learning.events.text.read() is None


def test_an_unknown_intent_names_the_nearest(learning: Learning, library: PromptLibrary) -> None:
    with pytest.raises(DispatchError, match="PLAM") as caught:
        learning.tell(DASHBOARD, "PLAM", library)
    assert "PLAN" in str(caught.value.hint)


def test_names_that_are_nobodys_are_refused(learning: Learning) -> None:
    for act in (learning.undo, lambda name: learning.reject([name])):
        for name in ("", "1234"):
            with pytest.raises(LearningError, match="no one"):
                act(name)


def test_learning_off_leaves_the_router_as_shipped(
    learning: Learning, library: PromptLibrary, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning.accept([say(times=3).id], library)
    monkeypatch.setenv("KDS_LEARNING", "off")
    assert not learning.enabled
    assert with_learned(library, learning.workspace, may_write=True) == (library, ())
