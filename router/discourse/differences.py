"""Where two questions differ that are alike in everything else: what is being varied."""

from dataclasses import dataclass

from kds.router.discourse.question import Question, Span
from kds.router.language.words import Word


@dataclass(frozen=True, slots=True)
class Difference:
    """Two questions alike but for one part: the words of it in each."""

    first: Span
    second: Span


def difference(one: Question, two: Question) -> Difference | None:
    """Where two questions differ, when they are alike in everything else."""
    a, b = _asked(one), _asked(two)
    left = 0
    while left < min(len(a), len(b)) and _same(a[left], b[left]):
        left += 1
    right = 0
    while right < min(len(a), len(b)) - left and _same(a[-1 - right], b[-1 - right]):
        right += 1
    first, second = a[left : len(a) - right], b[left : len(b) - right]
    verbal = any(w.pos in {"AUX", "VERB"} for w in (*first, *second))
    alike = left + right >= max(3, len(first), len(second))
    if not first or not second or verbal or not alike:
        return None
    return Difference(_phrase(one, first), _phrase(two, second))


def _asked(question: Question) -> tuple[Word, ...]:
    return question.words[question.first : question.end]


def _same(a: Word, b: Word) -> bool:
    auxiliaries = a.pos == b.pos == "AUX" and a.lemma == b.lemma
    return a.lower == b.lower or auxiliaries


def _phrase(question: Question, words: tuple[Word, ...]) -> Span:
    """The phrase around the words that differ: "video mode" for "video"."""
    start, stop = words[0].i, words[-1].i + 1
    for phrase in question.analysis.phrases:
        if phrase.start < stop and start < phrase.end:
            start, stop = min(start, phrase.start), max(stop, phrase.end)
    return start, stop
