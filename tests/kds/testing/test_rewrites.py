"""The measures on rewrites, on examples with a known outcome."""

from kds.testing.rewrites import RewriteExample, Rewritten, rouge1_recall, score_rewrites

KEYS = (
    "turns exact bleu rouge1_recall needed needed_exact needed_bleu signal_precision "
    "signal_recall false_rewrites copy ms_p50 ms_p99"
).split()


def _rewritten(query: str, wanted: str | tuple[str, ...], text: str, ms: float = 1.0) -> Rewritten:
    accepted = (wanted,) if isinstance(wanted, str) else wanted
    return Rewritten(RewriteExample((), query, accepted, "a.jsonl:1"), text, (), ms)


RIGHT = _rewritten("Make it purple", "Make the FAB button purple", "make the FAB-button purple.")
MISSED = _rewritten("Make it blue", "Make the FAB button blue", "Make it blue")
KEPT = _rewritten("Run the tests", "Run the tests", "Run the tests")
SPOILT = _rewritten("Open the door", "Open the door", "Open the FAB door", 9.0)


def test_every_measure_counts_what_it_says_under_the_keys_that_others_build_on() -> None:
    score = score_rewrites([RIGHT, MISSED, KEPT, SPOILT])
    assert list(score) == KEYS
    expected = {
        "turns": 4, "needed": 2, "exact": 0.5, "needed_exact": 0.5, "signal_precision": 0.5,
        "signal_recall": 0.5, "false_rewrites": 0.5, "ms_p50": 1.0, "ms_p99": 9.0,
    }  # fmt: skip
    assert score | expected == score
    assert set(score["copy"]) == {"exact", "bleu"}  # type: ignore[call-overload]


def test_any_of_several_rewrites_is_exact_and_a_copy_among_them_means_none_is_needed() -> None:
    several = ("Make the button purple", "make it purple")
    assert _rewritten("Make it purple", several, "Make the button purple").exact
    assert not _rewritten("Make it purple", several, "Make it purple").needed


def test_rouge_is_that_of_the_best_reference_and_counts_repeated_words() -> None:
    assert rouge1_recall("a b", ["a b c d", "a b"]) == 1.0
    assert rouge1_recall("the", ["the the"]) == 0.5
    assert rouge1_recall("x", ["!?"]) == 0.0
