"""Whether a message needs what was said before is told as a probability."""

import pytest

import kds
from kds.api.rehearsal import MinuteClock
from kds.brain.turn import Turn, Utterance, from_wire, to_wire

LEANING = "This refers to earlier messages"


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> kds.Router:
    return kds.Router.open(tmp_path_factory.mktemp("needs"), log=False)


def after(router: kds.Router, message: str, *said: str) -> Turn:
    history = [Utterance(text, ("user", "assistant")[n % 2]) for n, text in enumerate(said)]
    return router.route(message, history=history)


TALK = ("Add a settings page with two tabs", "I added `settings.tsx` with the two tabs.")


@pytest.mark.parametrize("message", ["Make it purple", "do the same for the others", "yes"])
def test_a_first_message_needs_nothing(router: kds.Router, message: str) -> None:
    assert router.route(message).needs_context == 0.0


@pytest.mark.parametrize(
    "message", ["no, I meant the other one", "that is still not working", "try again"]
)
def test_a_message_that_points_back_is_likely_to_need_it(router: kds.Router, message: str) -> None:
    turn = after(router, message, *TALK)
    assert turn.needs_context > 0.5
    assert any("it needs what was said before" in note for note in turn.why)
    assert turn.as_dict()["needs_context"] == round(turn.needs_context, 4)
    assert from_wire(to_wire(turn)).needs_context == pytest.approx(turn.needs_context, abs=1e-4)


@pytest.mark.parametrize(
    "message",
    [
        "Write a Python function that parses ISO dates and returns None for invalid ones",
        "Create a README.md that explains how to install PostgreSQL with Docker",
    ],
)
def test_a_message_that_says_all_is_not(router: kds.Router, message: str) -> None:
    assert after(router, message, *TALK).needs_context < 0.3


def test_the_prompt_says_that_a_message_refers_back_unless_it_is_written_out(
    router: kds.Router,
) -> None:
    assert LEANING in after(router, "no, I meant the other one", *TALK).prompt
    assert LEANING not in router.route("no, I meant the other one").prompt
    remembered = router.rehearse(MinuteClock())
    remembered.route("I want to add a FAB button")
    written = remembered.route("Make it purple")
    assert written.expanded == "Make the FAB button purple"
    assert LEANING not in written.prompt
