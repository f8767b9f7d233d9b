"""Reference rules, names of things and knowledge about them, as their YAML files have them.

Packaged files live in `rules/`; a workspace's `kds-brain/rules/*.yaml` overlays them: a file
of the same name replaces the packaged one, and a rule of the same id replaces that rule. All
problems of all files are gathered before RuleFileError is raised.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, PrivateAttr, WithJsonSchema
from pydantic_core import PydanticCustomError

from kds.brain.errors import Problem, RuleFileError, place_of
from kds.brain.yaml_files import (
    NOTHING,
    Document,
    NodePath,
    files_in,
    parse_yaml,
    read_text,
    validate,
)
from kds.router.discourse.salience import Knowledge, Selection
from kds.router.language.analysis import EntityPattern
from kds.router.language.lexicon import with_plurals
from kds.router.pattern import Pattern

PACKAGED: Final = Path(__file__).parent / "rules"
ENTITIES: Final = "entities.yaml"
KNOWLEDGE: Final = "knowledge.yaml"

SignalKind = Literal[
    "pronoun", "demonstrative", "noun", "one", "both", "comparison", "place", "repeat", "question",
    "correction", "bare", "condition", "action", "purpose", "attribute", "part", "relation",
    "constraint", "contrast", "quality", "agreement", "pattern", "focus", "switch",
]  # fmt: skip
GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "action": frozenset({"ref"}),
    "comparison": frozenset({"said"}),
    "condition": frozenset({"clause"}),
    "contrast": frozenset({"new", "old"}),
    "quality": frozenset({"said", "degree", "quality"}),
}
"""The groups that each cue of a kind must have."""

UNCHANGED: Final = "unchanged"
"""Value of ``out`` in a test that expects the message to stay as it is."""


def _regex(source: object) -> Pattern:
    """A pattern that is checked later, where its line is known."""
    if not isinstance(source, str):
        raise PydanticCustomError("string_type", "must be text")
    return Pattern(source, "", False, source)


Words = Annotated[frozenset[str], Field(strict=False)]
_Regex = Annotated[Pattern, PlainValidator(_regex), WithJsonSchema({"type": "string"})]
Regexes = Annotated[tuple[_Regex, ...], Field(strict=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Signal(_Strict):
    """What in a message calls for an antecedent. ``kind`` names the mechanism."""

    kind: SignalKind
    lemma: Words = frozenset()
    determiners: Words = frozenset()
    nouns: Words = frozenset()
    verbs: Words = frozenset()
    cues: Regexes = ()
    """The message must match one of these."""
    unless: Regexes = ()
    """No signal where one of these covers it."""
    offers: Regexes = ()
    """The reply's last sentence must match one of these (kind agreement); group ``action``."""


class AntecedentNeed(_Strict):
    """What a rule may point to. See `salience` for scores and margins."""

    number: Literal["sg", "pl", "any"] = "any"
    person: bool | None = None
    min_score: float = Field(default=0.12, ge=0, le=1)
    min_margin: float = Field(default=0.10, ge=0, le=1)
    decay: float = Field(default=0.72, gt=0, le=1)
    """Weight that each message in between costs."""
    max_age: int = Field(default=9, ge=0, le=9)
    """How many messages back, at most."""
    match: Literal["any", "head", "type", "head_or_type"] = "any"


class Render(_Strict):
    """With which preposition an antecedent is written, or a text of its own."""

    preposition: str = ""
    text: str = ""


class _Placed(_Strict):
    _where: str = PrivateAttr("")

    @property
    def where(self) -> str:
        """Its place, ``path:line``."""
        return self._where


class RuleTest(_Placed):
    """Messages before, the message, and what must come out."""

    context: list[str] = []
    reply: str = ""
    """What the assistant answered to the last message of the context."""
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
        """Whether the rule has to act."""
        return bool(self.expected) or self.switch


class Rule(_Placed):
    """A reference rule with its tests."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_.-]*$")
    description: str = ""
    enabled: bool = True
    priority: int = 50
    signal: Signal
    antecedent: AntecedentNeed = AntecedentNeed()
    render: Render = Render()
    tests: list[RuleTest] = []


class RuleFile(_Strict):
    """A file of reference rules."""

    rules: list[Rule] = Field(min_length=1)


class _Items(_Strict):
    """The same before its rules are looked at: one that is wrong does not hide the others."""

    rules: list[object] = Field(min_length=1)


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

    things: Annotated[Words, Field(min_length=1)]
    verbs: Words = frozenset()
    predicates: Words = frozenset()


class KnowledgeFile(_Strict):
    """knowledge.yaml."""

    selections: list[SelectionEntry] = []
    types: dict[str, Words] = {}
    surfaces: Words = frozenset()


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything the resolver is built from."""

    rules: tuple[Rule, ...]
    entities: tuple[EntityPattern, ...]
    knowledge: Knowledge


