"""A reference rule: what signals a reference, what it may point to, how it is written out.

The YAML in `rules/` and `kds-brain/rules/` is read into these values by `ruleset`.
"""

from dataclasses import dataclass, field
from typing import Literal

from kds.router.language.words import Number
from kds.router.pattern import Pattern

SignalKind = Literal[
    "pronoun",
    "demonstrative",
    "noun",
    "one",
    "both",
    "order",
    "which",
    "place",
    "repeat",
    "relation",
    "question",
    "correction",
    "attribute",
    "part",
    "constraint",
    "event",
    "focus",
    "switch",
    "bare",
    "condition",
    "action",
    "purpose",
    "comparison",
    "pattern",
    "agreement",
    "option",
]
Exclusion = Literal["same_message"]


@dataclass(frozen=True, slots=True)
class Signal:
    """What in a message calls for an antecedent. ``kind`` names the mechanism."""

    kind: SignalKind
    lemma: frozenset[str] = frozenset()
    determiners: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    cues: tuple[Pattern, ...] = ()
    """The message must match one of these (kinds repeat, question, correction, switch, pattern)."""
    unless: tuple[Pattern, ...] = ()
    """No signal where one of these covers it."""
    offers: tuple[Pattern, ...] = ()
    """The reply's last sentence must match one of these (kind agreement); group ``action``."""
    excludes: frozenset[Exclusion] = frozenset()


@dataclass(frozen=True, slots=True)
class AntecedentNeed:
    """What the antecedent must be. Scores and margins lie in [0, 1]; see `salience`."""

    number: Number | None = None
    person: bool | None = None
    min_score: float = 0.12
    min_margin: float = 0.10
    max_age: int = 10
    """How many messages back, at most."""
    decay: float = 0.72
    """Weight that each message in between costs (DESIGN 5)."""
    match: Literal["any", "head", "type", "head_or_type"] = "any"
    fallback: frozenset[str] = frozenset()
    """Labels that may stand in when nothing agrees (they -> the Trustee)."""


@dataclass(frozen=True, slots=True)
class Render:
    """How the antecedent is written: with which preposition, or a text of its own."""

    preposition: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class RuleTest:
    """One inline test: messages before, the message, and what must come out."""

    context: tuple[str, ...]
    message: str
    expected: tuple[str, ...]
    """Accepted texts; empty when the message must stay as it is."""
    switch: bool
    where: str
    reply: str = ""
    """What the assistant answered to the last message of the context."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reference rule with its tests. ``where`` is ``path:line``."""

    id: str
    priority: int
    signal: Signal
    antecedent: AntecedentNeed = field(default_factory=AntecedentNeed)
    render: Render = field(default_factory=Render)
    tests: tuple[RuleTest, ...] = ()
    where: str = ""
    description: str = ""
