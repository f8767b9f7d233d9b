"""Fits what `kds.router.intents.turn_model` ships: weights of real turns, and how to join them.

    python tools/fit_turns.py DATA_FOLDER CHATS_FOLDER OUT.npz             (`make turns`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json (dialogue files) of DATA_FOLDER, which are not in this repository, its own chats
in tests/chats and the examples of the packaged prompts, each read by a model that was not taught
it. Cross-validated: the chats by repository, the rest by dialogue and example. Needs the extra
`fit` (scikit-learn).
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from fitting import (
    Floats,
    Ints,
    drawn_folds,
    paths,
    played_dialogues,
    scaled_logistic,
    tell,
    words_matrix,
)
from sklearn.linear_model import LogisticRegression

from kds.api.measures import calibration_error, share
from kds.api.parts import Parts
from kds.api.routing import rehearsed
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.classify import first_reading, place_of
from kds.router.intents.examples import examples_of
from kds.router.intents.features import TURN_PLACES, WIDTH, Place
from kds.router.intents.fitted import shipped_rows
from kds.router.intents.linear import Linear, sigmoid
from kds.router.intents.model import IntentModel
from kds.router.intents.patterns import IntentVerdict
from kds.router.intents.policy import decide
from kds.router.intents.turn_model import (
    TurnModel,
    dump_turn_model,
    head_shares,
    join_rows,
    meaning_row,
    revised,
)
from kds.testing.chats import Chat
from kds.testing.examples import converse, read_examples

Candidates = tuple[Floats, tuple[str, ...]] | None
"""The rows of the join and their labels; None where a whole phrase decides."""

OWN: Final = "own chats"
TYPED: Final = ("chats", OWN)
"""Sources of real turns: what the head learns from. With the project's own chats it is as often
right on the others, acts on one in a hundred more, and its confidence is off by a third less."""
SEED: Final = 7
EXAMPLE_FOLDS: Final = 5
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


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message with the intents that are right for it, best first, and its first reading."""

    source: str
    group: str
    message: str
    place: Place
    verdict: IntentVerdict
    intents: tuple[str, ...]


def main() -> None:
    """Fit, tell the cross-validated figures, write the model and, beside it, the figures."""
    data, own, out = paths(__doc__, "data", "own", "out")
    model, figures = fit(read_lessons(data, own), np.random.default_rng(SEED))
    out.write_bytes(dump_turn_model(model))
    tell(figures, out)


def read_lessons(data: Path, own: Path) -> list[Lesson]:
    """Of chats/dev.jsonl and dialogues/dev.json in ``data``, the chats in ``own``, the prompts."""
    with tempfile.TemporaryDirectory() as empty:
        # without a turn model: what is fitted must not depend on what was
        parts = replace(Parts.load(Workspace.at(empty)), turns=None)

    def lesson(source: str, group: str, turn: Turn, intents: Sequence[str]) -> Lesson:
        verdict, _ = first_reading(parts.model, turn)
        return Lesson(source, group, turn.message, place_of(turn), verdict, tuple(intents))

    opened = partial(rehearsed, parts)
    files = [
        ("chats", data / "chats/dev.jsonl"),
        *((OWN, one) for one in sorted(own.glob("*.jsonl"))),
    ]
    chats = [(source, chat) for source, path in files for chat in read_examples(path, Chat)]
    return [
        *(lesson(source, chat.repo or "", turn, expected.intents)
          for source, chat in chats for expected, turn, _ in converse(chat.turns, opened)
          if expected.labelled and expected.intents),
        *(lesson("dialogues", dialogue.id, turn, expected.intents) for dialogue, expected, turn, _
          in played_dialogues(data / "dialogues/dev.json", opened) if expected.intents),
        *_example_lessons(parts, np.random.default_rng(SEED)),
    ]  # fmt: skip


def _example_lessons(parts: Parts, random: np.random.Generator) -> Iterator[Lesson]:
    """The prompts' examples, each read by a model that was not taught it."""
    examples, agents = examples_of(parts.library.prompts())
    fold = random.integers(0, EXAMPLE_FOLDS, len(examples))
    learned, shipped = shipped_rows()
    zeros = Linear.zeros(WIDTH, len(learned.labels))
    blank = replace(learned, fit=replace(learned.fit, linear=zeros)), shipped
    for held in range(EXAMPLE_FOLDS):
        taught = [pair for pair, at in zip(examples, fold, strict=True) if at != held]
        model = IntentModel.fit_examples(taught, agents, base=blank)
        for number in np.flatnonzero(fold == held).tolist():
            text, label = examples[number]
            yield Lesson("examples", str(number), text, Place(1), model.score(text), (label,))


