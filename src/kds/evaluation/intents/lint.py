"""Finds what is wrong with the examples and patterns of a set of prompts: `kds intents lint`.

Findings are hints, not errors: a person decides. Nothing here knows the model that routes; the
harm of examples and patterns is measured by heads that have not seen the examples they read.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from kds.router.intents.evidence import RuleBook, order_rules
from kds.router.intents.features import FeatureSpace, Floats, Ints
from kds.router.intents.lessons import lessons
from kds.router.intents.terms import stems, terms
from kds.router.intents.text_head import ExampleMatrix
from kds.router.intents.training import FOLDS, RULE_WEIGHT_GRID
from kds.router.prompts.promptfile import IntentPattern, PromptFile

Kind = Literal["same", "near", "greedy", "silent", "harmful-example", "harmful-pattern"]
Progress = Callable[[str, int, int], None]

NEAR: Final = 0.9
"""Likeness from which examples of two intents count as nearly the same. Paraphrases stay under
0.8; above are those that differ in an article or an ending."""

MAX_TRIED: Final = 24
"""Examples that are left out for real: each costs four fits, 0.1 seconds for the packaged set."""

TOLD_EVERY: Final = 50
"""Examples between two words about the progress."""

LEAST_HARM: Final = 2
"""Verdicts that must get better when an example or a pattern is left out. One may be chance."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing worth a look. ``where`` is "file:line"; ``text`` the example or pattern.

    same, near          an example that another intent has too, or nearly the same
    greedy              a pattern that matches more examples of another intent than of its own
    silent              a pattern that matches no example
    harmful-example     more unseen examples are read right without it
    harmful-pattern     the same for a pattern
    """

    kind: Kind
    where: str
    intent: str
    text: str
    message: str


@dataclass(frozen=True, slots=True)
class _Example:
    text: str
    intent: str
    where: str


def lint_intents(
    prompts: Sequence[PromptFile], *, own: Path | None = None, progress: Progress | None = None
) -> tuple[LintFinding, ...]:
    """What to look at in the examples and patterns of these agents, in the order of LintFinding.

    What stands in files below ``own``, the user's folder, comes first, and is tried first where
    not all can be. A minute at most for the packaged agents; imports scikit-learn.
    """
    mine = _files_of(prompts, own)
    findings = _findings(prompts, mine, progress or (lambda what, done, total: None))
    return tuple(sorted(findings, key=lambda one: one.where.rpartition(":")[0] not in mine))


def _files_of(prompts: Sequence[PromptFile], own: Path | None) -> frozenset[str]:
    """The files of the user's, as findings name them."""
    mine = [one for one in prompts if own is not None and one.path.is_relative_to(own)]
    more = [one.more.path for one in mine if one.more is not None]
    return frozenset({*(str(one.path) for one in mine), *(one.ref for one in mine), *more})


def _findings(
    prompts: Sequence[PromptFile], mine: frozenset[str], tell: Progress
) -> list[LintFinding]:
    agents = [prompt for prompt in prompts if prompt.intent]
    examples = _examples(agents)
    findings = list(_same(examples))
    labels = sorted({example.intent for example in examples})
    if len(labels) < 2:
        return findings
    tell("reading the examples", 0, len(examples))
    matrix = _matrix(examples, labels)
    findings += _near(matrix, examples)
    fired = _fired(agents, examples, tell)
    findings += _greedy_or_silent(fired, examples)
    margins = _left_out(matrix)
    first = {row for row, one in enumerate(examples) if one.where.rpartition(":")[0] in mine}
    suspects = _suspects(matrix, margins, first)
    findings += _harmful_examples(matrix, margins, examples, suspects, tell)
    findings += _harmful_patterns(agents, margins, matrix.labels, labels, examples, fired)
    return findings


def _examples(agents: Sequence[PromptFile]) -> list[_Example]:
    return [
        _Example(text, prompt.intent or "", prompt.example_place(number))
        for prompt in agents
        for number, text in enumerate(prompt.examples)
    ]


