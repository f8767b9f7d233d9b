"""Judging what the searches found: a second look at the words, and one score of all searches.

In a conversation the words of a question are spread: "Did you get the job?" - "Yes, they called
yesterday." A message therefore counts what its neighbours say, less with the distance, and what
answers a question counts that question more. Each signal raised NDCG@5 on conversations 1-2 and on
3-5 of the LoCoMo development dialogues alike; gains below are of all five, in points of recall@10
and NDCG@5.

Each search's scores are divided by its best, so that weights mean the same for every question. A
search that knows nothing of a passage does not count against it: its weight goes to the others.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from kds.brain.passages.question import Question, Term
from kds.brain.passages.values import Passage
from kds.brain.words.terms import WORD, ident_words, stem

NEIGHBOURS: Final[Mapping[int, float]] = {-4: 0.2, -3: 0.3, -2: 0.4, -1: 0.6, 1: 0.4, 2: 0.3}
"""Distance in passages -> what a word said there is worth here. Backwards more: a message is about
what was said before it. LoCoMo: +12.5, +10.9."""

ANSWER: Final = 1.5
"""What follows a question counts its words this many times. LoCoMo: +0.7, +3.1; less from 1.8."""

ASKING: Final = 0.88
"""A message that is itself a question rarely holds the answer. LoCoMo: +0.3, +1.3."""

SPEAKER: Final = 1.2
"""Added when the question names the speaker; a rare word is worth 5 to 10. LoCoMo: +1.2, +2.4."""

IN_PERIOD: Final = 2.0
"""A message of the time the question names. LoCoMo: +1.5, +1.9."""

SATURATION: Final = 1.0
"""BM25's k1: a word said twice is not twice as good."""

LENGTH: Final = 0.3
"""BM25's b. Chat messages are short anyway: FTS5's 0.75 costs half a point on LoCoMo."""

CODE_LENGTH: Final = 0.75
"""BM25's b for code: long functions name a great many things in passing."""

HEADER: Final = 2
"""A word of the heading, or of a function's name, counts as often as that."""

READ_LIMIT: Final = 150_000
"""Characters of passages that are read for one question: 5 ms. Later ones count as not found."""

_ADDED: Final = re.compile(r"\s*\[[^\[\]]*\]\s*\Z")
"""A note in brackets behind the text, such as that of an attached picture."""

_LAST: Final = 500
"""Characters at the end of a passage that tell whether it asks."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What the second look found of a passage, and why."""

    score: float
    words: tuple[str, ...]
    """The words of the question that it has itself."""
    near: tuple[str, ...]
    """Those that only its neighbours have."""
    notes: tuple[str, ...]


def window(ids: Iterable[int]) -> tuple[int, ...]:
    """Return the ids of passages that have a say in the scores of ``ids``, themselves first."""
    own = dict.fromkeys(ids)
    return tuple(own | dict.fromkeys(one + step for one in own for step in NEIGHBOURS))


def rarity(frequency: int, total: int) -> float:
    """Return how much a word says that ``frequency`` of ``total`` passages have: BM25's idf."""
    frequency = min(frequency, total)
    return math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))


def rerank(
    question: Question,
    candidates: Iterable[int],
    passages: Mapping[int, Passage],
    weights: Mapping[str, float],
) -> dict[int, Reranked]:
    """Score the candidates; those with nothing of the question, not even near, are left out.

    ``passages`` are those of the candidates' `window` that exist; ``weights`` say how rare the
    words of the terms are (`rarity`).
    """
    names = frozenset().union(*(_name(passage.speaker) for passage in passages.values()))
    told = [term for term in question.terms if not term.stems & names]
    asking = frozenset(one for one, passage in passages.items() if _asks(passage))
    counts = dict(zip((term.word for term in told), _counts(told, passages), strict=True))
    found = {}
    for one in candidates:
        if (passage := passages.get(one)) is None:
            continue
        worth = {word: _worth(one, count, asking) for word, count in counts.items()}
        score = sum(weights.get(word, 0.0) * value for word, value in worth.items())
        if one in asking:
            score *= ASKING
        notes = []
        if any(term.stems & _name(passage.speaker) for term in question.terms):
            score += SPEAKER
            notes.append(f"said by {passage.speaker}")
        if question.period is not None and question.period.covers(passage.at):
            score *= IN_PERIOD
            notes.append(f"said on {passage.at:%Y-%m-%d}, in the time asked for")
        if score > 0.0:
            words = tuple(word for word in worth if one in counts[word])
            near = tuple(word for word, value in worth.items() if value and word not in words)
            found[one] = Reranked(score, words, near, tuple(notes))
    return found


