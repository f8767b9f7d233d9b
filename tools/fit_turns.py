"""Fits what `kds.router.intents.turn_model` ships: weights of real turns, and how to join them.

    python tools/fit_turns.py DATA_FOLDER TESTS_FOLDER OUT.npz             (`make turns`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json (dialogue files) of DATA_FOLDER, which are not in this repository, the project's
own chats and dialogues in TESTS_FOLDER, and the examples of the packaged prompts, each read by a
model that was not taught it. A turn needs earlier messages where one of its labelled references
must be known. Cross-validated: the chats by repository, the rest by dialogue and example. Needs the
extra `fit` (scikit-learn).
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from fitting import Floats, Ints, drawn_folds, paths, played_dialogues, tell, words_matrix
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import kds
from kds.api.measures import calibration_error, share
from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.classify import first_reading, place_of
from kds.router.intents.examples import examples_of
from kds.router.intents.features import TURN_PLACES, TURN_WIDTH, WIDTH, Place
from kds.router.intents.fitted import shipped_rows
from kds.router.intents.linear import Calibrator, Linear
from kds.router.intents.model import IntentModel
from kds.router.intents.patterns import IntentVerdict
from kds.router.intents.policy import decide
from kds.router.intents.turn_model import (
    TurnModel,
    dump_turn_model,
    head_shares,
    join_rows,
    revised,
)
from kds.router.rewriting.need import may_need, need_signs
from kds.testing.chats import Chat
from kds.testing.examples import converse, read_examples

Candidates = tuple[Floats, tuple[str, ...]] | None
"""The rows of the join and their labels; None where a whole phrase decides."""

CHATS: Final = "chats"
OWN: Final = "own chats"
ALONE: Final = "chats without replies"
DIALOGUES: Final = "dialogues"
OWN_DIALOGUES: Final = "own dialogues"
TYPED: Final = (CHATS, OWN)
"""Sources of real turns: what the head learns from. With the project's own chats it is as often
right on the others, acts on one in a hundred more, and its confidence is off by a third less."""
SEED: Final = 7
EXAMPLE_FOLDS: Final = 5
FOLDS: Final = 6
LEAST_TURNS: Final = 8
"""Real turns that an intent needs for the head to know it."""
NEVER: Final = -6.0
"""Bias of a label that the seen turns do not hold."""
LEAST_SEEN: Final = 2
"""Turns of a fold that a label needs to be fitted by itself."""
COST: Final = 5.0
"""C of the models of each label; 3 to 10 are within noise of each other on the dev chats."""
ONE_COST: Final = 10.0
"""C of the model of one label among all; 6 to 20 likewise."""
NEED_COST: Final = 0.5
"""C of the needs: 0.2 to 1 are within .01 of each other on the dev chats (AUC, held out)."""
OWN_WEIGHT: Final = 0.5
"""What a turn of the project's own chats counts in the head, beside one that somebody typed at
work; at 1, .006 less of what is acted on is right on the dev chats, at .35 as much."""
OWN_NEED_WEIGHT: Final = 0.3
"""The same for the needs; at .6 the dev chats come out .006 worse."""
SECOND_WEIGHT: Final = 0.5
"""What an intent counts that is right, and not the best: "use a switch, not a button" may be
carried out, and is a correction."""
ADDED_WEIGHT: Final = 0.3
"""What a turn counts once more with an intent that the head does not know, as of an agent that a
user adds: of examples whose intent is added, 90 % of those acted on are right in place of 70, and
89 % in place of 47 are acted on; on the dev chats it makes no difference."""
WEIGHTS: Final = {"examples": 0.3, DIALOGUES: 3.0}
"""What an example of a prompt, and a turn of the tidy dialogues, counts in the join beside a turn
that somebody typed: there are 2,500 and 100 of them beside 3,000 turns. With examples at .1 the
chats are right in .004 more, and "How accurate is your routing?" is a question."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message with the intents that are right for it, best first, and its first reading.

    ``signs`` are what the rules found in it; ``needs``: whether earlier messages are needed, None
    where nothing came before.
    """

    source: str
    group: str
    message: str
    place: Place
    verdict: IntentVerdict
    intents: tuple[str, ...] = ()
    signs: Floats | None = None
    needs: bool | None = None


def main() -> None:
    """Fit, tell the cross-validated figures, write the model and, beside it, the figures."""
    data, tests, out = paths(__doc__, "data", "tests", "out")
    model, figures = fit(read_lessons(data, tests), np.random.default_rng(SEED))
    out.write_bytes(dump_turn_model(model))
    tell(figures, out)


def read_lessons(data: Path, tests: Path) -> list[Lesson]:
    """The labelled turns of chats and dialogues, played in order, and the prompts' examples."""
    with tempfile.TemporaryDirectory() as empty:
        # without a turn model: what is fitted must not depend on what was
        parts = replace(Parts.load(Workspace.at(empty)), turns=None)

    def lesson(source: str, group: str, turn: Turn, intents: Sequence[str], needs: bool) -> Lesson:
        verdict, _ = first_reading(parts.model, turn)
        needed = needs if may_need(turn) else None
        place, signs = place_of(turn), need_signs(turn)
        return Lesson(source, group, turn.message, place, verdict, tuple(intents), signs, needed)

    def opened(clock: MinuteClock) -> Any:
        return rehearsed(parts, clock)

    def without_replies(clock: MinuteClock) -> Any:
        route = rehearsed(parts, clock).route
        return lambda message, history: route(message)

    chats = [(source, data / "chats/dev.jsonl") for source in (CHATS, ALONE)]
    chats += [(OWN, one) for one in sorted((tests / "chats").glob("*.jsonl"))]
    played = [(DIALOGUES, data / "dialogues/dev.json")]
    played += [(OWN_DIALOGUES, one) for one in kds.find_dialogue_files([tests / "dialogues"])]
    return [
        *(lesson(source, chat.repo or chat.id.partition("#")[0], turn, expected.intents,
                 any(one.must for one in expected.refs))
          for source, path in chats for chat in read_examples(path, Chat)
          for expected, turn, _ in converse(
              chat.turns, without_replies if source == ALONE else opened)
          if expected.labelled),
        *(lesson(source, dialogue.id, turn, expected.intents,
                 bool(expected.expanded) and expected.user not in expected.expanded)
          for source, path in played
          for dialogue, expected, turn, _ in played_dialogues(path, opened)),
        *_example_lessons(parts, np.random.default_rng(SEED)),
    ]  # fmt: skip


