"""Summaries of conversations: extractive ones, and a model's where it can be relied on.

The extractive summary is made of the conversation's own sentences. Facts come first: dates,
amounts, names, identifiers and decisions are kept, at least in a list ("Dates: ..."), as long as
the budget holds them. The rest of the room goes to whole sentences, those that tell the most facts
first. A model's summary is held against what was said, and what it lacks is added.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import cbrt
from time import perf_counter
from typing import Final, Literal, Protocol

from kds.brain.memory.facts import READ_CHARS, REMEMBERED, Fact, FactKind, Told, facts_of, words_of
from kds.brain.memory.shortening import CODE_MARK, mark_code
from kds.brain.passages.values import Message
from kds.brain.timeouts import CallError, call_within
from kds.brain.words.terms import TokenCounter, estimate_tokens

LIST_SHARE: Final = 0.75
"""Of the room that facts may take in lists. The rest is for sentences: after thirty turns a summary
would be nothing but lists, which say what was talked about and not what was said."""

VALUE: Final[dict[FactKind, float]] = {
    "decision": 6.0,
    "date": 3.0,
    "identifier": 2.5,
    "amount": 2.5,
    "name": 2.0,
}
"""What goes first when not everything fits: a decision can hardly be found again, a name often
stands in other messages too. An order, not a measurement."""

BY_LABEL: Final = {"Assistant": 0.8, "Tool": 0.4, "System": 0.6}
"""The user's own words count fully, what was said in reply less."""

EARLIER: Final = 0.6
"""What is told by the earlier summary only: it was there for some turns already."""

MISSES: Final = 8
"""Facts or sentences in a row without room, after which no other is tried."""

LABELS: Final = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
LISTED: Final[dict[FactKind, str]] = {
    "decision": "Decided",
    "date": "Dates",
    "amount": "Amounts",
    "name": "Names",
    "identifier": "Files and identifiers",
}
"""What the lines of facts begin with that stand in a summary without their sentences."""

TIMEOUT_S: Final = 20.0
"""For a model on the user's own machine 200 words take some 10 s."""

TOLD_SHARE: Final = 0.5
"""Of the words of a model's summary that somebody said. An excuse ("I'm sorry, I can't do that")
or a summary of something else has fewer."""

_OF_SUMMARIES: Final = words_of("agent developer conversation summaries key topic decision want")
"""Words with which summaries speak of conversations."""

_LONGEST: Final = 300
"""Characters of one sentence; longer stretches without an end are cut between words."""

_END: Final = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|vs|No)\.)(?<!\b(?:Mrs|e\.g|i\.e|etc)\.)"
    r"[\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9/.@#…-])|(?<=[。！？])|(?<=\])\s+(?=[A-Z])"
)
_BULLET: Final = re.compile(r"^[\s>]*(?:#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")


class Summarizer(Protocol):
    """Makes one summary of an earlier summary and the messages after it."""

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the summary; ``previous`` is "" when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a summary may be: both limits hold."""

    words: int = 200
    tokens: int = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence as a summary would have it, or a fact without one (``text`` is empty)."""

    label: str
    text: str
    facts: tuple[Fact, ...]
    weight: float = EARLIER
    """How much counts what it says: by who said it, and when."""


class ExtractiveSummarizer:
    """Summarises without a model: a `Summarizer` that cannot fail."""

    def __init__(
        self, limit: Limit | None = None, *, count_tokens: TokenCounter = estimate_tokens
    ) -> None:
        self.limit = limit or Limit()
        self.count_tokens: TokenCounter = lru_cache(maxsize=REMEMBERED)(count_tokens)

    def __call__(
        self, messages: Sequence[Message], previous: str, *, limit: Limit | None = None
    ) -> str:
        """Return the summary of ``previous`` and the messages after it."""
        return self.of(read(messages, previous), limit=limit)

    def of(self, parts: Iterable[Part], *, limit: Limit | None = None) -> str:
        """Summarise what was taken apart already."""
        draft = _Draft(parts, limit or self.limit, self.count_tokens)
        draft.keep_facts()
        draft.choose_sentences()
        draft.measure()  # parts were counted one by one, with a label each
        draft.choose_sentences()
        while not self.is_within(text := draft.text(), draft.limit):
            (draft.chosen or draft.kept).pop()  # what was added last
        return text

    def extend(self, text: str, parts: Iterable[Part], limit: Limit) -> str:
        """Add to a summary what it lacks of ``parts``, as far as there is room."""
        if not self.is_within(text, limit):
            text = self((), text, limit=limit)
        left = Limit(limit.words - len(text.split()), limit.tokens - self.count_tokens(text) - 1)
        return "\n".join(filter(None, (text, self.of(lacking(parts, text), limit=left))))

    def is_within(self, text: str, limit: Limit) -> bool:
        """Tell whether a summary keeps a limit."""
        return not text or (
            len(text.split()) <= limit.words and self.count_tokens(text) <= limit.tokens
        )