def _worth(one: int, count: Mapping[int, float], asking: frozenset[int]) -> float:
    """Return what a term is worth in a passage and its neighbours.

    The root of the squares: the same word in all of them counts little more than in one.
    """
    squares = count.get(one, 0.0) ** 2
    for step, weight in NEIGHBOURS.items():
        if (value := count.get(one + step)) is not None:
            answers = step == -1 and one - 1 in asking
            squares += (weight * (ANSWER if answers else 1.0) * value) ** 2
    return math.sqrt(squares)


def _counts(terms: Sequence[Term], passages: Mapping[int, Passage]) -> list[dict[int, float]]:
    """Return for each term what it is worth in which passage: up to 1 + SATURATION."""
    counts: list[dict[int, float]] = [{} for _ in terms]
    mean = sum(passage.tokens for passage in passages.values()) / max(len(passages), 1) or 1.0
    numbers = _numbering(terms)
    read = 0
    for one, passage in passages.items():
        read += len(passage.body)
        if read > READ_LIMIT:
            break
        often = Counter(numbers(passage.body))
        for at in numbers(_name_words(passage.header)) if passage.header else ():
            often[at] += HEADER
        for at in numbers(passage.idents):  # spellings that the text may not have
            often.setdefault(at, 1)
        share = CODE_LENGTH if passage.kind == "code" else LENGTH
        norm = SATURATION * (1.0 - share + share * passage.tokens / mean)
        for at, times in often.items():
            counts[at][one] = times * (SATURATION + 1.0) / (times + norm)
    return counts


def _numbering(terms: Sequence[Term]) -> Callable[[str], Iterator[int]]:
    """Return what yields the number of a term for each of its words in a text."""
    wanted: dict[str, list[int]] = {}
    for at, term in enumerate(terms):
        for form in term.stems:
            wanted.setdefault(form, []).append(at)
    # A stem differs from its words in no letter but the last: only what begins so is stemmed.
    beginnings = frozenset(form[:2] for form in wanted)

    def numbers(text: str) -> Iterator[int]:
        for word in WORD.findall(text.casefold()):
            if word[:2] in beginnings:
                yield from wanted.get(stem(word), ())

    return numbers


@lru_cache(maxsize=10_000)
def _name_words(header: str) -> str:
    return f"{header} {ident_words(header, code=True)}"


@lru_cache(maxsize=1000)
def _name(speaker: str | None) -> frozenset[str]:
    return frozenset(map(stem, WORD.findall(speaker.casefold()))) if speaker else frozenset()


def _asks(passage: Passage) -> bool:
    if passage.kind != "prose" or "?" not in passage.body:
        return False
    return _ADDED.sub("", passage.body[-_LAST:]).rstrip().endswith("?")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each search counts: ``alpha`` meaning, ``beta`` words, ``gamma`` identifiers.

    Only their proportions matter; beta and gamma are not both 0.
    """

    alpha: float
    beta: float
    gamma: float


DEFAULT: Final = Weights(0.20, 0.65, 0.15)
"""Best on both halves of the LoCoMo dialogues with a MiniLM-class model; alpha from 0.15 to 0.35
differs by less than half a point."""

LONG: Final = Weights(0.50, 0.35, 0.15)
"""Best on questions about sessions of coding assistants, whose passages are long, left out one
repository at a time. LoCoMo's short messages lose 8 points of NDCG@5 by it, those gain 5."""

