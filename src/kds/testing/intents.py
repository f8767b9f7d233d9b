"""Measures the intent classifier on messages with known intents, single and several.

Either that of the workspace's prompts, or the same classifier fitted anew on a training set, whole
or with a few examples an intent.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, Field

from kds.api.measures import mean, percentile, rounded, share, timed
from kds.brain.errors import ConfigError, Problem
from kds.brain.turn import UNKNOWN
from kds.router.intents.evidence import IntentVerdict, Situation
from kds.router.intents.linear import expected_calibration_error
from kds.router.intents.model import IntentModel
from kds.router.intents.policy import decide
from kds.testing.example_files import AnyOf, Loose, Row, Said, read_rows

INTENT_FORM: Final = '{"text": "Make it purple", "intent": "EXECUTE"}'
MULTI_FORM: Final = '{"text": "Fix the login and run the tests", "intents": ["EXECUTE", "TEST"]}'

OUT_OF_SCOPE: Final = frozenset({"OOS", UNKNOWN})
"""In upper case: the intents that mean "none of those known"."""

SEEDS: Final = 5
ACCEPTED: Final = 0.95
"""Share of the messages in scope that are accepted when out-of-scope recall is taken."""

IN_CONVERSATION: Final = Situation(has_session=True)
"""Messages are scored as if work were under way: a set of single messages has no first one."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much."""


def intent_name(text: str) -> str:
    """The intent that ``text`` names; every way to say "none of them" is UNKNOWN.

    >>> intent_name(" oos "), intent_name("card_arrival")
    ('UNKNOWN', 'card_arrival')
    """
    name = text.strip()
    return UNKNOWN if name.upper() in OUT_OF_SCOPE else name


class LabelledMessage(Loose):
    """A message and its accepted intents; UNKNOWN alone when it is out of scope."""

    text: Said
    intents: Annotated[
        AnyOf, AfterValidator(lambda names: tuple(dict.fromkeys(map(intent_name, names))))
    ] = Field(alias="intent")

    @property
    def out_of_scope(self) -> bool:
        """Whether the message belongs to none of the intents."""
        return self.intents == (UNKNOWN,)


class Requests(Loose):
    """A message with several requests: their intents in order."""

    text: Said
    intents: Annotated[
        AnyOf, AfterValidator(lambda names: tuple(intent_name(one).upper() for one in names))
    ]


def load_intents(path: Path) -> tuple[LabelledMessage, ...]:
    """Read a file of messages, JSON lines. Raises ExampleFileError with all its problems."""
    return read_rows(path, LabelledMessage, form=INTENT_FORM)


def read_multi(path: Path) -> tuple[Requests, ...]:
    """Read a file of messages with several intents in order. Raises ExampleFileError."""
    return read_rows(path, Requests, form=MULTI_FORM)


