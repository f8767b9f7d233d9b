"""Measures the intent classifier on messages with known intents, single and several.

Either that of the workspace's prompts, or the same classifier fitted anew on a training set, whole
or with a few examples an intent.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import pstdev
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


Split = tuple[Requests, tuple[str, ...]]
"""A message with its expected intents, and those the router gave it."""


def split_error(one: Split) -> Row | None:
    """The row of a wrong answer for `--errors`."""
    example, actual = one
    if actual == example.intents:
        return None
    return {"where": example.where, "text": example.text, "intents": " ".join(example.intents),
            "actual": " ".join(actual)}  # fmt: skip


def score_splits(splits: Sequence[Split]) -> dict[str, object]:
    """Add up what `kds eval multi` reports; docs/evaluation.md explains the keys."""
    return rounded({
        "exact": share(actual == one.intents for one, actual in splits),
        "recall": share(intent in actual for one, actual in splits for intent in one.intents),
        "false_splits": share(len(actual) > 1 for one, actual in splits if len(one.intents) == 1),
    })  # fmt: skip


def fit_models(
    train: Sequence[LabelledMessage], shots: int | None, seeds: int, tell: Progress
) -> Iterator[tuple[IntentModel, float]]:
    """Fit the product's classifier on ``train``, and say how many seconds that took.

    With ``shots``, that many examples are drawn of each label (out of scope is one of them), or
    all where there are fewer, once for each seed.
    """
    by_label: dict[str, list[LabelledMessage]] = {}
    for message in sorted(train, key=lambda one: one.intents[0]):
        by_label.setdefault(message.intents[0], []).append(message)
    rounds = 1 if shots is None else seeds
    for seed in range(rounds):
        tell("fitting", seed, rounds)
        lessons, chance = train, random.Random(seed)
        if shots is not None:
            drawn = (chance.sample(some, min(shots, len(some))) for some in by_label.values())
            lessons = [message for some in drawn for message in some]
        pairs = [(one.text, one.intents[0]) for one in lessons]
        model, cpu_ms = timed(partial(IntentModel.fit_examples, pairs))
        yield model, cpu_ms / 1000.0


def score_intents(
    test: Sequence[LabelledMessage], models: Iterable[tuple[IntentModel, float]], tell: Progress
) -> dict[str, object]:
    """Score models, each with the seconds that it took to fit; the figures are their means.

    docs/evaluation.md explains the keys. None where ``test`` says nothing, ``std`` where there are
    several. Raises ConfigError when ``test`` has intents that a model does not know.
    """
    runs = [_figures(test, model, tell) | {"train_s": train_s} for model, train_s in models]
    columns = {key: [v for run in runs if (v := run[key]) is not None] for key in runs[0]}
    means = rounded({key: mean(values) for key, values in columns.items()})
    if len(runs) == 1:
        return means
    return means | {"std": rounded({key: pstdev(v or [0.0]) for key, v in columns.items()})}


@dataclass(frozen=True, slots=True)
class _Scored:
    message: LabelledMessage
    verdict: IntentVerdict
    cpu_ms: float

    @property
    def right(self) -> bool:
        return self.verdict.intent in self.message.intents

    @property
    def best_is_right(self) -> bool:
        """Whether the best real intent is right, of which the confidence tells."""
        names = [self.verdict.intent, *(score.intent for score in self.verdict.alternatives)]
        return next((name for name in names if name != UNKNOWN), None) in self.message.intents

    @property
    def acted(self) -> bool:
        found = self.verdict
        decision = decide(
            found.intent, found.confidence, found.alternatives, in_scope=found.in_scope
        )
        return decision.action == "route"


def _scored(
    test: Sequence[LabelledMessage], model: IntentModel, tell: Progress
) -> Iterator[_Scored]:
    known = {*model.learned.labels, UNKNOWN}
    hint = f"the model knows {', '.join(sorted(known)[:20])}"
    if problems := [
        Problem(message.where or message.text[:40], f"unknown intent '{name}'", hint)
        for message in test
        for name in message.intents
        if name not in known
    ]:
        raise ConfigError(problems)
    for message in test[:30]:  # patterns are joined after the first messages
        model.score(message.text)
    for number, message in enumerate(test):
        if number % 200 == 0:
            tell("scoring", number, len(test))
        verdict, cpu_ms = timed(partial(model.score, message.text, None, IN_CONVERSATION))
        yield _Scored(message, verdict, cpu_ms)


def _figures(
    test: Sequence[LabelledMessage], model: IntentModel, tell: Progress
) -> dict[str, float | None]:
    scored = list(_scored(test, model, tell))
    inside = [one for one in scored if not one.message.out_of_scope]
    outside = [one for one in scored if one.message.out_of_scope]
    times = [one.cpu_ms for one in scored]
    rejected = ece = None
    if inside:
        ece = expected_calibration_error(
            [one.verdict.confidence for one in inside], [one.best_is_right for one in inside]
        )
        accepted = np.quantile([one.verdict.in_scope for one in inside], 1.0 - ACCEPTED)
        rejected = share(bool(one.verdict.in_scope < accepted) for one in outside)
    return {
        "accuracy": share(one.right for one in inside),
        "oos_recall_at_95": rejected,
        "ece": ece,
        "acted_precision": share(one.right for one in scored if one.acted),
        "coverage": share(one.acted for one in inside),
        "oos_acted": share(one.acted for one in outside),
        "train_s": 0.0,
        "ms_p50": percentile(times, 50),
        "ms_p99": percentile(times, 99),
    }
