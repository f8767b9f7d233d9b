"""`kds eval intents|multi`: the classifier and its confidence; messages with several intents."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from kds.api.measures import rounded
from kds.api.rehearsal import MinuteClock
from kds.api.workspace_parts import LearnedParts, Parts
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import (
    check_picture,
    common_options,
    json_option,
    open_router,
    workspace_option,
)
from kds.cli.output import percent, print_table, say
from kds.cli.progress import reported, slow, tracked
from kds.evaluation.examples import MULTI_FORM, read_multi
from kds.evaluation.intents.data import INTENT_FORM, LabelledMessage, load_intents
from kds.evaluation.intents.intent_scores import SEEDS, Confusion, IntentReport, score_intents
from kds.evaluation.intents.plots import SUFFIXES, draw_plots, load_drawing
from kds.evaluation.multi_scoring import MultiScore, Split, score_splits, split
from kds.router.intents.model import IntentModel
from kds.service.desk import LOADING

SHOWN_CONFUSIONS: Final = 10

_SHARES: Final = {
    "accuracy": "right, in scope",
    "macro_f1": "macro F1",
    "top2": "right one among the first two",
    "oos_recall_at_95": "out of scope refused, 95 % let in",
    "oos_auroc": "out of scope told apart (AUROC)",
    "ece": "calibration error",
    "acted_precision": "right, where KDS acts",
    "coverage": "acted on, in scope",
    "oos_acted": "acted on, out of scope",
}
_COSTS: Final = {
    "train_s": "training, CPU seconds",
    "ms_p50": "CPU ms a message, half below",
    "ms_p99": "CPU ms a message, 99 % below",
    "peak_mb": "peak memory, MB",
}


@command(
    "kds eval intents messages.jsonl",
    "kds eval intents test.jsonl --train train.jsonl --json",
    "kds eval intents test.jsonl --train train.jsonl --shots 10 --seeds 5",
    "kds eval intents messages.jsonl --plot intents.svg",
    closing=f"""A line of either file; the intent "oos" means none of those known:
  {INTENT_FORM}""",
)
@click.argument("test", type=click.Path(path_type=Path))
@click.option("--train", type=click.Path(path_type=Path), metavar="FILE",
              help="Fit the classifier on these, instead of the workspace's prompts.")  # fmt: skip
@click.option("--shots", type=click.IntRange(min=1), metavar="K",
              help="Draw K examples of each intent from --train.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1), metavar="S",
              help=f"How many draws; figures are their means.  [default: {SEEDS}]")  # fmt: skip
@json_option
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="OUT.png|svg",
              help="Draw the confusion matrix and the reliability diagram.")  # fmt: skip
@workspace_option
def intents(
    *, test: Path, train: Path | None, shots: int | None, seeds: int | None, plot: Path | None,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Score the intents of TEST: right ones, calibration, what is refused, time, memory."""
    _check_options(train, shots, seeds, plot)
    messages = load_intents(test)
    lessons = _lessons(train) if train else None
    model = None if lessons else _workspace_model(workspace)
    with reported("scoring") as tell:
        report = score_intents(
            messages, model=model, train=lessons, shots=shots, seeds=seeds or SEEDS, progress=tell
        )
    if plot:
        with slow("drawing"):
            draw_plots(plot, report.confusion.labels, report.confusion.matrix, report.bins)
    std = {"std": rounded(report.std)} if shots is not None else {}
    say(rounded(report.figures) | std, lambda: _print(report, with_std=bool(std)))


def _check_options(
    train: Path | None, shots: int | None, seeds: int | None, plot: Path | None
) -> None:
    """Refuse before the work what would fail after it."""
    if shots is not None and train is None:
        raise Refusal("--shots draws from a training set", "add --train FILE")
    if seeds is not None and shots is None:
        raise Refusal("--seeds says how often to draw", "add --shots K")
    if plot is not None:
        check_picture(plot, SUFFIXES)
        load_drawing()


def _lessons(train: Path) -> tuple[LabelledMessage, ...]:
    lessons = load_intents(train)
    if len({message.intents[0] for message in lessons}) < 2:
        raise Refusal(f"{train} has examples of one intent only", "a classifier needs two")
    return lessons


def _workspace_model(workspace: Workspace) -> IntentModel:
    with slow(LOADING):
        parts = LearnedParts(Parts.load(workspace, may_write=False)).now
    pass_on(parts.warnings)
    return parts.model


def _print(report: IntentReport, *, with_std: bool) -> None:
    columns = ("measure", "value", *(("+-",) if with_std else ()))
    print_table(columns, _rows(report, with_std=with_std))
    click.echo(f"\n{report.messages} messages, {report.out_of_scope} of them out of scope")
    if worst := _worst(report.confusion):
        click.echo()
        print_table(("expected", "actual", "messages"), worst)


def _rows(report: IntentReport, *, with_std: bool) -> Iterable[tuple[str, ...]]:
    for key, label in _SHARES.items():
        spread = (percent(report.std[key]),) if with_std else ()
        yield label, percent(report.figures[key]), *spread
    for key, label in _COSTS.items():
        value = report.figures[key]
        spread = (f"{report.std[key]:.2f}",) if with_std else ()
        yield label, "-" if value is None else f"{value:.2f}", *spread


def _worst(confusion: Confusion) -> list[tuple[str, str, str]]:
    """The confusions that happen most often, over all draws."""
    found = [
        (count, want, got)
        for want, row in zip(confusion.labels, confusion.matrix, strict=True)
        for got, count in zip(confusion.labels, row, strict=True)
        if want != got and count
    ]
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [(want, got, str(count)) for count, want, got in found[:SHOWN_CONFUSIONS]]


SHOWN_WRONG: Final = 15
"""Wrong messages that are listed."""


@command(
    "kds eval multi requests.jsonl",
    "kds eval multi requests.jsonl --json",
    closing=f"""A line of the file:
  {MULTI_FORM}""",
)
@click.argument("file", type=click.Path(path_type=Path))
@common_options
def multi(*, file: Path, workspace: Workspace) -> None:
    """Score the messages of FILE: the intents of each, in order, and nothing besides."""
    examples = read_multi(file)
    router = open_router(workspace, log=False)
    splits = [
        split(example, router.rehearse(MinuteClock())) for example in tracked(examples, "routing")
    ]
    result = score_splits(splits)
    say(result.as_dict(), lambda: _show(result, splits))


def _show(result: MultiScore, splits: Sequence[Split]) -> None:
    print_table(("measure", "value", "of"), _split_rows(result, splits))
    wrong = [one for one in splits if not one.exact]
    if wrong:
        click.echo()
        print_table(("line", "message", "expected", "actual"), _wrong_rows(wrong[:SHOWN_WRONG]))
    if len(wrong) > SHOWN_WRONG:
        click.echo(f"\n{len(wrong) - SHOWN_WRONG} more came out wrong")


def _split_rows(score: MultiScore, splits: Sequence[Split]) -> Iterable[tuple[str, str, str]]:
    expected = sum(len(one.example.intents) for one in splits)
    single = sum(len(one.example.intents) == 1 for one in splits)
    yield "all intents, in order", percent(score.exact), f"{len(splits)} messages"
    yield "intents found", percent(score.recall), f"{expected} intents"
    yield "single ones split wrongly", percent(score.false_splits), f"{single} messages"


def _wrong_rows(wrong: Iterable[Split]) -> Iterable[tuple[str, str, str, str]]:
    for one in wrong:
        line = one.example.where.rpartition(":")[2]
        yield line, one.example.text, " ".join(one.example.intents), " ".join(one.intents)
