"""KDS beside what else runs offline: same data, same run, same machine.

    python benchmarks/peers.py [--quick] [--only intents|rewrites] [--data FOLDER] [--write PAGE]

FOLDER holds `intents/` and `rewrites/` (default: ../shared/data beside the repository; see
docs/benchmarks.md for the formats and where public data of this kind comes from). --quick uses
less of it and takes under three minutes. --write puts the tables of each part between its two
marks of PAGE, with the commit and the date.
Times are CPU times, so that a busy machine does not change them much.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from platform import machine, python_version
from statistics import mean
from time import process_time

from common import options, write_between
from intent_peers import OOS, Pair, Peer, intent_peers

from kds.api.measures import percentile, share, timed
from kds.api.parts import load_resolver
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.discourse.mentions import mentions_in
from kds.router.references.resolver import Resolver
from kds.testing.examples import Row, read_examples
from kds.testing.intents import LabelledMessage
from kds.testing.rewrites import RewriteExample, outcome, rewrite, score

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
CODE = ("src", "brain", "router", "prompts")
PARTS = ("intents", "rewrites")
SHOTS, SEEDS = 10, 3
ACCEPTED = 0.95
"""Share of the messages in scope that must be let through where the OOS recall is measured."""

Rewrite = Callable[[RewriteExample], str]

_PRONOUN = re.compile(r"\b(it|they|them|he|him|she|this|that|these|those)\b", re.IGNORECASE)
_OWNER = re.compile(r"\b(its|their|his|her)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Job:
    """A set to train on, as often as there are seeds, and one to test on."""

    title: str
    train: Sequence[Pair]
    test: Sequence[LabelledMessage]
    shots: int | None = None
    seeds: int = 1


@dataclass(frozen=True)
class Figures:
    """One run: shares, CPU milliseconds of a message (median), CPU seconds of the training."""

    accuracy: float
    oos_recall: float | None
    ms: float
    train_s: float


def main() -> None:
    """Run everything and print, or write, the tables."""
    given = _options()
    if not (given.data / "intents").is_dir() or not (given.data / "rewrites").is_dir():
        sys.exit(f"no benchmark data in {given.data}: name its folder with --data FOLDER")
    tables = {"intents": _intent_tables, "rewrites": _rewrite_tables}
    for part in [given.only] if given.only else PARTS:
        head = _machine(part, quick=given.quick)  # first: the code that runs is that of this moment
        text = "\n".join([head, *tables[part](given)]) + "\n"
        print(text)
        if given.write:
            write_between(given.write, part, text)


def _intent_tables(given: argparse.Namespace) -> Iterator[str]:
    for job in _jobs(given.data / "intents", quick=given.quick):
        yield f"\n### {job.title}\n"
        yield "| | accuracy in scope | OOS recall | ms a message | training s |"
        yield "|---|---|---|---|---|"
        for peer in intent_peers():
            _say(f"{job.title}: {peer.name}")
            runs = [_run(peer, _sample(job, seed), job.test) for seed in range(job.seeds)]
            oos = [run.oos_recall for run in runs if run.oos_recall is not None]
            yield (
                f"| {peer.name} | {mean(run.accuracy for run in runs):.1%} "
                f"| {f'{mean(oos):.1%}' if oos else '-'} | {mean(run.ms for run in runs):.2f} "
                f"| {mean(run.train_s for run in runs):.1f} |"
            )


def _rewrite_tables(given: argparse.Namespace) -> Iterator[str]:
    # the data folder as workspace: no rules of the user's own
    resolver = load_resolver(Workspace.find(environ={"KDS_HOME": str(given.data)}))
    for file in sorted((given.data / "rewrites").glob("*.jsonl")):
        examples = read_examples(file, RewriteExample)[: 300 if given.quick else None]
        yield f"\n### Rewrites: {file.stem}, {len(examples)} turns\n"
        yield "| | BLEU | exact | exact, where needed | false rewrites | ms a turn |"
        yield "|---|---|---|---|---|---|"
        for name, rewriter in _rewrite_peers(resolver).items():
            _say(f"{file.stem}: {name}")
            figures = score([_rewritten(rewriter, example) for example in examples])
            yield (
                f"| {name} | {figures['bleu']:.1f} | {figures['exact']:.1%} "
                f"| {figures['needed_exact']:.1%} "
                f"| {figures['false_rewrites']:.1%} | {figures['ms_p50']:.2f} |"
            )


def _jobs(folder: Path, *, quick: bool) -> Iterator[Job]:
    for train_file in sorted(folder.glob("*_train.jsonl")):
        name = train_file.stem.removesuffix("_train")
        train = [(one.text, one.intents[0]) for one in read_examples(train_file, LabelledMessage)]
        test = read_examples(train_file.with_name(f"{name}_val.jsonl"), LabelledMessage)
        if quick:
            test = tuple(random.Random(0).sample(test, min(1500, len(test))))
        seeds = 1 if quick else SEEDS
        yield Job(f"{name}, {SHOTS} examples an intent, {seeds} draws", train, test, SHOTS, seeds)
        if not quick:
            yield Job(f"{name}, all {len(train)} examples", train, test)


def _sample(job: Job, seed: int) -> Sequence[Pair]:
    """All of the training data, or a draw of so many examples an intent."""
    if job.shots is None:
        return job.train
    texts: dict[str, list[str]] = defaultdict(list)
    for text, label in job.train:
        texts[label].append(text)
    draw = random.Random(seed)
    return [
        (text, label)
        for label in sorted(texts)
        for text in draw.sample(texts[label], min(job.shots, len(texts[label])))
    ]


def _run(peer: Peer, pairs: Sequence[Pair], test: Sequence[LabelledMessage]) -> Figures:
    started = process_time()
    predict = peer.learn(pairs)
    train_s = process_time() - started
    answers, times = [], []
    for example in test:
        started = process_time()
        answers.append(predict(example.text))
        times.append((process_time() - started) * 1000.0)
    inside = [(one, answer) for one, answer in zip(test, answers, strict=True)
              if OOS not in one.intents]  # fmt: skip
    outside = [score for one, (_, score) in zip(test, answers, strict=True) if OOS in one.intents]
    bar = percentile([score for _, (_, score) in inside], 100 * (1 - ACCEPTED))
    return Figures(
        accuracy=share(intent in one.intents for one, (intent, _) in inside) or 0.0,
        oos_recall=share(score < bar for score in outside),
        ms=percentile(times, 50),
        train_s=train_s,
    )


def _rewrite_peers(resolver: Resolver) -> Mapping[str, Rewrite]:
    """Name -> rewriter, KDS first."""
    return {
        "KDS": lambda example: rewrite(example, resolver).expanded,
        "pronoun -> last noun phrase": lambda example: _last_noun_phrase(example, resolver),
        "copy": lambda example: example.query,
    }


def _last_noun_phrase(example: RewriteExample, resolver: Resolver) -> str:
    """Put the newest noun phrase of the user in place of the first pronoun."""
    said = [one.content for one in example.history or () if one.role == "user"]
    found = (mentions_in(resolver.analyse(text), 0) for text in reversed(said))
    phrase = next((mentions[-1].text for mentions in found if mentions), None)
    if phrase is None:
        return example.query
    text, count = _OWNER.subn(lambda _: f"{phrase}'s", example.query, count=1)
    return text if count else _PRONOUN.sub(lambda _: phrase, example.query, count=1)


def _rewritten(rewriter: Rewrite, example: RewriteExample) -> Row:
    text, ms = timed(partial(rewriter, example))
    return outcome(example, Turn(example.query, datetime.now(UTC), expanded=text), ms)


def _machine(part: str, *, quick: bool) -> str:
    names = ("scikit-learn", "numpy", "sacrebleu")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    command = f"make bench-peers ONLY={part}" + (" QUICK=--quick" if quick else "")
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with `{command}`: {cpu_count()} cores "
        f"({machine()}), commit {_commit()}, Python {python_version()}, {versions}."
    )


def _commit() -> str:
    """The commit of the code, and whether it was changed since."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    return commit + (" with changes" if _git("status", "--porcelain", "--", *CODE) else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _say(what: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = options(__doc__, "--quick")
    parser.add_argument("--only", choices=PARTS, help="one half of it")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into PAGE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
