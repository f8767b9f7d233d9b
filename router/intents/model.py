"""The intent classifier: text and patterns as evidence, one calibrated confidence.

A linear model over words and meaning scores the labels; the patterns of the prompt files and the
conversation shift these scores; a calibrator says how far the winner can be trusted. Only exact
patterns decide alone. A model is a value: nothing in it changes after the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kds.brain.learning.phrases import says_little
from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.evidence import (
    NO_SITUATION,
    Finding,
    IntentRules,
    IntentVerdict,
    RuleBook,
    Situation,
    bare_request,
    context_shifts,
    order_rules,
    phrase_verdict,
    verdict_notes,
)
from kds.router.intents.examples import (
    examples_key,
    examples_of,
    fingerprints,
    labels_of_example,
    own_key,
    own_keys,
)
from kds.router.intents.features import readable, vectors
from kds.router.intents.linear import Calibrator, Floats, Linear, Matrix, log_softmax
from kds.router.intents.training import (
    Fit,
    Mix,
    Readings,
    best_in_scope,
    certainty_signs,
    fit_linear,
    mean_examples,
    read,
    scope_signs,
    train,
)
from kds.router.prompts.promptfile import PromptFile

NEAR_TIE: Final = 0.35
"""Log distance within which two intents whose patterns both match count as tied, so that their
priority decides: odds of 1.4 to 1."""

EXAMPLE_CONFIDENCE: Final = 0.99
"""Who writes an example says what it means; that of another agent may still be meant."""

BARRED: Final = -1e6
"""Added to the log odds of an intent that lacks a word it needs: it is not chosen."""

NEAR: Final = 0.5
"""Share of the examples, on either side, that two sets must have in common for one model to be
fitted on top of the other: then most of what the calibrator saw still holds."""

ADDED: Final = 1.3
"""What an added intent with few examples gets beside its weights, times the logarithm of how much
fewer they are. With eight of the packaged intents left out in turn and added with seven examples,
37 % of their other examples find them without it and 82 % with it; of messages for other agents
0 and 0.8 % go astray."""

TAUGHT_COUNT: Final = 0.5
"""What a taught message counts: enough to be found in other words, and of 260 shipped examples
two are read otherwise after three were taught."""

MAX_ALTERNATIVES: Final = 3


@dataclass(frozen=True, slots=True, repr=False)
class Learned:
    """All numbers of a fitted model: what the cache stores."""

    labels: tuple[str, ...]
    linear: Linear
    means: Matrix
    mix: Mix
    calibrator: Calibrator
    scope: Calibrator | None
    taught: NDArray[np.uint64]
    """The fingerprints of the examples."""
    key: str
    """The hash of examples and patterns; see `examples_key`."""


@dataclass(frozen=True, slots=True, repr=False)
class Taught:
    """A fitted model with the rows that it was fitted on, to fit further examples on top of it."""

    learned: Learned
    rows: Matrix
    """In the order of the fingerprints of ``learned``."""


@dataclass(frozen=True, slots=True, repr=False)
class OwnExamples:
    """What somebody taught: messages with their label, and the weights that follow from them."""

    phrases: dict[str, int]
    linear: Linear


@dataclass(frozen=True, slots=True)
class IntentModel:
    """A fitted classifier. The rules of ``book`` stand in the order of ``learned.labels``."""

    learned: Learned
    book: RuleBook
    none: str = UNKNOWN
    own: OwnExamples | None = None

    @classmethod
    def fit(cls, prompts: Sequence[PromptFile]) -> "IntentModel":
        """Learn from the examples and patterns of the agents."""
        return cls.fit_examples(*examples_of(prompts))

    @classmethod
    def fit_examples(
        cls,
        examples: Sequence[tuple[str, str]],
        rules: Sequence[IntentRules] = (),
        *,
        none: str = UNKNOWN,
        base: Taught | None = None,
    ) -> "IntentModel":
        """Learn from pairs of text and label; ``none`` is the label of what fits nowhere.

        On top of a ``base`` with which they have most examples in common only the linear model is
        fitted, from its weights on: how it mixes with the patterns, and how far it can be trusted,
        is taken over. The words of a label ("card_arrival") count as one more example of it. Raises
        ValueError with fewer than two labels.
        """
        labels = tuple(sorted({label for _, label in examples}))
        if len(labels) < 2:
            raise ValueError("a model needs examples of at least two intents")
        taught = fingerprints(examples)
        book = RuleBook(order_rules(labels, rules))
        known = () if base is None else base.learned.labels
        lessons = [*examples, *((_words(one), one) for one in labels if one not in {none, *known})]
        if base is not None and _is_near(base.learned, taught, labels, none):
            fit = _fit_on(base, lessons, labels, book)
        else:
            fit = _fit_anew(lessons, labels, book if rules else None, none)
        learned = Learned(
            labels, fit.linear, fit.means, fit.mix, fit.calibrator, fit.scope,
            taught, examples_key(examples, rules),
        )  # fmt: skip
        return cls(learned, book, none)

    def with_own(self, examples: Sequence[tuple[str, str]]) -> "IntentModel":
        """The same with pairs of text and label laid over it, in the place of any others.

        The weights move as little as the examples take. One that says too little by itself ("ship
        it") counts for exactly that message. Of two labels for one message the last one counts.
        """
        labels = self.learned.labels
        known = {own_key(text): label for text, label in examples if label in labels}
        if not known:
            return replace(self, own=None)
        texts = {own_key(text): text for text, _ in examples if not says_little(text)}
        telling = [(text, labels.index(known[key])) for key, text in texts.items() if key in known]
        linear = self.learned.linear
        if telling:
            linear = Linear.fit(
                vectors([readable(text) for text, _ in telling]),
                np.array([label for _, label in telling]),
                np.full(len(telling), TAUGHT_COUNT),
                start=linear,
                anchored=True,
            )
        phrases = {key: labels.index(label) for key, label in known.items()}
        return replace(self, own=OwnExamples(phrases, linear))

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
        labels, none = self.learned.labels, self._none
        readings = self._read(texts, findings)
        shifts = context_shifts(situation, texts[0], self.book.rules)
        lacking = np.array([found.lacking for found in findings])
        log_p = self.learned.mix.log_p(readings.scores, readings.patterns)
        log_p = log_p + np.array([[shifts.get(label, 0.0) for label in labels]])
        if lacking[best := int(log_p[0].argmax())]:
            notes.append(f"it looks like {labels[best]}, but has no word it needs")
        log_p = log_softmax(log_p + np.where(lacking, BARRED, 0.0))
        winner = self._break_tie(log_p[0], findings, int(best_in_scope(log_p, none)[0]))
        if lacking[winner]:
            return IntentVerdict(self.none, 0.0, (), tuple(notes), 0.0)
        signs = certainty_signs(readings, log_p, np.array([winner]), none)
        confidence = float(self.learned.calibrator.probabilities(signs)[0])
        unfit = none is not None and log_p[0, none] > log_p[0, winner]
        notes += verdict_notes(labels, log_p[0], findings, shifts)
        rows = list(zip(labels, log_p[0].tolist(), lacking.tolist(), strict=True))
        return IntentVerdict(
            self.none if unfit else labels[winner],
            confidence,
            self._alternatives(log_p[0], winner, confidence, unfit=unfit),
            tuple(notes),
            self._scope(readings, winner, confidence),
            {label: value for label, value, lacks in rows if not lacks},
            frozenset(label for label, _, lacks in rows if lacks),
        )

    def score_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that is an example of one intent, to the letter; else None.

        What somebody taught stands above all that ships. A shipped example that is a fixed phrase
        as well is scored as such: exact patterns stand above examples.
        """
        if (own := self._own_example(message)) is not None:
            return own
        owners = labels_of_example(message.strip(), self.learned.labels, self.learned.taught)
        if not owners:
            return None
        if self.book.is_phrase(readable(message)):
            return self.score(message)
        return self._example_of(owners[0]) if len(owners) == 1 else None

    @property
    def _linear(self) -> Linear:
        return self.learned.linear if self.own is None else self.own.linear

    @property
    def _none(self) -> int | None:
        labels = self.learned.labels
        return labels.index(self.none) if self.none in labels else None

    def _own_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that was taught, whatever ships says of it."""
        if self.own is None:
            return None
        found = (self.own.phrases.get(key) for key in own_keys(message))
        label = next((label for label in found if label is not None), None)
        if label is None:
            return None
        verdict = self._example_of(self.learned.labels[label])
        return replace(verdict, notes=(f"you taught it as {verdict.intent}",))

    def _example_of(self, label: str) -> IntentVerdict:
        confidence = 0.0 if label == self.none else EXAMPLE_CONFIDENCE
        return IntentVerdict(label, confidence, (), (f"an example of {label}",), confidence)

    def _read(self, texts: Sequence[str], findings: Sequence[Finding]) -> Readings:
        """One row: scores are the mean over ``texts``, likeness is the best of them."""
        words = np.array([float(len(text.split())) for text in texts])
        patterns = np.array([[found.score for found in findings]])
        found = read(self._linear, self.learned.means, vectors(texts), patterns, words)
        return Readings(
            found.scores.mean(axis=0)[None, :],
            found.likeness.max(axis=0)[None, :],
            patterns,
            found.words[-1:],
        )

    def _scope(self, readings: Readings, winner: int, confidence: float) -> float:
        """What the text says, joined with the winner's patterns by noisy-or.

        With too few intents to learn the scope from, the confidence stands in for it.
        """
        if self.learned.scope is None:
            return confidence
        signs = scope_signs(readings, self.learned.mix.sharpness, self._none)
        doubt = 1.0 - float(self.learned.scope.probabilities(signs)[0])
        return 1.0 - doubt * (1.0 - float(readings.patterns[0, winner]))

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


def _fit_anew(
    examples: Sequence[tuple[str, str]], labels: Sequence[str], book: RuleBook | None, none: str
) -> Fit:
    texts = [readable(text) for text, _ in examples]
    targets = np.array([labels.index(label) for _, label in examples])
    return train(
        vectors(texts),
        targets,
        np.array([float(len(text.split())) for text in texts]),
        None if book is None else lambda rows: book.scores([texts[row] for row in rows.tolist()]),
        labels.index(none) if none in labels else None,
    )


def _fit_on(
    base: Taught, examples: Sequence[tuple[str, str]], labels: Sequence[str], book: RuleBook
) -> Fit:
    """Fit from the weights of ``base`` on, whose rows need not be made again.

    The weights of a new example make up for the patterns of other intents that match it: "roll it
    out" is a command to change something, until somebody has an agent for it.
    """
    shipped = base.learned
    at = {print_: row for row, print_ in enumerate(shipped.taught.tolist())}
    known = np.array([at.get(print_, -1) for print_ in fingerprints(examples).tolist()])
    new = np.flatnonzero(known < 0).tolist()
    rows = base.rows[known]
    texts = [readable(examples[row][0]) for row in new]
    rows[new] = vectors(texts)
    offsets = np.zeros((len(examples), len(labels)))
    if texts:
        offsets[new] = book.scores(texts) * (shipped.mix.pattern_weight / shipped.mix.sharpness)
    start = Linear.zeros(rows.shape[1], len(labels))
    for column, label in enumerate(labels):
        if label in shipped.labels:
            source = shipped.labels.index(label)
            start.weights[:, column] = shipped.linear.weights[:, source]
            start.bias[column] = shipped.linear.bias[source]
    targets = np.array([labels.index(label) for _, label in examples])
    linear = fit_linear(rows, targets, len(labels), start=start, offsets=offsets)
    counts = np.bincount(targets, minlength=len(labels))
    added = np.array([label not in shipped.labels for label in labels])
    linear.bias[added] += ADDED * np.log(counts.mean() / counts[added]).clip(min=0.0)
    return Fit(
        linear,
        mean_examples(rows, targets, len(labels)),
        shipped.mix,
        shipped.calibrator,
        shipped.scope,
    )


def _is_near(base: Learned, taught: NDArray[np.uint64], labels: Sequence[str], none: str) -> bool:
    shared = len(np.intersect1d(base.taught, taught))
    enough = shared >= NEAR * max(len(base.taught), len(taught))
    return enough and (none in labels) == (none in base.labels)


def _words(label: str) -> str:
    return label.replace("_", " ").replace("-", " ").lower()
