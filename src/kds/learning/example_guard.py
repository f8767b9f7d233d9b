"""May an example be learned? Checked against the examples that ship, before it is used."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kds.brain.learning.learned_file import LearnedExample
from kds.brain.learning.phrase import phrase_key
from kds.learning.bench import Bench, Flip
from kds.router.intents.evidence import RuleBook
from kds.router.intents.features import readable
from kds.router.intents.lessons import lessons
from kds.router.intents.terms import stems
from kds.router.prompts.promptfile import PromptFile

CLEAR_MARGIN: Final = 1.5
"""Distance between the intent that the shipped examples speak for and the one to be learned, in
margins of the head, from which they contradict it clearly. Of 16 plausible examples the furthest
was at 0.8, of 10 absurd ones ("commit and push it" as PLAN) the nearest at 1.7."""

MAX_FLIPS: Final = 3
"""Unseen shipped examples of 2,507 that one learned example may turn. Some are on the edge: any
shipped one, left out, turns up to 2; plausible new ones turn up to 3, absurd ones mostly 3 to 5."""

MAX_FLIPPED_SHARE: Final = 0.01
"""The same for all learned examples together; 16 plausible ones turn 11, and win 10 others."""

SHOWN: Final = 3


def find_refusals(
    prompts: Sequence[PromptFile],
    learned: Sequence[LearnedExample],
    *,
    tried: Collection[str] = (),
) -> dict[str, str]:
    """Why some of the learned examples may not be used, by id; all others may, together.

    Those whose ids are in ``tried`` have passed alone before. About three seconds of CPU, and one
    for each that is new; imports scikit-learn, which takes half of the three.
    """
    refusals = find_clashes(prompts, learned)
    fit = [one for one in learned if one.id not in refusals]
    if not fit:
        return refusals
    bench = Bench.of(prompts, fit)
    sound: list[int] = []
    for number, one in enumerate(fit):
        reason = None if one.id in tried else _harm_of_one(bench, number, one)
        if reason is None:
            sound.append(number)
        else:
            refusals[one.id] = reason
    # Alone it may turn no more than it may with others: what is tried alone is not tried again.
    tried_alone = len(sound) == 1 and fit[sound[0]].id not in tried
    kept = sound if tried_alone else _together(bench, [], sound)
    for number in sorted({*sound} - {*kept}):
        refusals[fit[number].id] = _told(bench.flips([*kept, number]), "with those before it")
    return refusals


def find_clashes(
    prompts: Sequence[PromptFile], learned: Sequence[LearnedExample]
) -> dict[str, str]:
    """Why some of the learned examples contradict the prompt files outright, by id: at once."""
    return dict(_fixed_phrases(prompts, learned)) | dict(_contradictions(prompts, learned))


def _contradictions(
    prompts: Sequence[PromptFile], learned: Sequence[LearnedExample]
) -> Iterator[tuple[str, str]]:
    """Examples that a prompt file gives to another intent, word for word, or denies to theirs."""
    agents = [prompt for prompt in prompts if prompt.intent]
    intents = {prompt.intent for prompt in agents}
    shipped = {_key(text): (text, prompt.intent) for prompt in agents for text in prompt.examples}
    denied = {(_key(text), prompt.intent) for prompt in agents for text in prompt.counter_examples}
    for one in learned:
        key = _key(one.text)
        text, intent = shipped.get(key, ("", one.intent))
        if one.intent not in intents:
            yield one.id, f"no prompt file has the intent {one.intent}"
        elif intent != one.intent:
            yield one.id, f"'{text}' is an example of {intent} in its prompt file"
        elif (key, one.intent) in denied:
            yield one.id, f"it is a counter-example in the prompt file of {one.intent}"


def _fixed_phrases(
    prompts: Sequence[PromptFile], learned: Sequence[LearnedExample]
) -> Iterator[tuple[str, str]]:
    """Exact patterns stand above examples: what they give to another intent stays with it."""
    book = RuleBook(lessons(prompts)[1])
    for one in learned:
        found = [finding for finding in book.find([readable(one.text)]) if finding.exact]
        if found and one.intent not in {finding.intent for finding in found}:
            where = next(pattern.where for pattern in found[0].fired if pattern.exact)
            yield one.id, f"it is a fixed phrase of {found[0].intent}: {where}"


def _key(text: str) -> tuple[str, ...]:
    return tuple(stems(phrase_key(text)))


def _harm_of_one(bench: Bench, number: int, one: LearnedExample) -> str | None:
    distance, instead = bench.distance(number)
    if distance >= CLEAR_MARGIN:
        near = bench.nearest(number, instead)
        reason = f"the shipped examples speak clearly for {instead}, not for {one.intent}"
        return f"{reason}; the nearest is '{near}'"
    flips = bench.flips([number])
    if len(flips) > MAX_FLIPS or any(flip.seen for flip in flips):
        return _told(flips, "with it")
    return None


def _together(bench: Bench, kept: list[int], tried: list[int]) -> list[int]:
    """Which of ``tried`` can join ``kept``: all, or what remains when halves are tried in turn."""
    if not tried or _bearable(bench.flips([*kept, *tried]), len(bench.texts)):
        return [*kept, *tried]
    if len(tried) == 1:
        return kept
    half = len(tried) // 2
    return _together(bench, _together(bench, kept, tried[:half]), tried[half:])


def _bearable(flips: Sequence[Flip], shipped: int) -> bool:
    most = max(MAX_FLIPS, MAX_FLIPPED_SHARE * shipped)
    return len(flips) <= most and not any(flip.seen for flip in flips)


def _told(flips: Sequence[Flip], when: str) -> str:
    shown = ", ".join(f"'{one.text}' ({one.intent}) as {one.becomes}" for one in flips[:SHOWN])
    more = f" and {len(flips) - SHOWN} more" if len(flips) > SHOWN else ""
    return f"{when} KDS would read {shown}{more}"
