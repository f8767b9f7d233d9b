"""Summaries that can be relied on: a model's when it holds what it must, else one of our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, Protocol

from kds.brain.memory.extractive import ExtractiveSummarizer, Limit, Part, lacking, read
from kds.brain.memory.facts import Told, facts_of, words_of
from kds.brain.passages.values import Message
from kds.brain.timeouts import CallError, call_within

TIMEOUT_S: Final = 20.0
"""For a model on the user's own machine 200 words take some 10 s."""

TOLD_SHARE: Final = 0.5
"""Of the words of a model's summary that somebody said. An excuse ("I'm sorry, I can't do that")
or a summary of something else has fewer."""

_OF_SUMMARIES: Final = words_of("agent developer conversation summaries key topic decision want")
"""Words with which summaries speak of conversations."""


class Summarizer(Protocol):
    """Makes one summary of an earlier summary and the messages after it."""

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the summary; ``previous`` is "" when there is none."""
        ...


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
        parts, reason = read(messages, previous), None
        if self.model is not None and any(one.text for one in parts):
            try:
                text = self._asked(self.model, messages, previous)
                whole = self._completed(text, parts, limit or self.extractive.limit)
                return Made(whole, "model", None, (perf_counter() - started) * 1000.0)
            except CallError as error:
                reason = error.message
        text = self.extractive.of(parts, limit=limit)
        return Made(text, "extractive", reason, (perf_counter() - started) * 1000.0)

    def _asked(self, model: Summarizer, messages: Sequence[Message], previous: str) -> str:
        """Return the model's summary. Raises CallError unless it tells what was said."""
        text = call_within(lambda: str(model(messages, previous) or ""), timeout_s=self.timeout_s)
        text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
        if not text:
            raise CallError("the model said nothing")
        said = Told(
            "\n".join((previous, *(f"{one.speaker or ''} {one.content}" for one in messages)))
        )
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

    def _completed(self, text: str, parts: Sequence[Part], limit: Limit) -> str:
        """Add the sentences and facts that a model's summary lacks, as far as there is room."""
        if not self.extractive.is_within(text, limit):
            text = self.extractive((), text, limit=limit)
        left = Limit(
            limit.words - len(text.split()), limit.tokens - self.extractive.count_tokens(text) - 1
        )
        return "\n".join(filter(None, (text, self.extractive.of(lacking(parts, text), limit=left))))
