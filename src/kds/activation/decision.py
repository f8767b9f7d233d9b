"""The decision: which entry is best, and how probable it is that it is wanted.

Two small linear models, fitted by ``tools/fit_activation.py`` on the development libraries and
cross-validated by library. The first is a conditional logit (McFadden 1974) over the entries; the
second, a logistic regression on the best entry, says how probable it is that a user of the project
would want it. `fitted.json` holds both, and the bars for a promised precision.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log, log1p
from typing import TYPE_CHECKING, Final

from kds.activation.features import FEATURES, Library, Prompt, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Said = tuple[Vector, Vector, Vector]

SIGNS: Final = (
    *("score", "lead", "share", "entries", "mean", "spread"),
    *("name", "whole", "clause", "body", "terms", "body_terms", "covered", "characters", "length"),
    *("name_pieces", "pieces", "all_pieces", "name_back", "intent"),
    *("named", "excluded", "offer", "offer_terms", "reply", "earlier_terms"),
    *("words", "short", "acknowledges", "question", "asks", "negation", "trace"),
    *("refused", "question_name", "about", "in_code", "history"),
)
"""What tells whether the best entry is wanted, in the order of the fitted weights."""

_SCORE_SCALE: Final = 3.0
"""Scores are divided by this, so that their signs are of the size of the others."""


@dataclass(frozen=True)
class Linear:
    """Standardised inputs times weights, plus a bias.

    ``hinges`` are knots in standard deviations: beyond each, an input has one more weight, so that
    its effect may bend there. Inputs further out than ``limit`` count as at it: a library of three
    entries must not be judged by what lies outside of everything that was fitted.
    """

    mean: Sequence[float]
    scale: Sequence[float]
    weights: Sequence[float]
    bias: float = 0.0
    hinges: Sequence[float] = ()
    limit: float = 0.0

    def __call__(self, rows: "Vector") -> "Vector":
        """Return one score a row."""
        import numpy as np

        standard = (rows - np.asarray(self.mean, "f4")) / np.asarray(self.scale, "f4")
        if self.limit:
            standard = np.clip(standard, -self.limit, self.limit)
        scores: Vector = bent(standard, self.hinges) @ np.asarray(self.weights, "f4") + self.bias
        return scores


def bent(standard: "Vector", hinges: Sequence[float]) -> "Vector":
    """Return the columns, and behind them what each has beyond each of the ``hinges``."""
    import numpy as np

    return np.hstack([standard, *(np.maximum(0, standard - knot) for knot in hinges)])


@dataclass(frozen=True)
class Decision:
    """The fitted models, and what they promise."""

    ranking: Linear
    wanted: Linear
    bars: Mapping[str, float]
    """By promised precision, the least probability that is said."""
    used: Linear = Linear((), (), ())
    """Ranks by the score and by what the uses of the project say."""
    used_wanted: Linear = Linear((), (), ())
    """How probable it is that the best one is wanted, then."""

    def bar(self, precision: float) -> float:
        """Return the least probability for ``precision``: the next stricter one that was fitted."""
        kept = [bar for promised, bar in self.bars.items() if float(promised) >= precision - 1e-9]
        return min(kept, default=1.0)


@cache
def fitted() -> Decision:
    """Return what ships."""
    data = json.loads(files(__package__).joinpath("fitted.json").read_text("utf-8"))
    models = {name: Linear(**data[name]) for name in ("ranking", "wanted", "used", "used_wanted")}
    return Decision(**models, bars=data["bars"])


@dataclass(frozen=True)
class Ranking:
    """The entries by score, best first, and the signs of the best one."""

    order: Sequence[int]
    scores: "Vector"
    """Of each entry by its row."""
    shares: Sequence[float]
    """Of each entry by its row: its probability, if one of the library is meant."""
    signs: Mapping[str, float]


def ranking_rows(found: Mapping[str, "Vector"]) -> "Vector":
    """Return one row of features an entry."""
    import numpy as np

    return np.stack([found[name] for name in FEATURES], axis=1)


def rank(library: Library, prompt: Prompt, model: Linear) -> Ranking:
    """Rank the entries of ``library`` for ``prompt``."""
    import numpy as np

    found = library.features(prompt)
    scores = model(ranking_rows(found))
    order = np.argsort(-scores, kind="stable")
    weights = np.exp(scores - scores.max())
    shares = weights / weights.sum()
    best = int(order[0])
    second = float(scores[order[1]]) if len(order) > 1 else float(scores[best]) - _SCORE_SCALE
    signs = {name: float(found[name][best]) for name in SIGNS if name in found}
    signs |= {
        "score": float(scores[best]) / _SCORE_SCALE,
        "lead": float(scores[best]) - second,
        "share": float(shares[best]),
        "entries": log(len(order)) / 3,
        "mean": float(scores.mean()) / _SCORE_SCALE,
        "spread": float(scores.std()),
    }
    return Ranking(
        [int(row) for row in order], scores, shares.tolist(), signs | _signs(library, prompt, best)
    )


def _signs(library: Library, prompt: Prompt, best: int) -> dict[str, float]:
    """The signs that are read of the prompt, and of the prompt beside the best entry."""
    named = library.named(prompt, best)
    asks = float(prompt.text.rstrip().endswith("?"))
    question = float(words().question.match(prompt.text) is not None)
    negation = float(words().negation.search(prompt.text) is not None)
    offer, offer_terms = library.offered(prompt, best) if prompt.acknowledges else (0.0, 0.0)
    return {
        "named": named,
        "excluded": library.excluded(prompt, best),
        "offer": offer,
        "offer_terms": offer_terms,
        "words": log1p(len(prompt.terms)),
        "short": float(len(prompt.terms) <= 3),
        "acknowledges": float(prompt.acknowledges),
        "question": question,
        "asks": asks,
        "negation": negation,
        "trace": float(words().trace.search(prompt.text) is not None),
        "refused": float(library.refused(prompt, best)),
        "question_name": question * named,
        "about": float(words().about.search(prompt.text) is not None),
        "in_code": library.in_code(prompt, best),
        "small": float(library.small(prompt, best)),
        "history": float(bool(prompt.earlier)),
    }


VETOES: Final = ("refused", "about", "in_code", "small")
"""Signs with which nothing is said, however near an entry is: "don't deploy yet", "what does the
deploy skill do?", "rename deploy() to release()", "a typo in the deploy docs"."""


