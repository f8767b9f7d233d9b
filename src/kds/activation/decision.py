"""The decision: which entry is best, and how probable it is that it is wanted.

Two small linear models, fitted by ``tools/fit_activation.py`` on the development libraries and
cross-validated by library. The first is a conditional logit (McFadden 1974) over the entries; the
second, a logistic regression on the best entry, says how probable it is that a user of the project
would want it. `fitted.json` holds both, and the bars for a promised precision.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import TYPE_CHECKING, Final

from kds.activation.features import FEATURES, Library, Prompt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Said = tuple[Vector, Vector, Vector]

SIGNS: Final = tuple(
    "score lead share entries mean spread"
    " name whole clause body terms body_terms covered characters length"
    " name_pieces pieces all_pieces name_back intent"
    " named excluded offer offer_terms reply earlier_terms"
    " words short acknowledges question asks negation trace"
    " refused question_name about in_code history".split()
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

    @property
    def lead(self) -> float:
        """By how much the best score is above the second."""
        best, *others = self.order
        return float(self.scores[best] - self.scores[others[0]]) if others else _SCORE_SCALE


def ranked(scores: "Vector", signs: Mapping[str, float]) -> Ranking:
    """Order entries by their scores."""
    import numpy as np

    shares = np.exp(scores - scores.max())
    order = np.argsort(-scores, kind="stable").tolist()
    return Ranking(order, scores, (shares / shares.sum()).tolist(), signs)


def ranking_rows(found: Mapping[str, "Vector"]) -> "Vector":
    """Return one row of features an entry."""
    import numpy as np

    return np.stack([found[name] for name in FEATURES], axis=1)


def rank(library: Library, prompt: Prompt, model: Linear) -> Ranking:
    """Rank the entries of ``library`` for ``prompt``."""
    features = library.features(prompt)
    scores = model(ranking_rows(features))
    found = ranked(scores, {})
    best = found.order[0]
    signs = {
        **{name: float(features[name][best]) for name in SIGNS if name in features},
        "score": float(scores[best]) / _SCORE_SCALE,
        "lead": found.lead,
        "share": found.shares[best],
        "entries": log(len(scores)) / 3,
        "mean": float(scores.mean()) / _SCORE_SCALE,
        "spread": float(scores.std()),
        **library.signs(prompt, best),
    }
    return replace(found, signs=signs)


VETOES: Final[Mapping[str, str]] = {
    "refused": "the prompt refuses it, or puts it off",
    "about": "the prompt asks about it",
    "in_code": "the prompt has its name in code or a path",
    "small": "the prompt is about a typo or a new name",
}
"""Signs with which nothing is said, however near an entry is: "don't deploy yet", "what does the
deploy skill do?", "rename deploy() to release()", "a typo in the deploy docs"."""


def veto(signs: Mapping[str, float]) -> str:
    """Return what in the prompt speaks against the best entry, or against any; or nothing."""
    return next((why for name, why in VETOES.items() if signs[name]), "")


def probability(signs: Mapping[str, float], model: Linear, names: Sequence[str] = SIGNS) -> float:
    """Return how probable it is that the best entry is wanted."""
    import numpy as np

    row = np.array([[signs[name] for name in names]], dtype=np.float32)
    return 1 / (1 + exp(-float(np.clip(model(row)[0], -30, 30))))


USED: Final = ("chance", "agreed", "share", "lead", "said", "said_lead", "nearest", "ignored")
"""What tells whether the best entry is wanted where uses are known, in the order of the weights."""


def rank_by_use(
    library: Library, prompt: Prompt, found: Ranking, said: "Said", decision: Decision
) -> tuple[Ranking, float]:
    """Rank anew by what the uses of the project say (`kds.activation.uses.Evidence.of`).

    Returns the ranking, and how probable its best one is.
    """
    scores = decision.used(used_rows(found, said))
    chance = probability(found.signs, decision.wanted)
    signs = used_signs(found, chance, said, scores)
    told = {f"use_{name}": signs[name] for name in ("said", "nearest", "ignored")}
    anew = ranked(scores, {})
    read = library.signs(prompt, anew.order[0]) | told
    return replace(anew, signs=read), probability(signs, decision.used_wanted, USED)


def used_rows(found: Ranking, said: "Said") -> "Vector":
    """Return one row an entry: its score, what its uses say, and the likest of them."""
    import numpy as np

    return np.stack([found.scores / _SCORE_SCALE, said[0], said[1]], axis=1)


def used_signs(found: Ranking, chance: float, said: "Said", scores: "Vector") -> dict[str, float]:
    """Return the signs of the entry with the best of ``scores``, by the names of `USED`."""
    import numpy as np

    anew = ranked(scores, {})
    best, said_others = anew.order[0], np.delete(said[0], anew.order[0])
    chance = min(max(chance, 1e-4), 1 - 1e-4)
    logit = log(chance / (1 - chance))
    return {
        "chance": logit,
        "agreed": logit * (best == found.order[0]),
        "share": anew.shares[best],
        "lead": anew.lead,
        "said": float(said[0][best]),
        "said_lead": float(said[0][best] - said_others.max()) if len(said_others) else 1.0,
        "nearest": float(said[1][best]),
        "ignored": float(said[2][best]),
    }
