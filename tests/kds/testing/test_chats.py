"""Real chats: what a file may hold, and the measures on turns with a plain outcome."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.brain.errors import ExampleFileError
from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.references.resolver import apply_edits
from kds.testing.chats import (
    Chat,
    ChatReference,
    ChatTurn,
    PlayedChatTurn,
    judge_edits,
    play_with,
    read_chats,
    score_chats,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)
IT = ChatReference(
    text="it", kind="pronoun", antecedents=["FAB button"], source="user", must=True, start=5
)
AGAIN = ChatReference(
    text="", kind="ellipsis", antecedents=["the unit tests"], source="assistant", must=True
)


def _turn(message: str, *edits: Edit) -> Turn:
    references = tuple(
        Reference(message[edit.start : edit.end], edit.start, edit.end, edit.text, "pron.it", 0.9)
        for edit in edits
    )
    expanded = apply_edits(message, edits)
    return Turn(message, AT, edits=edits, references=references, expanded=expanded)


def _expected(message: str, *references: ChatReference) -> ChatTurn:
    return ChatTurn(user=message, labelled=True, intents=["EXECUTE"], refs=list(references))


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
    (edit,) = judge_edits(turn, _expected("Make it purple", IT))
    assert (edit.outcome, edit.rule) == (outcome, "pron.it")


def test_an_edit_where_nothing_refers_is_false() -> None:
    turn = _turn("Make it purple", Edit(8, 14, "the old one"))
    (edit,) = judge_edits(turn, _expected("Make it purple"))
    assert edit.outcome == "false"


def test_the_words_that_were_left_out_may_stand_anywhere() -> None:
    turn = _turn("run again", Edit(3, 3, " the unit tests"))
    (edit,) = judge_edits(turn, _expected("run again", AGAIN))
    assert (edit.outcome, edit.reference) == ("right", AGAIN)


class _Router:
    """Answers with two edits, and writes down what it was told of the conversation."""

    def __init__(self) -> None:
        self.said: list[Sequence[Utterance]] = []

    def route(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        self.said.append(tuple(history))
        text = "the FAB button" if len(self.said) == 1 else "the form"
        return _turn(message, Edit(5, 7, text))


def test_the_score_counts_right_edits_harm_and_what_was_needed() -> None:
    router: Any = _Router()
    first = _expected("Make it purple", IT).model_copy(update={"assistant": "Done."})
    chat = Chat(id="a", turns=[first, _expected("Make it green", IT)])
    score = score_chats(play_with(chat, lambda clock: router))
    assert (score["edits_right"], score["edits_wrong"], score["precision"]) == (1, 1, 0.5)
    assert (score["harmed"], score["must_user"], score["must_recall_user"]) == (0.5, 2, 0.5)
    assert score["follow_ups"] == 1
    assert router.said[1] == (Utterance("Make it purple"), Utterance("Done.", "assistant"))


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
    assert (score["acted"], score["intent_right_when_acted"]) == (0.5, 0.5)
    assert score["ece"] == pytest.approx(0.4)


ROW = {
    "text": "it", "nth": 2, "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
    "must": True,
}  # fmt: skip


def _file(folder: Path, *turns: dict[str, Any]) -> Path:
    path = folder / "chats.jsonl"
    path.write_text(json.dumps({"id": "a", "repo": "me/app", "turns": turns}) + "\n")
    return path


def test_a_reference_is_at_its_nth_occurrence_and_something_left_out_is_nowhere(
    tmp_path: Path,
) -> None:
    refs = [ROW, {**ROW, "text": "", "kind": "ellipsis"}]
    (chat,) = read_chats(_file(tmp_path, {"user": "wait, make it it", "refs": refs}))
    assert chat.repo == "me/app"
    assert [ref.start for ref in chat.turns[0].references] == [11, -1]


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"assistant": "Done."}, "key 'user' (in turns, item 1) is missing"),
        ({"user": "it", "intents": "EXECUTE"}, "'intents' (in turns, item 1) must be a list"),
        ({"user": "it", "refs": [{**ROW, "kind": "noun"}]}, "refs, item 1) must be 'pronoun'"),
        ({"user": "it", "refs": [{"text": "it"}]}, "'source' (in turns, item 1, refs, item 1)"),
    ],
)
def test_a_wrong_turn_is_named_with_its_line(
    tmp_path: Path, turn: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExampleFileError) as wrong:
        read_chats(_file(tmp_path, turn))
    assert "chats.jsonl:1" in str(wrong.value)
    assert said in str(wrong.value)


OWN = sorted((Path(__file__).parents[2] / "chats").glob("*.jsonl"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_projects_own_chats_are_complete_and_each_has_a_group(path: Path) -> None:
    chats = read_chats(path)
    assert len({chat.repo for chat in chats}) == len(chats) >= 20
    for turn in (turn for chat in chats for turn in chat.turns):
        assert turn.labelled
        assert turn.intents
        for ref in turn.references:
            assert ref.start < 0 or turn.user.startswith(ref.text, ref.start)
