"""Summaries that can be relied on: a model's when it holds what it must, else one of our own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, Protocol

from kds.brain.memory.extractive import Digest, ExtractiveSummarizer, Limit, Reading, read
from kds.brain.memory.facts import Fact, Told, telling_words
from kds.brain.passages.values import Message
from kds.brain.timeouts import CallError, call_within
from kds.brain.words.stems import stem

TIMEOUT_S: Final = 20.0
"""For a model on the user's own machine 200 words take some 10 s."""

KEPT_SHARE: Final = 0.6
"""Of the facts that the extractive summary holds, those that a model's must hold after the missing
ones were added. One that has no room for nearly half of them is too long for what it tells."""

TOLD_SHARE: Final = 0.5
"""Of the words of a model's summary that somebody said. An excuse ("I'm sorry, I can't do that")
or a summary of something else has fewer."""

SAME_START: Final = 4
"""Letters that two words share at their beginning, one being all of it, to be forms of one."""

_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_OF_SUMMARIES: Final = frozenset(
    map(
        stem,
        "user assistant agent tool developer conversation summary key topic decide decision want "
        "ask open done".split(),
    )
)
"""Words with which summaries speak of conversations."""

Source = Literal["model", "extractive"]


class Summarizer(Protocol):
    """Makes one summary of an earlier summary and the messages after it."""

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the summary; ``previous`` is "" when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Made:
    """A summary: who wrote it, why it was not the model, and what became of the facts."""

    text: str
    source: Source
    reason: str | None
    """Why the model's summary was not taken; None when it was, or there is no model."""
    facts: int
    kept: int
    left_out: int
    """Facts without room, those of earlier summaries included."""
    ms: float

    def as_metric(self) -> dict[str, object]:
        """The record for the log of metrics: figures only, nothing of what was said."""
        return {
            "source": self.source,
            "fell_back": self.reason is not None,
            "facts": self.facts,
            "kept": self.kept,
            "left_out": self.left_out,
            "words": len(self.text.split()),
            "ms": round(self.ms, 3),
        }


@dataclass(frozen=True, slots=True)
class CheckedSummarizer:
    """Asks the model, checks what it says, and falls back to the extractive summary."""

    extractive: ExtractiveSummarizer
    model: Summarizer | None = None
    timeout_s: float = TIMEOUT_S

    def make(
        self, messages: Sequence[Message], previous: str = "", *, limit: Limit | None = None
    ) -> Made:
        """Summarise; ``limit`` instead of the usual one."""
        started = perf_counter()
        reading = read(messages, previous)
        digest = self.extractive.digest_of(reading, limit=limit)
        source: Source = "extractive"
        reason = None
        if self.model is not None and reading.sentences:
            try:
                text = self._asked(self.model, messages, previous)
                digest = self._completed(text, reading, digest, limit or self.extractive.limit)
                source = "model"
            except CallError as error:
                reason = error.message
        ms = (perf_counter() - started) * 1000.0
        return Made(digest.text, source, reason, digest.facts, digest.kept, digest.left_out, ms)

    def _asked(self, model: Summarizer, messages: Sequence[Message], previous: str) -> str:
        """Return the model's summary. Raises CallError unless it tells what was said."""
        text = call_within(lambda: str(model(messages, previous) or ""), timeout_s=self.timeout_s)
        text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
        if not text:
            raise CallError("the model said nothing")
        said = "\n".join((previous, *(f"{one.speaker or ''} {one.content}" for one in messages)))
        if strange := invented(text, said):
            raise CallError(f"the model told what nobody said: '{strange[0].text}'")
        words, known = _words(text), _words(said)
        if sum(_is_said(word, known) for word in words) < TOLD_SHARE * max(len(words), 1):
            raise CallError("the model did not summarise this conversation")
        asked = _words("\n".join((previous, *(m.content for m in messages if m.role == "user"))))
        if asked and not any(_is_said(word, asked) for word in words - _OF_SUMMARIES):
            raise CallError("the model said nothing of what the user said")
        return text

    def _completed(self, text: str, reading: Reading, own: Digest, limit: Limit) -> Digest:
        """Add the sentences and facts that a model's summary lacks, as far as there is room."""
        count = self.extractive.count_tokens
        if len(text.split()) > limit.words or count(text) > limit.tokens:
            text = self.extractive.digest_of(Reading(read((), text).sentences), limit=limit).text
        left = Limit(limit.words - len(text.split()), limit.tokens - count(text) - 1)
        rest = self.extractive.digest_of(reading.lacking(text), limit=left)
        whole = "\n".join(filter(None, (text, rest.text)))
        kept = len(reading.facts) - len(reading.lost(whole))
        if kept < KEPT_SHARE * own.kept:
            raise CallError(f"the model left out {own.kept - kept} of {own.kept} facts")
        return Digest(whole, len(reading.facts), kept, rest.left_out)


def invented(text: str, source: str) -> tuple[Fact, ...]:
    """Return the dates, amounts, identifiers and names of a summary that its source does not have.

    Numbers below ten prove nothing: they count what was listed. A name counts as told when each
    of its words was said in some form.
    """
    told, words = Told(source), _words(source)
    return tuple(
        fact
        for fact in Told(text).facts
        if not (_proves_nothing(fact) or told.has(fact) or _is_named(fact, words))
    )


def _proves_nothing(fact: Fact) -> bool:
    return fact.kind == "amount" and (len(fact.text) < 2 or not any(map(str.isdigit, fact.text)))


def _is_named(fact: Fact, words: frozenset[str]) -> bool:
    """Tell whether a name, or an identifier without a digit, is made of words that were said."""
    if fact.kind not in ("name", "identifier") or any(map(str.isdigit, fact.text)):
        return False
    whole = map(stem, telling_words(fact.text))
    return all(_is_said(one, words) for one in whole) or all(
        _is_said(one, words) for one in _words(fact.text)
    )


def _is_said(word: str, words: frozenset[str]) -> bool:
    if word in words or word in _OF_SUMMARIES:
        return True
    start = word[:SAME_START]
    return len(start) == SAME_START and any(
        one.startswith(start) and (one.startswith(word) or word.startswith(one)) for one in words
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(map(stem, telling_words(_CAMEL.sub(" ", text))))
