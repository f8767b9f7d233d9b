"""What a recall takes and gives: its settings, its hits, and how they came about."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Final

from kds.brain.passages.fusion import DEFAULT, Fused, Weights
from kds.brain.passages.query import Question
from kds.brain.passages.values import Passage, Summary
from kds.brain.settings import RecallOptions

if TYPE_CHECKING:  # which notes its stages in a Log of this module
    from kds.brain.passages.dense import Vector

FEW: Final = 3
"""Fewer hits than that in the conversation, and all conversations are searched (issue 5)."""

DOCUMENT_BIAS: Final = 1.15
"""What a hit of a conversation about the same document counts more (issue 5). Never a filter."""

SUMMARIES: Final = 2
"""Summaries of the conversation that come with the hits."""


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """What can be switched and tuned. Every switch off leaves the simpler behaviour."""

    hybrid: bool = True
    """Off: words only, neither vectors nor identifiers."""
    chunking: bool = True
    """Off: whole messages, one hit each."""
    weights: Weights = DEFAULT
    document_bias: ClassVar[float] = DOCUMENT_BIAS
    few: int = FEW
    """0: never another conversation."""


def recall_settings(options: RecallOptions) -> RecallSettings:
    """Return the settings of recalls; a weight that is not set has its default.

    >>> recall_settings(RecallOptions(hybrid=False, rerank_beta=0.5)).weights.beta
    0.5
    """
    given = (options.rerank_alpha, options.rerank_beta, options.rerank_gamma)
    defaults = (DEFAULT.alpha, DEFAULT.beta, DEFAULT.gamma)
    weights = Weights(*(own if own is not None else usual
                        for own, usual in zip(given, defaults, strict=True)))  # fmt: skip
    return RecallSettings(hybrid=options.hybrid, chunking=options.chunking, weights=weights)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was found. ``score`` compares within one recall only; the best is about 1."""

    passage: Passage
    score: float
    parts: Fused
    elsewhere: bool
    """Of another conversation than the one asked about."""
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, and how."""

    question: Question
    hits: tuple[Hit, ...]
    summaries: tuple[tuple[Summary, float], ...]
    notes: tuple[str, ...]
    """What a user should know: a model that failed, words that were too common."""
    counts: Mapping[str, int]
    """Candidates of each search: lexical, code, dense."""
    timings_ms: Mapping[str, float]
    """Of each stage; "embedding" is the model's own time, which "total" leaves out."""
    flags: Mapping[str, bool]
    vector: "Vector | None" = field(default=None, repr=False)
    """Of the question, where there is an embedding model."""

    def as_metric(self) -> dict[str, object]:
        """The record for the log of metrics: figures only, nothing of what was said."""
        return {
            "hits": len(self.hits),
            "summaries": len(self.summaries),
            "counts": dict(self.counts),
            "timings_ms": {stage: round(ms, 3) for stage, ms in self.timings_ms.items()},
            "top_scores": [round(hit.score, 4) for hit in self.hits[:5]],
            "flags": dict(self.flags),
        }


def words_told(has: Sequence[str], near: Sequence[str]) -> Iterator[str]:
    """Yield which words of a question a passage has, and which only stand beside it."""
    if has:
        yield "has " + ", ".join(f"'{word}'" for word in has)
    if near:
        yield "beside it stands " + ", ".join(f"'{word}'" for word in near)


@dataclass(slots=True)
class Log:
    """What the stages of a search note while it runs."""

    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of what is done inside to that of the stage."""
        started = perf_counter()
        try:
            yield
        finally:
            spent = (perf_counter() - started) * 1000.0
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + spent

    def note(self, text: str | None) -> None:
        """Keep a note, once."""
        if text and text not in self.notes:
            self.notes.append(text)

    def total_ms(self, started: float) -> float:
        """Return the time since ``started``, without the embedding model's own."""
        return (perf_counter() - started) * 1000.0 - self.timings_ms.get("embedding", 0.0)