SHORT_TOKENS: Final = 45
LONG_TOKENS: Final = 90
"""Mean tokens of passages up to which DEFAULT holds, and from which LONG does."""

PROMPT: Final = 0.8
"""Of a prompt to an assistant, since the reply is more likely to hold the answer: +3 points of
NDCG@5 on sessions. People who talk to each other have names, and answer alike."""

LEAST_COSINE: Final = 0.3
"""Of what the shipped encoder alone finds: unrelated texts have less."""

DENSE_NEIGHBOURS: Final[Mapping[int, float]] = {-1: 0.4, 1: 0.2}
"""What the vectors of the passages before and after add. LoCoMo: +0.8 recall@10, +1 NDCG@5."""


def weights_for(chosen: Weights, tokens: Iterable[int]) -> Weights:
    """Return the weights for passages of these lengths; those that a user set stay.

    The longer a passage, the more its vector says of what it is about.

    >>> weights_for(DEFAULT, [20, 40]) == DEFAULT, weights_for(DEFAULT, [90, 200]) == LONG
    (True, True)
    """
    lengths = tuple(tokens)
    if chosen != DEFAULT or not lengths:
        return chosen
    mean = sum(lengths) / len(lengths)
    share = min(max((mean - SHORT_TOKENS) / (LONG_TOKENS - SHORT_TOKENS), 0.0), 1.0)
    alpha = DEFAULT.alpha + share * (LONG.alpha - DEFAULT.alpha)
    return Weights(alpha, 1.0 - alpha - DEFAULT.gamma, DEFAULT.gamma)


@dataclass(frozen=True, slots=True)
class Fused:
    """The score of a passage and what each search gave it, 0 to 1; None: it has no vector."""

    score: float
    dense: float | None
    lexical: float
    code: float


def fuse(
    lexical: Mapping[int, float],
    code: Mapping[int, float],
    dense: Mapping[int, float],
    *,
    weights: Weights,
    dense_floor: float | None = None,
    least: float = -1.0,
) -> dict[int, Fused]:
    """Fuse the scores of every passage that a search found.

    ``dense_floor`` is what passages beyond the nearest have; None: those have no vector. ``least``
    is the cosine of those that nothing else found.
    """
    rest = max(dense_floor or 0.0, 0.0)
    smoothed = {
        one: max(score, 0.0)
        + sum(weight * dense.get(one + step, rest) for step, weight in DENSE_NEIGHBOURS.items())
        for one, score in dense.items()
    }
    near, words, names = _shares(smoothed), _shares(lexical), _shares(code)
    floor = rest / max(smoothed.values()) if near and dense_floor is not None else None
    found = {}
    for one in dict.fromkeys((*words, *names, *near)):
        if one in words or one in names or dense[one] >= least:
            parts = Fused(0.0, near.get(one, floor), words.get(one, 0.0), names.get(one, 0.0))
            found[one] = replace(parts, score=weigh(parts, weights, named=bool(names)))
    return found


def weigh(parts: Fused, weights: Weights, *, named: bool) -> float:
    """Return the mean of the parts under ``weights``; ``named``: the question has identifiers.

    >>> weigh(Fused(0.0, None, 1.0, 0.0), Weights(0.5, 0.3, 0.2), named=False)
    1.0
    """
    score, total = weights.beta * parts.lexical, weights.beta
    if named:
        score, total = score + weights.gamma * parts.code, total + weights.gamma
    if parts.dense is not None:
        score, total = score + weights.alpha * parts.dense, total + weights.alpha
    return score / total if total > 0.0 else 0.0


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    """Return scores as shares of the best one; none when nothing is above 0."""
    best = max(scores.values(), default=0.0)
    return {one: max(score, 0.0) / best for one, score in scores.items()} if best > 0.0 else {}
