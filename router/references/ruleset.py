"""Loads the reference rules, the entity patterns and the knowledge from YAML.

Packaged files live in `rules/`; a workspace's `kds-brain/rules/*.yaml` overlays them: a file
of the same name replaces the packaged one, and a rule of the same id replaces that rule. All
problems of all files are gathered before RuleFileError is raised.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import Problem, RuleFileError
from kds.brain.yaml_files import (
    NOTHING,
    Document,
    NodePath,
    files_in,
    parse_yaml,
    read_text,
    validate,
)
from kds.router.discourse.knowledge import Knowledge, Selection
from kds.router.language.late_terms import EntityPattern, with_plurals
from kds.router.pattern import Pattern
from kds.router.references.rule import (
    EntityFile,
    KnowledgeFile,
    Rule,
    RuleEntry,
    RuleFile,
    RuleTest,
    Signal,
)

PACKAGED: Final = Path(__file__).parent / "rules"
ENTITIES: Final = "entities.yaml"
KNOWLEDGE: Final = "knowledge.yaml"


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything the resolver is built from."""

    rules: tuple[Rule, ...]
    entities: tuple[EntityPattern, ...]
    knowledge: Knowledge
    files: tuple[Path, ...]


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
    return _ruleset(_RuleTexts(tuple((path, read_text(path)) for path in ordered), packaged))


@dataclass(frozen=True, slots=True)
class _RuleTexts:
    """The rule files in the order in which they count, each with its text."""

    texts: tuple[tuple[Path, str | Problem], ...]
    packaged: Path


@lru_cache(maxsize=16)
def _ruleset(found: _RuleTexts) -> RuleSet:
    """The same files with the same texts are one set for the whole process."""
    problems: list[Problem] = []
    rules: dict[str, Rule] = {}
    entities: list[EntityPattern] = []
    knowledge = Knowledge()
    for path, text in found.texts:
        if isinstance(text, Problem):
            problems.append(text)
            continue
        document = parse_yaml(text, path=str(path))
        if path.name == ENTITIES:
            entities += _entities(document, problems)
        elif path.name == KNOWLEDGE:
            knowledge = _knowledge(document, problems) or knowledge
        else:
            file = _File(document, path.parent == PACKAGED, problems)
            _add_rules(rules, file, replaceable=found.packaged)
    if problems:
        raise RuleFileError(problems)
    files = tuple(path for path, _ in found.texts)
    return RuleSet(tuple(rules.values()), tuple(entities), knowledge, files)


@dataclass(frozen=True, slots=True)
class _File:
    """A rule file at work: whether the tests check its patterns, and what is wrong with it."""

    document: Document
    checked: bool
    problems: list[Problem]


def _entities(document: Document, problems: list[Problem]) -> Iterable[EntityPattern]:
    file = validate(document, EntityFile)
    if isinstance(file, tuple):
        problems += file
        return
    for entry in file.entities:
        for term in entry.terms:
            forms = with_plurals(term.lower()) if entry.plural else (term.lower(),)
            yield EntityPattern(entry.label, forms)
        for canonical, aliases in entry.aliases.items():
            for alias in aliases:
                yield EntityPattern(entry.label, with_plurals(alias.lower()), canonical)


def _knowledge(document: Document, problems: list[Problem]) -> Knowledge | None:
    file = validate(document, KnowledgeFile)
    if isinstance(file, tuple):
        problems += file
        return None
    selections = tuple(
        Selection(frozenset(s.things), frozenset(s.verbs), frozenset(s.predicates))
        for s in file.selections
    )
    types = {noun: frozenset(things) for noun, things in file.types.items()}
    return Knowledge(selections, types, frozenset(file.surfaces))


def _add_rules(rules: dict[str, Rule], file: _File, *, replaceable: Path) -> None:
    """Check every rule of a file on its own, so that one fault does not hide the others."""
    document, problems = file.document, file.problems
    entries = _entries(document, problems)
    for index in range(len(entries)):
        at: NodePath = ("rules", index)
        entry = validate(document, RuleEntry, at=at)
        if isinstance(entry, tuple):
            problems += (_named(problem, entries[index], index) for problem in entry)
            continue
        earlier = rules.get(entry.id)
        overlays = Path(document.path).parent != replaceable
        if earlier is not None and not (overlays and _comes_from(earlier, replaceable)):
            hint = f"the first one is at {earlier.where}; give this one another id"
            where = document.where((*at, "id"))
            problems.append(Problem(where, f"rule id '{entry.id}' is used twice", hint))
            continue
        rules.pop(entry.id, None)
        if entry.enabled:
            problems += _test_problems(document, at, entry)
            rules[entry.id] = _rule(file, at, entry)


