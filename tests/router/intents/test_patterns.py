"""What patterns and conversation say of an intent stands in its prompt file, whatever its name."""

import pytest

from kds.brain.errors import Problem
from kds.router.intents.patterns import Finding, Situation, context_shifts, find_patterns
from kds.router.pattern import Pattern
from kds.router.prompts.promptfile import ContextShift, IntentPattern, PromptFile


def pattern(source: str) -> IntentPattern:
    """A pattern of weight .5, or 1 in capitals; behind an equals sign, for the whole message."""
    exact, weight = source.startswith("="), 1.0 if source.isupper() else 0.5
    compiled = Pattern.compile(source.removeprefix("="), where="x:1", exact=exact)
    assert not isinstance(compiled, Problem)
    return IntentPattern(source.removeprefix("="), compiled, weight, exact, "x:1")


def find(texts: tuple[str, ...], patterns: str, excludes: str = "", needs: str = "") -> Finding:
    made = [tuple(map(pattern, one.split())) for one in (patterns, excludes, needs)]
    agent = PromptFile.model_construct(patterns=made[0], excludes=made[1], needs=made[2])
    return find_patterns({"A": agent}, ["A"], texts)[0]


ALONE = ("red blue green",)
EXCLUDED = (r"^go =go\son", "on$")
NEEDY = ("=stats show", "", "kds")


@pytest.mark.parametrize(
    ("given", "texts", "score"),
    [
        (ALONE, ("red",), 0.5),
        (ALONE, ("red and blue",), 0.75),  # noisy or
        (ALONE, ("black",), 0.0),
        (("RED",), ("red",), 0.99),  # certain ones leave a little doubt
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
    assert find(texts, *given).score == pytest.approx(score)


def test_a_phrase_without_the_word_its_intent_needs_is_not_a_phrase() -> None:
    without = find(("stats",), *NEEDY)
    assert (without.lacking, without.exact) == (True, False)


DANCE = PromptFile.model_construct(
    context=(
        ContextShift(when="question", after=("DANCE",), shift=0.7),
        ContextShift(when="reference", shift=0.3),
        ContextShift(when="first", shift=-1.0),
        ContextShift(when="image", shift=4.0),
    )
)


@pytest.mark.parametrize(
    ("situation", "message", "shift"),
    [
        (Situation(), "step left", -1.0),
        (Situation(has_session=True), "step left", None),
        (Situation(previous_intent="DANCE"), "and who leads?", 0.7),
        (Situation(previous_intent="SING"), "and who leads?", None),
        (Situation(previous_intent="DANCE"), "step left", None),
        (Situation(previous_intent="SING", has_reference=True), "repeat it", 0.3),
        (Situation(previous_intent="SING", has_attachment=True), "like this", 4.0),
        (Situation(previous_intent="DANCE", has_reference=True), "and who leads it?", 1.0),
    ],
)
def test_each_sign_shifts_the_intent_that_names_it(
    situation: Situation, message: str, shift: float | None
) -> None:
    agents = {"DANCE": DANCE, "SING": PromptFile.model_construct(context=())}
    found = context_shifts(situation, message, agents)
    assert found == ({} if shift is None else {"DANCE": pytest.approx(shift)})
