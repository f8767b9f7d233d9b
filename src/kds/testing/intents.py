"""`kds eval intents`: the intent classifier on messages with known intents.

Either that of the workspace's prompts, or the same classifier fitted anew on a training set, whole
or with a few examples an intent.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import pstdev
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, Field

from kds.api.measures import calibration_error, mean, share, timed
from kds.brain.errors import ExampleFileError, KdsError, Problem
from kds.brain.turn import UNKNOWN
from kds.router.intents.model import IntentModel
from kds.router.intents.patterns import Situation
from kds.router.intents.policy import decide
from kds.testing.examples import AnyOf, Bench, Example, Row, Text, read_examples, times

OUT_OF_SCOPE: Final = ("OOS", UNKNOWN)
"""In upper case: the intents that mean "none of those known"."""

SEEDS: Final = 5
ACCEPTED: Final = 0.95
"""Share of the messages in scope that are accepted when out-of-scope recall is taken."""

WARM_UP: Final = 30
"""Messages before which patterns are not joined yet: they do not count as time."""

IN_CONVERSATION: Final = Situation(has_session=True)
"""Messages are scored as if work were under way: a set of single messages has no first one."""


Pair = tuple[str, str]
"""A text and its intent."""


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(UNKNOWN if name.upper() in OUT_OF_SCOPE else name for name in names)


class LabelledMessage(Example):
    """A message and its accepted intents; UNKNOWN alone when it is out of scope."""

    text: Text
    intents: Annotated[AnyOf, AfterValidator(_names)] = Field(alias="intent")


def run(
    messages: Sequence[LabelledMessage], bench: Bench, *, train: Path | None = None,
    shots: int | None = None, seeds: int | None = None,
) -> list[Row]:  # fmt: skip
    """Classify with the workspace's prompts, or with each classifier that is fitted on ``train``.

    With ``shots``, that many examples are drawn of each intent (out of scope is one of them), or
    all where there are fewer, once for each seed.
    """
    if train is None:
        return _classify(messages, bench.parts().model, bench)
    lessons = [(one.text, one.intents[0]) for one in read_examples(train, LabelledMessage)]
    if len({intent for _, intent in lessons}) < 2:
        raise KdsError(f"{train} has examples of one intent only", hint="a classifier needs two")
    rows = []
    for seed in range((seeds or SEEDS) if shots else 1):
        pairs = [*_drawn(lessons, shots, seed)] if shots else lessons
        model, ms = timed(partial(IntentModel.fit_examples, pairs))
        more = {"draw": seed, "train_s": ms / 1000.0}
        rows += [row | more for row in _classify(messages, model, bench)]
    return rows


def _drawn(lessons: Sequence[Pair], shots: int, seed: int) -> Iterator[Pair]:
    chance = random.Random(seed)
    by_intent = groupby(sorted(lessons, key=itemgetter(1)), key=itemgetter(1))
    for pairs in (list(group) for _, group in by_intent):
        yield from chance.sample(pairs, min(shots, len(pairs)))


def _classify(messages: Sequence[LabelledMessage], model: IntentModel, bench: Bench) -> list[Row]:
    """Raises ExampleFileError for intents that the model does not know."""
    known = {*model.learned.labels, UNKNOWN}
    hint = f"the model knows {', '.join(sorted(known)[:20])}"
    if problems := [
        Problem(message.where, f"unknown intent '{name}'", hint)
        for message in messages
        for name in message.intents
        if name not in known
    ]:
        raise ExampleFileError(problems)
    for message in messages[:WARM_UP]:
        model.score(message.text)
    rows = []
    for one in bench.each(messages, "scoring"):
        found, ms = timed(partial(model.score, one.text, None, IN_CONVERSATION))
        best = (found.intent, *(other.intent for other in found.alternatives))
        how = decide(found.intent, found.confidence, found.alternatives, in_scope=found.in_scope)
        rows.append({
            "where": one.where,
            "text": one.text,
            "intents": one.intents,
            "intent": found.intent,
            "confidence": found.confidence,
            "in_scope": found.in_scope,
            "right": found.intent in one.intents,
            # of the best real intent the confidence tells
            "best_right": next((name for name in best if name != UNKNOWN), None) in one.intents,
            "acted": how.action == "route",
            "ms": ms,
            "draw": 0,
            "train_s": 0.0,
        })  # fmt: skip
    return rows


def score(rows: Sequence[Row]) -> Row:
    """The figures of a classifier, or the means of several draws, and under `std` how far they
    differ; docs/evaluation.md explains the keys. None where the messages say nothing."""
    runs = [_figures([*run]) for _, run in groupby(rows, key=itemgetter("draw"))]
    columns = {key: [v for run in runs if (v := run[key]) is not None] for key in runs[0]}
    means = {key: mean(values) for key, values in columns.items()}
    if len(runs) == 1:
        return means
    return means | {"std": {key: pstdev(values or [0.0]) for key, values in columns.items()}}


def _figures(rows: Sequence[Row]) -> Row:
    inside = [row for row in rows if row["intents"] != (UNKNOWN,)]
    outside = [row for row in rows if row["intents"] == (UNKNOWN,)]
    ece = rejected = None
    if inside:
        ece = calibration_error([(row["confidence"], row["best_right"]) for row in inside])
        accepted = np.quantile([row["in_scope"] for row in inside], 1.0 - ACCEPTED)
        rejected = share(bool(row["in_scope"] < accepted) for row in outside)
    return {
        "accuracy": share(row["right"] for row in inside),
        "oos_recall_at_95": rejected,
        "ece": ece,
        "acted_precision": share(row["right"] for row in rows if row["acted"]),
        "coverage": share(row["acted"] for row in inside),
        "oos_acted": share(row["acted"] for row in outside),
        "train_s": rows[0]["train_s"],
        **times(rows, 50, 99),
    }
