"""Measures the intent classifier on messages with known intents: behind `kds eval intents`.

Either a fitted model (that of the workspace's prompts), or the classifier of the product fitted
anew on a training set, whole or with a few examples an intent. Metrics are scikit-learn's own.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from time import process_time
from typing import Final

import numpy as np

from kds.api.measures import mean, share
from kds.brain.errors import ConfigError, Problem
from kds.brain.turn import UNKNOWN
from kds.evaluation.intents.data import LabelledMessage
from kds.router.intents.calibration import ReliabilityBin, expected_calibration_error, reliability
from kds.router.intents.context_evidence import Situation
from kds.router.intents.model import IntentModel
from kds.router.intents.policy import decide
from kds.router.intents.verdict import IntentVerdict

SEEDS: Final = 5
ACCEPTED: Final = 0.95
"""Share of the messages in scope that are accepted when out-of-scope recall is taken."""

IN_CONVERSATION: Final = Situation(has_session=True)
"""Messages are scored as if work were under way: a set of single messages has no first one."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a message of intent ``labels[row]`` was given ``labels[column]``."""

    labels: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class IntentReport:
    """How a classifier did. Shares between 0 and 1; None where the set says nothing about it.

    ``accuracy``, ``top2``, ``ece`` and ``coverage`` are over messages in scope. ``ece`` and
    ``bins`` compare the confidence with whether the best real intent was right.
    ``acted_precision`` is the share of right ones among all messages acted on, those out of
    scope included. ``std`` has the deviation of each figure over the seeds.
    """

    figures: Mapping[str, float | None]
    std: Mapping[str, float]
    confusion: Confusion
    bins: tuple[ReliabilityBin, ...]
    messages: int
    out_of_scope: int

    @property
    def accuracy(self) -> float | None:
        """Share of the messages in scope whose verdict is right."""
        return self.figures["accuracy"]


@dataclass(frozen=True, slots=True)
class _Scored:
    message: LabelledMessage
    verdict: IntentVerdict
    cpu_ms: float

    @property
    def right(self) -> bool:
        return self.verdict.intent in self.message.intents

    @property
    def ranked(self) -> list[str]:
        """The real intents, best first."""
        first = [] if self.verdict.intent == UNKNOWN else [self.verdict.intent]
        return [*first, *(score.intent for score in self.verdict.alternatives)]

    @property
    def acted(self) -> bool:
        found = self.verdict
        decision = decide(
            found.intent, found.confidence, found.alternatives, in_scope=found.in_scope
        )
        return decision.action == "route"


def score_intents(
    test: Sequence[LabelledMessage],
    *,
    model: IntentModel | None = None,
    train: Sequence[LabelledMessage] | None = None,
    shots: int | None = None,
    seeds: int = SEEDS,
    progress: Progress | None = None,
) -> IntentReport:
    """Score ``model``, or the product's classifier fitted on ``train``; give just one of them.

    With ``shots``, that many examples are drawn of each label of ``train`` (out of scope is one
    of them), once for each seed, and the figures are means over the seeds. Raises ConfigError
    when ``test`` has intents that the model does not know, ValueError for other misuse.
    """
    if (model is None) == (train is None) or (shots is not None and train is None):
        raise ValueError("give a model, or a training set (shots need one)")
    if not test or (shots is not None and shots < 1) or seeds < 1:
        raise ValueError("there must be messages, and at least one shot and one seed")
    tell = progress or (lambda what, done, total: None)
    runs: list[Mapping[str, float | None]] = []
    scored: list[_Scored] = []
    for fitted, train_s in _models(model, train, shots, seeds, tell):
        _check_labels(test, fitted)
        run = _score_all(test, fitted, tell)
        runs.append(_figures(run, train_s))
        scored += run
    inside = [one for one in scored if not one.message.out_of_scope]
    return IntentReport(
        figures={key: mean(_known([run[key] for run in runs])) for key in runs[0]},
        std={key: pstdev(_known([run[key] for run in runs]) or [0.0]) for key in runs[0]},
        confusion=_confusion(scored),
        bins=reliability(*_confidence_and_right(inside)) if inside else (),
        messages=len(test),
        out_of_scope=sum(message.out_of_scope for message in test),
    )


def draw(train: Sequence[LabelledMessage], shots: int, seed: int) -> list[LabelledMessage]:
    """So many examples of each label, or all where there are fewer; the same for a seed."""
    by_label: dict[str, list[LabelledMessage]] = {}
    for message in train:
        by_label.setdefault(message.intents[0], []).append(message)
    chance = random.Random(seed)
    return [
        message
        for label in sorted(by_label)
        for message in chance.sample(by_label[label], min(shots, len(by_label[label])))
    ]


