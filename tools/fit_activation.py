"""Fits kds.activation: the decision on labelled libraries, and what earlier uses add to it.

    python tools/fit_activation.py DATA/skills/dev.jsonl tests/kds/activation src/kds/activation

First `meaning.npz`: how word pieces are compared, and what tells the packaged intents by a vector,
from the packaged examples. Then `fitted.json`, which rests on it; cross-validated by library. The
libraries of the tests, by other authors, count for `OWN_WEIGHT` each prompt in whether an entry is
wanted: without them .90 of what is said on the development libraries is right, and .83 on those of
the tests; with them .90 and .91. The data are libraries of skills, agents and commands of public
repositories with prompts and what should be activated (format: docs/evaluation.md).

Uses are simulated on three projects of our own with the prompts of two months (uses.jsonl): some
of the prompts have been used and the others come; a part of the entries was never used. Prints what
is right without and with uses, each project by the models fitted on the others. Needs scikit-learn
(the extra `fit`).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml
from fitting import paths
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from kds.activation.decision import (
    SIGNS,
    USED,
    Decision,
    Linear,
    Ranking,
    bent,
    fitted,
    probability,
    rank,
    ranking_rows,
    used_rows,
    used_signs,
    veto,
)
from kds.activation.discovery import entries_from
from kds.activation.features import FEATURES, MEANING, Library, Prompt, StoredVectors, meaning
from kds.activation.uses import Evidence, Use
from kds.api.measures import calibration_error
from kds.brain.encoder import Encoder
from kds.brain.turn import Utterance

RANKING_PENALTY = 2.0
WANTED_C = 0.05
INTENT_C = 10.0
"""Strengths of regularisation, chosen among four each by cross-validation."""
PIECE_AXES = 64
OWN_WEIGHT = 0.25
LIMIT = 2.5
HINGES = (0.0, 1.0)
"""With them .27 of the wanted entries are said at a precision of .9, without them .22."""
PROMISES = (0.8, 0.85, 0.9, 0.95)
USES = (1, 3, 5, 10, 20)
ROUNDS = 3
USES_PENALTY = 1.0
HELD_BACK = 6
"""Prompts of each entry that are never used, so that there is something to ask."""


@dataclass
class Case:
    """One labelled prompt beside its library."""

    library: str
    shelf: Library
    prompt: Prompt
    rows: np.ndarray
    right: np.ndarray
    own: bool


def main() -> None:
    """Cross-validate, print the results, and write the models fitted on all libraries."""
    data, tests, folder = paths(__doc__, "data", "tests", "folder")
    np.savez_compressed(folder / MEANING, **fit_meaning(Encoder()))
    meaning.cache_clear()
    write(folder, fit_decision([*cases(data), *cases(tests / "libraries.jsonl", own=True)]))
    fitted.cache_clear()
    write(folder, fit_uses(tests / "uses.jsonl"))


def write(folder: Path, models: dict[str, Any]) -> None:
    """Put models into `fitted.json`, beside those that are there."""
    path = folder / "fitted.json"
    whole = json.loads(path.read_text("utf-8")) | models
    path.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def fit_meaning(encoder: Encoder) -> dict[str, np.ndarray]:
    """Fit the directions of word pieces and the packaged intents on the packaged examples."""
    prompts = Path(__file__).parents[1] / "prompts"
    texts, intents = [], []
    for path in sorted(prompts.rglob("*.examples.yaml")):
        examples = yaml.safe_load(path.read_text("utf-8"))["examples"]
        texts += examples
        intents += [path.name] * len(examples)
    rows = np.concatenate([encoder.pieces(text).rows for text in texts]).astype("f8")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :PIECE_AXES]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(PIECE_AXES)])
    model = LogisticRegression(C=INTENT_C, max_iter=2000).fit(encoder.encode(texts), intents)
    found = {
        "mean": rows.mean(0), "axes": axes, "intents": model.coef_.T, "bias": model.intercept_,
    }  # fmt: skip
    return {name: value.astype("f2") for name, value in found.items()}


def libraries(path: Path, encoder: Encoder) -> Iterator[tuple[dict[str, Any], list[str], Library]]:
    """Each line of a file: its data, the names of its entries, and the library they make."""
    for line in path.read_text("utf-8").splitlines():
        data = json.loads(line)
        described = ({**one, "body": one.get("body_head") or ""} for one in data["entries"])
        entries, vectors = entries_from(described), StoredVectors(encoder)
        shelf = Library(entries, vectors)
        vectors.keep()
        yield data, [entry.name for entry in entries], shelf


def cases(path: Path, *, own: bool = False) -> Iterator[Case]:
    """Read the labelled prompts, with their features."""
    for data, names, shelf in libraries(path, Encoder(cached_texts=20_000)):
        for labelled in data["prompts"]:
            said = [
                Utterance(turn[role], role)
                for turn in labelled.get("history") or ()
                for role in ("user", "assistant")
                if role == "user" or turn.get(role)
            ]
            prompt = Prompt(labelled["text"], tuple(said))
            right = np.array([name in labelled["expect"] for name in names])
            rows = ranking_rows(shelf.features(prompt))
            yield Case(f"{path.stem}/{data['id']}", shelf, prompt, rows, right, own)


def fit_decision(found: Sequence[Case]) -> dict[str, Any]:
    """Fit the decision; prints what is right, each library by models fitted on the others."""
    held = np.array([case.library for case in found])
    own = np.array([case.own for case in found])
    signs = np.zeros((len(found), len(SIGNS)))
    right, three, vetoed = np.zeros((3, len(found)), bool)
    chance = np.zeros(len(found))
    for library in sorted({*held}):
        test = held == library
        model = fit_ranking([case for case in found if case.library != library])
        part = judged([case for case in found if case.library == library], model)
        signs[test], right[test], three[test], vetoed[test] = part
    for library in sorted({*held}):
        test = held == library
        model = fit_wanted(signs[~test], right[~test], own[~test])
        chance[test] = [
            probability(dict(zip(SIGNS, row, strict=True)), model) for row in signs[test]
        ]
    wanted = np.array([case.right.any() for case in found])
    bars = {str(promise): _bar(chance[~vetoed], right[~vetoed], promise) for promise in PROMISES}
    for kind in (~own, own):
        _report(chance[kind], right[kind], three[kind], wanted[kind], vetoed[kind], bars)
    ranking, wants = fit_ranking(found), fit_wanted(signs, right, own)
    return {"ranking": vars(ranking), "wanted": vars(wants), "bars": bars}


def fit_ranking(found: Sequence[Case]) -> Linear:
    """Fit the conditional logit: the right entries of a prompt against all of its library."""
    used = [case for case in found if case.right.any() and not case.own]
    rows = np.concatenate([case.rows for case in used]).astype("f8")
    right = np.concatenate([case.right for case in used])
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    rows = (rows - mean) / scale
    starts = np.cumsum([0] + [len(case.rows) for case in used])
    group = np.repeat(np.arange(len(used)), np.diff(starts))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = rows @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts[:-1])[group])
        whole, good = (np.add.reduceat(x, starts[:-1]) for x in (odds, odds * right))
        slope = rows.T @ (odds * right / good[group] - odds / whole[group])
        cost = -np.log(good / whole).sum() + RANKING_PENALTY * weights @ weights
        return cost, 2 * RANKING_PENALTY * weights - slope

    weights = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B").x
    return Linear(_rounded(mean), _rounded(scale), _rounded(weights))


def fit_wanted(signs: np.ndarray, right: np.ndarray, own: np.ndarray) -> Linear:
    """Fit the probability that the best entry is right."""
    counts = np.where(own, OWN_WEIGHT, 1.0)
    mean, scale = signs.mean(0), signs.std(0) + 1e-6
    rows = bent(np.clip((signs - mean) / scale, -LIMIT, LIMIT), HINGES)
    model = LogisticRegression(C=WANTED_C, max_iter=5000).fit(rows, right, counts)
    weights, bias = model.coef_[0], float(model.intercept_[0])
    return Linear(_rounded(mean), _rounded(scale), _rounded(weights), round(bias, 5), HINGES, LIMIT)


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]


def judged(found: Sequence[Case], model: Linear) -> tuple[np.ndarray, ...]:
    """Return, by case: signs of the best entry, is it right, is one of three, is nothing said."""
    rankings = [rank(case.shelf, case.prompt, model) for case in found]
    pairs = list(zip(found, rankings, strict=True))
    return (
        np.array([[one.signs[name] for name in SIGNS] for one in rankings]),
        np.array([case.right[one.order[0]] for case, one in pairs]),
        np.array([case.right[one.order[:3]].any() for case, one in pairs]),
        np.array([bool(veto(one.signs)) for one in rankings]),
    )


def _report(
    chance: np.ndarray, right: np.ndarray, three: np.ndarray, wanted: np.ndarray,
    vetoed: np.ndarray, bars: dict[str, float],
) -> None:  # fmt: skip
    click.echo(f"top-1 {right[wanted].mean():.3f}, top-3 {three[wanted].mean():.3f}")
    click.echo(f"ECE {calibration_error([*zip(chance, right, strict=True)]):.3f}")
    for promise, bar in bars.items():
        said = (chance >= bar) & ~vetoed
        click.echo(
            f"precision {promise}: bar {bar:.3f}, said {said.sum()}, right {right[said].mean():.3f}"
            f", recall {(right & said).sum() / wanted.sum():.3f},"
            f" said where nothing fits {(said & ~wanted).sum() / (~wanted).sum():.3f}"
        )


def _bar(chance: np.ndarray, right: np.ndarray, promise: float) -> float:
    """The least probability from which on what is said is right often enough."""
    order = np.argsort(-chance)
    kept = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(kept >= promise)
    return round(float(chance[order[enough[-1]]]), 4) if len(enough) else 1.0


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


def fit_uses(path: Path) -> dict[str, Any]:
    """Fit what uses add; prints what is right without and with them."""
    decision, encoder = fitted(), Encoder(cached_texts=20_000)
    bar, random = decision.bar(0.9), np.random.default_rng(0)
    known = list(projects(path, decision, encoder))

    def asked_of(project: Project, uses: int, *, even: bool) -> list[Asked]:
        return simulated(project, uses, even, encoder, bar, random)

    trained = {
        project.name: [
            asked
            for uses in USES
            for number in range(ROUNDS)
            for asked in asked_of(project, uses, even=number == 0)
        ]
        for project in known
    }
    for uses in (1, 5, 20):
        asked, chance, right = [], [], []
        for project in known:
            others = [one for name, part in trained.items() if name != project.name for one in part]
            ranking, wanted = fit_used(others)
            come = asked_of(project, uses, even=True)
            rows, hits = judged_uses(come, ranking)
            asked += come
            chance += list(1 / (1 + np.exp(-wanted(rows.astype("f4")))))
            right += list(hits)
        _report_uses(uses, asked, np.array(chance), np.array(right))
    used, used_wanted = fit_used([one for part in trained.values() for one in part])
    return {"used": vars(used), "used_wanted": vars(used_wanted)}


def projects(path: Path, decision: Decision, encoder: Encoder) -> Iterator[Project]:
    """Read the projects."""
    for data, names, shelf in libraries(path, encoder):
        prompts = [Prompt(one["text"]) for one in data["prompts"]]
        found = [rank(shelf, prompt, decision.ranking) for prompt in prompts]
        chance = np.array([probability(one.signs, decision.wanted) for one in found])
        wanted = [names.index(one["expect"][0]) if one["expect"] else -1 for one in data["prompts"]]
        yield Project(data["id"], names, prompts, found, chance, np.array(wanted))


def simulated(
    project: Project, uses: int, even: bool, encoder: Encoder, bar: float,
    random: np.random.Generator,
) -> list[Asked]:  # fmt: skip
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
        if best != wanted and project.chance[at] >= bar and not veto(project.found[at].signs):
            kept.append(Use(project.prompts[at].text, project.names[best], "ignored", ""))
    evidence, asked = Evidence(kept, project.names, encoder), []
    for at in sorted({*range(len(project.prompts))} - {*before}):
        found, said = project.found[at], evidence.of(project.prompts[at])
        rows = used_rows(found, said)
        asked.append(Asked(rows, found, project.chance[at], said, int(project.wanted[at])))
    return asked


def fit_used(asked: list[Asked]) -> tuple[Linear, Linear]:
    """Fit the ranking on those that want something, and the probability on all."""
    wanting = [one for one in asked if one.right >= 0]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        cost, slope = USES_PENALTY * weights @ weights, 2 * USES_PENALTY * weights
        for one in wanting:
            scores = one.rows @ weights
            odds = np.exp(scores - scores.max())
            odds /= odds.sum()
            cost -= np.log(odds[one.right] + 1e-12)
            slope = slope - one.rows[one.right] + odds @ one.rows
        return cost, slope

    width = wanting[0].rows.shape[1]
    weights = minimize(loss, np.ones(width), jac=True, method="L-BFGS-B").x
    ranking = Linear([0.0] * width, [1.0] * width, _rounded(weights))
    rows, right = judged_uses(asked, ranking)
    mean, scale = rows.mean(0), rows.std(0) + 1e-6
    model = LogisticRegression(C=0.1, max_iter=5000).fit((rows - mean) / scale, right)
    numbers = map(_rounded, (mean, scale, model.coef_[0]))
    return ranking, Linear(*numbers, bias=round(float(model.intercept_[0]), 5))


def judged_uses(asked: list[Asked], ranking: Linear) -> tuple[np.ndarray, np.ndarray]:
    """Return the signs of the best entry of each, and whether it is right."""
    rows, right = [], []
    for one in asked:
        scores = ranking(one.rows)
        signs = used_signs(one.found, one.chance, one.said, scores)
        rows.append([signs[name] for name in USED])
        right.append(int(np.argmax(scores)) == one.right)
    return np.array(rows), np.array(right)


def _report_uses(uses: int, asked: list[Asked], chance: np.ndarray, right: np.ndarray) -> None:
    """Print what is right without and with uses, and what is found at the same precision."""
    wanted = np.array([one.right >= 0 for one in asked])
    base = np.array([one.found.order[0] == one.right for one in asked])
    before = np.array([one.chance for one in asked])

    def recall(chance: np.ndarray, right: np.ndarray, precision: float) -> float:
        order = np.argsort(-chance)
        hits = np.cumsum(right[order])
        kept = np.flatnonzero(hits / np.arange(1, len(order) + 1) >= precision)
        return float(hits[kept[-1]] / wanted.sum()) if len(kept) else 0.0

    texts = [
        f"{recall(before, base, at):.2f} -> {recall(chance, right, at):.2f} at {at}"
        for at in (0.75, 0.8, 0.85)
    ]
    tops = f"best right {base[wanted].mean():.2f} -> {right[wanted].mean():.2f}"
    click.echo(f"{uses:2} uses an entry: {tops}; found {', '.join(texts)}")


if __name__ == "__main__":
    main()
