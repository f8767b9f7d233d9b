"""`kds metrics`: what the memory measured of turns and recalls."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from kds.brain.clock import minute
from kds.brain.memory.memory_place import MemoryPlace
from kds.brain.memory.metrics import KEPT
from kds.brain.memory.records import Stats
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.commands.memory import EMPTY
from kds.cli.guard import Refusal
from kds.cli.options import check_picture, json_option, read_span, workspace_option
from kds.cli.output import counted, fields, mebibytes, print_line, print_table, say
from kds.cli.progress import slow
from kds.cli.stores import looking
from kds.router.prompts.library import PromptLibrary
from kds.testing.metrics_plot import SUFFIXES, draw_metrics, load_drawing
from kds.testing.metrics_report import MetricsReport, read_report
from kds.testing.metrics_tables import metrics_tables

DEFAULT_SPAN: Final = "7d"

NOTHING: Final = """\
nothing was measured in this time
Turns and recalls are measured where the memory is on: set KDS_MEMORY=on, or `memory: {enabled: \
true}` in kds-brain/settings.yaml. Measurements are kept for 30 days."""

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_BARS: Final = ".:-=+*%#"


@command("kds metrics", "kds metrics --since 24h --json", "kds metrics --since 30d --plot kds.png")
@click.option("--since", metavar="TIME", default=DEFAULT_SPAN,
              help=f"How far to look back, at most 30d.  [default: {DEFAULT_SPAN}]")  # fmt: skip
@json_option
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="OUT.png|svg",
              help="Draw the figures.")  # fmt: skip
@workspace_option
def metrics(*, since: str, plot: Path | None, workspace: Workspace) -> None:
    """Print KDS's own numbers: turns, corrections, recalls, hits, times.

    What each figure means: `kds help memory-cli`.
    """
    span = read_span(since)
    if span > KEPT:
        raise Refusal(f"'{since}' is longer than measurements are kept", "at most 30d")
    if plot is not None:
        check_picture(plot, SUFFIXES)
        load_drawing()
    corrections = PromptLibrary.load(workspace.prompts_dir).corrections()
    with looking(MemoryPlace.of(workspace)) as store:
        report = read_report(store, span, corrections)
        stats = store.stats() if store else EMPTY
    if plot is not None:
        with slow("drawing"):
            draw_metrics(plot, report)
    memory = fields(stats, "sessions messages tokens size_bytes")
    say(report.as_dict() | {"memory": memory}, lambda: _print(report, stats))


def sparkline(counts: Sequence[int], bars: str = _BARS) -> str:
    """Draw counts as one line of bars; a blank where there is none.

    >>> sparkline([0, 1, 4, 8])
    ' ▁▄█'
    """
    most = max(counts, default=0)
    return "".join(
        bars[max(round(count / most * len(bars)), 1) - 1] if count else " " for count in counts
    )


def _print(report: MetricsReport, stats: Stats) -> None:
    tables = list(metrics_tables(report))
    if not tables:
        click.echo(NOTHING)
        return
    print_line("since", minute(report.since))
    bars = _bars()
    for label, counts in (
        ("turns", [bucket.turns for bucket in report.buckets]),
        ("recalls", [bucket.recalls for bucket in report.buckets]),
    ):
        print_line(label, f"{sum(counts):,}  [{sparkline(counts, bars)}]")
    for table in tables:
        if table.key != "activity":  # shown as bars
            click.echo(f"\n{table.title}")
            print_table(table.heads, table.rows)
    click.echo()
    size = f"{counted(stats.sessions, 'session')}, {counted(stats.messages, 'message')}"
    print_line("memory", f"{size}, {mebibytes(stats.size_bytes)}")


def _bars() -> str:
    try:
        _BARS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return _PLAIN_BARS
    return _BARS
