"""The probability that an edit is right, and the step that goes by it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import ContextEntry, Edit, Reference, Turn
from kds.router.references.decision import (
    Decider,
    bar,
    bounded,
    edit_signs,
    is_destructive,
    read_decider,
    shipped_decider,
)
from kds.router.understanding import make_decide

AT = datetime(2026, 1, 1, tzinfo=UTC)
LIKELY, UNLIKELY = Decider({}, 9.0), Decider({"score": (-9.0, 0.0)}, 0.0)


def _turn(message: str = "Make it purple", **more: object) -> Turn:
    at = message.index("it")
    turn = Turn(
        message,
        AT,
        context=(ContextEntry(AT, "I want to add a FAB button", "PLAN"),),
        references=(Reference("it", at, at + 2, "FAB button", "pron.it", 0.9),),
        edits=(Edit(at, at + 2, "the FAB button"),),
    )
    return replace(turn, **more)  # type: ignore[arg-type]


def test_what_is_likely_is_written() -> None:
    after = make_decide(LIKELY).run(_turn())
    assert (after.edits, after.references) == (_turn().edits, _turn().references)
    assert after.notes[-1].startswith("'the FAB button' is written")


def test_what_is_not_likely_stays_as_typed_and_is_unresolved_and_says_why() -> None:
    after = make_decide(UNLIKELY).run(_turn())
    assert (after.edits, after.references, after.unresolved) == ((), (), ("it",))
    assert after.notes[-1] == (
        "'the FAB button' is not written: probability 0.00, threshold 0.93; against it: score"
    )


def test_of_two_edits_each_is_decided_on_its_own() -> None:
    one = _turn("Make it as wide as the other")
    other = Reference("the other", 19, 28, "menu", "np.one", 0.1)
    both = replace(
        one, references=(*one.references, other), edits=(*one.edits, Edit(19, 28, "the menu"))
    )
    by_score = Decider({"score": (20.0, 0.5)}, 0.0)
    after = make_decide(by_score).run(both)
    assert (after.edits, after.references) == (one.edits, one.references)
    assert after.unresolved == ("the other",)


def test_an_edit_whose_companion_is_refused_is_refused() -> None:
    """The pronoun is not a subject of its verb's other form alone: "the player get stuck"."""
    one = _turn("it get stuck")
    both = replace(one, edits=(*one.edits, Edit(3, 6, "gets")))
    by_place = Decider({"far into the message": (-40.0, 0.1)}, 0.0)
    after = make_decide(by_place).run(both)
    assert (after.edits, after.references, after.unresolved) == ((), (), ("it", "get"))


def test_what_hardly_comes_to_mind_is_never_sure() -> None:
    weak = replace(_turn(), references=(replace(_turn().references[0], score=0.38),))
    assert make_decide(LIKELY).run(weak).proposals[0].probability == pytest.approx(0.88)
    assert bounded(weak, replace(weak.references[0], rule="pron.they"), 0.99) == 0.99


def test_what_was_left_out_leaves_the_whole_message_unresolved() -> None:
    after = make_decide(UNLIKELY).run(_turn(edits=(Edit(14, 14, " for the FAB button"),)))
    assert after.unresolved == ("Make it purple",)


@pytest.mark.parametrize("precision", [0.0, 1.0])
def test_all_is_written_or_nothing_where_the_promise_says_so(precision: float) -> None:
    after = make_decide(Decider({}, 3.0), lambda: precision).run(_turn())
    assert bool(after.edits) == (precision == 0.0)


def test_a_message_that_destroys_something_asks_for_more() -> None:
    assert bar("Delete it", 0.9) == pytest.approx(0.95)
    assert is_destructive("please revert that")
    assert not is_destructive("Make it purple")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"signs": {"a": 1}, "bias": 0}'])
def test_damaged_weights_are_not_weights(text: str) -> None:
    with pytest.raises(ValueError):
        read_decider(text)


@given(st.text(min_size=1, max_size=200), st.text(max_size=60), st.data())
def test_any_edit_of_any_message_has_signs_and_a_probability(
    message: str, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(message)))
    end = data.draw(st.integers(start, len(message)))
    turn = Turn(message, AT, edits=(Edit(start, end, text),))
    decider = shipped_decider()
    assert decider is not None
    probability, _ = decider.decide(edit_signs(turn, turn.edits[0]))
    assert 0.0 <= probability <= 1.0
