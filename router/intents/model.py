"""The intent classifier: text and rules as evidence, one calibrated confidence.

A linear head over TF-IDF scores the labels; the patterns of the prompt files shift these scores;
the conversation shifts them a little more; a calibrator says how far the winner can be trusted.
Only exact patterns decide alone. A model is a value: nothing in it changes after the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.calibration import Calibrator
from kds.router.intents.certainty import (
    Mix,
    Readings,
    best_in_scope,
    certainty_signs,
    log_softmax,
    scope_signs,
)
from kds.router.intents.context_evidence import NO_SITUATION, Situation, context_shifts
from kds.router.intents.evidence import Finding, IntentRules, RuleBook, bare_request, order_rules
from kds.router.intents.features import FeatureSpace, Vector, readable
from kds.router.intents.lessons import fingerprints, lessons, lessons_key, taught_labels
from kds.router.intents.nearest import ExampleIndex
from kds.router.intents.own_examples import OwnExamples
from kds.router.intents.terms import terms
from kds.router.intents.text_head import ExampleMatrix
from kds.router.intents.training import Fit, FitReport, RuleScores, is_near, train
from kds.router.intents.verdict import IntentVerdict, phrase_verdict, verdict_notes
from kds.router.prompts.promptfile import PromptFile

Floats = NDArray[np.float64]

NEAR_TIE: Final = 0.35
"""Log distance within which two intents whose patterns both match count as tied, so that their
priority decides: odds of 1.4 to 1."""

VERBATIM: Final = 0.9999
"""Likeness from which a message is one of the examples, but for case and spaces."""
VERBATIM_CONFIDENCE: Final = 0.99
"""Who writes an example says what it means; that of another agent may still be meant."""

BARRED: Final = -1e6
"""Added to the log odds of an intent that lacks a word it needs: it is not chosen."""

MAX_ALTERNATIVES: Final = 3


@dataclass(frozen=True, slots=True, repr=False)
class Learned:
    """All numbers of a fitted model: what the cache stores."""

    labels: tuple[str, ...]
    space: FeatureSpace
    weights: NDArray[np.float32]
    bias: Floats
    examples: ExampleIndex
    mix: Mix
    calibrator: Calibrator
    scope: Calibrator | None
    report: FitReport
    taught: NDArray[np.uint64]
    """The fingerprints of the examples, in rising order."""
    key: str
    """The hash of examples and patterns; see `lessons_key`."""


@dataclass(frozen=True, slots=True)
class IntentModel:
    """A fitted classifier. The rules of ``book`` stand in the order of ``learned.labels``."""

    learned: Learned
    book: RuleBook
    none: str = UNKNOWN
    own: OwnExamples | None = None
    """Somebody's own examples, laid over the fitted numbers."""

    @classmethod
    def fit(cls, prompts: Sequence[PromptFile]) -> "IntentModel":
        """Learn from the examples and patterns of the agents. Imports scikit-learn."""
        return cls.fit_examples(*lessons(prompts))

    @classmethod
    def fit_examples(
        cls,
        examples: Sequence[tuple[str, str]],
        rules: Sequence[IntentRules] = (),
        *,
        none: str = UNKNOWN,
        base: Learned | None = None,
    ) -> "IntentModel":
        """Learn from pairs of text and label; ``none`` is the label of what fits nowhere.

        On top of a ``base`` with which they have most examples in common only the text head is
        fitted: how it mixes with the patterns, and how far it can be trusted, is taken over. The
        words of a label ("card_arrival") count as one more example of it: worth 0.8 points
        on CLINC150 with ten examples an intent. Raises ValueError with fewer than two labels.
        """
        labels = tuple(sorted({label for _, label in examples}))
        if len(labels) < 2:
            raise ValueError("a model needs examples of at least two intents")
        named = [(_words(label), label) for label in labels if label != none]
        book = RuleBook(order_rules(labels, rules))
        texts = [readable(text) for text, _ in (*examples, *named)]
        targets = np.array([labels.index(label) for _, label in (*examples, *named)])
        counts = [terms(text) for text in texts]
        space = FeatureSpace.fit(counts)
        vectors = space.vectors_of(counts)
        taught = fingerprints(examples)
        if base is not None and _is_near(base, taught, labels, none):
            weights, bias = ExampleMatrix.build(vectors, targets, space).fit(np.arange(len(texts)))
            fit = Fit(weights, bias, base.mix, base.calibrator, base.scope, base.report)
        else:
            known_none = labels.index(none) if none in labels else None
            scores = _rule_scores(book, texts) if rules else None
            fit = train(vectors, targets, scores, space=space, none=known_none)
        learned = Learned(
            labels=labels,
            space=space,
            weights=fit.weights.astype(np.float32),
            bias=fit.bias,
            examples=ExampleIndex.build(vectors, targets, space.size),
            mix=fit.mix,
            calibrator=fit.calibrator,
            scope=fit.scope,
            report=fit.report,
            taught=taught,
            key=lessons_key(examples, rules),
        )
        return cls(learned, book, none)

    def with_own(self, examples: Sequence[tuple[str, str]]) -> "IntentModel":
        """The same with pairs of text and label laid over it, in the place of any others."""
        return replace(self, own=OwnExamples.of(examples, self.learned))

    def score(
        self, message: str, expanded: str | None = None, situation: Situation = NO_SITUATION
    ) -> IntentVerdict:
        """The verdict on a message, from its own words, its expansion and the conversation."""
        if (own := self._own_example(message)) is not None:
            return own
        texts = tuple(
            dict.fromkeys(readable(bare_request(text)) for text in (message, expanded or message))
        )
        notes: list[str] = []
        findings = self.book.find(texts, notes=notes)
        if (decided := phrase_verdict(self.book.rules, findings, self.none)) is not None:
            return decided
        readings = self._read(texts, findings)
        if (decided := self._verbatim(readings)) is not None:
            return decided
        shifts = context_shifts(situation, texts[0], self.book.rules)
        row = np.array([[shifts.get(label, 0.0) for label in self.learned.labels]])
        log_p = self.learned.mix.log_p(readings.margins, readings.rule_scores)
        log_p, lacking = self._with_needs(log_p + row, findings, notes)
        none = self._none
        winner = self._break_tie(log_p[0], findings, int(best_in_scope(log_p, none)[0]))
        signs = certainty_signs(readings, log_p, np.array([winner]), none)
        confidence = self.learned.calibrator.probability(signs[0])
        if lacking[winner]:
            return IntentVerdict(self.none, 0.0, (), tuple(notes), 0.0)
        unfit = none is not None and log_p[0, none] > log_p[0, winner]
        intent = self.none if unfit else self.learned.labels[winner]
        notes += verdict_notes(self.learned.labels, log_p[0], findings, shifts)
        others = self._alternatives(log_p[0], winner, confidence, unfit=unfit)
        scope = self._scope(readings, winner, confidence)
        known, barred = self._split(log_p[0], lacking)
        return IntentVerdict(intent, confidence, others, tuple(notes), scope, known, barred)

    def score_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that is an example of one intent, to the letter; else None.

        What somebody taught stands above all that ships. A shipped example that is a fixed phrase
        as well is scored as such: exact patterns stand above examples.
        """
        if (own := self._own_example(message)) is not None:
            return own
        owners = taught_labels(message.strip(), self.learned.labels, self.learned.taught)
        if not owners:
            return None
        if self.book.is_phrase(readable(message)):
            return self.score(message)
        return self._example_of(owners[0]) if len(owners) == 1 else None

    def leaning(self, message: str) -> str:
        """The label that the words of a message speak for, unless it was taught as another one.

        Neither patterns nor what the shipped examples say to the letter have a part in it.
        """
        if (own := self._own_example(message)) is not None:
            return own.intent
        margins = self._margins(self.learned.space.vector(readable(message)))
        return self.learned.labels[int((margins + self.learned.bias).argmax())]

    def _own_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that was taught, whatever ships says of it."""
        label = None if self.own is None else self.own.label_of(message)
        if label is None:
            return None
        found = self._example_of(self.learned.labels[label])
        return replace(found, notes=(f"you taught it as {found.intent}",))

    def _verbatim(self, readings: Readings) -> IntentVerdict | None:
        """The verdict on an example of one intent, typed as it stands there."""
        alike = np.flatnonzero(readings.likeness[0] >= VERBATIM)
        if len(alike) != 1:
            return None
        return self._example_of(self.learned.labels[int(alike[0])])

    def _example_of(self, label: str) -> IntentVerdict:
        confidence = 0.0 if label == self.none else VERBATIM_CONFIDENCE
        return IntentVerdict(label, confidence, (), (f"an example of {label}",), confidence)

    @property
    def _none(self) -> int | None:
        labels = self.learned.labels
        return labels.index(self.none) if self.none in labels else None

    def _with_needs(
        self, scores: Floats, findings: Sequence[Finding], notes: list[str]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """The log probabilities without the intents that lack what they need; which those are."""
        lacking = np.array([found.lacking for found in findings])
        best = int(scores[0].argmax())
        if lacking[best]:
            notes.append(f"it looks like {self.learned.labels[best]}, but has no word it needs")
        return log_softmax(scores + np.where(lacking, BARRED, 0.0)), lacking

    def _split(
        self, log_p: Floats, lacking: NDArray[np.bool_]
    ) -> tuple[dict[str, float], frozenset[str]]:
        """The log probabilities of the intents that may be chosen, and the others' names."""
        rows = list(zip(self.learned.labels, log_p.tolist(), lacking.tolist(), strict=True))
        known = {label: value for label, value, lacks in rows if not lacks}
        return known, frozenset(label for label, _, lacks in rows if lacks)

    def _read(self, texts: Sequence[str], findings: Sequence[Finding]) -> Readings:
        """One row: margins are the mean over ``texts``, likeness is the best of them."""
        vectors = [self.learned.space.vector(text) for text in texts]
        margins = np.mean([self._margins(vector) for vector in vectors], axis=0)
        return Readings(
            margins=(margins + self.learned.bias)[None, :],
            rule_scores=np.array([[found.score for found in findings]]),
            likeness=np.max([self._likeness(vector) for vector in vectors], axis=0)[None, :],
            unknown=np.array([min(vector.unknown for vector in vectors)]),
            covered=np.array([max(vector.covered for vector in vectors)]),
            terms=np.array([float(len(vectors[-1].ids))]),
        )

    def _margins(self, vector: Vector) -> Floats:
        shared: Floats = vector.values @ self.learned.weights[vector.ids]
        return shared if self.own is None else shared + self.own.margins(vector)

    def _likeness(self, vector: Vector) -> Floats:
        shared = self.learned.examples.likeness(vector)
        return shared if self.own is None else np.maximum(shared, self.own.likeness(vector))

    def _scope(self, readings: Readings, winner: int, confidence: float) -> float:
        """What the text says, joined with the winner's patterns by noisy-or.

        With too few intents to learn the scope from, the confidence stands in for it.
        """
        if self.learned.scope is None:
            return confidence
        signs = scope_signs(readings, self.learned.mix.sharpness, self._none)
        doubt = 1.0 - self.learned.scope.probability(signs[0])
        return 1.0 - doubt * (1.0 - float(readings.rule_scores[0, winner]))

    def _break_tie(self, log_p: Floats, findings: Sequence[Finding], winner: int) -> int:
        """Among intents about as likely as the winner whose patterns match: by priority."""
        if not findings[winner].fired:
            return winner
        near = [
            index
            for index, finding in enumerate(findings)
            if finding.fired
            and self.learned.labels[index] != self.none
            and log_p[winner] - log_p[index] <= NEAR_TIE
        ]
        return min(near, key=lambda index: (self.book.rules[index].priority, -log_p[index]))

    def _alternatives(
        self, log_p: Floats, winner: int, confidence: float, *, unfit: bool
    ) -> tuple[IntentScore, ...]:
        """The next best intents, in falling order.

        They share what the winner leaves in proportion to their odds; none goes above it.
        """
        labels = self.learned.labels
        rest = max(-float(np.expm1(log_p[winner])), 1e-9)
        left = 1.0 - confidence
        found = [
            IntentScore(labels[index], min(confidence, left * float(np.exp(log_p[index])) / rest))
            for index in np.argsort(-log_p, kind="stable")
            if index != winner and labels[index] != self.none and log_p[index] > BARRED / 2
        ]
        first = (IntentScore(labels[winner], confidence),) if unfit else ()
        return (*first, *found)[:MAX_ALTERNATIVES]


def _rule_scores(book: RuleBook, texts: Sequence[str]) -> RuleScores:
    return lambda rows: book.scores([texts[row] for row in rows.tolist()])


def _is_near(base: Learned, taught: NDArray[np.uint64], labels: Sequence[str], none: str) -> bool:
    return (none in labels) == (none in base.labels) and is_near(base.taught, taught)


def _words(label: str) -> str:
    return label.replace("_", " ").replace("-", " ").lower()