def _example_lessons(parts: Parts, random: np.random.Generator) -> Iterator[Lesson]:
    """The prompts' examples, each read by a model that was not taught it."""
    examples, agents = examples_of(parts.library.prompts())
    fold = random.integers(0, EXAMPLE_FOLDS, len(examples))
    learned, shipped = shipped_rows()
    blank = replace(learned, linear=Linear.zeros(WIDTH, len(learned.labels))), shipped
    for held in range(EXAMPLE_FOLDS):
        taught = [pair for pair, at in zip(examples, fold, strict=True) if at != held]
        model = IntentModel.fit_examples(taught, agents, base=blank)
        for number in np.flatnonzero(fold == held).tolist():
            text, label = examples[number]
            yield Lesson("examples", str(number), text, Place(1), model.score(text), (label,))


def fit(
    read: Sequence[Lesson], random: np.random.Generator
) -> tuple[TurnModel, dict[str, dict[str, float]]]:
    """The model, and its figures by source on what each fit had not seen."""
    learned = [one for one in read if one.intents and one.source not in (ALONE, OWN_DIALOGUES)]
    counts = Counter(label for one in learned if one.source in TYPED for label in one.intents)
    labels = tuple(sorted(label for label, n in counts.items() if n >= LEAST_TURNS))
    rows = words_matrix([(one.message, one.place) for one in learned])
    typed = np.array([lesson.source in TYPED for lesson in learned])
    fold = _folds(learned, random)
    likely = np.zeros((len(learned), len(labels)))
    for held in range(FOLDS):
        head = _fit_head(learned, rows, labels, np.flatnonzero(typed & (fold != held)))
        there = np.flatnonzero(fold == held)
        likely[there] = head_shares(rows[there] @ head.weights + head.bias, len(labels))
    told = [dict(zip(labels, map(float, shares), strict=True)) for shares in likely]
    candidates = [_candidates(one, shares) for one, shares in zip(learned, told, strict=True)]
    added = [_candidates(one, _without_one(number, one, shares))
             for number, (one, shares) in enumerate(zip(learned, told, strict=True))]  # fmt: skip
    figures = _figures(learned, candidates, added, fold)
    head = _fit_head(learned, rows, labels, np.flatnonzero(typed))
    needs, bias, told_needs = fit_needs([one for one in read if one.needs is not None], random)
    join = _fit_join(learned, candidates, added)
    return TurnModel(labels, head, join, needs, bias), figures | told_needs