def _models(
    model: IntentModel | None,
    train: Sequence[LabelledMessage] | None,
    shots: int | None,
    seeds: int,
    tell: Progress,
) -> Iterator[tuple[IntentModel, float]]:
    if model is not None:
        yield model, 0.0
    if train is None:
        return
    rounds = 1 if shots is None else seeds
    for seed in range(rounds):
        tell("fitting", seed, rounds)
        lessons = train if shots is None else draw(train, shots, seed)
        began = process_time()
        fitted = IntentModel.fit_examples([(one.text, one.intents[0]) for one in lessons])
        yield fitted, process_time() - began


def _check_labels(test: Sequence[LabelledMessage], model: IntentModel) -> None:
    known = {*model.learned.labels, UNKNOWN}
    hint = f"the model knows {', '.join(sorted(known)[:20])}"
    problems = [
        Problem(message.where or message.text[:40], f"unknown intent '{name}'", hint)
        for message in test
        for name in message.intents
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)


def _score_all(
    test: Sequence[LabelledMessage], model: IntentModel, tell: Progress
) -> list[_Scored]:
    for message in test[:30]:  # patterns are joined after the first messages
        model.score(message.text)
    scored = []
    for number, message in enumerate(test):
        if number % 200 == 0:
            tell("scoring", number, len(test))
        began = process_time()
        verdict = model.score(message.text, None, IN_CONVERSATION)
        scored.append(_Scored(message, verdict, (process_time() - began) * 1e3))
    return scored


def _figures(scored: Sequence[_Scored], train_s: float) -> dict[str, float | None]:
    """Keys are those of the JSON output (issue 3)."""
    inside = [one for one in scored if not one.message.out_of_scope]
    outside = [one for one in scored if one.message.out_of_scope]
    acted = [one for one in scored if one.acted]
    times = [one.cpu_ms for one in scored]
    return {
        "accuracy": share(one.right for one in inside),
        "macro_f1": _macro_f1(scored),
        "top2": share(bool({*one.ranked[:2]} & {*one.message.intents}) for one in inside),
        "oos_recall_at_95": _rejected(inside, outside),
        "oos_auroc": _auroc(inside, outside),
        "ece": expected_calibration_error(*_confidence_and_right(inside)) if inside else None,
        "acted_precision": share(one.right for one in acted),
        "coverage": share(one.acted for one in inside),
        "oos_acted": share(one.acted for one in outside),
        "train_s": train_s,
        "ms_p50": float(np.percentile(times, 50)),
        "ms_p99": float(np.percentile(times, 99)),
        "peak_mb": _peak_mb(),
    }


def _confidence_and_right(inside: Sequence[_Scored]) -> tuple[list[float], list[bool]]:
    """The confidence speaks of the best real intent, also when the verdict is UNKNOWN."""
    right = [bool({*one.ranked[:1]} & {*one.message.intents}) for one in inside]
    return [one.verdict.confidence for one in inside], right


def _macro_f1(scored: Sequence[_Scored]) -> float | None:
    from sklearn.metrics import f1_score

    truth, given = _pairs(scored)
    labels = sorted({*truth} - {UNKNOWN})
    if not labels:
        return None
    found = f1_score(truth, given, labels=labels, average="macro", zero_division=0)
    return float(found)


def _confusion(scored: Sequence[_Scored]) -> Confusion:
    from sklearn.metrics import confusion_matrix

    truth, given = _pairs(scored)
    labels = sorted({*truth, *given})
    if len(labels) == 1:  # which scikit-learn warns about
        return Confusion(tuple(labels), ((len(scored),),))
    matrix = confusion_matrix(truth, given, labels=labels)
    return Confusion(tuple(labels), tuple(tuple(row) for row in matrix.tolist()))


def _pairs(scored: Sequence[_Scored]) -> tuple[list[str], list[str]]:
    """Where any of several intents is right, the given one counts as the true one."""
    given = [one.verdict.intent for one in scored]
    truth = [one.verdict.intent if one.right else one.message.intents[0] for one in scored]
    return truth, given


def _rejected(inside: Sequence[_Scored], outside: Sequence[_Scored]) -> float | None:
    """Share out of scope below the threshold that keeps ACCEPTED of those in scope."""
    if not inside or not outside:
        return None
    threshold = np.quantile([one.verdict.in_scope for one in inside], 1.0 - ACCEPTED)
    return fmean(one.verdict.in_scope < threshold for one in outside)


def _auroc(inside: Sequence[_Scored], outside: Sequence[_Scored]) -> float | None:
    from sklearn.metrics import roc_auc_score

    if not inside or not outside:
        return None
    scores = [one.verdict.in_scope for one in (*inside, *outside)]
    return float(roc_auc_score([1] * len(inside) + [0] * len(outside), scores))


def _peak_mb() -> float | None:
    """Peak memory of this process so far, in MB (of 10**6 bytes); None on Windows."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