class _Draft:
    """A summary in the making: sentences in full, other facts in lists."""

    def __init__(self, parts: Iterable[Part], limit: Limit, count: TokenCounter) -> None:
        self.limit, self.count = limit, count
        self.words, self.tokens = float(limit.words), float(limit.tokens)
        self.facts: dict[frozenset[str], Fact] = {}
        self.values: dict[frozenset[str], float] = {}
        sentences: dict[str, Part] = {}
        for part in parts:
            if part.text:
                sentences.setdefault(part.text, part)
            for fact in part.facts:
                self.facts.setdefault(fact.key, fact)
                worth = VALUE[fact.kind] * part.weight
                self.values[fact.key] = max(self.values.get(fact.key, 0.0), worth)
        self.sentences = list(sentences.values())
        self.kept: list[frozenset[str]] = []
        self.chosen: list[int] = []

    def keep_facts(self) -> None:
        """Choose the facts that fit in lists, the most valuable for their room first.

        The cube root of the room: else a decision of ten words would count less than five
        numbers, and a date less than an acronym.
        """
        cost = {key: self.count(fact.text) for key, fact in self.facts.items()}
        order = sorted(self.facts, key=lambda key: -self.values[key] / cbrt(cost[key] + 1))
        labels, misses = set[FactKind](), 0
        for key in order:
            fact = self.facts[key]
            label = fact.kind not in labels
            words = len(fact.text.split()) + 2 * label
            if self._take(words, cost[key] + 1 + 4 * label, LIST_SHARE):
                self.kept.append(key)
                labels.add(fact.kind)
                misses = 0
            elif (misses := misses + 1) >= MISSES:
                return

    def choose_sentences(self) -> None:
        """Add sentences for what they tell, as long as they fit; their facts leave the lists."""
        told = self._told()
        listed = {key: self.facts[key].text for key in self.kept if key not in told}
        worth = {}
        for at, one in enumerate(self.sentences):
            if at not in self.chosen:
                new = sum(self.values[fact.key] for fact in one.facts if fact.key in listed)
                worth[at] = (new + 0.5 * one.weight) / (self.count(one.text) + 1)
        misses = 0
        for at in sorted(worth, key=lambda at: (-worth[at], at)):
            one = self.sentences[at]
            own = {fact.key for fact in one.facts if fact.key in listed}
            freed = [listed[key] for key in own]
            words = len(one.text.split()) + 1 - sum(len(text.split()) for text in freed)
            tokens = self.count(one.text) + 3 - sum(self.count(text) + 1 for text in freed)
            if self._take(words, tokens):
                self.chosen.append(at)
                for key in own:
                    del listed[key]
                misses = 0
            elif (misses := misses + 1) >= MISSES:
                return

    def _take(self, words: float, tokens: float, share: float = 1.0) -> bool:
        """Take room for a part, unless it leaves less than is to be kept free."""
        left = 1.0 - share
        fits = (
            self.words - words >= self.limit.words * left
            and self.tokens - tokens >= self.limit.tokens * left
        )
        if fits:
            self.words -= words
            self.tokens -= tokens
        return fits

    def _told(self) -> set[frozenset[str]]:
        return {fact.key for at in self.chosen for fact in self.sentences[at].facts}

    def measure(self) -> None:
        """Find out how much room there is beside what was chosen."""
        text = self.text()
        self.words = self.limit.words - len(text.split())
        self.tokens = self.limit.tokens - self.count(text)

    def text(self) -> str:
        """Write it down."""
        lines: list[str] = []
        label: str | None = None
        for at in sorted(self.chosen):
            one = self.sentences[at]
            said = one.text if one.text[-1] in ".!?…。！？:]" else f"{one.text}."
            if lines and one.label == label:
                lines[-1] += f" {said}"
            else:
                lines.append(f"{one.label}: {said}" if one.label else said)
            label = one.label
        listed = set(self.kept) - self._told()
        alone = [fact for key, fact in self.facts.items() if key in listed]
        decided = " ".join(fact.text for fact in alone if fact.kind == "decision")
        for kind, name in LISTED.items():
            texts = [one.text for one in alone if one.kind == kind]
            if kind != "decision":
                texts = [text for text in texts if text not in decided]
            if texts:
                lines.append(f"{name}: {'; '.join(texts)}")
        return "\n".join(lines)


