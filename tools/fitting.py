"""What the fits share: arguments, played dialogues, rows of words, folds, logistic regression."""

import argparse
import json
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from kds.api.rehearsal import MinuteClock
from kds.api.routing import Router
from kds.brain.turn import Turn, Utterance
from kds.router.intents.features import TURN_WIDTH, Place, turn_vector
from kds.testing.dialogues import Dialogue, ExpectedTurn, read_dialogues

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def paths(usage: str | None, *names: str) -> list[Path]:
    """The command line: a path for each of ``names``."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=usage, formatter_class=form)
    for name in names:
        parser.add_argument(name, type=Path)
    return list(vars(parser.parse_args()).values())


def tell(figures: object, beside: Path | None = None) -> None:
    """Print figures; also into a JSON file beside what was fitted."""
    text = json.dumps(figures, indent=2) + "\n"
    if beside is not None:
        beside.with_suffix(".json").write_text(text)
    sys.stdout.write(text)


def played_dialogues(
    path: Path, open_router: Callable[[MinuteClock], Router], *, replies: bool = False
) -> Iterator[tuple[Dialogue, ExpectedTurn, Turn, list[Utterance]]]:
    """Each turn of the dialogues of a file, what was made of it, and what was said before.

    With ``replies`` the router hears of that where the dialogue says what was replied last. A
    caller may add the reply that a dialogue lacks.
    """
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router = open_router(clock)
        said: list[Utterance] = []
        told = False
        for expected in dialogue.turns:
            turn = router.route(expected.user, history=tuple(said) if told and replies else ())
            yield dialogue, expected, turn, said
            told = bool(expected.reply)
            said.append(Utterance(expected.user))
            if told:
                said.append(Utterance(expected.reply, "assistant"))
            clock.tick()


def words_matrix(messages: Sequence[tuple[str, Place]]) -> Any:
    """A sparse row of hashed words for each message at its place."""
    vectors = [turn_vector(message, place) for message, place in messages]
    starts = np.cumsum([0, *(len(ids) for ids, _ in vectors)])
    ids = np.concatenate([ids for ids, _ in vectors])
    values = np.concatenate([values for _, values in vectors])
    return csr_matrix((values, ids, starts), shape=(len(vectors), TURN_WIDTH))


def drawn_folds(
    groups: Sequence[Hashable], count: int, random: np.random.Generator
) -> dict[Any, int]:
    """A fold for each group; what belongs together is in the same one."""
    names = sorted(set(groups))  # type: ignore[type-var]  # texts, or tuples of them
    return dict(zip(names, (random.permutation(len(names)) % count).tolist(), strict=True))


def scaled_logistic(
    rows: Floats, right: NDArray[np.bool_], counts: Floats, cost: float
) -> tuple[Floats, Floats, Floats, float]:
    """Centre and scale of the columns, the weights and the bias; ``cost`` is C."""
    centre, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    model = LogisticRegression(C=cost, max_iter=1000)
    model.fit((rows - centre) / scale, right, sample_weight=counts)
    return centre, scale, model.coef_[0], float(model.intercept_[0])