class Heads:
    """Fits the heads on some of the lessons: on their words, and on their meaning."""

    def __init__(self, learned: Sequence[Lesson]) -> None:
        self.learned = learned
        counts = Counter(label for one in learned if one.source in TYPED for label in one.intents)
        self.labels = tuple(sorted(label for label, n in counts.items() if n >= LEAST_TURNS))
        self.words = words_matrix([(one.message, one.place) for one in learned])
        rows = (meaning_row(one.message, one.place, self.labels) for one in learned)
        self.meanings = np.stack(list(rows))

    def fit(self, rows: Ints) -> tuple[Floats, Floats, Linear]:
        """Weights and bias, of each label by itself and of one among all; and those of meaning."""
        weights = np.zeros((TURN_PLACES, 2 * len(self.labels)))
        bias = np.full(2 * len(self.labels), NEVER)
        for at, label in enumerate(self.labels):
            target = np.array([label in self.learned[row].intents for row in rows])
            if target.sum() >= LEAST_SEEN:
                counts = [self._count(row, label) for row in rows]
                head = LogisticRegression(C=COST, solver="liblinear")
                head.fit(self.words[rows], target, sample_weight=counts)
                weights[:, at], bias[at] = head.coef_[0], head.intercept_[0]
        known = [(row, label) for row in rows.tolist() for label in self.learned[row].intents
                 if label in self.labels]  # fmt: skip
        at_rows, counts = [row for row, _ in known], [self._count(*one) for one in known]
        targets = np.array([self.labels.index(label) for _, label in known])
        head = LogisticRegression(C=ONE_COST, max_iter=500)
        head.fit(self.words[at_rows], targets, sample_weight=counts)
        places = len(self.labels) + head.classes_
        weights[:, places], bias[places] = head.coef_.T, head.intercept_
        start = Linear.zeros(self.meanings.shape[1], len(self.labels))
        meaning = Linear.fit(self.meanings[at_rows], targets, np.array(counts), start=start)
        return weights, bias, meaning

    def _count(self, row: int, label: str) -> float:
        """What a lesson counts in the head of a label."""
        lesson = self.learned[row]
        count = OWN_WEIGHT if lesson.source == OWN else 1.0
        return count * SECOND_WEIGHT if label in lesson.intents[1:] else count


def fit(
    learned: Sequence[Lesson], random: np.random.Generator
) -> tuple[TurnModel, dict[str, dict[str, float]]]:
    """The model, and its figures by source on what each fit had not seen."""
    heads = Heads(learned)
    labels = heads.labels
    chats = np.array([lesson.source in TYPED for lesson in learned])
    fold = _folds(learned, random)
    likely = np.zeros((len(learned), len(labels)))
    for held in range(FOLDS):
        rows = np.flatnonzero(fold == held)
        weights, bias, meaning = heads.fit(np.flatnonzero(chats & (fold != held)))
        by_meaning = meaning.scores(heads.meanings[rows])
        scores = np.hstack([heads.words[rows] @ weights + bias, by_meaning])
        likely[rows] = head_shares(scores, len(labels))
    told = [dict(zip(labels, map(float, head), strict=True)) for head in likely]
    candidates = [_candidates(one, head) for one, head in zip(learned, told, strict=True)]
    added = [_candidates(one, _without_one(number, one, head))
             for number, (one, head) in enumerate(zip(learned, told, strict=True))]  # fmt: skip
    figures = _figures(learned, candidates, added, fold)
    weights, bias, meaning = heads.fit(np.flatnonzero(chats))
    joined = _fit_join(learned, candidates, added)
    return TurnModel(labels, weights.astype(np.float32), bias, meaning, *joined), figures


def _folds(learned: Sequence[Lesson], random: np.random.Generator) -> Ints:
    """The fold of each lesson.

    The chats are drawn first: one more example must not look like a change on the chats.
    """
    found: dict[tuple[str, str], int] = {}
    for source in (*TYPED, "dialogues", "examples"):
        groups = [(one.source, one.group) for one in learned if one.source == source]
        found |= drawn_folds(groups, FOLDS, random)
    return np.array([found[one.source, one.group] for one in learned])


def _candidates(lesson: Lesson, likely: Mapping[str, float]) -> Candidates:
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
    learned: Sequence[Lesson], candidates: Sequence[Candidates], added: Sequence[Candidates]
) -> tuple[Floats, Floats, Floats, float]:
    """Centre and scale of the rows, weights and bias of the join.

    Each lesson counts once more with an added intent.
    """
    known = [
        (one, found, count * WEIGHTS.get(one.source, 1.0))
        for some, count in ((candidates, 1.0), (added, ADDED_WEIGHT))
        for one, found in zip(learned, some, strict=True)
        if found
    ]
    rows = np.concatenate([found[0] for _, found, _ in known])
    right = np.array([label in one.intents for one, found, _ in known for label in found[1]])
    counts = np.array([count for _, found, count in known for _ in found[1]])
    return scaled_logistic(rows, right, counts, JOIN_COST)


def _figures(
    learned: Sequence[Lesson], candidates: Sequence[Candidates], added: Sequence[Candidates],
    fold: Ints,
) -> dict[str, dict[str, float]]:  # fmt: skip
    outcomes = defaultdict[str, list[tuple[float, bool, bool]]](list)
    for held in range(FOLDS):
        seen = np.flatnonzero(fold != held).tolist()
        parts: Any = ([some[row] for row in seen] for some in (learned, candidates, added))
        centre, scale, join, bias = _fit_join(*parts)
        for row in np.flatnonzero(fold == held).tolist():
            one, found = learned[row], candidates[row]
            verdict = one.verdict
            if found is not None:
                likely = sigmoid((found[0] - centre) / scale @ join + bias)
                joined = dict(zip(found[1], map(float, likely), strict=True))
                verdict = revised(verdict, joined, answered=one.place.answered)
            decision = decide(
                verdict.intent, verdict.confidence, verdict.alternatives, in_scope=verdict.in_scope
            )
            right, acted = verdict.intent in one.intents, decision.action == "route"
            outcomes[one.source].append((verdict.confidence, right, acted))
    return {source: _told(found) for source, found in outcomes.items()}


def _told(outcomes: Sequence[tuple[float, bool, bool]]) -> dict[str, float]:
    acted = [(confidence, right) for confidence, right, acted in outcomes if acted]
    return {
        "messages": len(outcomes),
        "right": round(share(right for _, right, _ in outcomes) or 0.0, 4),
        "acted on": round(len(acted) / len(outcomes), 4),
        "right when acted": round(share(right for _, right in acted) or 0.0, 4),
        "calibration error": round(calibration_error(acted), 4),
    }


if __name__ == "__main__":
    main()