def load_rules(
    overlay: Path | None = None,
    *,
    packaged: Path = PACKAGED,
    without: frozenset[Path] = NOTHING,
) -> RuleSet:
    """Read the packaged rules and the workspace's overlay (a folder that may be absent).

    ``without`` are files to leave out. Raises RuleFileError with the problems of all others.
    """
    files = {path.name: path for path in sorted(packaged.glob("*.yaml"))}
    own = [] if overlay is None else files_in(overlay, "*.yaml", without)
    if isinstance(own, Problem):
        raise RuleFileError([own])
    files |= {path.name: path for path in own}
    ordered = sorted(files.values(), key=lambda path: (path in own, path.name))
    return _ruleset(tuple((path, read_text(path)) for path in ordered), packaged)


@lru_cache(maxsize=16)
def _ruleset(texts: tuple[tuple[Path, str | Problem], ...], packaged: Path) -> RuleSet:
    """The same files with the same texts are one set for the whole process."""
    problems: list[Problem] = []
    rules: dict[str, Rule] = {}
    entities: list[EntityPattern] = []
    knowledge = Knowledge()
    for path, text in texts:
        if isinstance(text, Problem):
            problems.append(text)
            continue
        document = parse_yaml(text, path=str(path))
        if path.name == ENTITIES:
            if (names := _valid(document, EntityFile, problems)) is not None:
                entities += _patterns(names)
        elif path.name == KNOWLEDGE:
            if (known := _valid(document, KnowledgeFile, problems)) is not None:
                selections = (Selection(s.things, s.verbs, s.predicates) for s in known.selections)
                knowledge = Knowledge(tuple(selections), known.types, known.surfaces)
        else:
            _add_rules(rules, document, problems, packaged)
    if problems:
        raise RuleFileError(problems)
    return RuleSet(tuple(rules.values()), tuple(entities), knowledge)


ModelT = TypeVar("ModelT", bound=BaseModel)


def _valid(document: Document, model: type[ModelT], problems: list[Problem]) -> ModelT | None:
    found = validate(document, model)
    if isinstance(found, tuple):
        problems += found
        return None
    return found


def _patterns(file: EntityFile) -> Iterator[EntityPattern]:
    for entry in file.entities:
        for term in entry.terms:
            forms = with_plurals(term.lower()) if entry.plural else (term.lower(),)
            yield EntityPattern(entry.label, forms)
        for canonical, aliases in entry.aliases.items():
            for alias in aliases:
                yield EntityPattern(entry.label, with_plurals(alias.lower()), canonical)


def _add_rules(
    rules: dict[str, Rule], document: Document, problems: list[Problem], packaged: Path
) -> None:
    if isinstance(document.data, list):
        hint = "write 'rules:' above the list, and indent the list below it"
        problems.append(Problem(document.where(), "is a list", hint))
        return
    items = _valid(document, _Items, problems)
    for index, item in enumerate(items.rules if items else ()):
        at: NodePath = ("rules", index)
        rule = validate(document, Rule, at=at)
        if isinstance(rule, tuple):
            name = item.get("id") if isinstance(item, dict) else None
            shown = f"rule '{name}'" if isinstance(name, str) else f"rule {index + 1}"
            problems += (Problem(p.where, f"{shown}: {p.message}", p.hint) for p in rule)
            continue
        earlier, folder = rules.get(rule.id), Path(document.path).parent
        replaces = earlier is None or place_of(earlier.where).parent == packaged != folder
        if not replaces and earlier is not None:
            hint = f"the first one is at {earlier.where}; give this one another id"
            where = document.where((*at, "id"))
            problems.append(Problem(where, f"rule id '{rule.id}' is used twice", hint))
            continue
        rules.pop(rule.id, None)
        if rule.enabled:
            problems += _faults(document, at, rule)
            rule._where = document.where(at)
            for number, test in enumerate(rule.tests):
                test._where = document.where((*at, "tests", number))
            rules[rule.id] = rule


def _faults(document: Document, at: NodePath, rule: Rule) -> Iterator[Problem]:
    """Tests that are missing, and regexes that are wrong: the project's tests check its own."""
    for kind, hint, fires in (
        ("positive", "in: ..., out: the expanded message", True),
        ("negative", "out: unchanged", False),
    ):
        if all(test.fires != fires for test in rule.tests):
            message = f"rule '{rule.id}' has no {kind} test"
            yield Problem(document.where((*at, "tests")), message, f"add a test with {hint}")
    if Path(document.path).parent == PACKAGED:
        return
    for key in ("cues", "unless", "offers"):
        for number, pattern in enumerate(getattr(rule.signal, key)):
            where = document.where((*at, "signal", key, number))
            found = Pattern.compile(pattern.source, where=where)
            if isinstance(found, Problem):  # rules have no 'literal', unlike prompt files
                hint = found.hint.replace(", or use 'literal' for plain words", "")
                yield Problem(where, f"rule '{rule.id}': {found.message}", hint)
                continue
            lacking = GROUPS.get(rule.signal.kind, frozenset()) - found.groups
            if key == "cues" and lacking:
                message = f"rule '{rule.id}': the cue has no group {', '.join(sorted(lacking))}"
                yield Problem(where, message, "mark what it names with (?P<name>...)")
