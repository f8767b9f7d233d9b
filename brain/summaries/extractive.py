"""A summary made of the conversation's own sentences, without a model.

Facts come first: every date, amount, name, identifier and decision is kept, at least as a bare
word, as long as the budget holds them. What room is left goes to whole sentences, those that
tell the most facts first. What does not fit is chosen by its value and counted in the summary
itself, so that a reader knows there is more to be found.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from kds.brain.passages.values import Message
from kds.brain.summaries.fact_value import fact_id, fact_values, weight
from kds.brain.summaries.fact_words import COMMON_WORDS
from kds.brain.summaries.facts import SENTENCES_KNOWN, Fact, Told, decision_words, facts_of
from kds.brain.summaries.sentences import ALSO, Reading, Sentence, left_out_note, read
from kds.brain.words.tokens import TokenCounter, estimate_tokens

SUMMARY_WORDS: Final = 200
SUMMARY_TOKENS: Final = 200
"""Of a rolling summary (issue 5)."""

NOTE_WORDS: Final = 6
NOTE_TOKENS: Final = 10
"""Kept free for the note on what was left out, and for labels."""

_CONTEXT_WORDS: Final = (3, 1)
"""Words before and after a fact that a long sentence is cut down to."""

_LONG_WORDS: Final = 10

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
class _Form:
    """A sentence in one of its lengths, what it costs, and the facts it tells."""

    sentence: int
    text: str
    words: int
    tokens: int
    facts: frozenset[str]


@dataclass(slots=True)
class _Draft:
    """A summary in the making. Facts go by an id made of their kind and key."""

    reading: Reading
    limit: Limit
    count: TokenCounter
    count_part: TokenCounter
    facts: dict[str, Fact]
    values: dict[str, float]
    costs: dict[str, tuple[int, int]]
    inside: dict[str, frozenset[str]]
    """Decision -> the facts that its words tell too."""
    kept: set[str] = field(default_factory=set)
    chosen: dict[int, _Form] = field(default_factory=dict)

    @classmethod
    def of(
        cls, reading: Reading, limit: Limit, count: TokenCounter, count_part: TokenCounter
    ) -> "_Draft":
        facts: dict[str, Fact] = {}
        for fact in reading.facts:
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
        return cls(reading, limit, count, count_part, facts, fact_values(reading), costs, inside)

    def digest(self) -> Digest:
        self._keep_facts()
        scores = self._scores()
        forms = [self._forms(index) for index in range(len(self.reading.sentences))]
        for length in (0, -1):
            order = sorted(scores, key=lambda one: -scores[one] / (forms[one][length].tokens + 1))
            for index in order:
                if self._is_full():
                    break
                self._try(forms[index][length])
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
        words, tokens = self.limit.words - NOTE_WORDS, self.limit.tokens - NOTE_TOKENS
        worth = {
            one: (value + sum(self.values[name] for name in self.inside.get(one, ())))
            / math.cbrt(self.costs[one][1])
            for one, value in self.values.items()
        }
        covered: set[str] = set()
        for one in sorted(self.facts, key=lambda one: -worth[one]):
            cost = (0, 0) if one in covered else self.costs[one]
            if cost[0] <= words and cost[1] <= tokens:
                self.kept.add(one)
                covered |= self.inside.get(one, frozenset())
                words, tokens = words - cost[0], tokens - cost[1]

    def _scores(self) -> dict[int, float]:
        """What each sentence is worth: its facts, then how much others speak of the same."""
        said = Counter(w for one in self.reading.sentences for w in set(decision_words(one.text)))
        scores = {}
        for index, one in enumerate(self.reading.sentences):
            words = decision_words(one.text)
            shared = sum(min(said[word] - 1, 3) for word in words) / (len(words) + 3)
            told = sum(self.values[name] for name in {fact_id(f) for f in one.facts} & self.kept)
            own = 0.3 + 0.3 * one.first + 0.2 * shared
            scores[index] = told + own * weight(one)
        return scores

    def _forms(self, index: int) -> list[_Form]:
        """Return the sentence in its lengths, the shortest first."""
        sentence = self.reading.sentences[index]
        texts = [sentence.text]
        if len(sentence.text.split()) > _LONG_WORDS and sentence.facts:
            texts.insert(0, _around_facts(sentence))
        names = frozenset(map(fact_id, sentence.facts))
        return [
            _Form(index, text, len(text.split()), self.count_part(text) + 1, names)
            for text in texts
        ]

    def _try(self, form: _Form) -> None:
        """Put a sentence in, in place of its shorter form, when there is room."""
        before = self.chosen.get(form.sentence)
        self.chosen[form.sentence] = form
        words, tokens = self._size()
        if words > self.limit.words - NOTE_WORDS or tokens > self.limit.tokens - NOTE_TOKENS:
            del self.chosen[form.sentence]
            if before is not None:
                self.chosen[form.sentence] = before

    def _is_full(self) -> bool:
        words, tokens = self._size()
        room = (self.limit.words - NOTE_WORDS - words, self.limit.tokens - NOTE_TOKENS - tokens)
        return min(room) < _SHORTEST

    def _size(self) -> tuple[int, int]:
        bare = self._bare()
        words = sum(form.words for form in self.chosen.values())
        tokens = sum(form.tokens for form in self.chosen.values())
        labels = len({self.reading.sentences[one].source for one in self.chosen})
        words += sum(self.costs[one][0] for one in bare) + labels
        return words, tokens + sum(self.costs[one][1] for one in bare) + 3 * labels

    def _in_sentences(self) -> set[str]:
        return {name for form in self.chosen.values() for name in form.facts}

    def _in_decisions(self) -> set[str]:
        return {name for one in self.kept for name in self.inside.get(one, ())}

    def _bare(self) -> set[str]:
        """Return the facts that have to stand alone, decisions for what is in them."""
        bare = self.kept - self._in_sentences()
        return bare - {name for one in bare for name in self.inside.get(one, ())}

    def _told(self) -> set[str]:
        return (self._in_sentences() | self.kept | self._in_decisions()) & self.facts.keys()

    def _fitted(self, scores: dict[int, float]) -> str:
        """Write it out; costs were added up part by part, so that a little may have to go."""
        while not self._fits(text := self._text()):
            if self.chosen:
                least = min(self.chosen, key=lambda one: (scores[one], one))
                del self.chosen[least]
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
            sentence = self.reading.sentences[index]
            if lines and sentence.label == label:
                lines[-1] += f" {_closed(self.chosen[index].text)}"
            else:
                text = _closed(self.chosen[index].text)
                lines.append(f"{sentence.label}: {text}" if sentence.label else text)
            label = sentence.label
        told = self._told()
        alone = self._bare()
        bare = [fact.text for one, fact in self.facts.items() if one in alone]
        lines += [f"{ALSO} {'; '.join(bare)}"] if bare else []
        note = left_out_note(len(self.facts) - len(told) + self.reading.left_out)
        return "\n".join([*lines, *([note] if note else [])])


def _around_facts(sentence: Sentence) -> str:
    """Keep of a long sentence the words around its facts."""
    text = sentence.text
    kept: list[range] = []
    before, after = _CONTEXT_WORDS
    for fact in sentence.facts:
        at = max(text.find(fact.text), 0)
        start, length = len(text[:at].split()), len(fact.text.split())
        kept.append(range(start - before, start + length + after))
    words: list[str] = []
    skipped = False
    for index, word in enumerate(text.split()):
        if any(index in near for near in kept):
            words += ["…", word] if skipped else [word]
            skipped = False
        else:
            skipped = True
    last = max((near.stop - after for near in kept), default=0)
    spare = min(after, len(text.split()) - last)
    while spare > 0 and words[-1].casefold().strip(".,;:") in COMMON_WORDS:
        words.pop()
        spare -= 1
    return " ".join(words).rstrip(",;:")


def _closed(text: str) -> str:
    """End a sentence, so that the next one can be told from it."""
    return text if text[-1] in ".!?…。！？:]" else f"{text}."


def lacking(reading: Reading, text: str) -> tuple[Fact, ...]:
    """Return the facts of ``reading`` that ``text`` does not tell, each once."""
    told = Told(text)
    facts: Iterable[Fact] = {fact_id(fact): fact for fact in reading.facts}.values()
    return tuple(fact for fact in facts if not told.has(fact))
