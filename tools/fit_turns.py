"""Fits what `kds.router.intents.turn_model` ships: weights of real turns, and how to join them.

    python tools/fit_turns.py DATA_FOLDER CHATS_FOLDER OUT.npz             (`make turns`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json (dialogue files) of DATA_FOLDER, which are not in this repository, its own chats
in tests/chats and the examples of the packaged prompts. Cross-validated: the chats by repository,
the rest by dialogue and example. Needs the extra `fit` (scikit-learn).
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from turn_lessons import OWN, SEED, TYPED, Lesson, read_lessons

from kds.api.measures import calibration_error, share
from kds.router.intents.evidence import IntentVerdict
from kds.router.intents.features import TURN_PLACES, turn_vector
from kds.router.intents.linear import Linear, Matrix, sigmoid
from kds.router.intents.policy import decide
from kds.router.intents.turn_model import (
    TurnModel,
    dump_turn_model,
    head_shares,
    join_rows,
    meaning_row,
    revised,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Figures = dict[str, dict[str, float]]
"""By source: how many messages, and how many of them came out right."""


FOLDS: Final = 8
LEAST_SEEN: Final = 2
"""Turns of a fold that a label needs to be fitted by itself."""
LEAST_TURNS: Final = 8
"""Real turns that an intent needs for the head to know it."""
NEVER: Final = -6.0
"""Bias of a label that the seen turns do not hold."""
COST: Final = 5.0
"""C of the models of each label; 3 to 10 are within noise of each other on the dev chats."""
ONE_COST: Final = 10.0
"""C of the model of one label among all; 6 to 20 likewise."""
OWN_WEIGHT: Final = 0.5
"""What a turn of the project's own chats counts in the head, beside one that somebody typed at
work; at 1, .006 less of what is acted on is right on the dev chats, at .35 as much."""
SECOND_WEIGHT: Final = 0.5
"""What an intent counts that is right, and not the best: "use a switch, not a button" may be
carried out, and is a correction."""
JOIN_COST: Final = 0.1
EXAMPLE_WEIGHT: Final = 0.3
"""What an example of a prompt counts in the join, beside a turn that somebody typed: there are
2,500 of them beside 3,000 turns, and they stand for themselves. At .1 the chats are right in .004
more, and "How accurate is your routing?", which nobody typed at work, is a question."""


ADDED_WEIGHT: Final = 0.3
"""What a turn counts once more with an intent that the head does not know, as of an agent that a
user adds: of examples whose intent is added, 90 % of those acted on are right in place of 70, and
89 % in place of 47 are acted on; on the dev chats it makes no difference."""


DIALOGUE_WEIGHT: Final = 3.0
"""What a turn of the tidy dialogues counts there: there are 100 of them."""


WEIGHTS: Final = {"examples": EXAMPLE_WEIGHT, "dialogues": DIALOGUE_WEIGHT}


class Outcome(NamedTuple):
    """What became of a message that the fit had not seen."""

    confidence: float
    right: bool
    acted: bool


def main() -> None:
    """Fit, tell the cross-validated figures, write the model and, beside it, the figures."""
    usage = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("data", "own", "out"):
        usage.add_argument(name, type=Path)
    asked = usage.parse_args()
    data, own, out = asked.data, asked.own, asked.out
    learned = read_lessons(data, own)
    model, figures = fit(learned, np.random.default_rng(SEED))
    out.write_bytes(dump_turn_model(model))
    out.with_suffix(".json").write_text(json.dumps(figures, indent=2) + "\n")
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


def fit(learned: Sequence[Lesson], random: np.random.Generator) -> tuple[TurnModel, Figures]:
    """The model, and its figures on what each fit had not seen."""
    labels = _labels(learned)
    matrix = _matrix(learned)
    chats = np.array([lesson.source in TYPED for lesson in learned])
    fold = _folds(learned, random)
    meanings = np.stack([meaning_row(one.message, one.place, labels) for one in learned])
    heads = np.zeros((len(learned), len(labels)))
    for held in range(FOLDS):
        seen, rows = np.flatnonzero(chats & (fold != held)), np.flatnonzero(fold == held)
        weights, bias = _fit_head(matrix, learned, labels, seen)
        meaning = _fit_meaning(meanings, learned, labels, seen)
        scores = np.hstack([matrix[rows] @ weights + bias, meaning.scores(meanings[rows])])
        heads[rows] = head_shares(scores, len(labels))
    likely = [dict(zip(labels, map(float, head), strict=True)) for head in heads]
    candidates = [_candidates(one, head) for one, head in zip(learned, likely, strict=True)]
    added = [_candidates(one, _without_one(number, one, head))
             for number, (one, head) in enumerate(zip(learned, likely, strict=True))]  # fmt: skip
    figures = _figures(learned, candidates, added, fold)
    weights, bias = _fit_head(matrix, learned, labels, np.flatnonzero(chats))
    meaning = _fit_meaning(meanings, learned, labels, np.flatnonzero(chats))
    joined = _fit_join([*learned, *learned], [*candidates, *added])
    return TurnModel(labels, weights.astype(np.float32), bias, meaning, *joined), figures


def _labels(learned: Sequence[Lesson]) -> tuple[str, ...]:
    """The intents that enough real turns have."""
    counts = Counter(label for one in learned if one.source in TYPED for label in one.intents)
    return tuple(sorted(label for label, count in counts.items() if count >= LEAST_TURNS))


def _folds(learned: Sequence[Lesson], random: np.random.Generator) -> Ints:
    """A fold for each lesson; all of a repository, or of a dialogue, are in the same one.

    The chats are drawn first: one more example must not look like a change on the chats.
    """
    found: dict[tuple[str, str], int] = {}
    for source in (*TYPED, "dialogues", "examples"):
        groups = sorted({(one.source, one.group) for one in learned if one.source == source})
        drawn = (random.permutation(len(groups)) % FOLDS).tolist()
        found |= dict(zip(groups, drawn, strict=True))
    return np.array([found[one.source, one.group] for one in learned])


def _matrix(learned: Sequence[Lesson]) -> Any:
    from scipy.sparse import csr_matrix

    vectors = [turn_vector(one.message, one.place) for one in learned]
    starts = np.cumsum([0, *(len(ids) for ids, _ in vectors)])
    ids = np.concatenate([ids for ids, _ in vectors])
    values = np.concatenate([values for _, values in vectors])
    return csr_matrix((values, ids, starts), shape=(len(vectors), TURN_PLACES))


def _fit_head(
    matrix: Any, learned: Sequence[Lesson], labels: Sequence[str], rows: Ints
) -> tuple[Floats, Floats]:
    """Weights and bias of the head: of each label by itself, and of one among all."""
    each, one = _fit_each(matrix, learned, labels, rows), _fit_one(matrix, learned, labels, rows)
    return np.hstack([each[0], one[0]]), np.hstack([each[1], one[1]])


def _fit_each(
    matrix: Any, learned: Sequence[Lesson], labels: Sequence[str], rows: Ints
) -> tuple[Floats, Floats]:
    from sklearn.linear_model import LogisticRegression

    weights, bias = np.zeros((TURN_PLACES, len(labels))), np.full(len(labels), NEVER)
    found = [learned[row] for row in rows.tolist()]
    for at, label in enumerate(labels):
        target = np.array([label in one.intents for one in found])
        if target.sum() >= LEAST_SEEN:
            counts = [_count(one, label) for one in found]
            head = LogisticRegression(C=COST, solver="liblinear")
            head.fit(matrix[rows], target, sample_weight=counts)
            weights[:, at], bias[at] = head.coef_[0], head.intercept_[0]
    return weights, bias


def _fit_one(
    matrix: Any, learned: Sequence[Lesson], labels: Sequence[str], rows: Ints
) -> tuple[Floats, Floats]:
    from sklearn.linear_model import LogisticRegression

    meant = [(row, label) for row in rows.tolist() for label in learned[row].intents]
    known = [(row, label) for row, label in meant if label in labels]
    head = LogisticRegression(C=ONE_COST, max_iter=500)
    head.fit(
        matrix[[row for row, _ in known]],
        [labels.index(label) for _, label in known],
        sample_weight=[_count(learned[row], label) for row, label in known],
    )
    weights, bias = np.zeros((TURN_PLACES, len(labels))), np.full(len(labels), NEVER)
    weights[:, head.classes_], bias[head.classes_] = head.coef_.T, head.intercept_
    return weights, bias


def _count(lesson: Lesson, label: str) -> float:
    """What a lesson counts in the head of a label."""
    count = OWN_WEIGHT if lesson.source == OWN else 1.0
    return count * SECOND_WEIGHT if label in lesson.intents[1:] else count


def _fit_meaning(
    meanings: Matrix, learned: Sequence[Lesson], labels: Sequence[str], rows: Ints
) -> Linear:
    meant = [(row, label) for row in rows.tolist() for label in learned[row].intents]
    known = [(row, label) for row, label in meant if label in labels]
    return Linear.fit(
        meanings[[row for row, _ in known]],
        np.array([labels.index(label) for _, label in known]),
        np.array([_count(learned[row], label) for row, label in known]),
        start=Linear.zeros(meanings.shape[1], len(labels)),
    )


def _candidates(
    lesson: Lesson, likely: Mapping[str, float]
) -> tuple[Floats, tuple[str, ...]] | None:
    """The rows of the join; None where a whole phrase decides."""
    if not lesson.verdict.log_p:
        return None
    return join_rows(likely, lesson.verdict, lesson.message, lesson.place)


def _without_one(number: int, lesson: Lesson, head: Mapping[str, float]) -> Mapping[str, float]:
    """The head as if an agent for one intent had just been added: by turns a right one or not."""
    wanted = number % 2 == 1
    others = [label for label in head if (label in lesson.intents) == wanted]
    left_out = others[number // 2 % len(others)] if others else None
    return {label: share for label, share in head.items() if label != left_out}


def _fit_join(
    learned: Sequence[Lesson], candidates: Sequence[tuple[Floats, tuple[str, ...]] | None]
) -> tuple[Floats, Floats, Floats, float]:
    """Centre and scale of the rows, weights and bias of the join.

    The second half of the lessons is the first once more, each with an added intent.
    """
    from sklearn.linear_model import LogisticRegression

    known = [(one, found) for one, found in zip(learned, candidates, strict=True) if found]
    rows = np.concatenate([found[0] for _, found in known])
    right = np.array([label in one.intents for one, found in known for label in found[1]])
    times = np.repeat([1.0, ADDED_WEIGHT], len(candidates) // 2)
    counts = np.array(
        [
            count * WEIGHTS.get(one.source, 1.0)
            for one, found, count in zip(learned, candidates, times, strict=True)
            if found
            for _ in found[1]
        ]
    )
    centre, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    join = LogisticRegression(C=JOIN_COST, max_iter=500)
    join.fit((rows - centre) / scale, right, sample_weight=counts)
    return centre, scale, join.coef_[0], float(join.intercept_[0])


def _figures(
    learned: Sequence[Lesson],
    candidates: Sequence[tuple[Floats, tuple[str, ...]] | None],
    added: Sequence[tuple[Floats, tuple[str, ...]] | None],
    fold: Ints,
) -> Figures:
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for held in range(FOLDS):
        seen = np.flatnonzero(fold != held).tolist()
        lessons = [learned[row] for row in seen]
        found = [*(candidates[row] for row in seen), *(added[row] for row in seen)]
        centre, scale, join, bias = _fit_join([*lessons, *lessons], found)
        for row in np.flatnonzero(fold == held).tolist():
            one, rows = learned[row], candidates[row]
            verdict = one.verdict
            if rows is not None:
                likely = sigmoid((rows[0] - centre) / scale @ join + bias)
                joined = dict(zip(rows[1], map(float, likely), strict=True))
                verdict = revised(verdict, joined, answered=one.place.answered)
            outcomes[one.source].append(_outcome(one, verdict))
    return {source: _told(found) for source, found in outcomes.items()}


def _outcome(lesson: Lesson, verdict: IntentVerdict) -> Outcome:
    decision = decide(
        verdict.intent, verdict.confidence, verdict.alternatives, in_scope=verdict.in_scope
    )
    right = verdict.intent in lesson.intents
    return Outcome(verdict.confidence, right, acted=decision.action == "route")


def _told(outcomes: Sequence[Outcome]) -> dict[str, float]:
    acted = [one for one in outcomes if one.acted]
    return {
        "messages": len(outcomes),
        "right": round(share(one.right for one in outcomes) or 0.0, 4),
        "acted on": round(len(acted) / len(outcomes), 4),
        "right when acted": round(share(one.right for one in acted) or 0.0, 4),
        "calibration error": round(calibration_error([(o.confidence, o.right) for o in acted]), 4),
    }


if __name__ == "__main__":
    main()