def read(messages: Iterable[Message], previous: str = "") -> tuple[Part, ...]:
    """Take apart messages, and the summary of what was before them."""
    parts = [part for line in previous.splitlines() for part in _summary(line)]
    for message in messages:
        label = message.speaker or LABELS[message.role]
        text = mark_code(message.content[:READ_CHARS])
        parts += _sentences(text, label, BY_LABEL.get(label, 1.0))
    return tuple(parts)


def lacking(parts: Iterable[Part], text: str) -> tuple[Part, ...]:
    """Return the parts with facts that ``text`` does not tell, and of their facts those."""
    told = Told(text)
    lost = (
        replace(one, facts=tuple(fact for fact in one.facts if not told.has(fact))) for one in parts
    )
    return tuple(one for one in lost if one.facts)


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


def _summary(line: str) -> Iterator[Part]:
    """Read a line of an earlier summary."""
    label, colon, rest = line.partition(": ")
    for kind, name in LISTED.items():
        if colon and label == name:
            facts = (Fact(kind, item.strip(), words_of(item)) for item in rest.split("; "))
            yield from (Part("", "", (fact,)) for fact in facts if fact.key)
            return
    if colon and label in LABELS.values():
        yield from _sentences(rest, label, EARLIER * BY_LABEL.get(label, 1.0))
    else:
        yield from _sentences(line, "", EARLIER)


def _sentences(text: str, label: str, weight: float) -> Iterator[Part]:
    for said in split(text):
        # "12 lines" of marked code are nobody's amount
        plain = CODE_MARK.sub(lambda mark: re.sub(r"\d+ lines?", "", mark[0]), said)
        facts, words = facts_of(plain), said.split()
        if facts or len(words) > 1:
            yield Part(label, " ".join(words), facts, weight)


@dataclass(frozen=True, slots=True)
class Made:
    """A summary: who wrote it, and why it was not the model."""

    text: str
    source: Literal["model", "extractive"]
    reason: str | None
    """Why the model's summary was not taken; None when it was, or there is no model."""
    ms: float

    def as_metric(self) -> dict[str, object]:
        """The record for the log of metrics: figures only, nothing of what was said."""
        return {
            "source": self.source,
            "fell_back": self.reason is not None,
            "words": len(self.text.split()),
            "ms": round(self.ms, 3),
        }


def summarised(
    extractive: ExtractiveSummarizer,
    messages: Sequence[Message],
    previous: str = "",
    *,
    limit: Limit | None = None,
    model: Summarizer | None = None,
) -> Made:
    """Summarise by the ``model``, whose summary is checked, or without it."""
    started = perf_counter()
    parts, reason, text = read(messages, previous), None, ""
    if model is not None and any(one.text for one in parts):
        try:
            text = _asked(model, messages, previous)
            text = extractive.extend(text, parts, limit or extractive.limit)
        except CallError as error:
            reason = error.message
    kept = text or extractive.of(parts, limit=limit)
    ms = (perf_counter() - started) * 1000.0
    return Made(kept, "model" if text else "extractive", reason, ms)


def _asked(model: Summarizer, messages: Sequence[Message], previous: str) -> str:
    """Return the model's summary. Raises CallError unless it tells what was said."""
    text = call_within(lambda: str(model(messages, previous) or ""), timeout_s=TIMEOUT_S)
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    if not text:
        raise CallError("the model said nothing")
    said = Told("\n".join((previous, *(f"{one.speaker or ''} {one.content}" for one in messages))))
    for fact in (one for line in text.splitlines() for one in facts_of(line)):
        known = fact.kind == "decision" or all(map(said.says, fact.key - _OF_SUMMARIES))
        if not known:
            raise CallError(f"the model told what nobody said: '{fact.text}'")
    words = words_of(text) - _OF_SUMMARIES
    if sum(map(said.says, words)) < TOLD_SHARE * len(words):
        raise CallError("the model did not summarise this conversation")
    theirs = "\n".join((previous, *(m.content for m in messages if m.role == "user")))
    asked = Told(theirs)
    if words_of(theirs) and not any(map(asked.says, words)):
        raise CallError("the model said nothing of what the user said")
    return text
