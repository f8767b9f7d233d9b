"""A summary made of the conversation's own sentences, without a model.

Facts come first: every date, amount, name, identifier and decision is kept, at least in a list
("Dates: ..."), as long as the budget holds them. What room is left goes to whole sentences,
those that tell the most facts first. What does not fit is chosen by its value and counted in the
summary itself, so that a reader knows there is more to be found.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import filterfalse
from typing import Final

from kds.brain.memory.facts import SENTENCES_KNOWN, Fact, FactKind, Told, facts_of
from kds.brain.memory.sentences import (
    LISTED,
    Reading,
    Sentence,
    left_out_note,
    listed,
    read,
)
from kds.brain.passages.values import Message
from kds.brain.words.tokens import TokenCounter, estimate_tokens

SUMMARY_WORDS: Final = 200
SUMMARY_TOKENS: Final = 200
"""Of a rolling summary (issue 5)."""

NOTE_WORDS: Final = 6
NOTE_TOKENS: Final = 10
"""Kept free for the note on what was left out, and for the names of speakers."""

LIST_SHARE: Final = 0.75
"""Of the room that facts may take in lists. The rest is for sentences: after thirty turns a summary
would be nothing but lists, which say what was talked about and not what was said."""

LABEL_COSTS: Final = {kind: (len(label.split()), 5) for kind, label in LISTED.items()}
"""Words and tokens that a line of facts costs besides the facts."""

VALUE: Final[dict[FactKind, float]] = {
    "decision": 4.0,
    "date": 3.0,
    "identifier": 2.5,
    "amount": 2.5,
    "name": 2.0,
}
"""What goes first when not everything fits: a decision can hardly be found again, a name often
stands in other messages too. An order, not a measurement."""

BY_LABEL: Final = {"Assistant": 0.8, "Tool": 0.4, "System": 0.6}
"""The user's own words count fully, what was said in reply less: without it 48 % of the facts that
users told in real chats are kept instead of 51 %."""

EARLIER: Final = 0.6
"""What is told by the earlier summary only: it was there for some turns already."""

_SHORTEST: Final = 3
"""Words and tokens of the shortest sentence worth its room."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a summary may be: both limits hold."""

    words: int = SUMMARY_WORDS
    tokens: int = SUMMARY_TOKENS


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary, and what became of the facts; ``left_out`` counts earlier ones too."""

    text: str
    facts: int
    kept: int
    dropped: tuple[Fact, ...]
    left_out: int


class ExtractiveSummarizer:
    """Summarises without a model: a `summary.Summarizer` that cannot fail."""

    def __init__(
        self, limit: Limit | None = None, *, count_tokens: TokenCounter = estimate_tokens
    ) -> None:
        self.limit = limit or Limit()
        self.count_tokens = count_tokens
        # A summary is made of the same sentences turn after turn.
        self._count_part: TokenCounter = lru_cache(maxsize=SENTENCES_KNOWN)(count_tokens)

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the summary of ``previous`` and the messages after it."""
        return self.digest(messages, previous).text

    def digest(
        self, messages: Sequence[Message], previous: str = "", *, limit: Limit | None = None
    ) -> Digest:
        """Return the summary and what it had no room for."""
        return self.digest_of(read(messages, previous), limit=limit)

    def digest_of(self, reading: Reading, *, limit: Limit | None = None) -> Digest:
        """Summarise what was taken apart already."""
        return _Draft.of(reading, limit or self.limit, self.count_tokens, self._count_part).digest()


@dataclass(frozen=True, slots=True)
class _Costed:
    """A sentence, what it costs, and the facts it tells."""

    sentence: Sentence
    words: int
    tokens: int
    facts: frozenset[str]


