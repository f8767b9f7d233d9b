"""Fits what `kds.router.rewriting.need` ships: how likely a message needs earlier messages.

    python tools/fit_needs.py DATA_FOLDER TESTS_FOLDER NEEDS.npz               (`make needs`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json of DATA_FOLDER, which are not in this repository, and the project's own chats and
dialogues in TESTS_FOLDER. A turn needs them where one of its labelled references must
be known. Cross-validated: the chats by repository. Needs the extra `fit` (scikit-learn).
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from fitting import drawn_folds, paths, played_dialogues, tell, words_matrix
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import kds
from kds.api.measures import calibration_error
from kds.api.rehearsal import MinuteClock
from kds.brain.turn import Turn
from kds.router.classify import place_of
from kds.router.intents.features import TURN_PLACES
from kds.router.intents.turn_model import meaning_row
from kds.router.rewriting.need import may_need, need_signs
from kds.testing.chats import Chat
from kds.testing.examples import converse, read_examples

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
    data, tests, out = paths(__doc__, "data", "tests", "out")
    weights, figures = fit([one for one in read_lessons(data, tests) if may_need(one.turn)])
    with out.open("wb") as file:
        np.savez_compressed(file, **weights)
    tell(figures, out)


def read_lessons(data: Path, tests: Path) -> Iterator[Lesson]:
    """The labelled turns of chats and dialogues, played in order."""
    with tempfile.TemporaryDirectory() as folder:
        router = kds.Router.open(folder, log=False)

        def without_replies(clock: MinuteClock) -> Any:
            route = router.rehearse(clock).route
            return lambda message, history: route(message)

        files = [(source, data / "chats" / "dev.jsonl") for source in CHATS]
        files += [("own", file) for file in sorted((tests / "chats").glob("*.jsonl"))]
        for source, file in files:
            for chat in read_examples(file, Chat):
                group = chat.repo or chat.id.partition("#")[0]
                opened = without_replies if source == CHATS[1] else router.rehearse
                for expected, turn, _ in converse(chat.turns, opened):
                    if expected.labelled:
                        needs = any(reference.must for reference in expected.refs)
                        yield Lesson(source, group, turn, needs)
        files = [("dialogues", one) for one in kds.find_dialogue_files([tests / "dialogues"])]
        files.append(("dev dialogues", data / "dialogues" / "dev.json"))
        for source, file in files:
            for _, expected, turn, _ in played_dialogues(file, router.rehearse):
                needs = bool(expected.expanded) and expected.user not in expected.expanded
                yield Lesson(source, "", turn, needs)


def fit(lessons: Sequence[Lesson]) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """The weights, large ones in half precision, and its figures on what each fit had not seen."""
    rows, wanted = _rows(lessons), np.array([one.needs for one in lessons])
    source = np.array([one.source for one in lessons])
    learned, chats = source != "dev dialogues", np.isin(source, CHATS)
    groups = [one.group for one in lessons if one.source in CHATS]
    of = drawn_folds(groups, FOLDS, np.random.default_rng(SEED))
    fold = np.array([of[one.group] if one.source in CHATS else -1 for one in lessons])
    counts = np.where(chats, 1.0, OWN_WEIGHT)

    def fitted(seen: NDArray[np.bool_]) -> Any:
        model = LogisticRegression(C=COST, solver="liblinear")
        return model.fit(rows[seen], wanted[seen], sample_weight=counts[seen])

    likely = np.zeros(len(lessons))
    whole = fitted(learned)
    parts = [(fitted(learned & (fold != held)), fold == held) for held in range(FOLDS)]
    for model, rest in [*parts, (whole, ~chats)]:
        likely[rest] = model.predict_proba(rows[rest])[:, 1]
    figures = {name: _told(likely[source == name], wanted[source == name])
               for name in (*CHATS, "dev dialogues")}  # fmt: skip
    signs_from = -len(need_signs(lessons[0].turn))
    words, meaning, signs = np.split(whole.coef_[0], [TURN_PLACES, signs_from])
    weights = {"words": words.astype(np.float16), "meaning": meaning.astype(np.float16),
               "signs": signs, "bias": whole.intercept_[0]}  # fmt: skip
    return weights, figures


def _rows(lessons: Sequence[Lesson]) -> Any:
    pairs = [(one.turn.message, place_of(one.turn)) for one in lessons]
    meaning = np.stack([meaning_row(message, place, ()) for message, place in pairs])
    signs = np.stack([need_signs(one.turn) for one in lessons])
    return hstack([words_matrix(pairs), csr_matrix(meaning), csr_matrix(signs)]).tocsr()


def _told(likely: NDArray[np.float64], wanted: NDArray[np.bool_]) -> dict[str, float]:
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
