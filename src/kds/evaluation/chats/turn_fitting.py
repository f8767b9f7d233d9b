"""Fits what `kds.router.intents.turn_model` ships: weights of real turns, and how to join them.

    python -m kds.evaluation.chats.turn_fitting DATA_FOLDER CHATS_FOLDER OUT.npz     (`make turns`)

Reads chats/dev.jsonl and dialogues/dev.json of DATA_FOLDER, the project's own chats and the
examples of the packaged prompts. Everything is cross-validated: the chats by repository, the rest
by dialogue and example.
Needs scikit-learn; nothing of it is imported where messages are routed.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kds.api.measures import share
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed, workspace_at
from kds.api.workspace_parts import Parts
from kds.brain.turn import Turn
from kds.evaluation.chats.chat_file import read_chats
from kds.evaluation.chats.chat_scores import calibration_error
from kds.evaluation.chats.playing import play_with
from kds.evaluation.dialogues import read_dialogues
from kds.router.classify import first_reading, place_of
from kds.router.intents.calibration import sigmoid
from kds.router.intents.lessons import lessons
from kds.router.intents.model import IntentModel
from kds.router.intents.policy import decide
from kds.router.intents.turn_model import TurnModel, dump_turn_model, join_rows, revised
from kds.router.intents.turn_signs import DIMENSION, Place, turn_vector
from kds.router.intents.verdict import IntentVerdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Figures = dict[str, dict[str, float]]
"""By source: how many messages, and how many of them came out right."""

OWN: Final = "own chats"
TYPED: Final = ("chats", OWN)
"""Sources of real turns: what the head learns from. With the project's own chats it is as often
right on the others, acts on one in a hundred more, and its confidence is off by a third less."""

SEED: Final = 7
FOLDS: Final = 8
EXAMPLE_FOLDS: Final = 5
LEAST_TURNS: Final = 8
"""Real turns that an intent needs for the head to know it."""
NEVER: Final = -6.0
"""Bias of a label that the seen turns hold less than twice."""
COST: Final = 5.0
"""C of the head; 2 to 10 are within noise of each other on the dev chats."""
SECOND_WEIGHT: Final = 0.5
"""What an intent counts that is right, and not the best: "use a switch, not a button" may be
carried out, and is a correction."""
JOIN_COST: Final = 0.1
EXAMPLE_WEIGHT: Final = 0.2
"""What an example of a prompt counts in the join, beside a turn that somebody typed: there are
2,500 of them beside 3,000 turns, and they stand for themselves. At .1 the chats are right in .004
more, and "How accurate is your routing?", which nobody typed at work, is a question."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message with the intents that are right for it, and the first reading of it."""

    source: str
    group: str
    message: str
    place: Place
    verdict: IntentVerdict
    intents: tuple[str, ...]
    """Best first."""


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
    with tempfile.TemporaryDirectory() as empty:
        # without a turn model: what is fitted must not depend on what was
        parts = replace(Parts.load(workspace_at(empty), may_write=False), turns=None)
    learned = [
        *_chat_lessons("chats", data / "chats/dev.jsonl", parts),
        *(one for path in sorted(own.glob("*.jsonl")) for one in _chat_lessons(OWN, path, parts)),
        *_dialogue_lessons(data / "dialogues/dev.json", parts),
        *_example_lessons(parts, np.random.default_rng(SEED)),
    ]
    model, figures = fit(learned, np.random.default_rng(SEED))
    out.write_bytes(dump_turn_model(model))
    out.with_suffix(".json").write_text(json.dumps(figures, indent=2) + "\n")
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


def _chat_lessons(source: str, path: Path, parts: Parts) -> Iterator[Lesson]:
    for chat in read_chats(path):
        for played in play_with(chat, partial(rehearsed, parts)):
            expected = played.expected
            if expected.labelled and expected.intents:
                yield _lesson(source, chat.group, parts.model, played.turn, expected.intents)


def _dialogue_lessons(path: Path, parts: Parts) -> Iterator[Lesson]:
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router = rehearsed(parts, clock)
        for expected in dialogue.turns:
            turn = router.route(expected.user)
            if expected.intents:
                yield _lesson("dialogues", dialogue.id, parts.model, turn, expected.intents)
            clock.tick()