@dataclass(frozen=True, slots=True)
class Split:
    """A message with its expected intents, and those the router gave it."""

    example: Requests
    intents: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether the same intents came out in the same order."""
        return self.intents == self.example.intents


def split_error(one: Split) -> Row | None:
    """The row of a wrong answer for `--errors`."""
    expected, actual = " ".join(one.example.intents), " ".join(one.intents)
    if one.exact:
        return None
    return {"where": one.example.where, "text": one.example.text, "intents": expected,
            "actual": actual}  # fmt: skip


def score_splits(splits: Sequence[Split]) -> dict[str, object]:
    """Add up what `kds eval multi` reports; docs/evaluation.md explains the keys."""
    found = [intent in one.intents for one in splits for intent in one.example.intents]
    single = [one for one in splits if len(one.example.intents) == 1]
    return rounded({
        "exact": share(one.exact for one in splits),
        "recall": share(found),
        "false_splits": share(len(one.intents) > 1 for one in single),
    })  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scored:
    message: LabelledMessage
    verdict: IntentVerdict
    cpu_ms: float

    @property
    def right(self) -> bool:
        return self.verdict.intent in self.message.intents

    @property
    def best(self) -> str | None:
        """The best real intent."""
        names = [self.verdict.intent, *(score.intent for score in self.verdict.alternatives)]
        return next((name for name in names if name != UNKNOWN), None)

    @property
    def acted(self) -> bool:
        found = self.verdict
        decision = decide(
            found.intent, found.confidence, found.alternatives, in_scope=found.in_scope
        )
        return decision.action == "route"


def score_intents(
    test: Sequence[LabelledMessage], models: Iterable[tuple[IntentModel, float]], tell: Progress
) -> dict[str, object]:
    """Score models, each with the seconds that it took to fit; the figures are their means.

    docs/evaluation.md explains the keys. None where ``test`` says nothing, ``std`` where there are
    several. Raises ConfigError when ``test`` has intents that a model does not know.
    """
    runs = []
    for model, train_s in models:
        _check_labels(test, model)
        runs.append(_figures(_score_all(test, model, tell), train_s))
    columns = {key: [v for run in runs if (v := run[key]) is not None] for key in runs[0]}
    means = rounded({key: mean(values) for key, values in columns.items()})
    if len(runs) == 1:
        return means
    return means | {"std": rounded({key: pstdev(v or [0.0]) for key, v in columns.items()})}


def fit_models(
    train: Sequence[LabelledMessage], shots: int | None, seeds: int, tell: Progress
) -> Iterator[tuple[IntentModel, float]]:
    """Fit the product's classifier on ``train``, and say how many seconds that took.

    With ``shots``, that many examples are drawn of each label (out of scope is one of them), once
    for each seed.
    """
    rounds = 1 if shots is None else seeds
    for seed in range(rounds):
        tell("fitting", seed, rounds)
        lessons = train if shots is None else draw(train, shots, seed)
        pairs = [(one.text, one.intents[0]) for one in lessons]
        model, cpu_ms = timed(partial(IntentModel.fit_examples, pairs))
        yield model, cpu_ms / 1000.0


def draw(train: Sequence[LabelledMessage], shots: int, seed: int) -> list[LabelledMessage]:
    """Draw so many examples of each label, or all where there are fewer; the same for a seed."""
    by_label: dict[str, list[LabelledMessage]] = {}
    for message in train:
        by_label.setdefault(message.intents[0], []).append(message)
    chance = random.Random(seed)
    return [
        message
        for label in sorted(by_label)
        for message in chance.sample(by_label[label], min(shots, len(by_label[label])))
    ]


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
        verdict, cpu_ms = timed(partial(model.score, message.text, None, IN_CONVERSATION))
        scored.append(_Scored(message, verdict, cpu_ms))
    return scored


def _figures(scored: Sequence[_Scored], train_s: float) -> dict[str, float | None]:
    inside = [one for one in scored if not one.message.out_of_scope]
    outside = [one for one in scored if one.message.out_of_scope]
    times = [one.cpu_ms for one in scored]
    return {
        "accuracy": share(one.right for one in inside),
        "oos_recall_at_95": _rejected(inside, outside),
        # the confidence is that of the best real intent, also when the verdict is UNKNOWN
        "ece": expected_calibration_error(
            [one.verdict.confidence for one in inside],
            [one.best in one.message.intents for one in inside],
        )
        if inside
        else None,
        "acted_precision": share(one.right for one in scored if one.acted),
        "coverage": share(one.acted for one in inside),
        "oos_acted": share(one.acted for one in outside),
        "train_s": train_s,
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
    }


def _scopes(scored: Sequence[_Scored]) -> list[float]:
    return [one.verdict.in_scope for one in scored]


def _rejected(inside: Sequence[_Scored], outside: Sequence[_Scored]) -> float | None:
    """Share out of scope below the threshold that keeps ACCEPTED of those in scope."""
    if not inside or not outside:
        return None
    threshold = np.quantile(_scopes(inside), 1.0 - ACCEPTED)
    return fmean(scope < threshold for scope in _scopes(outside))