def _matrix(examples: Sequence[_Example], labels: Sequence[str]) -> ExampleMatrix:
    counts = [terms(example.text) for example in examples]
    space = FeatureSpace.fit(counts)
    targets = np.array([labels.index(example.intent) for example in examples])
    return ExampleMatrix.build(space.vectors_of(counts), targets, space)


def _same(examples: Sequence[_Example]) -> Iterator[LintFinding]:
    by_text: dict[tuple[str, ...], list[_Example]] = {}
    for example in examples:
        by_text.setdefault(tuple(stems(example.text)), []).append(example)
    for group in by_text.values():
        for example in group:
            others = sorted({other.intent for other in group} - {example.intent})
            if others:
                message = f"is an example of {', '.join(others)} too"
                yield _about(example, "same", message)


def _near(matrix: ExampleMatrix, examples: Sequence[_Example]) -> Iterator[LintFinding]:
    alike = (matrix.matrix @ matrix.matrix.T).tocoo()
    for row, column, likeness in zip(alike.row, alike.col, alike.data, strict=True):
        one, other = examples[row], examples[column]
        if likeness < NEAR or one.intent >= other.intent or stems(one.text) == stems(other.text):
            continue
        message = f"is nearly '{other.text}' of {other.intent} (likeness {likeness:.2f})"
        yield _about(one, "near", message)


@dataclass(frozen=True, slots=True)
class _Fired:
    """A pattern, and the examples that it matches by themselves or not at all."""

    intent: str
    pattern: IntentPattern
    rows: tuple[int, ...]


def _fired(
    agents: Sequence[PromptFile], examples: Sequence[_Example], tell: Progress
) -> list[_Fired]:
    """Every pattern with the examples it fires on, excludes counted."""
    _, rules = lessons(agents)
    book = RuleBook(rules)
    rows: dict[int, list[int]] = {}
    for row, example in enumerate(examples):
        if row % TOLD_EVERY == 0:
            tell("trying the patterns", row, len(examples))
        for finding in book.find([example.text]):
            for pattern in finding.fired:
                rows.setdefault(id(pattern), []).append(row)
    return [
        _Fired(rule.intent, pattern, tuple(rows.get(id(pattern), ())))
        for rule in rules
        for pattern in rule.patterns
    ]


def _greedy_or_silent(
    fired: Sequence[_Fired], examples: Sequence[_Example]
) -> Iterator[LintFinding]:
    for one in fired:
        if not one.rows:
            yield _about_pattern(one, "silent", "matches no example: add one, or drop it")
            continue
        counts = Counter(examples[row].intent for row in one.rows)
        intent, most = counts.most_common(1)[0]
        if intent != one.intent and most > counts[one.intent]:
            message = f"matches {most} examples of {intent}, {counts[one.intent]} of its own"
            yield _about_pattern(one, "greedy", message)


def _left_out(matrix: ExampleMatrix) -> Floats:
    """Margins of every example by a head that has not seen it."""
    margins = np.zeros((len(matrix.labels), matrix.width))
    for seen, held in _turns(matrix):
        margins[held] = matrix.margins(seen, held)
    return margins


def _turns(matrix: ExampleMatrix) -> Iterator[tuple[Ints, Ints]]:
    fold_of = np.arange(len(matrix.labels)) % FOLDS
    for fold in range(FOLDS):
        held, seen = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        if len(held) and len(seen):
            yield seen, held


def _harmful_examples(
    matrix: ExampleMatrix,
    margins: Floats,
    examples: Sequence[_Example],
    suspects: Sequence[int],
    tell: Progress,
) -> Iterator[LintFinding]:
    """Examples without which more unseen examples are read right: the suspects, each left out."""
    right = int((margins.argmax(axis=1) == matrix.labels).sum())
    for number, row in enumerate(suspects):
        tell("leaving one out at a time", number, len(suspects))
        again = margins.copy()
        for seen, held in _turns(matrix):
            if row in seen:
                again[held] = matrix.margins(seen[seen != row], held)
        hits = (again.argmax(axis=1) == matrix.labels)[np.arange(len(margins)) != row].sum()
        gain = int(hits) - right + int(margins[row].argmax() == matrix.labels[row])
        if gain >= LEAST_HARM:
            message = f"without it {gain} more unseen examples are read right"
            yield _about(examples[row], "harmful-example", message)


