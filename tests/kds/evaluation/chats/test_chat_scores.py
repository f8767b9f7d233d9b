"""The measures of real chats, on turns whose outcome is plain."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.evaluation.chats.chat_file import Chat, ChatReference, ChatTurn
from kds.evaluation.chats.chat_scores import score_chats
from kds.evaluation.chats.playing import PlayedChatTurn, judge, play_chat
from kds.evaluation.chats.recent_noun import recent_noun_turn
from kds.router.language.analysis import open_language
from kds.router.references.resolver import apply_edits

AT = datetime(2026, 1, 1, tzinfo=UTC)
IT = ChatReference("it", 5, "pronoun", ("FAB button",), "user", must=True)
AGAIN = ChatReference("", -1, "ellipsis", ("the unit tests",), "assistant", must=True)


def _turn(message: str, *edits: Edit) -> Turn:
    references = tuple(
        Reference(message[edit.start : edit.end], edit.start, edit.end, edit.text, "pron.it", 0.9)
        for edit in edits
    )
    expanded = apply_edits(message, edits)
    return Turn(message, AT, edits=edits, references=references, expanded=expanded)


def _expected(message: str, *references: ChatReference) -> ChatTurn:
    return ChatTurn(message, "", labelled=True, intents=("EXECUTE",), references=references)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("the FAB button", "right"),
        ("the purple FAB button", "right"),
        ("the login form", "wrong"),
        ("the FAB button of the start page in the app", "wrong"),
    ],
)
def test_an_edit_of_a_reference_is_right_when_it_names_an_antecedent(
    said: str, outcome: str
) -> None:
    turn = _turn("Make it purple", Edit(5, 7, said))
    (edit,) = judge(turn, _expected("Make it purple", IT))
    assert (edit.outcome, edit.rule) == (outcome, "pron.it")


def test_an_edit_where_nothing_refers_is_false() -> None:
    turn = _turn("Make it purple", Edit(8, 14, "the old one"))
    (edit,) = judge(turn, _expected("Make it purple"))
    assert edit.outcome == "false"


def test_a_message_that_stays_has_no_edit_to_judge() -> None:
    assert judge(_turn("Make it purple"), _expected("Make it purple", IT)) == ()


def test_the_words_that_were_left_out_may_stand_anywhere() -> None:
    turn = _turn("run again", Edit(3, 3, " the unit tests"))
    (edit,) = judge(turn, _expected("run again", AGAIN))
    assert (edit.outcome, edit.reference) == ("right", AGAIN)


def test_the_score_counts_right_edits_harm_and_what_was_needed() -> None:
    said: list[Sequence[Utterance]] = []

    def route(message: str, history: Sequence[Utterance]) -> Turn:
        said.append(tuple(history))
        text = "the FAB button" if len(said) == 1 else "the form"
        return _turn(message, Edit(5, 7, text))

    turns = (
        ChatTurn("Make it purple", "Done.", labelled=True, intents=("EXECUTE",), references=(IT,)),
        _expected("Make it green", IT),
    )
    ticks: list[int] = []
    played = play_chat(Chat("a", "", turns), route, lambda: ticks.append(1))
    score = score_chats(played)
    assert (score.edits_right, score.edits_wrong, score.precision) == (1, 1, 0.5)
    assert (score.harmed, score.must_user, score.must_recall_user) == (0.5, 2, 0.5)
    assert score.follow_ups == 1
    assert said[1] == (Utterance("Make it purple"), Utterance("Done.", "assistant"))
    assert len(ticks) == 2


def test_without_history_the_router_sees_none() -> None:
    seen: list[int] = []

    def route(message: str, history: Sequence[Utterance]) -> Turn:
        seen.append(len(history))
        return _turn(message)

    chat = Chat("a", "", (_expected("one"), _expected("two")))
    play_chat(chat, route, lambda: None, history=False)
    assert seen == [0, 0]


def test_confidence_is_held_against_what_was_right_among_the_turns_acted_on() -> None:
    def played(intent: str, action: str, confidence: float) -> PlayedChatTurn:
        turn = Turn("go", AT, expanded="go", intent=intent, confidence=confidence, action=action)  # type: ignore[arg-type]
        return PlayedChatTurn("a", 1, _expected("go"), turn, (), 1.0)

    score = score_chats(
        [
            played("EXECUTE", "route", 0.9),
            played("ASK", "route", 0.9),
            played("ASK", "clarify", 0.4),
            played("ASK", "clarify", 0.4),
        ]
    )
    assert (score.acted, score.intent_right_when_acted) == (0.5, 0.5)
    assert score.ece == pytest.approx(0.4)


def test_the_yardstick_writes_the_last_noun_for_the_first_pronoun() -> None:
    analyse = open_language(()).analyse
    history = [Utterance("Add a login form"), Utterance("Done: the footer.", "assistant")]
    assert recent_noun_turn("Make it purple", history, analyse).expanded == "Make login form purple"
    assert recent_noun_turn("Add tests", history, analyse).expanded == "Add tests"
