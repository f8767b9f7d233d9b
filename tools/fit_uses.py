"""Fits what earlier uses of a project add to the decision of kds.activation, by simulated use.

    python tools/fit_uses.py tests/kds/activation/uses.jsonl src/kds/activation/fitted.json

The data are three projects of our own with the prompts of two months. In each simulation some of
the prompts have been used and the others come; a part of the entries was never used. Prints what
is right without and with uses, each project by the models fitted on the others. Run it behind
``tools/fit_activation.py``. Needs scikit-learn (the extra `fit`).
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from kds.activation.decision import (
    USED,
    Decision,
    Linear,
    Ranking,
    fitted,
    is_vetoed,
    probability,
    rank,
    used_rows,
    used_signs,
)
from kds.activation.discovery import entries_from
from kds.activation.features import Library, Prompt
from kds.activation.uses import Evidence, Use
from kds.activation.vectors import StoredVectors
from kds.brain.encoder import Encoder

USES = (1, 3, 5, 10, 20)
ROUNDS = 3
PENALTY = 1.0
HELD_BACK = 6
"""Prompts of each entry that are never used, so that there is something to ask."""


@dataclass
class Project:
    """A project with its prompts, each with what is found without any use."""

    name: str
    names: list[str]
    prompts: list[Prompt]
    found: list[Ranking]
    chance: np.ndarray
    wanted: np.ndarray


@dataclass
class Asked:
    """A prompt that comes after the uses of a simulation."""

    rows: np.ndarray
    found: Ranking
    chance: float
    said: tuple
    right: int


def projects(path: Path, decision: Decision) -> tuple[list[Project], Encoder]:
    """Read the projects."""
    encoder, read = Encoder(cached_texts=20_000), []
    for line in path.read_text("utf-8").splitlines():
        data = json.loads(line)
        entries = entries_from(
            {**one, "body": one.get("body_head") or ""} for one in data["entries"]
        )
        vectors = StoredVectors(encoder)
        shelf, names = Library(entries, vectors), [one.name for one in entries]
        vectors.keep()
        prompts = [Prompt(one["text"]) for one in data["prompts"]]
        found = [rank(shelf, prompt, decision.ranking) for prompt in prompts]
        chance = np.array([probability(one.signs, decision.wanted) for one in found])
        wanted = [names.index(one["expect"][0]) if one["expect"] else -1 for one in data["prompts"]]
        read.append(Project(data["id"], names, prompts, found, chance, np.array(wanted)))
    return read, encoder


def simulated(
    project: Project,
    uses: int,
    even: bool,
    encoder: Encoder,
    bar: float,
    random: np.random.Generator,
) -> list[Asked]:
    """Let some of the prompts have been used; return the others."""
    before: list[int] = []
    for entry in range(len(project.names)):
        of = np.flatnonzero(project.wanted == entry)
        count = uses if even else int(random.choice([0, 0, uses, 2 * uses]))
        before += list(random.choice(of, min(count, len(of) - HELD_BACK), replace=False))
    others = np.flatnonzero(project.wanted < 0)
    before += list(random.choice(others, len(others) // 2, replace=False))
    kept = []
    for at in before:
        best, wanted = project.found[at].order[0], project.wanted[at]
        if wanted >= 0:
            kept.append(Use(project.prompts[at].text, project.names[wanted], "used", ""))
        if best != wanted and project.chance[at] >= bar and not is_vetoed(project.found[at].signs):
            kept.append(Use(project.prompts[at].text, project.names[best], "ignored", ""))
    evidence, asked = Evidence(kept, project.names, encoder), []
    for at in sorted({*range(len(project.prompts))} - {*before}):
        found, said = project.found[at], evidence.of(project.prompts[at])
        asked.append(
            Asked(used_rows(found, said), found, project.chance[at], said, int(project.wanted[at]))
        )
    return asked


def fit(asked: list[Asked]) -> tuple[Linear, Linear]:
    """Fit the ranking on those that want something, and the probability on all."""
    wanting = [one for one in asked if one.right >= 0]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        cost, slope = PENALTY * weights @ weights, 2 * PENALTY * weights
        for one in wanting:
            scores = one.rows @ weights
            odds = np.exp(scores - scores.max())
            odds /= odds.sum()
            cost -= np.log(odds[one.right] + 1e-12)
            slope = slope - one.rows[one.right] + odds @ one.rows
        return cost, slope

    width = wanting[0].rows.shape[1]
    weights = minimize(loss, np.ones(width), jac=True, method="L-BFGS-B").x
    ranking = Linear([0.0] * width, [1.0] * width, [round(float(one), 5) for one in weights])
    rows, right = judged(asked, ranking)
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    model = LogisticRegression(C=0.1, max_iter=5000).fit((rows - mean) / scale, right)
    numbers = ([round(float(one), 5) for one in part] for part in (mean, scale, model.coef_[0]))
    return ranking, Linear(*numbers, bias=round(float(model.intercept_[0]), 5))


def judged(asked: list[Asked], ranking: Linear) -> tuple[np.ndarray, np.ndarray]:
    """Return the signs of the best entry of each, and whether it is right."""
    rows, right = [], []
    for one in asked:
        scores = ranking(one.rows)
        signs = used_signs(one.found, one.chance, one.said, scores)
        rows.append([signs[name] for name in USED])
        right.append(int(np.argmax(scores)) == one.right)
    return np.array(rows), np.array(right)


def report(uses: int, asked: list[Asked], chance: np.ndarray, right: np.ndarray) -> None:
    """Print what is right without and with uses, and what is found at the same precision."""
    wanted = np.array([one.right >= 0 for one in asked])
    base = np.array([one.found.order[0] == one.right for one in asked])
    before = np.array([one.chance for one in asked])
    texts = [
        f"{recall(before, base, wanted, at):.2f} -> {recall(chance, right, wanted, at):.2f} at {at}"
        for at in (0.75, 0.8, 0.85)
    ]
    tops = f"best right {base[wanted].mean():.2f} -> {right[wanted].mean():.2f}"
    click.echo(f"{uses:2} uses an entry: {tops}; found {', '.join(texts)}")


def recall(chance: np.ndarray, right: np.ndarray, wanted: np.ndarray, precision: float) -> float:
    """The share of what is wanted that is said at a precision."""
    order = np.argsort(-chance)
    hits = np.cumsum(right[order])
    kept = np.flatnonzero(hits / np.arange(1, len(order) + 1) >= precision)
    return float(hits[kept[-1]] / wanted.sum()) if len(kept) else 0.0


def main(path: str, target: str) -> None:
    """Report by project, and write the models fitted on all of them."""
    decision = fitted()
    bar = decision.bar(0.9)
    known, encoder = projects(Path(path), decision)
    random = np.random.default_rng(0)
    trained = {
        project.name: [
            asked
            for uses in USES
            for number in range(ROUNDS)
            for asked in simulated(project, uses, number == 0, encoder, bar, random)
        ]
        for project in known
    }
    for uses in (1, 5, 20):
        asked, chance, right = [], [], []
        for project in known:
            others = [one for name, part in trained.items() if name != project.name for one in part]
            models = fit(others)
            come = simulated(project, uses, True, encoder, bar, random)
            rows, hits = judged(come, models[0])
            asked += come
            chance += list(1 / (1 + np.exp(-models[1](rows.astype("f4")))))
            right += list(hits)
        report(uses, asked, np.array(chance), np.array(right))
    used, used_wanted = fit([one for part in trained.values() for one in part])
    data = json.loads(Path(target).read_text("utf-8"))
    data |= {"used": vars(used), "used_wanted": vars(used_wanted)}
    Path(target).write_text(json.dumps(data, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