def _suspects(matrix: ExampleMatrix, margins: Floats, first: set[int]) -> list[int]:
    """The MAX_TRIED examples that are read wrong themselves and seem to do the most harm.

    Those of ``first`` come before all others.

    An estimate to first order: leaving an example out takes from the margin of its intent what
    it adds to its neighbours, weighed by how hard a head has to work for it.
    """
    labels = matrix.labels
    rows = np.arange(len(labels))
    slack = np.clip(1.0 - margins[rows, labels], 0.0, 2.0)
    given = margins.argmax(axis=1)
    gains: list[tuple[bool, int, int]] = []
    for row in np.flatnonzero(given != labels).tolist():
        near = (matrix.matrix @ matrix.matrix[row].T).tocoo()
        at = near.row[near.row % FOLDS != row % FOLDS]
        pull = near.data[near.row % FOLDS != row % FOLDS]
        less = margins[at].copy()
        less[:, labels[row]] -= slack[row] * pull
        before, after = given[at] == labels[at], less.argmax(axis=1) == labels[at]
        gain = int(after.sum()) - int(before.sum())
        if gain > 0:
            gains.append((row in first, gain, -row))
    return [-row for _, _, row in sorted(gains, reverse=True)[:MAX_TRIED]]


def _harmful_patterns(
    agents: Sequence[PromptFile],
    margins: Floats,
    targets: Ints,
    labels: Sequence[str],
    examples: Sequence[_Example],
    fired: Sequence[_Fired],
) -> Iterator[LintFinding]:
    """Patterns without which more of the examples would be read right, text and rules together."""
    book = RuleBook(order_rules(labels, lessons(agents)[1]))
    scores = book.scores([example.text for example in examples])
    sharp, weight = _fit_mix(margins, scores, targets)
    mixed = sharp * margins + weight * scores
    right = mixed.argmax(axis=1) == targets
    for one in fired:
        if not one.rows or one.intent not in labels:
            continue
        rows, column = np.array(one.rows), labels.index(one.intent)
        keep = 1.0 - min(one.pattern.weight, 0.99)
        less = mixed[rows].copy()
        less[:, column] -= weight * (scores[rows, column] - _without(scores[rows, column], keep))
        gain = int((less.argmax(axis=1) == targets[rows]).sum() - right[rows].sum())
        if gain >= LEAST_HARM:
            message = f"without it {gain} more of {len(rows)} examples would be read right"
            yield _about_pattern(one, "harmful-pattern", message)


def _without(score: Floats, keep: float) -> Floats:
    """The noisy-or of what remains when one pattern of doubt ``keep`` is taken out."""
    return np.asarray(np.clip(1.0 - (1.0 - score) / keep, 0.0, 1.0))


def _fit_mix(margins: Floats, scores: Floats, targets: NDArray[np.int64]) -> tuple[float, float]:
    """The weight of the rules at which most examples are read right, at a sharpness of 3."""
    sharp = 3.0
    right = [
        (((sharp * margins + weight * scores).argmax(axis=1) == targets).sum(), -weight)
        for weight in RULE_WEIGHT_GRID
    ]
    return sharp, -max(right)[1]


def _about(example: _Example, kind: Kind, message: str) -> LintFinding:
    return LintFinding(kind, example.where, example.intent, example.text, message)


def _about_pattern(one: _Fired, kind: Kind, message: str) -> LintFinding:
    return LintFinding(kind, one.pattern.where, one.intent, one.pattern.source, message)
