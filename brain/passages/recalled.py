"""What a recall takes and gives: its settings, its hits, and how they came about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kds.brain.passages.fusion import DEFAULT, Fused, Weights
from kds.brain.passages.query import Question
from kds.brain.passages.values import Passage, Summary

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
    surroundings: bool = True
    """Off: hits are ranked as the index ranks them, each by itself."""
    chunking: bool = True
    """Off: whole messages, one hit each."""
    weights: Weights = DEFAULT
    few: int = FEW
    """0: never another conversation."""
    document_bias: float = DOCUMENT_BIAS
    """1: none."""
    summaries: int = SUMMARIES
    """0: none."""


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