def _fit_head(learned: Sequence[Lesson], rows: Any, labels: Sequence[str], seen: Ints) -> Linear:
    """Three models side by side: each label by itself and one of all, by words; one, by meaning."""
    known = [(row, label) for row in seen.tolist() for label in learned[row].intents
             if label in labels]  # fmt: skip
    at_rows, targets = [row for row, _ in known], [labels.index(label) for _, label in known]
    counts = [_count(learned[row], label) for row, label in known]
    words, meaning = rows[:, :TURN_PLACES], rows[:, TURN_PLACES:].toarray()
    found = Linear.zeros(TURN_WIDTH, 3 * len(labels))
    found.bias[: 2 * len(labels)] = NEVER
    for at, label in enumerate(labels):
        right = np.array([label in learned[row].intents for row in seen])
        if right.sum() >= LEAST_SEEN:
            head = LogisticRegression(C=COST, solver="liblinear")
            head.fit(
                words[seen], right, sample_weight=[_count(learned[row], label) for row in seen]
            )
            found.weights[:TURN_PLACES, at], found.bias[at] = head.coef_[0], head.intercept_[0]
    head = LogisticRegression(C=ONE_COST, max_iter=80)
    head.fit(words[at_rows], targets, sample_weight=counts)
    places = len(labels) + head.classes_
    found.weights[:TURN_PLACES, places], found.bias[places] = head.coef_.T, head.intercept_
    start = Linear.zeros(meaning.shape[1], len(labels))
    third = Linear.fit(
        meaning[at_rows].astype(np.float32), np.array(targets), np.array(counts), start
    )
    found.weights[TURN_PLACES:, 2 * len(labels) :] = third.weights
    found.bias[2 * len(labels) :] = third.bias
    return found


def _count(lesson: Lesson, label: str) -> float:
    """What a lesson counts in the head of a label."""
    count = OWN_WEIGHT if lesson.source == OWN else 1.0
    return count * SECOND_WEIGHT if label in lesson.intents[1:] else count


def _folds(learned: Sequence[Lesson], random: np.random.Generator) -> Ints:
    """The fold of each lesson.

    The chats are drawn first: one more example must not look like a change on the chats.
    """
    found: dict[tuple[str, str], int] = {}
    for source in (*TYPED, DIALOGUES, "examples"):
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
) -> Calibrator:
    """The join; each lesson counts once more with an added intent."""
    known = [
        (one, found, count * WEIGHTS.get(one.source, 1.0))
        for some, count in ((candidates, 1.0), (added, ADDED_WEIGHT))
        for one, found in zip(learned, some, strict=True)
        if found
    ]
    rows = np.concatenate([found[0] for _, found, _ in known])
    right = np.array([label in one.intents for one, found, _ in known for label in found[1]])
    counts = np.array([count for _, found, count in known for _ in found[1]])
    return Calibrator.fit(rows, right, counts)


def _figures(
    learned: Sequence[Lesson], candidates: Sequence[Candidates], added: Sequence[Candidates],
    fold: Ints,
) -> dict[str, dict[str, float]]:  # fmt: skip
    outcomes = defaultdict[str, list[tuple[float, bool, bool]]](list)
    for held in range(FOLDS):
        seen = np.flatnonzero(fold != held).tolist()
        parts: Any = ([some[row] for row in seen] for some in (learned, candidates, added))
        join = _fit_join(*parts)
        for row in np.flatnonzero(fold == held).tolist():
            one, found = learned[row], candidates[row]
            verdict = one.verdict
            if found is not None:
                likely = map(float, join.probabilities(found[0]))
                joined = dict(zip(found[1], likely, strict=True))
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


def fit_needs(
    lessons: Sequence[Lesson], random: np.random.Generator
) -> tuple[NDArray[np.float32], float, dict[str, dict[str, float]]]:
    """Weights and bias of what needs earlier messages, and its figures on what no fit had seen."""
    signs = csr_matrix(np.stack([one.signs for one in lessons]))
    rows = hstack([words_matrix([(one.message, one.place) for one in lessons]), signs]).tocsr()
    wanted = np.array([one.needs for one in lessons])
    source = np.array([one.source for one in lessons])
    learned, chats = source != DIALOGUES, np.isin(source, (CHATS, ALONE))
    of = drawn_folds([one.group for one in lessons if one.source == CHATS], FOLDS, random)
    fold = np.array([of[one.group] if at else -1 for one, at in zip(lessons, chats, strict=True)])
    counts = np.where(chats, 1.0, OWN_NEED_WEIGHT)

    def fitted(seen: NDArray[np.bool_]) -> Any:
        model = LogisticRegression(C=NEED_COST, solver="liblinear")
        return model.fit(rows[seen], wanted[seen], sample_weight=counts[seen])

    whole, likely = fitted(learned), np.zeros(len(lessons))
    parts = [(fitted(learned & (fold != held)), fold == held) for held in range(FOLDS)]
    for model, rest in [*parts, (whole, ~chats)]:
        likely[rest] = model.predict_proba(rows[rest])[:, 1]
    figures = {f"{name}: needs": {
        "messages": int(at.sum()),
        "need it": round(float(wanted[at].mean()), 4),
        "auc": round(float(roc_auc_score(wanted[at], likely[at])), 4),
        "calibration error": round(calibration_error(
            [*zip(likely[at], wanted[at], strict=True)]) or 0.0, 4),
        "brier": round(float(((likely[at] - wanted[at]) ** 2).mean()), 4),
    } for name in (CHATS, ALONE, DIALOGUES) for at in [source == name]}  # fmt: skip
    return whole.coef_[0].astype(np.float32), float(whole.intercept_[0]), figures


if __name__ == "__main__":
    main()
