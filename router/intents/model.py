"""The intent classifier: text and patterns as evidence, one calibrated confidence.

A linear model over words and meaning scores the labels; the patterns of the prompt files and the
conversation shift these scores; a calibrator says how far the winner can be trusted. Only exact
patterns decide alone. A model is a value: nothing in it changes after the fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from kds.brain.learning.phrases import says_little
from kds.brain.turn import UNKNOWN, IntentScore
from kds.router.intents.examples import (
    Pairs,
    examples_of,
    fingerprints,
    labels_of_example,
    own_key,
    own_keys,
)
from kds.router.intents.features import readable, vectors
from kds.router.intents.linear import Floats, Linear, Matrix, log_softmax
from kds.router.intents.patterns import (
    NO_SITUATION,
    Finding,
    IntentVerdict,
    Prompts,
    Situation,
    bare_request,
    context_shifts,
    find_patterns,
)
from kds.router.intents.training import Learned, Readings, fit_anew, fit_on, masked
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

TAUGHT_COUNT: Final = 0.3
"""What a taught message counts: enough to be found in other words, and of 260 shipped examples
two are read otherwise after three were taught."""

MAX_ALTERNATIVES: Final = 3
NAMED_PATTERNS: Final = 3
"""Patterns of an intent that a note names, and intents whose scores it tells."""


@dataclass(frozen=True, slots=True)
class IntentModel:
    """A fitted classifier; ``agents`` have the patterns and priorities of intents.

    ``own`` are the messages that somebody taught, with their labels, and ``own_linear`` the
    weights that follow from them.
    """

    learned: Learned
    agents: Prompts = field(default_factory=dict)
    none: str = UNKNOWN
    own: Mapping[str, str] = field(default_factory=dict)
    own_linear: Linear | None = None

    @classmethod
    def fit(cls, prompts: Sequence[PromptFile]) -> "IntentModel":
        """Learn from the examples and patterns of the agents."""
        return cls.fit_examples(*examples_of(prompts))

    @classmethod
    def fit_examples(
        cls,
        examples: Pairs,
        agents: Prompts | None = None,
        *,
        none: str = UNKNOWN,
        base: tuple[Learned, Matrix] | None = None,
    ) -> "IntentModel":
        """Learn from pairs of text and label; ``none`` is the label of what fits nowhere.

        On top of a ``base`` (a model, and the rows of its examples) with which they have most
        examples in common only the linear model is fitted, from its weights on: how it mixes with
        the patterns, and how far it can be trusted, is taken over. The words of a label
        ("card_arrival") count as one more example of it. Raises ValueError with fewer than two
        labels.
        """
        labels = tuple(sorted({label for _, label in examples}))
        if len(labels) < 2:
            raise ValueError("a model needs examples of at least two intents")
        agents, known = agents or {}, () if base is None else base[0].labels
        new = [label for label in labels if label not in {none, *known}]
        lessons = [
            *examples,
            *((one.replace("_", " ").replace("-", " ").lower(), one) for one in new),
        ]
        if base is not None and _is_near(base[0], examples, none):
            learned = fit_on(*base, lessons, labels, agents)
        else:
            learned = fit_anew(lessons, labels, agents, none)
        return cls(replace(learned, taught=fingerprints(examples)), agents, none)

    def with_own(self, examples: Pairs) -> "IntentModel":
        """The same with pairs of text and label laid over it, in the place of any others.

        The weights move as little as the examples take. One that says too little by itself ("ship
        it") counts for exactly that message. Of two labels for one message the last one counts.
        """
        labels = self.learned.labels
        known = {own_key(text): label for text, label in examples if label in labels}
        texts = {own_key(text): text for text, _ in examples if not says_little(text)}
        telling = [(text, labels.index(known[key])) for key, text in texts.items() if key in known]
        linear = None
        if telling:
            linear = Linear.fit(
                vectors([readable(text) for text, _ in telling]),
                np.array([label for _, label in telling]),
                np.full(len(telling), TAUGHT_COUNT),
                self.learned.linear,
                anchored=True,
            )
        return replace(self, own=known, own_linear=linear)

    def score(
        self,
        message: str,
        expanded: str | None = None,
        situation: Situation = NO_SITUATION,
        *,
        within: str = "",
    ) -> IntentVerdict:
        """The verdict on a message, from its own words, its expansion and the conversation.

        ``within`` is the message that holds it, where it is one request of several.
        """
        if (own := self._own_example(message)) is not None:
            return own
        learned, labels = self.learned, self.learned.labels
        forms = (readable(bare_request(text)) for text in (message, expanded or message))
        texts = tuple(dict.fromkeys(forms))
        notes: list[str] = []
        findings = find_patterns(self.agents, labels, texts, notes)
        if phrases := [at for at, found in enumerate(findings) if found.exact]:
            at = min(phrases, key=self._priority)
            sure = 0.0 if labels[at] == self.none else findings[at].score
            note = f"the whole message is a phrase of {labels[at]}"
            return IntentVerdict(labels[at], sure, (), (note,), sure)
        reading = self._read(texts, findings, within)
        none = labels.index(self.none) if self.none in labels else None
        shifts = context_shifts(situation, texts[0], self.agents)
        log_p = reading.log_p(learned.sharpness, learned.pattern_weight)
        log_p = log_p + np.array([[shifts.get(label, 0.0) for label in labels]])
        lacking = np.array([found.lacking for found in findings])
        if lacking[best := int(log_p[0].argmax())]:
            notes.append(f"it looks like {labels[best]}, but has no word it needs")
        log_p = log_softmax(log_p + np.where(lacking, BARRED, 0.0))
        winner = self._break_tie(log_p[0], findings, int(masked(log_p, none)[0].argmax()))
        if lacking[winner]:
            return IntentVerdict(self.none, 0.0, (), tuple(notes), 0.0)
        signs = reading.certainty_signs(log_p, np.array([winner]), none)
        confidence = in_scope = float(learned.calibrator.probabilities(signs)[0])
        if learned.scope is not None:  # what the text says, and the winner's patterns, by noisy-or
            scope = learned.scope.probabilities(reading.scope_signs(learned.sharpness, none))
            in_scope = 1.0 - (1.0 - float(scope[0])) * (1.0 - findings[winner].score)
        unfit = none is not None and log_p[0, none] > log_p[0, winner]
        return IntentVerdict(
            self.none if unfit else labels[winner],
            confidence,
            self._alternatives(log_p[0], winner, confidence, unfit=unfit),
            (*notes, *self._notes(log_p[0], findings, shifts)),
            in_scope,
            {labels[at]: float(log_p[0, at]) for at in np.flatnonzero(~lacking)},
            frozenset(labels[at] for at in np.flatnonzero(lacking)),
        )

    def score_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that is an example of one intent, to the letter; else None.

        What somebody taught stands above all that ships. A shipped example that is a fixed phrase
        as well is scored as such: exact patterns stand above examples.
        """
        if (own := self._own_example(message)) is not None:
            return own
        labels = self.learned.labels
        owners = labels_of_example(message.strip(), labels, self.learned.taught)
        if not owners:
            return None
        if any(one.exact for one in find_patterns(self.agents, labels, [readable(message)])):
            return self.score(message)
        return self._example_of(owners[0]) if len(owners) == 1 else None

    def _own_example(self, message: str) -> IntentVerdict | None:
        """The verdict on a message that was taught, whatever ships says of it."""
        labels = (self.own[key] for key in own_keys(message) if key in self.own) if self.own else ()
        for label in labels:
            return replace(self._example_of(label), notes=(f"you taught it as {label}",))
        return None

    def _example_of(self, label: str) -> IntentVerdict:
        confidence = 0.0 if label == self.none else EXAMPLE_CONFIDENCE
        return IntentVerdict(label, confidence, (), (f"an example of {label}",), confidence)

    def _read(self, texts: Sequence[str], findings: Sequence[Finding], within: str) -> Readings:
        """One reading of the forms of a message: what all say of it on average."""
        each = Readings.of(
            self.own_linear or self.learned.linear,
            self.learned.means,
            vectors(texts, within),
            np.array([[found.score for found in findings]]),
            np.array([float(len(text.split())) for text in texts]),
        )
        scores, likeness = each.scores.mean(axis=0)[None, :], each.likeness.max(axis=0)[None, :]
        return replace(each, scores=scores, likeness=likeness, words=each.words[-1:])

    def _priority(self, at: int) -> tuple[int, str]:
        label = self.learned.labels[at]
        return (self.agents[label].priority, label) if label in self.agents else (1000, label)

    def _break_tie(self, log_p: Floats, findings: Sequence[Finding], winner: int) -> int:
        """Among intents about as likely as the winner whose patterns match: by priority."""
        near = [
            at
            for at, finding in enumerate(findings)
            if finding.fired
            and self.learned.labels[at] != self.none
            and log_p[winner] - log_p[at] <= NEAR_TIE
        ]
        if winner not in near:
            return winner
        return min(near, key=lambda at: (self._priority(at)[0], -log_p[at]))

    def _alternatives(
        self, log_p: Floats, winner: int, confidence: float, *, unfit: bool
    ) -> tuple[IntentScore, ...]:
        """The next best intents, in falling order.

        They share what the winner leaves in proportion to their odds; none goes above it.
        """
        labels = self.learned.labels
        share = (1.0 - confidence) / max(-float(np.expm1(log_p[winner])), 1e-9)
        found = [
            IntentScore(labels[at], min(confidence, share * float(np.exp(log_p[at]))))
            for at in np.argsort(-log_p, kind="stable")
            if at != winner and labels[at] != self.none and log_p[at] > BARRED / 2
        ]
        first = (IntentScore(labels[winner], confidence),) if unfit else ()
        return (*first, *found)[:MAX_ALTERNATIVES]

    def _notes(
        self, log_p: Floats, findings: Sequence[Finding], shifts: Mapping[str, float]
    ) -> list[str]:
        """Scores, the patterns that fired, and what the conversation did."""
        labels, order = self.learned.labels, np.argsort(-log_p, kind="stable")[:NAMED_PATTERNS]
        top = ", ".join(f"{labels[at]} {float(np.exp(log_p[at])):.2f}" for at in order)
        lines = [f"scores: {top}"]
        for at in order:
            if fired := findings[at].fired:
                shown = "; ".join(pattern.where for pattern in fired[:NAMED_PATTERNS])
                lines.append(f"patterns for {labels[at]} ({findings[at].score:.2f}): {shown}")
        for intent, shift in shifts.items():
            lines.append(f"the conversation speaks {'for' if shift > 0 else 'against'} {intent}")
        return lines


def _is_near(base: Learned, examples: Pairs, none: str) -> bool:
    """Whether a model of these examples may be fitted on top of ``base``."""
    taught = fingerprints(examples)
    shared = len(np.intersect1d(base.taught, taught))
    enough = shared >= NEAR * max(len(base.taught), len(taught))
    return enough and (none in dict(examples).values()) == (none in base.labels)
