from pathlib import Path

import pytest

from kds.brain.errors import Problem
from kds.router.intents.evidence import (
    IntentRules,
    RuleBook,
    bare_request,
    readings,
    without_lead_in,
)
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern


def pattern(source: str, weight: float = 0.5, *, exact: bool = False) -> IntentPattern:
    compiled = Pattern.compile(source, where="x:1", exact=exact)
    assert not isinstance(compiled, Problem)
    return IntentPattern(source, compiled, weight, exact, "x:1")


def score(rules: IntentRules, *texts: str) -> float:
    return RuleBook([rules]).find(texts)[0].score


def test_weights_add_up_by_noisy_or() -> None:
    rules = IntentRules("A", patterns=(pattern("red"), pattern("blue"), pattern("green")))
    assert score(rules, "red") == pytest.approx(0.5)
    assert score(rules, "red and blue") == pytest.approx(0.75)
    assert score(rules, "black") == 0.0


def test_certain_patterns_leave_a_little_doubt() -> None:
    assert score(IntentRules("A", patterns=(pattern("red", 1.0),)), "red") == pytest.approx(0.99)


def test_an_exclude_takes_all_back_but_exact_phrases() -> None:
    rules = IntentRules(
        "A", patterns=(pattern("^go"), pattern("go on", exact=True)), excludes=(pattern("on$"),)
    )
    assert score(rules, "go away") == pytest.approx(0.5)
    assert score(rules, "go home and on") == 0.0
    assert score(rules, "Go on") == pytest.approx(0.5)


def test_an_intent_that_lacks_what_it_needs_has_nothing_for_it_not_even_a_phrase() -> None:
    rules = IntentRules(
        "A", patterns=(pattern("stats", exact=True), pattern("show")), needs=(pattern("kds"),)
    )
    book = RuleBook([rules])
    (without,) = book.find(["stats"])
    assert (without.lacking, without.exact, without.score) == (True, False, 0.0)
    assert not book.is_phrase("stats")
    (fitting,) = book.find(["show the KDS stats"])
    assert (fitting.lacking, fitting.score) == (False, pytest.approx(0.5))


def test_the_expansion_may_have_what_an_intent_needs() -> None:
    rules = IntentRules("A", patterns=(pattern("^show"),), needs=(pattern("kds"),))
    assert score(rules, "show it", "show the KDS report") == pytest.approx(0.5)


def test_exact_patterns_need_the_whole_message() -> None:
    rules = IntentRules("A", patterns=(pattern("continue", exact=True),))
    assert RuleBook([rules]).find(["Ok, continue please"])[0].exact
    assert not RuleBook([rules]).find(["continue the story"])[0].exact


def test_a_pattern_counts_once_over_message_and_expansion() -> None:
    rules = IntentRules("A", patterns=(pattern("^make"),))
    assert score(rules, "make it red", "make the button red") == pytest.approx(0.5)


def test_anchored_patterns_look_behind_polite_words() -> None:
    rules = IntentRules("A", patterns=(pattern("^rename"),))
    for text in (
        "rename it",
        "Could you please rename it?",
        "ok, and then rename it",
        "let's rename it",
    ):
        assert score(rules, text) == pytest.approx(0.5), text
    assert score(rules, "why rename it") == 0.0


@pytest.mark.parametrize("text", ["please", "thanks", "ok", "  "])
def test_polite_words_alone_stay(text: str) -> None:
    assert without_lead_in(text) == text.strip()


def test_curly_apostrophes_are_read_as_straight_ones() -> None:
    assert readings("let\u2019s go")[0] == "let's go"


def test_where_a_pattern_stands_is_kept_for_the_notes(library: PromptLibrary) -> None:
    rules = [IntentRules.of(prompt) for prompt in library.agents()]
    finding = next(f for f in RuleBook(rules).find(["commit this"]) if f.intent == "COMMIT")
    assert Path(finding.fired[0].where.partition(":")[0]).name == "commit-handler.md"


@pytest.mark.parametrize(
    ("message", "command"),
    [
        ("can we move the navbar out?", "move the navbar out"),
        ("Ok, could we also drop the second column", "drop the second column"),
        ("cant we show the date?", "show the date"),
        ("why don\u2019t we use a queue?", "use a queue"),
        ("would it be possible to sort the list? it is long", "sort the list. it is long"),
    ],
)
def test_a_request_put_as_a_question_is_the_command_that_it_is(message: str, command: str) -> None:
    assert bare_request(message) == command


@pytest.mark.parametrize(
    "message",
    [
        "can we?",
        "why not?",
        "can we be sure that nothing else uses it?",
        "where can we move the navbar?",
        "should we drop the column?",
        "is it possible to run this on windows?",
        "move it, can we?",
        "",
    ],
)
def test_other_questions_stay_as_they_are(message: str) -> None:
    assert bare_request(message) == message