@dataclass(slots=True)
class _Draft:
    """A summary in the making. Facts go by an id made of their kind and key."""

    reading: Reading
    limit: Limit
    count: TokenCounter
    sentences: list[_Costed]
    facts: dict[str, Fact]
    values: dict[str, float]
    costs: dict[str, tuple[int, int]]
    inside: dict[str, frozenset[str]]
    """Decision -> the facts that its words tell too."""
    kept: set[str] = field(default_factory=set)
    chosen: set[int] = field(default_factory=set)

    @classmethod
    def of(
        cls, reading: Reading, limit: Limit, count: TokenCounter, count_part: TokenCounter
    ) -> "_Draft":
        facts: dict[str, Fact] = {}
        for fact in reading.facts:
            if not is_bare(fact):
                facts.setdefault(fact_id(fact), fact)
        # "; " parts it from the next one
        costs = {
            one: (len(fact.text.split()), count_part(fact.text) + 1) for one, fact in facts.items()
        }
        inside = {
            one: (frozenset(map(fact_id, facts_of(fact.text))) & facts.keys()) - {one}
            for one, fact in facts.items()
            if fact.kind == "decision"
        }
        once = {sentence.text: sentence for sentence in reversed(reading.sentences)}
        sentences = [
            _costed(sentence, count_part)
            for sentence in reading.sentences
            if once[sentence.text] is sentence
        ]
        return cls(reading, limit, count, sentences, facts, _values(reading), costs, inside)

    def digest(self) -> Digest:
        self._keep_facts()
        scores = [self._score(one) for one in self.sentences]
        worth = [
            score / (one.tokens + 1) for score, one in zip(scores, self.sentences, strict=True)
        ]
        for index in sorted(range(len(worth)), key=lambda index: -worth[index]):
            if self._is_full():
                break
            self._try(index)
        text = self._fitted(scores)
        told = self._told()
        dropped = tuple(fact for one, fact in self.facts.items() if one not in told)
        total = len(dropped) + self.reading.left_out
        return Digest(text, len(self.facts), len(told), dropped, total)

    def _keep_facts(self) -> None:
        """Choose the facts that fit bare, the most valuable for their room first.

        The cube root of the room: else a decision of ten words would count less than five
        numbers, and a date less than an acronym.
        """
        words = int(LIST_SHARE * (self.limit.words - NOTE_WORDS))
        tokens = int(LIST_SHARE * (self.limit.tokens - NOTE_TOKENS))
        worth = {
            one: (value + sum(self.values[name] for name in self.inside.get(one, ())))
            / math.cbrt(self.costs[one][1])
            for one, value in self.values.items()
        }
        covered: set[str] = set()
        kinds: set[FactKind] = set()
        for one in sorted(self.facts, key=lambda one: -worth[one]):
            kind = self.facts[one].kind
            cost = (0, 0) if one in covered else self.costs[one]
            if one not in covered and kind not in kinds:
                cost = _sum((cost, LABEL_COSTS[kind]))
            if cost[0] <= words and cost[1] <= tokens:
                self.kept.add(one)
                if one not in covered:
                    kinds.add(kind)
                covered |= self.inside.get(one, frozenset())
                words, tokens = words - cost[0], tokens - cost[1]

    def _score(self, one: _Costed) -> float:
        """What a sentence is worth: its facts, and a little for what it says besides."""
        told = sum(self.values[name] for name in one.facts & self.kept)
        return told + (0.3 + 0.3 * one.sentence.first) * _weight(one.sentence)

    def _try(self, index: int) -> None:
        """Put a sentence in when there is room."""
        self.chosen.add(index)
        words, tokens = self._size()
        if words > self.limit.words - NOTE_WORDS or tokens > self.limit.tokens - NOTE_TOKENS:
            self.chosen.remove(index)

    def _is_full(self) -> bool:
        words, tokens = self._size()
        room = (self.limit.words - NOTE_WORDS - words, self.limit.tokens - NOTE_TOKENS - tokens)
        return min(room) < _SHORTEST

    def _size(self) -> tuple[int, int]:
        bare = self._bare()
        chosen = [self.sentences[index] for index in self.chosen]
        words = sum(one.words for one in chosen)
        tokens = sum(one.tokens for one in chosen)
        labels = len({one.sentence.source for one in chosen})
        kinds = {self.facts[one].kind for one in bare}
        lists = _sum((*(self.costs[one] for one in bare), *(LABEL_COSTS[one] for one in kinds)))
        return words + lists[0] + labels, tokens + lists[1] + 3 * labels

    def _in_sentences(self) -> set[str]:
        return {name for index in self.chosen for name in self.sentences[index].facts}

    def _in_decisions(self) -> set[str]:
        return {name for one in self.kept for name in self.inside.get(one, ())}

    def _bare(self) -> set[str]:
        """Return the facts that have to stand alone, decisions for what is in them."""
        bare = self.kept - self._in_sentences()
        return bare - {name for one in bare for name in self.inside.get(one, ())}

    def _told(self) -> set[str]:
        return (self._in_sentences() | self.kept | self._in_decisions()) & self.facts.keys()

    def _fitted(self, scores: Sequence[float]) -> str:
        """Write it out; costs were added up part by part, so that a little may have to go."""
        while not self._fits(text := self._text()):
            if self.chosen:
                least = min(self.chosen, key=lambda one: (scores[one], one))
                self.chosen.remove(least)
            elif self.kept:
                self.kept.discard(min(self.kept, key=lambda one: (self.values[one], one)))
            else:
                return ""
        return text

    def _fits(self, text: str) -> bool:
        return len(text.split()) <= self.limit.words and self.count(text) <= self.limit.tokens

    def _text(self) -> str:
        lines: list[str] = []
        label: str | None = None
        for index in sorted(self.chosen):
            sentence = self.sentences[index].sentence
            text = _closed(sentence.text)
            if lines and sentence.label == label:
                lines[-1] += f" {text}"
            else:
                lines.append(f"{sentence.label}: {text}" if sentence.label else text)
            label = sentence.label
        told = self._told()
        alone = self._bare()
        lines += listed(fact for one, fact in self.facts.items() if one in alone)
        note = left_out_note(len(self.facts) - len(told) + self.reading.left_out)
        return "\n".join([*lines, *([note] if note else [])])


