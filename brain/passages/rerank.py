"""A second look at what the index found: a hit is judged in the light of what stands around it.

In a conversation the words of a question are spread: "Did you get the job?" - "Yes, they
called yesterday." A message therefore counts what its neighbours say, less with the distance,
and what answers a question counts that question more. Each signal is here because it raised
NDCG@5 on conversations 1-2 and on 3-5 of the LoCoMo development dialogues alike; the gains below
are of all five, in points of recall@10 and NDCG@5.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kds.brain.passages.query import WORD, Question, Term
from kds.brain.passages.values import Passage
from kds.brain.words.identifiers import ident_words
from kds.brain.words.period import MONTHS
from kds.brain.words.stems import stem

NEIGHBOURS: Final[Mapping[int, float]] = {-4: 0.2, -3: 0.3, -2: 0.4, -1: 0.6, 1: 0.4, 2: 0.3}
"""Distance in chunks -> what a word said there is worth here. Backwards more: a message is about
what was said before it. LoCoMo: +12.5, +10.9."""

ANSWER: Final = 1.5
"""What follows a question counts the question's words this many times. LoCoMo: +0.7, +3.1; from
1.8 on it falls again."""

ASKING: Final = 0.88
"""A message that is itself a question rarely holds the answer. LoCoMo: +0.3, +1.3."""

SPEAKER: Final = 1.2
"""Added when the question names who said it; a rare word is worth 5 to 10. More would lose what
others say about that person. LoCoMo: +1.2, +2.4."""

IN_PERIOD: Final = 2.0
"""A message of the time the question names. LoCoMo: +1.5, +1.9."""

TELLS_TIME: Final = 1.3
"""For "when": a message with a time in it. LoCoMo: +0.2, +0.5 (of the time questions +5)."""

SATURATION: Final = 1.0
"""BM25's k1: a word said twice is not twice as good."""

LENGTH: Final = 0.3
"""BM25's b. Chat messages are short anyway: FTS5's 0.75 costs half a point on LoCoMo."""

CODE_LENGTH: Final = 0.75
"""BM25's b for code: long functions name a great many things in passing."""

HEADER: Final = 2
"""A word of the heading, or of a function's name, counts as often as that."""

UNRELATED: Final = 0.3
"""Of code beside other code: what it says is worth that much. Prose beside code speaks of it."""

READ_LIMIT: Final = 150_000
"""Characters of passages that are read for one question: 5 ms. Later ones count as not found."""

_TIME: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|since|recently|just|the other day|(?:19|20)\d\d"
    r"|(?:last|next|this|past|previous) (?:week|month|year|night|few|spring|summer|autumn|fall"
    r"|winter|mon|tue|wed|thu|fri|sat|sun)\w*"
    r"|\w+ (?:second|minute|hour|day|week|weekend|month|year)s? ago"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|{'|'.join(name for name in MONTHS if name != 'may')}"
    r"|\d{1,2}:\d\d)\b",
    re.I,
)

_ADDED: Final = re.compile(r"\s*\[[^\[\]]*\]\s*\Z")
"""A note in brackets behind the text, such as that of an attached picture."""


_LAST: Final = 500
"""Characters at the end of a passage that tell whether it asks."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What the second look found of a chunk, and why."""

    score: float
    words: tuple[str, ...]
    """The words of the question that it has itself."""
    near: tuple[str, ...]
    """Those that only its neighbours have."""
    notes: tuple[str, ...]


def window(ids: Iterable[int]) -> tuple[int, ...]:
    """Return the ids of chunks that have a say in the scores of ``ids``, themselves first."""
    own = dict.fromkeys(ids)
    near = dict.fromkeys(one + step for one in own for step in NEIGHBOURS)
    return (*own, *(one for one in near if one not in own))


def rerank(
    question: Question,
    candidates: Iterable[int],
    passages: Mapping[int, Passage],
    weights: Mapping[str, float],
) -> dict[int, Reranked]:
    """Score the candidates; those that have nothing of the question, not even near, are left out.

    ``passages`` are those of the candidates' `window` that exist; ``weights`` say how rare the
    words of the terms are (`rarity`).
    """
    scene = _Scene.of(question, passages, weights)
    found = {one: scene.judge(one) for one in candidates if one in passages}
    return {one: result for one, result in found.items() if result.score > 0.0}


