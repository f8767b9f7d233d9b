"""Summaries that can be relied on: a model's when it holds what it must, else one of our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, Protocol

from kds.brain.passages.values import Message
from kds.brain.patience import CallError, call_within
from kds.brain.summaries.extractive import Digest, ExtractiveSummarizer, Limit, lacking
from kds.brain.summaries.facts import Fact, Told
from kds.brain.summaries.sentences import Reading, read

TIMEOUT_S: Final = 20.0
"""For a model on the user's own machine 200 words take some 10 s."""

KEPT_SHARE: Final = 0.6
"""Of the facts that a model's own words must hold. A few it left out are added behind them; one
that leaves out nearly half did not summarise this conversation."""

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
    """Asks the model, checks what it says, and falls back to the extractive summary.

    A model that fails, is slow, says nothing, tells facts that nobody told or leaves out too
    many costs nothing but its time.
    """

    extractive: ExtractiveSummarizer
    model: Summarizer | None = None
    timeout_s: float = TIMEOUT_S

    def make(
        self,
        messages: Sequence[Message],
        previous: str = "",
        *,
        limit: Limit | None = None,
        with_model: bool = True,
    ) -> Made:
        """Summarise; ``limit`` instead of the usual one."""
        started = perf_counter()
        reading = read(messages, previous)
        source: Source = "extractive"
        reason = None
        digest = None
        if self.model is not None and with_model:
            try:
                digest = self._of_model(self.model, messages, previous, reading, limit)
                source = "model"
            except CallError as error:
                reason = error.message
        if digest is None:
            digest = self.extractive.digest_of(reading, limit=limit)
        ms = (perf_counter() - started) * 1000.0
        return Made(digest.text, source, reason, digest.facts, digest.kept, digest.left_out, ms)

    def _of_model(
        self,
        model: Summarizer,
        messages: Sequence[Message],
        previous: str,
        reading: Reading,
        limit: Limit | None,
    ) -> Digest:
        """Return the model's summary, with the facts behind it that it left out."""
        text = call_within(lambda: str(model(messages, previous) or ""), timeout_s=self.timeout_s)
        if not text.strip():
            raise CallError("the model said nothing")
        told = "\n".join((previous, *(message.content for message in messages)))
        if strange := invented(text, told):
            raise CallError(f"the model told what nobody said: '{strange[0].text}'")
        lost = lacking(reading, text)
        distinct = len({(fact.kind, fact.key) for fact in reading.facts})
        if len(lost) > (1.0 - KEPT_SHARE) * distinct:
            raise CallError(f"the model left out {len(lost)} of {distinct} facts")
        own = read((), text)
        whole = Reading(own.sentences, (*own.loose, *lost), reading.left_out)
        return self.extractive.digest_of(whole, limit=limit)


def invented(text: str, source: str) -> tuple[Fact, ...]:
    """Return the dates, amounts and identifiers of a summary that its source does not have.

    Names are no proof: a model may call the user "User". Nor are numbers below ten, which
    count what was listed.
    """
    told = Told(source)
    return tuple(fact for fact in Told(text).facts if _is_proof(fact) and not told.has(fact))


def _is_proof(fact: Fact) -> bool:
    if fact.kind == "amount":
        return any(map(str.isdigit, fact.text)) and len(fact.text) > 1
    return fact.kind in ("date", "identifier") and any(map(str.isdigit, fact.text))
