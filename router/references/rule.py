"""A reference rule: what signals a reference, what it may point to, how it is written out.

First what may stand in the YAML of `rules/` and `kds-brain/rules/`, checked by pydantic; then what
`ruleset` makes of it.
"""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

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
    "quality",
    "constraint",
    "focus",
    "switch",
    "bare",
    "condition",
    "action",
    "purpose",
    "comparison",
    "pattern",
    "agreement",
]
Exclusion = Literal["same_message"]

UNCHANGED = "unchanged"
"""Value of ``out`` in a test that expects the message to stay as it is."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class SignalEntry(_Strict):
    """``signal:`` of a rule."""

    kind: SignalKind
    lemma: list[str] = []
    determiners: list[str] = []
    nouns: list[str] = []
    verbs: list[str] = []
    cues: list[str] = []
    unless: list[str] = []
    offers: list[str] = []
    excludes: list[Exclusion] = Field(default=[], alias="not")


class AntecedentNeed(_Strict):
    """``antecedent:`` of a rule: what it may point to. See `salience` for scores and margins."""

    number: Literal["sg", "pl", "any"] = "any"
    person: bool | None = None
    min_score: float = Field(default=0.12, ge=0, le=1)
    min_margin: float = Field(default=0.10, ge=0, le=1)
    decay: float = Field(default=0.72, gt=0, le=1)
    """Weight that each message in between costs."""
    max_age: int = Field(default=9, ge=0, le=9)
    """How many messages back, at most."""
    match: Literal["any", "head", "type", "head_or_type"] = "any"
    fallback: list[str] = []
    """Labels that may stand in when nothing agrees (they -> the Trustee)."""


class Render(_Strict):
    """``render:`` of a rule: with which preposition it is written, or a text of its own."""

    preposition: str = ""
    text: str = ""


class TestEntry(_Strict):
    """One item of ``tests:``."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    context: list[str] = []
    reply: str = ""
    message: str = Field(alias="in", min_length=1)
    out: str | list[str] = UNCHANGED
    switch: bool = False

    @property
    def expected(self) -> list[str]:
        """Accepted outcomes; empty when the message must stay as it is."""
        if self.out == UNCHANGED:
            return []
        return [self.out] if isinstance(self.out, str) else self.out

    @property
    def fires(self) -> bool:
        """True for a positive test."""
        return bool(self.expected) or self.switch


class RuleEntry(_Strict):
    """One rule."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_.-]*$")
    description: str = ""
    enabled: bool = True
    priority: int = 50
    signal: SignalEntry
    antecedent: AntecedentNeed = AntecedentNeed()
    render: Render = Render()
    tests: list[TestEntry] = []


class RuleFile(_Strict):
    """A file of reference rules."""

    rules: list[RuleEntry] = Field(min_length=1)


class EntityEntry(_Strict):
    """Terms under one label; ``aliases`` maps a canonical name to other ways to write it."""

    label: str = Field(pattern=r"^[A-Z][A-Z_]*$")
    terms: list[str] = []
    aliases: dict[str, list[str]] = {}
    plural: bool = True


class EntityFile(_Strict):
    """entities.yaml."""

    entities: list[EntityEntry]


class SelectionEntry(_Strict):
    """What is usually done to what."""

    things: list[str] = Field(min_length=1)
    verbs: list[str] = []
    predicates: list[str] = []


class KnowledgeFile(_Strict):
    """knowledge.yaml."""

    selections: list[SelectionEntry] = []
    types: dict[str, list[str]] = {}
    surfaces: list[str] = []


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