def rarity(frequency: int, total: int) -> float:
    """Return how much a word says that ``frequency`` of ``total`` chunks have: BM25's idf."""
    frequency = min(frequency, total)
    return math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class _Scene:
    """All that is known when the hits of one question are judged."""

    question: Question
    passages: Mapping[int, Passage]
    weights: Mapping[str, float]
    counts: tuple[tuple[Term, Mapping[int, float]], ...]
    """For each term what it is worth in which passage: up to 1 + SATURATION."""
    asking: frozenset[int]
    code: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(
        cls, question: Question, passages: Mapping[int, Passage], weights: Mapping[str, float]
    ) -> "_Scene":
        names = frozenset().union(*(_name(passage.speaker) for passage in passages.values()))
        told = [term for term in question.terms if not term.stems & names]
        return cls(
            question,
            passages,
            weights,
            tuple(zip(told, _counts(told, passages), strict=True)),
            frozenset(one for one, passage in passages.items() if _asks(passage)),
            frozenset(one for one, passage in passages.items() if passage.kind == "code"),
            names & {one for term in question.terms for one in term.stems},
        )

    def judge(self, one: int) -> Reranked:
        score = 0.0
        words: list[str] = []
        near: list[str] = []
        for term, count in self.counts:
            if worth := self._worth(one, count):
                score += self.weights.get(term.word, 0.0) * worth
                (words if one in count else near).append(term.word)
        if one in self.asking:
            score *= ASKING
        notes = []
        if self.names & _name(self.passages[one].speaker):
            score += SPEAKER
            notes.append(f"said by {self.passages[one].speaker}")
        for factor, note in self._bonuses(self.passages[one]):
            score *= factor
            notes.append(note)
        return Reranked(score, tuple(words), tuple(near), tuple(notes))

    def _worth(self, one: int, count: Mapping[int, float]) -> float:
        """Return what a term is worth in a passage and its neighbours: a root of squares, so
        that the same word in all of them counts little more than in one."""
        squares = count.get(one, 0.0) ** 2
        code = one in self.code
        for step, weight in NEIGHBOURS.items():
            if (value := count.get(one + step)) is not None:
                if code and one + step in self.code:
                    weight *= UNRELATED
                if step == -1 and one - 1 in self.asking:
                    weight *= ANSWER
                squares += (weight * value) ** 2
        return math.sqrt(squares)

    def _bonuses(self, passage: Passage) -> Iterator[tuple[float, str]]:
        period = self.question.period
        if period is not None and period.covers(passage.at):
            yield IN_PERIOD, f"said on {passage.at:%Y-%m-%d}, in the time asked for"
        if self.question.asks_when and _TIME.search(passage.body):
            yield TELLS_TIME, "tells a time"


def _counts(terms: Sequence[Term], passages: Mapping[int, Passage]) -> list[dict[int, float]]:
    counts: list[dict[int, float]] = [{} for _ in terms]
    mean = sum(passage.tokens for passage in passages.values()) / max(len(passages), 1) or 1.0
    spotter = _Spotter.of(terms)
    read = 0
    for one, passage in passages.items():
        read += len(passage.body)
        if read > READ_LIMIT:
            break
        share = CODE_LENGTH if passage.kind == "code" else LENGTH
        norm = SATURATION * (1.0 - share + share * passage.tokens / mean)
        for at, said in spotter.said(passage).items():
            counts[at][one] = said * (SATURATION + 1.0) / (said + norm)
    return counts


@dataclass(frozen=True, slots=True)
class _Spotter:
    """Finds the words of terms in texts: only what begins like one of them is ever stemmed."""

    wanted: Mapping[str, Sequence[int]]
    beginnings: tuple[str, ...]
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, terms: Sequence[Term]) -> "_Spotter":
        wanted: dict[str, list[int]] = {}
        for at, term in enumerate(terms):
            for form in term.stems:
                wanted.setdefault(form, []).append(at)
        beginnings = tuple(dict.fromkeys(map(_beginning, wanted)))
        found = "|".join(map(re.escape, beginnings))
        pattern = re.compile(rf"(?<![^\W_])(?:{found})[^\W_]*") if found else None
        return cls(wanted, beginnings, pattern)

    def said(self, passage: Passage) -> dict[int, int]:
        """Count how often the passage has each of the terms."""
        found: dict[int, int] = {}
        if self.pattern is None:
            return found
        for word in self._words(passage.body):
            for at in self.wanted.get(word, ()):
                found[at] = found.get(at, 0) + 1
        if passage.header:
            for word in self._words(_name_words(passage.header)):
                for at in self.wanted.get(word, ()):
                    found[at] = found.get(at, 0) + HEADER
        for word in self._words(passage.idents):  # spellings that the text may not have
            for at in self.wanted.get(word, ()):
                found.setdefault(at, 1)
        return found

    def _words(self, text: str) -> Iterator[str]:
        text = text.casefold()
        if self.pattern is not None and any(one in text for one in self.beginnings):
            yield from map(stem, self.pattern.findall(text))


def _beginning(word: str) -> str:
    """Return how every word with this stem begins: "hope" and "marri" stand for "hoping", "marry".

    A stem of Porter's differs from its words in no letter but the last.
    """
    return word[:-1] if len(word) > 2 and word[-1] in "ei" else word


@lru_cache(maxsize=10_000)
def _name_words(header: str) -> str:
    return f"{header} {ident_words(header, code=True)}" if header else ""


@lru_cache(maxsize=1000)
def _name(speaker: str | None) -> frozenset[str]:
    return frozenset(map(stem, WORD.findall(speaker.casefold()))) if speaker else frozenset()


def _asks(passage: Passage) -> bool:
    if passage.kind != "prose" or "?" not in passage.body:
        return False
    return _ADDED.sub("", passage.body[-_LAST:]).rstrip().endswith("?")