def is_vetoed(signs: Mapping[str, float]) -> bool:
    """Whether something in the prompt speaks against the best entry, or against any."""
    return any(signs[name] for name in VETOES)


def probability(signs: Mapping[str, float], model: Linear) -> float:
    """Return how probable it is that the best entry is wanted."""
    import numpy as np

    row = np.array([[signs[name] for name in SIGNS]], dtype=np.float32)
    return 1 / (1 + exp(-float(np.clip(model(row)[0], -30, 30))))


USED: Final = ("chance", "agreed", "share", "lead", "said", "said_lead", "nearest", "ignored")
"""What tells whether the best entry is wanted where uses are known, in the order of the weights."""


def rank_by_use(
    library: Library, prompt: Prompt, found: Ranking, said: "Said", decision: Decision
) -> tuple[Ranking, float]:
    """Rank anew by what the uses of the project say (`kds.activation.uses.Evidence.of`).

    Returns the ranking, and how probable its best one is.
    """
    import numpy as np

    chance = probability(found.signs, decision.wanted)
    scores = decision.used(used_rows(found, said))
    order = np.argsort(-scores, kind="stable")
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    signs = used_signs(found, chance, said, scores)
    best = [[signs[name] for name in USED]]
    wanted = 1 / (1 + exp(-float(decision.used_wanted(np.array(best, "f4"))[0])))
    told = {f"use_{name}": signs[name] for name in ("said", "nearest", "ignored")}
    rows = [int(row) for row in order]
    read = _signs(library, prompt, rows[0]) | told
    return Ranking(rows, scores, shares.tolist(), read), wanted


def used_rows(found: Ranking, said: "Said") -> "Vector":
    """Return one row an entry: its score, what its uses say, and the likest of them."""
    import numpy as np

    return np.stack([found.scores / _SCORE_SCALE, said[0], said[1]], axis=1)


def used_signs(found: Ranking, chance: float, said: "Said", scores: "Vector") -> dict[str, float]:
    """Return the signs of the entry with the best of ``scores``, by the names of `USED`."""
    import numpy as np

    best = int(np.argmax(scores))
    odds = np.exp(scores - scores.max())
    others = np.delete(scores, best)
    said_others = np.delete(said[0], best)
    chance = min(max(chance, 1e-4), 1 - 1e-4)
    logit, agrees = log(chance / (1 - chance)), best == found.order[0]
    return {
        "chance": logit,
        "agreed": logit * agrees,
        "share": float(odds[best] / odds.sum()),
        "lead": float(scores[best] - others.max()) if len(others) else _SCORE_SCALE,
        "said": float(said[0][best]),
        "said_lead": float(said[0][best] - said_others.max()) if len(others) else 1.0,
        "nearest": float(said[1][best]),
        "ignored": float(said[2][best]),
    }
