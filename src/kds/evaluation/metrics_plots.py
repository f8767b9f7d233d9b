"""Draws KDS's own numbers: turns and recalls over time, intents, times."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kds.api.measures import Spread
from kds.evaluation.intents.plots import load_drawing
from kds.evaluation.metrics_report import Bucket, MetricsReport


def draw_metrics(path: Path, report: MetricsReport) -> None:
    """Write the figures of a report as one picture, PNG or SVG.

    Raises KdsError without matplotlib, OSError when the file cannot be written.
    """
    figure = load_drawing().Figure(figsize=(12, 8), layout="constrained")
    (over_time, hits), (intents, times) = figure.subplots(2, 2)
    _draw_counts(over_time, report.buckets)
    _draw_hits(hits, report.buckets)
    turns, recalls = report.turns, report.recalls
    _draw_intents(
        intents,
        turns.intents if turns else {},
        turns.corrections.by_intent if turns else {},
    )
    stages = {
        f"turn: {name}": spread for name, spread in (turns.stages_ms if turns else {}).items()
    }
    stages |= {
        f"recall: {name}": spread for name, spread in (recalls.stages_ms if recalls else {}).items()
    }
    _draw_times(times, stages)
    figure.suptitle(f"KDS, {report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC")
    figure.savefig(path, dpi=120)


def _draw_counts(axes: Any, buckets: Sequence[Bucket]) -> None:
    places = range(len(buckets))
    axes.bar([at - 0.2 for at in places], [one.turns for one in buckets], 0.4, label="turns")
    axes.bar([at + 0.2 for at in places], [one.recalls for one in buckets], 0.4, label="recalls")
    _name_times(axes, buckets)
    axes.set(title="How much was asked", ylabel="count")
    axes.legend()


def _draw_hits(axes: Any, buckets: Sequence[Bucket]) -> None:
    asked = [(place, one) for place, one in enumerate(buckets) if one.recalls]
    axes.plot(
        [place for place, _ in asked], [one.found / one.recalls for _, one in asked], marker="o"
    )
    _name_times(axes, buckets)
    axes.set(title="Recalls that found something", ylabel="share", ylim=(0, 1.05))


def _draw_intents(axes: Any, counts: Mapping[str, int], corrected: Mapping[str, int]) -> None:
    names = list(counts)
    axes.barh(names, list(counts.values()), label="turns")
    axes.barh(names, [corrected.get(name, 0) for name in names], label="corrected next")
    axes.invert_yaxis()
    axes.set(title="Intents", xlabel="turns")
    if names:
        axes.legend()


def _draw_times(axes: Any, stages: Mapping[str, Spread]) -> None:
    names = list(stages)
    axes.barh(names, [spread.p95 for spread in stages.values()], color="C1", label="p95")
    axes.barh(names, [spread.p50 for spread in stages.values()], color="C0", label="p50")
    axes.invert_yaxis()
    axes.set(title="Time of the stages", xlabel="ms")
    if names:
        axes.legend()


def _name_times(axes: Any, buckets: Sequence[Bucket]) -> None:
    form = "%H:%M" if any(bucket.start.hour for bucket in buckets) else "%m-%d"
    every = max(len(buckets) // 8, 1)
    places = list(range(0, len(buckets), every))
    axes.set_xticks(places, labels=[f"{buckets[place].start:{form}}" for place in places])
    axes.set_xlim(-0.6, max(len(buckets), 1) - 0.4)
