"""Answers to a clarifying question."""

from dataclasses import replace
from datetime import UTC, datetime

from kds.brain.turn import ContextEntry, Turn, Utterance
from kds.router.answer import make_answer
from kds.router.prompts.library import PromptLibrary

AT = datetime(2025, 11, 3, 12, 0, tzinfo=UTC)
ORIGINAL = "Sort out the login page"
CANDIDATES = ("PLAN", "EXECUTE", "TEST")
QUESTION = "Shall I plan it, change it or test it?"


def asked(turn: Turn) -> Turn:
    """A router that is unsure about the original message only."""
    if turn.message != ORIGINAL:
        return replace(turn, action="route", expanded=turn.message)
    return replace(
        turn, action="clarify", candidates=CANDIDATES, question=QUESTION, context_ref="shop",
        expanded="Sort out the login page of the shop",
    )  # fmt: skip


def answer_to(message: str, library: PromptLibrary, *, before: str = ORIGINAL) -> Turn:
    entry = ContextEntry(AT, before, "PLAN")
    turn = Turn(message, AT, context=(entry,), expanded=message, intent="ASK", confidence=0.4)
    return make_answer(library, asked).run(turn)


PICKED = {
    "the first one": "PLAN", "The second one, please": "EXECUTE", "2": "EXECUTE",
    "the last": "TEST", "plan it": "PLAN", "I mean test": "TEST", "execute": "EXECUTE",
    "change it": "EXECUTE",
}  # fmt: skip
OTHERS = (
    "Make it purple", "the fourth one", "yes", "plan and test it", "commit it",
    "the second button is broken", "Add tests for the second one of the forms",
)  # fmt: skip


def test_an_answer_picks_a_candidate_and_keeps_the_original_message(library: PromptLibrary) -> None:
    for message, intent in PICKED.items():
        turn = answer_to(message, library)
        assert (turn.intent, turn.message, turn.context_ref) == (intent, message, "shop")
        assert turn.expanded == "Sort out the login page of the shop"


def test_what_names_no_candidate_is_a_message_of_its_own(library: PromptLibrary) -> None:
    for message in OTHERS:
        turn = answer_to(message, library)
        assert (turn.intent, turn.expanded) == ("ASK", message)
    unasked = answer_to("the second one", library, before="Add a footer")
    assert unasked.expanded == "the second one"


def test_a_number_behind_a_known_reply_answers_the_reply(library: PromptLibrary) -> None:
    entry = ContextEntry(AT, ORIGINAL, "PLAN")
    turn = Turn("2", AT, context=(entry,), expanded="2", intent="ASK")
    turn = replace(turn, history=(Utterance(ORIGINAL), Utterance("1. Red\n2. Blue", "assistant")))
    assert make_answer(library, asked).run(turn) is turn


def test_the_question_is_asked_again_with_what_was_said_before_it(library: PromptLibrary) -> None:
    """Else it may come out as another one, which the reply that is known does not hold."""
    before = (Utterance("Add a shop"), Utterance("Done.", "assistant"))
    replies = (Utterance(ORIGINAL), Utterance(f"Well: {QUESTION}", "assistant"))
    heard: list[tuple[Utterance, ...]] = []

    def listening(turn: Turn) -> Turn:
        heard.append(turn.history)
        return asked(turn)

    entry = ContextEntry(AT, ORIGINAL, "PLAN")
    turn = Turn("2", AT, context=(entry,), expanded="2", intent="ASK", history=(*before, *replies))
    assert make_answer(library, listening).run(turn).intent == "EXECUTE"
    assert heard == [before]
