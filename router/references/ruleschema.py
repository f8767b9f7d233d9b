"""What may stand in a rule file: the pydantic models that the YAML is checked against."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kds.router.references.rule import Exclusion, SignalKind

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


class AntecedentEntry(_Strict):
    """``antecedent:`` of a rule."""

    number: Literal["sg", "pl", "any"] = "any"
    person: bool | None = None
    min_score: float = Field(default=0.12, ge=0, le=1)
    min_margin: float = Field(default=0.10, ge=0, le=1)
    decay: float = Field(default=0.72, gt=0, le=1)
    max_age: int = Field(default=9, ge=0, le=9)
    match: Literal["any", "head", "type", "head_or_type"] = "any"
    fallback: list[str] = []


class RenderEntry(_Strict):
    """``render:`` of a rule."""

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
    antecedent: AntecedentEntry = AntecedentEntry()
    render: RenderEntry = RenderEntry()
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
