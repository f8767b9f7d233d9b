"""What facts and sentences are worth to a summary that has no room for all of them."""

import math
from collections import Counter
from typing import Final

from kds.brain.summaries.facts import Fact, FactKind
from kds.brain.summaries.sentences import Reading, Sentence

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
"""The user's own words count fully, what was said in reply less."""

EARLIER: Final = 0.6
"""What is told by the earlier summary only: it was there for some turns already."""

BARE_NUMBER: Final = 0.4
"""A number without a unit is rarely missed."""


def fact_id(fact: Fact) -> str:
    """Return what two tellings of one fact share."""
    family = "name" if fact.kind == "identifier" else fact.kind
    return f"{family} {fact.key}"


def fact_values(reading: Reading) -> dict[str, float]:
    """What each fact is worth: its kind, who told it, how often."""
    counts = Counter(map(fact_id, reading.facts))
    values = {fact_id(fact): VALUE[fact.kind] * EARLIER for fact in reading.loose}
    for one in reading.sentences:
        for fact in one.facts:
            worth = VALUE[fact.kind] * weight(one) * (BARE_NUMBER if _is_bare(fact) else 1.0)
            values[fact_id(fact)] = max(values.get(fact_id(fact), 0.0), worth)
    return {one: worth * (1.0 + 0.3 * math.log2(counts[one])) for one, worth in values.items()}


def weight(sentence: Sentence) -> float:
    """Return how much counts what a sentence says: by who said it, and when."""
    return BY_LABEL.get(sentence.label, 1.0) * (1.0 if sentence.source else EARLIER)


def _is_bare(fact: Fact) -> bool:
    text = fact.text
    return fact.kind == "amount" and (not any(map(str.isdigit, text)) or len(text) < 3)