def _example_lessons(parts: Parts, random: np.random.Generator) -> Iterator[Lesson]:
    """The prompts' examples, each read by a model that was not taught it."""
    examples, rules = lessons(parts.library.prompts())
    fold = random.integers(0, EXAMPLE_FOLDS, len(examples))
    for held in range(EXAMPLE_FOLDS):
        taught = [pair for pair, at in zip(examples, fold, strict=True) if at != held]
        model = IntentModel.fit_examples(taught, rules)
        for number in np.flatnonzero(fold == held).tolist():
            text, label = examples[number]
            verdict = model.score(text)
            yield Lesson("examples", str(number), text, Place(1), verdict, (label,))


def _lesson(
    source: str, group: str, model: IntentModel, turn: Turn, intents: Sequence[str]
) -> Lesson:
    verdict, _ = first_reading(model, turn)
    return Lesson(source, group, turn.message, place_of(turn), verdict, tuple(intents))


def fit(learned: Sequence[Lesson], random: np.random.Generator) -> tuple[TurnModel, Figures]:
    """The model, and its figures on what each fit had not seen."""
    labels = _labels(learned)
    matrix = _matrix(learned)
    chats = np.array([lesson.source in TYPED for lesson in learned])
    fold = _folds(learned, random)
    heads = np.zeros((len(learned), len(labels)))
    for held in range(FOLDS):
        weights, bias = _fit_head(matrix, learned, labels, np.flatnonzero(chats & (fold != held)))
        rows = np.flatnonzero(fold == held)
        heads[rows] = sigmoid(matrix[rows] @ weights + bias)
    candidates = [_candidates(one, labels, head) for one, head in zip(learned, heads, strict=True)]
    figures = _figures(learned, candidates, fold)
    weights, bias = _fit_head(matrix, learned, labels, np.flatnonzero(chats))
    centre, scale, join, join_bias = _fit_join(learned, candidates)
    model = TurnModel(labels, weights.astype(np.float32), bias, centre, scale, join, join_bias)
    return model, figures


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
    return csr_matrix((values, ids, starts), shape=(len(vectors), DIMENSION))


def _fit_head(
    matrix: Any, learned: Sequence[Lesson], labels: Sequence[str], rows: Ints
) -> tuple[Floats, Floats]:
    from sklearn.linear_model import LogisticRegression

    weights, bias = np.zeros((DIMENSION, len(labels))), np.zeros(len(labels))
    for at, label in enumerate(labels):
        found = [learned[row].intents for row in rows.tolist()]
        target = np.array([label in intents for intents in found])
        if target.sum() < 2:
            bias[at] = NEVER
            continue
        counts = [SECOND_WEIGHT if label in intents[1:] else 1.0 for intents in found]
        head = LogisticRegression(C=COST, solver="liblinear")
        head.fit(matrix[rows], target, sample_weight=counts)
        weights[:, at], bias[at] = head.coef_[0], head.intercept_[0]
    return weights, bias


def _candidates(
    lesson: Lesson, labels: Sequence[str], head: Floats
) -> tuple[Floats, tuple[str, ...]] | None:
    """The rows of the join; None where a whole phrase decides."""
    if not lesson.verdict.log_p:
        return None
    likely = dict(zip(labels, map(float, head), strict=True))
    return join_rows(likely, lesson.verdict, lesson.message, lesson.place)


def _fit_join(
    learned: Sequence[Lesson], candidates: Sequence[tuple[Floats, tuple[str, ...]] | None]
) -> tuple[Floats, Floats, Floats, float]:
    """Centre and scale of the rows, weights and bias of the join."""
    from sklearn.linear_model import LogisticRegression

    known = [(one, found) for one, found in zip(learned, candidates, strict=True) if found]
    rows = np.concatenate([found[0] for _, found in known])
    right = np.array([label in one.intents for one, found in known for label in found[1]])
    counts = np.array(
        [
            EXAMPLE_WEIGHT if one.source == "examples" else 1.0
            for one, found in known
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
    fold: Ints,
) -> Figures:
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for held in range(FOLDS):
        seen = np.flatnonzero(fold != held).tolist()
        centre, scale, join, bias = _fit_join(
            [learned[row] for row in seen], [candidates[row] for row in seen]
        )
        for row in np.flatnonzero(fold == held).tolist():
            one, found = learned[row], candidates[row]
            verdict = one.verdict
            if found is not None:
                likely = sigmoid((found[0] - centre) / scale @ join + bias)
                verdict = revised(verdict, dict(zip(found[1], map(float, likely), strict=True)))
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
