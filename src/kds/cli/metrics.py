"""`kds metrics`: what the memory measured of turns and recalls."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from kds.api.measures import Spread
from kds.brain.clock import minute
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.metrics import KEPT
from kds.brain.sessions.session_values import Stats
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.commands.memory import EMPTY
from kds.cli.guard import Refusal
from kds.cli.options import check_picture, json_option, read_span, workspace_option
from kds.cli.output import counted, fields, mebibytes, percent, print_line, print_table, say
from kds.cli.progress import slow
from kds.cli.stores import looking
from kds.router.prompts.library import PromptLibrary
from kds.testing.metrics_plot import SUFFIXES, draw_metrics, load_drawing
from kds.testing.metrics_report import (
    MetricsReport,
    Recalls,
    Rewrites,
    Turns,
    memory_rows,
    read_report,
)

DEFAULT_SPAN: Final = "7d"
SHOWN_INTENTS: Final = 8

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
    hits = report.session_memory
    if report.turns is None and report.recalls is None and not hits.turns:
        click.echo(NOTHING)
        return
    print_line("since", minute(report.since))
    bars = _bars()
    for label, counts in (
        ("turns", [bucket.turns for bucket in report.buckets]),
        ("recalls", [bucket.recalls for bucket in report.buckets]),
    ):
        print_line(label, f"{sum(counts):,}  [{sparkline(counts, bars)}]")
    if report.turns is not None:
        _print_turns(report.turns)
    if report.recalls is not None:
        _print_recalls(report.recalls)
    _print_memory_work(report)
    if hits.turns:
        click.echo()
        print_table(("questions in sessions", "", ""), [
            ("asked", "", f"{hits.turns} in {hits.sessions} sessions"),
            ("served by the session's memory", percent(hits.hit_rate),
             f"of {hits.later_turns} from the third on"),
        ])  # fmt: skip
    click.echo()
    size = f"{counted(stats.sessions, 'session')}, {counted(stats.messages, 'message')}"
    print_line("memory", f"{size}, {mebibytes(stats.size_bytes)}")


def _print_memory_work(report: MetricsReport) -> None:
    """What went to models, what was condensed, and what the embedding model took."""
    if rows := list(memory_rows(report)):
        click.echo()
        print_table(("conversations sent to models", "", ""), rows)


def _print_turns(turns: Turns) -> None:
    judged = turns.corrections
    click.echo()
    print_table(("turns", "", ""), [
        *_shares(turns.actions, turns.count),
        ("right, by corrections", percent(judged.accuracy),
         f"{judged.judged - judged.corrected} of {judged.judged} judged"),
        ("confidence where acted", percent(turns.confidence), ""),
    ])  # fmt: skip
    click.echo()
    corrected = judged.by_intent
    print_table(("intent", "turns", "share", "corrected"), [
        (intent, str(count), percent(count / turns.count), str(corrected.get(intent, "")))
        for intent, count in list(turns.intents.items())[:SHOWN_INTENTS]
    ])  # fmt: skip
    click.echo()
    _print_times("CPU ms a turn", {"all steps": turns.cpu_ms, **turns.stages_ms})
    if turns.rewrites is not None:
        _print_rewrites(turns.rewrites)


def _print_rewrites(rewrites: Rewrites) -> None:
    click.echo()
    print_table(("rewritten by a model", "", ""), list(_rewrite_rows(rewrites)))
    if rewrites.ms is not None:
        click.echo()
        _print_times("ms that a turn waited", {"asked": rewrites.ms})


def _rewrite_rows(rewrites: Rewrites) -> Iterable[tuple[str, str, str]]:
    for label, count in (
        ("taken", rewrites.used),
        ("left as written", rewrites.unchanged),
        ("not asked, after a failure", rewrites.resting),
        ("known from before", rewrites.cached),
    ):
        if count:
            yield label, percent(count / rewrites.count), f"{count} of {rewrites.count}"
    for check, count in rewrites.rejected.items():
        yield f"turned down: {check}", percent(count / rewrites.count), str(count)
    for reason, count in rewrites.failed.items():
        yield f"failed: {reason}", percent(count / rewrites.count), str(count)


def _print_recalls(recalls: Recalls) -> None:
    click.echo()
    print_table(("recalls", "", ""), list(_recall_rows(recalls)))
    click.echo()
    _print_times("ms a recall", {"all but embedding": recalls.latency_ms, **recalls.stages_ms})


def _recall_rows(recalls: Recalls) -> Iterable[tuple[str, str, str]]:
    yield "found something", percent(recalls.hit_rate), f"of {recalls.count}"
    if recalls.widened is not None:
        yield "had to look elsewhere", percent(recalls.widened), "of those in one session"
    if recalls.top_score is not None:
        yield "best score, on average", f"{recalls.top_score:.2f}", ""
    for source, count in recalls.candidates.items():
        yield f"candidates: {source}", f"{count:.1f}", "a recall"
    if recalls.budget is not None:
        over = f", {recalls.budget.over} over it" if recalls.budget.over else ""
        yield "budget used", percent(recalls.budget.used), f"of {recalls.budget.recalls}{over}"
    for flag, on in recalls.flags.items():
        yield f"with: {flag.replace('_', ' ')}", percent(on), ""
    for surface, count in recalls.surfaces.items():
        yield f"asked by: {surface}", str(count), ""


def _shares(counts: Mapping[str, int], total: int) -> Iterable[tuple[str, str, str]]:
    names = {"route": "acted", "clarify": "asked back", "abstain": "abstained"}
    for action, count in counts.items():
        yield names.get(action, action), percent(count / total), f"{count} of {total}"


def _print_times(label: str, stages: Mapping[str, Spread]) -> None:
    rows = [
        (stage, f"{spread.p50:.2f}", f"{spread.p95:.2f}", f"{spread.p99:.2f}")
        for stage, spread in stages.items()
    ]
    print_table((label, "p50", "p95", "p99"), rows)


def _bars() -> str:
    try:
        _BARS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return _PLAIN_BARS
    return _BARS
