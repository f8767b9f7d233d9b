"""`kds eval multi`: messages that ask for several things at once."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from kds.api.rehearsal import MinuteClock
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import common_options, open_router
from kds.cli.output import percent, print_table, say
from kds.cli.progress import tracked
from kds.evaluation.examples import MULTI_FORM, read_multi
from kds.evaluation.multi_scoring import MultiScore, Split, score_splits, split

SHOWN: Final = 15
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
    print_table(("measure", "value", "of"), _rows(result, splits))
    wrong = [one for one in splits if not one.exact]
    if wrong:
        click.echo()
        print_table(("line", "message", "expected", "actual"), _wrong_rows(wrong[:SHOWN]))
    if len(wrong) > SHOWN:
        click.echo(f"\n{len(wrong) - SHOWN} more came out wrong")


def _rows(score: MultiScore, splits: Sequence[Split]) -> Iterable[tuple[str, str, str]]:
    expected = sum(len(one.example.intents) for one in splits)
    single = sum(len(one.example.intents) == 1 for one in splits)
    yield "all intents, in order", percent(score.exact), f"{len(splits)} messages"
    yield "intents found", percent(score.recall), f"{expected} intents"
    yield "single ones split wrongly", percent(score.false_splits), f"{single} messages"


def _wrong_rows(wrong: Iterable[Split]) -> Iterable[tuple[str, str, str, str]]:
    for one in wrong:
        line = one.example.where.rpartition(":")[2]
        yield line, one.example.text, " ".join(one.example.intents), " ".join(one.intents)
