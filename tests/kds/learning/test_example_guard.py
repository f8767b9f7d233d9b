"""What is learned must not turn what ships."""

from dataclasses import replace

import pytest

from kds.brain.learning.learned_file import LearnedExample
from kds.learning.example_guard import find_refusals
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

PROMPTS = PromptLibrary.load().prompts()


def example(text: str, intent: str) -> LearnedExample:
    return LearnedExample(text, text, intent, "you", 1)


@pytest.fixture(scope="module")
def refusals() -> dict[str, str]:
    """One look at plausible examples, absurd ones and contradictions together.

    Every third shipped example will do, and costs a third.
    """
    return find_refusals(
        [replace(prompt, examples=prompt.examples[::3]) for prompt in PROMPTS],
        [
            example("give the dashboard some love", "PLAN"),
            example("is the pipeline happy", "VALIDATE"),
            example("commit the changes and push them", "PLAN"),
            example("make the button purple", "ASK"),
            example("Run the tests!", "PLAN"),
            example("book me a train to Rome", "TRAVEL"),
        ],
    )


def test_plausible_examples_are_let_in(refusals: dict[str, str]) -> None:
    assert "give the dashboard some love" not in refusals
    assert "is the pipeline happy" not in refusals


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("commit the changes and push them", "speak clearly for COMMIT"),
        ("make the button purple", "speak clearly for EXECUTE"),
        ("Run the tests!", "is an example of TEST in its prompt file"),
        ("book me a train to Rome", "no prompt file has the intent TRAVEL"),
    ],
)
def test_what_contradicts_the_prompt_files_is_refused_with_the_reason(
    refusals: dict[str, str], text: str, reason: str
) -> None:
    assert reason in refusals[text]


def test_what_is_contradicted_clearly_is_tried_against_no_unseen_example(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts = [replace(prompt, examples=prompt.examples[::6]) for prompt in PROMPTS]
    monkeypatch.delattr("kds.learning.bench._unseen")
    found = find_refusals(prompts, [example("commit the changes and push them", "PLAN")])
    assert "speak clearly for COMMIT" in found["commit the changes and push them"]


def test_a_counter_example_of_the_intent_is_refused() -> None:
    prompt = next(one for one in PROMPTS if one.intent == "CORRECT")
    text = prompt.counter_examples[0]
    found = find_refusals(PROMPTS, [example(text, "CORRECT")])
    assert "counter-example" in found[text]


def test_of_many_examples_only_so_many_are_let_in_as_turn_few_shipped_ones() -> None:
    prompts = [_few(prompt) for prompt in PROMPTS if prompt.intent in ("ASK", "TEST", "PLAN")]
    asked = next(one for one in PROMPTS if one.intent == "ASK").examples[12:52]
    many = [example(text, "TEST") for text in asked]
    refusals = find_refusals(prompts, many, tried={one.id for one in many})
    assert 0 < len(refusals) < len(many)
    assert all("KDS would read" in reason for reason in refusals.values())


def _few(prompt: PromptFile) -> PromptFile:
    return replace(prompt, examples=prompt.examples[:12], counter_examples=())
