"""A summary made of the conversation's own sentences, without a model.

Facts come first: dates, amounts, names, identifiers and decisions are kept, at least in a list
("Dates: ..."), as long as the budget holds them. The rest of the room goes to whole sentences,
those that tell the most facts first. Facts without room are counted in the summary itself, so that
a reader knows there is more to be found.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import cbrt
from typing import Any, Final

from kds.brain.memory.facts import READ_CHARS, SENTENCES_KNOWN, Fact, FactKind, Told, facts_of
from kds.brain.memory.shortening import CODE_MARK, mark_code
from kds.brain.passages.values import Message
from kds.brain.words.tokens import TokenCounter, estimate_tokens

LIST_SHARE: Final = 0.75
"""Of the room that facts may take in lists. The rest is for sentences: after thirty turns a summary
would be nothing but lists, which say what was talked about and not what was said."""

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

MISSES: Final = 8
"""Facts or sentences in a row without room, after which no other is tried."""

NOTE: Final = 5
"""Words of the note on facts that were left out."""

LABELS: Final = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
LISTED: Final[dict[FactKind, str]] = {
    "decision": "Decided",
    "date": "Dates",
    "amount": "Amounts",
    "name": "Names",
    "identifier": "Files and identifiers",
}
"""What the lines of facts begin with that stand in a summary without their sentences."""

_LONGEST: Final = 300
"""Characters of one sentence; longer stretches without an end are cut between words."""

_LEFT_OUT: Final = re.compile(r"\((\d+) more facts? left out\)")
_END: Final = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|vs|No)\.)(?<!\b(?:Mrs|e\.g|i\.e|etc)\.)"
    r"[\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9/.@#…-])|(?<=[。！？])|(?<=\])\s+(?=[A-Z])"
)
_BULLET: Final = re.compile(r"^[\s>]*(?:#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a summary may be: both limits hold."""

    words: int = 200
    tokens: int = 200


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a summary would have it; ``source`` 0 is the earlier summary, then messages."""

    label: str
    text: str
    facts: tuple[Fact, ...]
    source: int
    first: bool
    """Whether the message begins with it."""

    @property
    def weight(self) -> float:
        """How much counts what it says: by who said it, and when."""
        return BY_LABEL.get(self.label, 1.0) * (1.0 if self.source else EARLIER)


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is to be summarised."""

    sentences: tuple[Sentence, ...]
    loose: tuple[Fact, ...] = ()
    """Facts that an earlier summary has without their sentences."""
    left_out: int = 0
    """Facts that earlier summaries had no room for."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Every fact that says something alone, each once."""
        told = (*self.loose, *(fact for one in self.sentences for fact in one.facts))
        return tuple({fact.id: fact for fact in reversed(told) if not fact.is_bare}.values())[::-1]

    def lost(self, text: str) -> tuple[Fact, ...]:
        """Return the facts that ``text`` does not tell."""
        told = Told(text)
        return tuple(fact for fact in self.facts if not told.has(fact))

    def lacking(self, text: str) -> "Reading":
        """Return the sentences with facts that ``text`` does not tell, and other such facts."""
        lost = {fact.id for fact in self.lost(text)}
        return Reading(
            tuple(one for one in self.sentences if any(fact.id in lost for fact in one.facts)),
            tuple(fact for fact in self.loose if fact.id in lost),
            self.left_out,
        )


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary, and what became of the facts; ``left_out`` counts earlier ones too."""

    text: str
    facts: int
    kept: int
    left_out: int


class ExtractiveSummarizer:
    """Summarises without a model: a `summarizer.Summarizer` that cannot fail."""

    def __init__(
        self, limit: Limit | None = None, *, count_tokens: TokenCounter = estimate_tokens
    ) -> None:
        self.limit = limit or Limit()
        self.count_tokens: TokenCounter = lru_cache(maxsize=SENTENCES_KNOWN)(count_tokens)

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
        return _Draft(reading, limit or self.limit, self.count_tokens).digest()


class _Draft:
    """A summary in the making: sentences in full, other facts in lists. Facts go by their ids."""

    def __init__(self, reading: Reading, limit: Limit, count: TokenCounter) -> None:
        self.reading, self.limit, self.count = reading, limit, count
        self.facts = {fact.id: fact for fact in reading.facts}
        self.place = {one: at for at, one in enumerate(self.facts)}
        once = {one.text: one for one in reversed(reading.sentences)}
        self.sentences = [one for one in reading.sentences if once[one.text] is one]
        self.ids = [frozenset(fact.id for fact in one.facts) for one in self.sentences]
        self.kept: set[str] = set()
        self.chosen: set[int] = set()

    @cached_property
    def values(self) -> dict[str, float]:
        """What each fact is worth: its kind, and who told it."""
        values = dict.fromkeys(self.facts, 0.0)
        for fact in self.reading.loose:
            if fact.id in values:
                values[fact.id] = VALUE[fact.kind] * EARLIER
        for one in self.sentences:
            for fact in one.facts:
                if fact.id in values:
                    values[fact.id] = max(values[fact.id], VALUE[fact.kind] * one.weight)
        return values

    def digest(self) -> Digest:
        self._keep_facts()
        self._choose_sentences()
        while not self._is_within(text := self._text()):  # parts were counted one by one
            if not (self.chosen or self.kept):
                return Digest("", len(self.facts), 0, len(self.facts) + self.reading.left_out)
            (self.chosen or self.kept).pop()
        told = len(self._told())
        return Digest(text, len(self.facts), told, self._left_out())

    def _keep_facts(self) -> None:
        """Choose the facts that fit in lists, the most valuable for their room first.

        The cube root of the room: else a decision of ten words would count less than five
        numbers, and a date less than an acronym.
        """
        worth = {
            one: self._with_inside(fact) / cbrt(self.count(fact.text) + 1)
            for one, fact in self.facts.items()
        }
        self._add(self.kept, sorted(self.facts, key=lambda one: -worth[one]), LIST_SHARE)

    def _with_inside(self, fact: Fact) -> float:
        """The value of a fact, with those that the words of a decision tell too."""
        inside = {one.id for one in facts_of(fact.text)} if fact.kind == "decision" else set()
        return sum(self.values.get(one, 0.0) for one in inside | {fact.id})

    def _choose_sentences(self) -> None:
        """Add sentences for what they tell and for their beginnings, as long as they fit."""
        worth = []
        for one, ids in zip(self.sentences, self.ids, strict=True):
            told = sum(self.values[fact] for fact in ids & self.kept)
            score = told + (0.3 + 0.3 * one.first) * one.weight
            worth.append(score / (self.count(one.text) + 1))
        self._add(self.chosen, sorted(range(len(worth)), key=lambda index: -worth[index]), 1.0)

    def _add(self, chosen: set[Any], order: Iterable[Any], share: float) -> None:
        """Add what fits into a share of the room, until nothing has fitted for a while."""
        misses = 0
        for one in order:
            chosen.add(one)
            if self._has_room(share):
                misses = 0
                continue
            chosen.discard(one)
            misses += 1
            if misses >= MISSES:
                return

    def _has_room(self, share: float) -> bool:
        """Whether the parts fit, each counted alone: most of them were counted before."""
        alone = self._alone()
        parts = [self.sentences[index].text for index in self.chosen]
        parts += [fact.text for fact in alone]
        labels = {fact.kind for fact in alone}
        speakers = {self.sentences[index].source for index in self.chosen}
        words = sum(len(part.split()) for part in parts) + 2 * len(labels) + len(speakers)
        tokens = sum(self.count(part) for part in parts) + len(alone) + 4 * len(labels)
        note = NOTE if self._left_out() else 0
        return (
            words + note <= self.limit.words * share
            and tokens + 3 * len(speakers) + 2 * note <= self.limit.tokens * share
        )

    def _is_within(self, text: str) -> bool:
        return len(text.split()) <= self.limit.words and self.count(text) <= self.limit.tokens

    def _told(self) -> set[str]:
        inside = {one for index in self.chosen for one in self.ids[index]}
        return (inside | self.kept) & self.facts.keys()

    def _left_out(self) -> int:
        return len(self.facts) - len(self._told()) + self.reading.left_out

    def _alone(self) -> list[Fact]:
        """The facts that neither a chosen sentence nor the words of a decision tell."""
        inside = {one for index in self.chosen for one in self.ids[index]}
        alone = [self.facts[one] for one in sorted(self.kept - inside, key=self.place.__getitem__)]
        decided = " ".join(fact.text for fact in alone if fact.kind == "decision")
        return [one for one in alone if one.kind == "decision" or one.text not in decided]

    def _text(self) -> str:
        lines: list[str] = []
        label: str | None = None
        for index in sorted(self.chosen):
            sentence = self.sentences[index]
            ended = sentence.text[-1] in ".!?…。！？:]"  # ends of other scripts
            text = sentence.text if ended else f"{sentence.text}."
            if lines and sentence.label == label:
                lines[-1] += f" {text}"
            else:
                lines.append(f"{sentence.label}: {text}" if sentence.label else text)
            label = sentence.label
        alone = self._alone()
        for kind, name in LISTED.items():
            if texts := [fact.text for fact in alone if fact.kind == kind]:
                lines.append(f"{name}: {'; '.join(texts)}")
        if count := self._left_out():
            lines.append(f"({count} more {'fact' if count == 1 else 'facts'} left out)")
        return "\n".join(lines)


def read(messages: Iterable[Message], previous: str = "") -> Reading:
    """Take apart messages, and the summary of what was before them."""
    sentences: list[Sentence] = []
    loose: list[Fact] = []
    starts = tuple(f"{label}: " for label in LISTED.values())
    for line in _LEFT_OUT.sub("", previous).splitlines():
        if start := next((one for one in starts if line.startswith(one)), ""):
            items = (item.strip() for item in line.removeprefix(start).split("; "))
            loose += [_loose(item) for item in items if item]
            continue
        label = next((one for one in LABELS.values() if line.startswith(f"{one}: ")), "")
        text = line.removeprefix(f"{label}: ") if label else line
        sentences += _sentences(text, label, source=0)
    for source, message in enumerate(messages, start=1):
        text = mark_code(message.content[:READ_CHARS])
        sentences += _sentences(text, message.speaker or LABELS[message.role], source)
    left_out = sum(int(found[1]) for found in _LEFT_OUT.finditer(previous))
    return Reading(tuple(sentences), tuple(loose), left_out)


def split(text: str) -> Iterator[str]:
    """Yield the sentences of a text, without bullets; lines end sentences.

    >>> list(split("Ask Dr. Lee. Then:\\n- add it\\n- test it! Done?"))
    ['Ask Dr. Lee.', 'Then:', 'add it', 'test it!', 'Done?']
    """
    for line in text.splitlines():
        for part in _END.split(_BULLET.sub("", line)):
            sentence = part.strip()
            while len(sentence) > _LONGEST:
                border = sentence.rfind(" ", 0, _LONGEST)
                border = border if border > _LONGEST // 2 else _LONGEST
                yield sentence[:border]
                sentence = sentence[border:].lstrip()
            if sentence:
                yield sentence


def _sentences(text: str, label: str, source: int) -> list[Sentence]:
    found: list[Sentence] = []
    for said in split(text):
        facts, words = _facts(said), said.split()
        if facts or len(words) > 1:
            found.append(Sentence(label, " ".join(words), facts, source, first=not found))
    return found


def _facts(said: str) -> tuple[Fact, ...]:
    """The facts of a sentence. "12 lines" of marked code are nobody's amount."""
    if not (mark := CODE_MARK.search(said)):
        return facts_of(said)
    inside = tuple(fact for fact in facts_of(mark[0]) if fact.kind == "identifier")
    return (*facts_of(CODE_MARK.sub(" ", said)), *inside)


def _loose(item: str) -> Fact:
    """Read a fact that stands alone: what it was taken for cannot be seen any more."""
    found = facts_of(item)
    if found and found[0].kind == "decision":
        return found[0]
    whole = next((fact for fact in found if fact.text == item), None)
    return whole or Fact("name", item, item.casefold())
