"""Draws KDS's own numbers: turns and recalls over time, intents, times."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kds.api.measures import Spread
from kds.brain.installation import load_extra
from kds.testing.metrics_report import Bucket, MetricsReport

SUFFIXES: Final = (".png", ".svg")


def load_drawing() -> Any:
    """Import matplotlib's figures. KdsError when it is not installed."""
    return load_extra("matplotlib.figure", extra="eval", purpose="draw plots")


def draw_metrics(path: Path, report: MetricsReport) -> None:
    """Write the figures of a report as one picture, PNG or SVG.

    Raises KdsError without matplotlib, OSError when the file cannot be written.
    """
    # A Figure of its own, not pyplot: no display, no state that outlives this call.
    figure = load_drawing().Figure(figsize=(12, 8), layout="constrained")
    (over_time, hits), (intents, times) = figure.subplots(2, 2)
    turns, recalls = report.turns, report.recalls
    _draw_counts(over_time, report.buckets)
    _draw_hits(hits, report.buckets)
    if turns:
        _draw_intents(intents, turns.intents, turns.corrections.by_intent)
    stages = {f"turn: {name}": one for name, one in (turns.stages_ms if turns else {}).items()}
    stages |= {f"recall: {k}": one for k, one in (recalls.stages_ms if recalls else {}).items()}
    if stages:
        _draw_times(times, stages)
    figure.suptitle(f"KDS, {report.since:%Y-%m-%d %H:%M} to {report.until:%Y-%m-%d %H:%M} UTC")
    figure.savefig(path, dpi=120)


def _draw_counts(axes: Any, buckets: Sequence[Bucket]) -> None:
    places = range(len(buckets))
    axes.bar([at - 0.2 for at in places], [one.turns for one in buckets], 0.4, label="turns")
    axes.bar([at + 0.2 for at in places], [one.recalls for one in buckets], 0.4, label="recalls")
    _label_times(axes, buckets)
    axes.set(title="Turns and recalls", ylabel="count")
    axes.legend()


def _draw_hits(axes: Any, buckets: Sequence[Bucket]) -> None:
    asked = [(place, one.found / one.recalls) for place, one in enumerate(buckets) if one.recalls]
    axes.plot([place for place, _ in asked], [share for _, share in asked], marker="o")
    _label_times(axes, buckets)
    axes.set(title="Recalls that found something", ylabel="share", ylim=(0, 1.05))


def _draw_intents(axes: Any, counts: Mapping[str, int], corrected: Mapping[str, int]) -> None:
    axes.barh(list(counts), list(counts.values()), label="turns")
    axes.barh(list(counts), [corrected.get(name, 0) for name in counts], label="corrected next")
    axes.invert_yaxis()
    axes.set(title="Intents", xlabel="turns")
    axes.legend()


def _draw_times(axes: Any, stages: Mapping[str, Spread]) -> None:
    axes.barh(list(stages), [one.p95 for one in stages.values()], color="C1", label="p95")
    axes.barh(list(stages), [one.p50 for one in stages.values()], color="C0", label="p50")
    axes.invert_yaxis()
    axes.set(title="Time of the stages", xlabel="ms")
    axes.legend()


def _label_times(axes: Any, buckets: Sequence[Bucket]) -> None:
    form = "%H:%M" if any(bucket.start.hour for bucket in buckets) else "%m-%d"
    places = list(range(0, len(buckets), max(len(buckets) // 8, 1)))
    axes.set_xticks(places, labels=[f"{buckets[place].start:{form}}" for place in places])
    axes.set_xlim(-0.6, max(len(buckets), 1) - 0.4)