def _costed(sentence: Sentence, count: TokenCounter) -> _Costed:
    facts = frozenset(map(fact_id, filterfalse(is_bare, sentence.facts)))
    return _Costed(sentence, len(sentence.text.split()), count(sentence.text) + 1, facts)


def fact_id(fact: Fact) -> str:
    """Return what two tellings of one fact share."""
    family = "name" if fact.kind == "identifier" else fact.kind
    return f"{family} {fact.key}"


def _values(reading: Reading) -> dict[str, float]:
    """What each fact is worth: its kind, and who told it."""
    loose = (fact for fact in reading.loose if not is_bare(fact))
    values = {fact_id(fact): VALUE[fact.kind] * EARLIER for fact in loose}
    for one in reading.sentences:
        for fact in filterfalse(is_bare, one.facts):
            worth = VALUE[fact.kind] * _weight(one)
            values[fact_id(fact)] = max(values.get(fact_id(fact), 0.0), worth)
    return values


def _weight(sentence: Sentence) -> float:
    """Return how much counts what a sentence says: by who said it, and when."""
    return BY_LABEL.get(sentence.label, 1.0) * (1.0 if sentence.source else EARLIER)


def is_bare(fact: Fact) -> bool:
    """Tell whether a fact says nothing without its sentence, such as "two" or 10."""
    text = fact.text
    return fact.kind == "amount" and (not any(map(str.isdigit, text)) or len(text) < 3)


def _sum(costs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Add up words and tokens."""
    found = tuple(costs)
    return sum(words for words, _ in found), sum(tokens for _, tokens in found)


def _closed(text: str) -> str:
    """End a sentence, so that the next one can be told from it."""
    return text if text[-1] in ".!?…。！？:]" else f"{text}."


def lacking(reading: Reading, text: str) -> tuple[Fact, ...]:
    """Return the facts of ``reading`` that ``text`` does not tell, each once."""
    told = Told(text)
    facts = {fact_id(fact): fact for fact in filterfalse(is_bare, reading.facts)}.values()
    return tuple(fact for fact in facts if not told.has(fact))