def _entries(document: Document, problems: list[Problem]) -> list[object]:
    """The items of ``rules:``; everything else at the top of the file is a problem."""
    data = document.data
    shaped = isinstance(data, dict) and isinstance(data.get("rules"), list) and data["rules"]
    if shaped and isinstance(data, dict) and set(data) == {"rules"} and not document.problems:
        return list(data["rules"])
    if isinstance(data, list):
        message, hint = "is a list", "write 'rules:' above the list, and indent the list below it"
        problems += [*document.problems, Problem(document.where(), message, hint)]
        return []
    outer = validate(document, RuleFile)
    if isinstance(outer, tuple):
        inner = re.compile(r"\(in rules, item")
        problems += (p for p in outer if not shaped or not inner.search(p.message))
    return list(data["rules"]) if shaped and isinstance(data, dict) else []


def _named(problem: Problem, entry: object, index: int) -> Problem:
    """Say the id of the rule, where the entry got that far."""
    name = entry.get("id") if isinstance(entry, dict) else None
    shown = f"rule '{name}'" if isinstance(name, str) else f"rule {index + 1}"
    return Problem(problem.where, f"{shown}: {problem.message}", problem.hint)


def _comes_from(rule: Rule, folder: Path) -> bool:
    return Path(rule.where.rpartition(":")[0]).parent == folder


def _test_problems(
    document: Document, at: tuple[str | int, ...], entry: RuleEntry
) -> Iterable[Problem]:
    positive = any(test.fires for test in entry.tests)
    negative = any(not test.fires for test in entry.tests)
    kinds = [name for name, there in (("positive", positive), ("negative", negative)) if not there]
    for kind in kinds:
        example = "out: unchanged" if kind == "negative" else "in: ..., out: the expanded message"
        yield Problem(
            document.where((*at, "tests")),
            f"rule '{entry.id}' has no {kind} test",
            f"add a test with {example}",
        )


def _rule(file: _File, at: NodePath, entry: RuleEntry) -> Rule:
    signal, document = entry.signal, file.document
    tests = tuple(
        RuleTest(
            tuple(test.context),
            test.message,
            tuple(test.expected),
            test.switch,
            document.where((*at, "tests", index)),
            test.reply,
        )
        for index, test in enumerate(entry.tests)
    )
    return Rule(
        id=entry.id,
        priority=entry.priority,
        description=entry.description,
        signal=Signal(
            kind=signal.kind,
            lemma=frozenset(signal.lemma),
            determiners=frozenset(signal.determiners),
            nouns=frozenset(signal.nouns),
            verbs=frozenset(signal.verbs),
            cues=_patterns(file, (*at, "signal", "cues"), entry.id, signal.cues),
            unless=_patterns(file, (*at, "signal", "unless"), entry.id, signal.unless),
            offers=_patterns(file, (*at, "signal", "offers"), entry.id, signal.offers),
            excludes=frozenset(signal.excludes),
        ),
        antecedent=entry.antecedent,
        render=entry.render,
        tests=tests,
        where=document.where(at),
    )


def _patterns(
    file: _File, at: NodePath, rule_id: str, sources: Iterable[str]
) -> tuple[Pattern, ...]:
    compiled = []
    for index, source in enumerate(sources):
        where = file.document.where((*at, index))
        pattern = Pattern.compile(source, where=where, checked=file.checked)
        if isinstance(pattern, Problem):
            file.problems.append(
                Problem(pattern.where, f"rule '{rule_id}': {pattern.message}", _regex_hint(pattern))
            )
        else:
            compiled.append(pattern)
    return tuple(compiled)


def _regex_hint(problem: Problem) -> str:
    """Rules have no literals to fall back on, unlike the patterns of prompt files."""
    return problem.hint.replace(", or use 'literal' for plain words", "")
