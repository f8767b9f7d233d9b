"""What the patterns of an intent say of a message."""

from pathlib import Path

import pytest

from kds.brain.errors import Problem
from kds.router.intents.evidence import IntentRules, RuleBook, readings, without_lead_in
from kds.router.pattern import Pattern
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import IntentPattern


def pattern(source: str, weight: float = 0.5) -> IntentPattern:
    """A pattern; behind an equals sign, one for the whole message."""
    exact, source = source.startswith("="), source.removeprefix("=")
    compiled = Pattern.compile(source, where="x:1", exact=exact)
    assert not isinstance(compiled, Problem)
    return IntentPattern(source, compiled, weight, exact, "x:1")


def rules(patterns: str, excludes: str = "", needs: str = "") -> IntentRules:
    made = [tuple(map(pattern, one.split())) for one in (patterns, excludes, needs)]
    return IntentRules("A", patterns=made[0], excludes=made[1], needs=made[2])


ALONE = ("red blue green",)
EXCLUDED = (r"^go =go\son", "on$")
NEEDY = ("=stats show", "", "kds")


@pytest.mark.parametrize(
    ("given", "texts", "score"),
    [
        (ALONE, ("red",), 0.5),
        (ALONE, ("red and blue",), 0.75),  # noisy or
        (ALONE, ("black",), 0.0),
        (EXCLUDED, ("go away",), 0.5),
        (EXCLUDED, ("go home and on",), 0.0),  # all is taken back,
        (EXCLUDED, ("Go on",), 0.5),  # but a whole phrase
        (NEEDY, ("stats",), 0.0),  # not even a phrase counts without the word it needs
        (NEEDY, ("show the KDS stats",), 0.5),
        (NEEDY, ("show it", "show the KDS report"), 0.5),  # the expansion may have it
        (("^make",), ("make it red", "make the button red"), 0.5),  # once over both
        (("^rename",), ("Could you please rename it?",), 0.5),  # behind polite words
        (("^rename",), ("ok, and then rename it",), 0.5),
        (("^rename",), ("let\u2019s rename it",), 0.5),
        (("^rename",), ("why rename it",), 0.0),
        (("=continue",), ("Ok, continue please",), 0.5),
        (("=continue",), ("continue the story",), 0.0),
    ],
)
def test_patterns_speak_for_an_intent(
    given: tuple[str, ...], texts: tuple[str, ...], score: float
) -> None:
    assert RuleBook([rules(*given)]).find(texts)[0].score == pytest.approx(score)


def test_certain_patterns_leave_a_little_doubt() -> None:
    book = RuleBook([IntentRules("A", patterns=(pattern("red", 1.0),))])
    assert book.find(["red"])[0].score == pytest.approx(0.99)


def test_a_phrase_without_the_word_its_intent_needs_is_not_a_phrase() -> None:
    book = RuleBook([rules(*NEEDY)])
    (without,) = book.find(["stats"])
    assert (without.lacking, without.exact, book.is_phrase("stats")) == (True, False, False)


@pytest.mark.parametrize("text", ["please", "thanks", "ok", "  "])
def test_polite_words_alone_stay(text: str) -> None:
    assert without_lead_in(text) == text.strip()
    assert readings("let\u2019s go")[0] == "let's go"


def test_where_a_pattern_stands_is_kept_for_the_notes(library: PromptLibrary) -> None:
    book = RuleBook([IntentRules.of(prompt) for prompt in library.agents()])
    finding = next(f for f in book.find(["commit this"]) if f.intent == "COMMIT")
    assert Path(finding.fired[0].where.partition(":")[0]).name == "commit-handler.md"
