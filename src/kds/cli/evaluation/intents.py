"""`kds eval intents`: the intent classifier, and how far its confidence can be trusted."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from kds.api.measures import rounded
from kds.api.workspace_parts import Parts
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import check_picture, json_option, workspace_option
from kds.cli.output import percent, print_table, say
from kds.cli.progress import reported, slow
from kds.evaluation.intents.data import INTENT_FORM, LabelledMessage, load_intents
from kds.evaluation.intents.intent_scores import SEEDS, Confusion, IntentReport, score_intents
from kds.evaluation.intents.plots import SUFFIXES, draw_plots, load_drawing
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
        parts = Parts.load(workspace, may_write=False)
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
