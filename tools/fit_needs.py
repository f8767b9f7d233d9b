"""Fits what `kds.router.rewriting.need` ships: how likely a message needs earlier messages.

    python tools/fit_needs.py DATA_FOLDER TESTS_FOLDER NEEDS.npz               (`make needs`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json of DATA_FOLDER, which are not in this repository, and the project's own chats and
dialogues in TESTS_FOLDER. A turn needs them where one of its labelled references must
be known. Cross-validated: the chats by repository. Needs the extra `fit` (scikit-learn).
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import kds
from kds.api.measures import calibration_error
from kds.api.rehearsal import MinuteClock
from kds.brain.turn import Turn
from kds.router.classify import place_of
from kds.router.intents.features import TURN_PLACES, turn_vector
from kds.router.intents.turn_model import meaning_row
from kds.router.rewriting.need import NeedModel, dump_need_model, may_need, need_signs
from kds.testing.chats import play_with, read_chats

FOLDS: Final = 8
SEED: Final = 0
COST: Final = 0.5
"""C of the model: 0.1 to 1 are within .006 of each other on the dev chats (AUC, held out)."""

CHATS: Final = ("chats", "chats without replies")
OWN_WEIGHT: Final = 0.3
"""What a turn of the project's own chats and dialogues counts beside one that somebody typed at
work; at .6 the dev chats come out .006 worse."""


class Lesson(NamedTuple):
    """A turn as the rules left it, and whether it needs earlier messages."""

    source: str
    group: str
    turn: Turn
    needs: bool


def main() -> None:
    """Fit, tell the cross-validated figures, write the model and, beside it, the figures."""
    usage = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("data", "tests", "out"):
        usage.add_argument(name, type=Path)
    asked = usage.parse_args()
    lessons = [one for one in read_lessons(asked.data, asked.tests) if may_need(one.turn)]
    model, figures = fit(lessons)
    asked.out.write_bytes(dump_need_model(model))
    told = json.dumps(figures, indent=2) + "\n"
    asked.out.with_suffix(".json").write_text(told)
    sys.stdout.write(told)


def read_lessons(data: Path, tests: Path) -> Iterator[Lesson]:
    """The labelled turns of chats and dialogues, played in order."""
    with tempfile.TemporaryDirectory() as folder:
        router = kds.Router.open(folder, log=False)

        def without_replies(clock: MinuteClock) -> Any:
            route = router.rehearse(clock).route
            return SimpleNamespace(route=lambda message, history: route(message))

        opening = {CHATS[1]: without_replies}
        for source, file in (
            *((source, data / "chats" / "dev.jsonl") for source in CHATS),
            *(("own", file) for file in sorted((tests / "chats").glob("*.jsonl"))),
        ):
            for chat in read_chats(file):
                group = chat.repo or chat.id.partition("#")[0]
                played = play_with(chat, opening.get(source, router.rehearse))
                for one in (one for one in played if one.expected.labelled):
                    needs = any(reference.must for reference in one.expected.references)
                    yield Lesson(source, group, one.turn, needs)
        for source, place in (
            ("dialogues", tests / "dialogues"),
            ("dev dialogues", data / "dialogues" / "dev.json"),
        ):
            for file in kds.find_dialogue_files([place]):
                for dialogue in kds.read_dialogues(file):
                    clock = MinuteClock()
                    played_by = router.rehearse(clock)
                    for expected in dialogue.turns:
                        turn = played_by.route(expected.user)
                        needs = bool(expected.expanded) and expected.user not in expected.expanded
                        yield Lesson(source, "", turn, needs)
                        clock.tick()


def fit(lessons: Sequence[Lesson]) -> tuple[NeedModel, dict[str, dict[str, float]]]:
    """The model, and its figures on what each fit had not seen."""
    rows, wanted = _rows(lessons), np.array([one.needs for one in lessons])
    source = np.array([one.source for one in lessons])
    learned = source != "dev dialogues"
    groups = sorted({one.group for one in lessons if one.source in CHATS})
    drawn = np.random.default_rng(SEED).permutation(len(groups)) % FOLDS
    of = dict(zip(groups, drawn.tolist(), strict=True))
    fold = np.array([of[one.group] if one.source in CHATS else -1 for one in lessons])
    counts = np.where(np.isin(source, CHATS), 1.0, OWN_WEIGHT)
    likely = np.zeros(len(lessons))
    for held in range(FOLDS):
        seen, rest = learned & (fold != held), fold == held
        likely[rest] = _fitted(rows[seen], wanted[seen], counts[seen]).predict_proba(rows[rest])[
            :, 1
        ]
    whole = _fitted(rows[learned], wanted[learned], counts[learned])
    others = ~np.isin(source, CHATS)
    likely[others] = whole.predict_proba(rows[others])[:, 1]
    figures = {name: _told(likely[source == name], wanted[source == name])
               for name in (*CHATS, "dev dialogues")}  # fmt: skip
    words, meaning, signs = np.split(
        whole.coef_[0], [TURN_PLACES, -len(need_signs(lessons[0].turn))]
    )
    return NeedModel(words, meaning, signs, float(whole.intercept_[0])), figures


def _rows(lessons: Sequence[Lesson]) -> Any:
    from scipy.sparse import csr_matrix, hstack

    places = [place_of(one.turn) for one in lessons]
    pairs = list(zip(lessons, places, strict=True))
    vectors = [turn_vector(one.turn.message, place) for one, place in pairs]
    starts = np.cumsum([0, *(len(ids) for ids, _ in vectors)])
    ids = np.concatenate([ids for ids, _ in vectors])
    values = np.concatenate([values for _, values in vectors])
    words = csr_matrix((values, ids, starts), shape=(len(vectors), TURN_PLACES))
    meaning = np.stack([meaning_row(one.turn.message, place, ()) for one, place in pairs])
    signs = np.stack([need_signs(one.turn) for one in lessons])
    return hstack([words, csr_matrix(meaning), csr_matrix(signs)]).tocsr()


def _fitted(rows: Any, wanted: NDArray[np.bool_], counts: NDArray[np.float64]) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=COST, solver="liblinear").fit(rows, wanted, sample_weight=counts)


def _told(likely: NDArray[np.float64], wanted: NDArray[np.bool_]) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    pairs = list(zip(likely.tolist(), wanted.tolist(), strict=True))
    return {
        "messages": len(likely),
        "need it": round(float(wanted.mean()), 4),
        "auc": round(float(roc_auc_score(wanted, likely)), 4),
        "calibration error": round(calibration_error(pairs) or 0.0, 4),
        "brier": round(float(((likely - wanted) ** 2).mean()), 4),
    }


if __name__ == "__main__":
    main()
