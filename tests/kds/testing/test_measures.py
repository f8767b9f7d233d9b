"""The measures of `kds eval` on examples with a plain outcome."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import starmap
from pathlib import Path
from typing import Any

import pytest

from kds.brain.passages.rerank import DEFAULT, Fused, Weights
from kds.brain.turn import Edit, Reference, Turn
from kds.router.references.resolver import apply_edits
from kds.testing import chats, intents, retrieval, rewrites
from kds.testing.chats import Chat, ChatTurn, judge_edits
from kds.testing.dialogues import ExpectedTurn, judge
from kds.testing.examples import Row, read_examples
from kds.testing.follow_ups import Question
from kds.testing.rewrites import RewriteExample, outcome

AT = datetime(2025, 11, 3, tzinfo=UTC)
PURPLE = "Make it purple"
IT = {"text": "it", "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
      "must": True}  # fmt: skip
AGAIN = {"text": "", "kind": "ellipsis", "antecedents": ["the unit tests"], "source": "assistant"}


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ({"intent": "PLAN"}, {"intent": "PLAN", "action": "route"}, True),
        ({"intent": "PLAN"}, {"intent": "PLAN", "action": "clarify"}, True),
        ({"intent": "PLAN"}, {"intent": "ASK", "action": "route"}, False),
        ({"intent": ["PLAN", "ASK"]}, {"intent": "ASK", "action": "route"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "PLAN", "action": "clarify"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "UNKNOWN", "action": "abstain"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "UNKNOWN", "action": "route"}, False),
        ({"intent": ["UNKNOWN", "ASK"]}, {"intent": "ASK", "action": "route"}, True),
        ({"intent": "PLAN"}, {"intent": "UNKNOWN", "action": "abstain"}, False),
        ({"context_ref": "FAB button"}, {"context_ref": "the FAB button"}, True),
        ({"context_ref": "a fab  button"}, {"context_ref": "FAB Button"}, True),
        ({"context_ref": "edit page"}, {"context_ref": "edit the page"}, False),  # only a leading
        ({"context_ref": "me"}, {"context_ref": "theme"}, False),
        ({"context_ref": "FAB button"}, {"context_ref": None}, False),
        ({"secondary": ["TEST"]}, {"secondary_intents": ("TEST",)}, True),
        ({"secondary": []}, {"secondary_intents": ("TEST",)}, False),
        ({"switch": True}, {"context_switch": False}, False),
        ({"expanded": "Make the button purple"}, {}, False),
        ({"expanded": ["No", "make  IT purple!"]}, {}, True),
    ],
)
def test_a_turn_is_judged_field_by_field(
    expected: dict[str, Any], actual: dict[str, Any], right: bool
) -> None:
    turn = Turn(PURPLE, AT, **{"expanded": PURPLE, "action": "route", **actual})
    assert judge(ExpectedTurn(user=PURPLE, **expected), turn)["right"] is right


def _judged(message: str, refs: list[dict[str, Any]], edit: Edit) -> list[Row]:
    place = Reference(message[edit.start : edit.end], edit.start, edit.end, edit.text,
                      "pron.it", 0.9)  # fmt: skip
    expanded = apply_edits(message, [edit])
    turn = Turn(message, AT, edits=(edit,), references=(place,), expanded=expanded)
    expected = ChatTurn.model_validate({"user": message, "labelled": True, "refs": refs})
    return judge_edits(turn, expected)


@pytest.mark.parametrize(
    ("message", "refs", "edit", "outcome"),
    [
        (PURPLE, [IT], Edit(5, 7, "the FAB button"), "right"),
        (PURPLE, [IT], Edit(5, 7, "the purple FAB button"), "right"),
        (PURPLE, [IT], Edit(5, 7, "the login form"), "wrong"),
        (PURPLE, [IT], Edit(5, 7, "the FAB button of the start page in the app"), "wrong"),
        (PURPLE, [], Edit(8, 14, "the old one"), "false"),
        ("run again", [AGAIN], Edit(3, 3, " the unit tests"), "right"),  # anywhere
        ("wait, make it it", [IT | {"nth": 2}], Edit(14, 16, "the FAB button"), "false"),
        ("wait, make it it", [IT | {"nth": 2}], Edit(11, 13, "the FAB button"), "right"),
    ],
)
def test_an_edit_is_right_when_it_names_an_antecedent_where_one_is_meant(
    message: str, refs: list[dict[str, Any]], edit: Edit, outcome: str
) -> None:
    (judged,) = _judged(message, refs, edit)
    assert (judged["outcome"], judged["rule"]) == (outcome, "pron.it")


def test_the_score_of_chats_counts_right_edits_harm_and_what_was_needed() -> None:
    made = {"chat": "a", "labelled": True, "user": PURPLE, "expanded": "", "refs": [IT],
            "intents": ["EXECUTE"], "intent": "EXECUTE", "ms": 1.0}  # fmt: skip
    edits = (_judged(PURPLE, [IT], Edit(5, 7, one)) for one in ("the FAB button", "the form"))
    rows = [
        made | {"turn": turn, "edits": edit, "harmed": turn == 2, "acted": turn == 1,
                "confidence": 0.9, "intent_right": True if turn == 1 else None}
        for turn, edit in enumerate(edits, start=1)
    ]  # fmt: skip
    found = chats.score(rows)
    assert found | {
        "edits_right": 1, "edits_wrong": 1, "precision": 0.5, "harmed": 0.5, "must_user": 2,
        "must_recall_user": 0.5, "follow_ups": 1, "acted": 0.5, "intent_right_when_acted": 1.0,
        "ece": pytest.approx(0.1),
    } == found  # fmt: skip


OWN = sorted((Path(__file__).parents[2] / "chats").glob("*.jsonl"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_projects_own_chats_are_complete_and_each_has_a_group(path: Path) -> None:
    found = read_examples(path, Chat)
    assert len({chat.repo for chat in found}) == len(found) >= 20
    for turn in (turn for chat in found for turn in chat.turns):
        assert turn.labelled
        assert turn.intents
        assert all(ref.start_in(turn.user) >= 0 for ref in turn.refs if ref.text)


def _rewritten(query: str, wanted: str | list[str], text: str, ms: float = 1.0) -> Row:
    example = RewriteExample.model_validate({"query": query, "rewrite": wanted})
    return outcome(example, Turn(query, AT, expanded=text), ms)


def test_every_measure_of_rewrites_counts_what_it_says() -> None:
    found = rewrites.score(list(starmap(_rewritten, (
        (PURPLE, ["No", "Make the FAB button purple"], "make the FAB-button purple."),
        ("Make it blue", "Make the FAB button blue", "Make it blue"),
        ("Run the tests", ["Execute them", "Run the tests"], "Run the tests"),
        ("Open the door", "Open the door", "Open the FAB door", 9.0),
    ))))  # fmt: skip
    expected = {
        "turns": 4, "needed": 2, "exact": 0.5, "needed_exact": 0.5, "signal_precision": 0.5,
        "signal_recall": 0.5, "false_rewrites": 0.5, "ms_p50": 1.0, "ms_p99": 9.0,
    }  # fmt: skip
    assert found | expected == found


def _classified(wanted: str, found: str, *, scope: float = 1.0, draw: int = 0) -> Row:
    right = wanted == found
    return {"intents": (wanted,), "intent": found, "right": right, "best_right": right,
            "confidence": 0.9, "in_scope": scope, "acted": found != "UNKNOWN", "ms": 1.0,
            "draw": draw, "train_s": 1.0 + draw}  # fmt: skip


def test_intents_are_counted_within_and_out_of_scope_and_draws_are_averaged() -> None:
    pairs = (("LIFT", "LIFT"), ("SELL", "LIFT"), ("UNKNOWN", "LIFT"))
    rows = [*starmap(_classified, pairs), _classified("UNKNOWN", "UNKNOWN", scope=0.1)]
    found = intents.score(rows)
    assert found | {
        "accuracy": 0.5, "oos_recall_at_95": 0.5, "coverage": 1.0, "oos_acted": 0.5,
        "acted_precision": pytest.approx(1 / 3), "train_s": 1.0,
    } == found  # fmt: skip
    drawn = intents.score([_classified("LIFT", "LIFT"), _classified("LIFT", "SELL", draw=1)])
    assert (drawn["accuracy"], drawn["std"]["accuracy"], drawn["train_s"]) == (0.5, 0.5, 1.5)
    assert (drawn["oos_acted"], drawn["std"]["oos_acted"]) == (None, 0.0)


Found = Sequence[tuple[str, float | None, float]]
"""Messages by name, with how well they fit by meaning and by words."""


def _retrieved(relevant: str, found: Found, conversation: str = "c") -> Row:
    parts = [Fused(words, dense, words, 0.0) for _, dense, words in found]
    names = [name for name, _, _ in found]
    return {"conversation": conversation, "relevant": relevant, "found": names, "parts": parts}


def test_recall_counts_the_first_messages_and_ndcg_their_order() -> None:
    def figures(relevant: str, found: str) -> tuple[float | None, float | None]:
        means = retrieval.ranking([_retrieved(relevant, [(name, None, 1.0) for name in found])])
        return means["recall_at_5"], means["ndcg_at_5"]

    assert figures("af", "abcdef") == (0.5, pytest.approx(0.613, abs=1e-3))
    assert figures("ab", "aabxyz") == (1.0, pytest.approx(1.0))
    assert figures("ab", "xyzab") == (1.0, pytest.approx(0.501, abs=1e-3))
    assert figures("a", "") == (0.0, 0.0)


def test_weights_are_tuned_where_others_do_better_on_conversations_not_searched_on() -> None:
    hits = [("a", 0.1, 1.0), ("b", 1.0, 0.9)]
    rows = [_retrieved("b", hits, name) for name in "vwxyz"]
    found = retrieval.tuned(rows, Weights(0.0, 1.0, 0.0), dense=True)
    halves = [found[half] for half in ("searched_on", "other_half", "before")]
    assert [half["queries"] for half in halves] == [3, 2, 2]
    assert [half["ndcg_at_5"] for half in halves] == [1.0, 1.0, pytest.approx(0.631, abs=1e-3)]
    alone = [_retrieved("a", [("a", None, 1.0)]) for _ in range(7)]
    found = retrieval.tuned(alone, DEFAULT, dense=False)
    assert found["weights"] == asdict(DEFAULT)
    assert found["searched_on"]["queries"] == 4


def test_a_question_is_resolved_when_it_names_what_it_is_about() -> None:
    typed, meant = (f"And what happens if {it} falls on a weekend?" for it in ("it", "the Fee Day"))
    question = Question(user=typed, expanded=meant, refers_to="the Fee Day")
    assert all(map(question.resolved, (meant, "what if fee day is a Sunday")))
    assert not any(map(question.resolved, (typed, "What is coffee day?")))
    assert Question(user=typed).resolved(typed)
