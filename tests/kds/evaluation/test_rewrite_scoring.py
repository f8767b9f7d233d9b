"""The measures on rewrites, on resolvers whose outcome is known."""

import sys
from typing import Any

import pytest

from kds.api.workspace_parts import load_resolver
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.evaluation.examples import RewriteExample
from kds.evaluation.rewrite_scoring import Rewritten, bleu, rewrite, rouge1_recall, score_rewrites
from kds.router.discourse.history import Utterance

KEYS = (
    "turns exact bleu rouge1_recall needed needed_exact needed_bleu signal_precision "
    "signal_recall false_rewrites copy ms_p50 ms_p99"
).split()


def _example(query: str, *rewrites: str) -> RewriteExample:
    return RewriteExample((Utterance("Add a FAB button"),), query, rewrites, "a.jsonl:1")


def _came_out(query: str, wanted: str, text: str, ms: float = 1.0) -> Rewritten:
    return Rewritten(_example(query, wanted), text, (), ms)


RIGHT = _came_out("Make it purple", "Make the FAB button purple", "make the FAB-button purple.")
MISSED = _came_out("Make it blue", "Make the FAB button blue", "Make it blue")
KEPT = _came_out("Run the tests", "Run the tests", "Run the tests")
SPOILT = _came_out("Open the door", "Open the door", "Open the FAB door", 9.0)


def test_every_measure_counts_what_it_says() -> None:
    score = score_rewrites([RIGHT, MISSED, KEPT, SPOILT])
    assert (score.turns, score.needed) == (4, 2)
    assert (score.exact, score.needed_exact) == (0.5, 0.5)
    assert (score.signal_precision, score.signal_recall) == (0.5, 0.5)
    assert score.false_rewrites == 0.5
    assert score.copy.exact == 0.5
    assert (score.ms_p50, score.ms_p99) == (1.0, 9.0)


def test_the_keys_are_those_that_others_build_on() -> None:
    report = score_rewrites([RIGHT, KEPT]).as_dict()
    assert list(report) == KEYS
    assert list(report["copy"]) == ["exact", "bleu"]  # type: ignore[call-overload]  # a mapping


def test_what_does_not_occur_has_no_share() -> None:
    score = score_rewrites([KEPT])
    assert (score.needed, score.needed_exact, score.needed_bleu) == (0, None, None)
    assert (score.signal_precision, score.signal_recall) == (None, None)
    assert score.false_rewrites == 0.0


def test_any_of_several_rewrites_is_exact_and_a_copy_among_them_needs_none() -> None:
    several = _example("Make it purple", "Make the button purple", "make it purple")
    assert Rewritten(several, "Make the button purple", (), 0.0).exact
    assert not Rewritten(several, "Make it purple", (), 0.0).needed


def test_bleu_ignores_case_and_takes_the_nearest_of_several_references() -> None:
    text = "make the big FAB button purple"
    assert bleu([text], [("Make The Big FAB Button Purple",)]) == pytest.approx(100.0)
    two = [("Something else entirely here now", text), (text,)]
    assert bleu([text, text], two) == pytest.approx(100.0)
    assert bleu([], []) is None


def test_rouge_is_that_of_the_best_reference_and_counts_a_word_as_often_as_it_stands() -> None:
    assert rouge1_recall("a b", ["a b c d", "a b"]) == 1.0
    assert rouge1_recall("the", ["the the"]) == 0.5
    assert rouge1_recall("x", ["!?"]) == 0.0


def test_a_rewrite_uses_user_and_assistant_messages(workspace: Any) -> None:
    resolver = load_resolver(Workspace.find())
    history = (Utterance("Add a FAB button"), Utterance("Done.", "assistant"))
    one = rewrite(RewriteExample(history, "Make it purple", (), "x"), resolver)
    assert one.text == "Make the FAB button purple"
    assert any("pron.it" in note for note in one.notes)
    assert one.changed


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)  # what Python takes for "not there"
    with pytest.raises(KdsError, match=r"'sacrebleu' is needed to measure BLEU(.|\n)*\[eval\]"):
        score_rewrites([RIGHT])
