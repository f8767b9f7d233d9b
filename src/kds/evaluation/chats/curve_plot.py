"""Draws what recall each promised precision costs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kds.evaluation.chats.precision_curve import CurvePoint
from kds.evaluation.intents.plots import load_drawing

Share = Callable[[CurvePoint], float | None]

RECALLS: Final[dict[str, Share]] = {
    "all references": lambda point: point.recall,
    "needed, the user named it": lambda point: point.must_recall_user,
    "needed, only a reply named it": lambda point: point.must_recall_assistant,
}
COSTS: Final[dict[str, Share]] = {
    "edits that are right": lambda point: point.precision,
    "turns changed for the worse": lambda point: point.harmed,
    "references written out": lambda point: point.recall,
}


def draw_curve(path: Path, points: Sequence[CurvePoint]) -> None:
    """Write recall against precision, and beside it what comes of each promise: PNG or SVG.

    Raises KdsError without matplotlib, OSError when the file cannot be written.
    """
    promised = next(point for point in points if point.promised)
    figure = load_drawing().Figure(figsize=(12, 6), layout="constrained")
    recalls, costs = figure.subplots(1, 2)
    _draw(recalls, points, lambda point: point.precision, RECALLS)
    recalls.set(
        title="Recall against precision",
        xlabel="precision: share of edits that are right",
        ylabel="recall: share of references written out",
    )
    _draw(costs, points, lambda point: point.threshold, COSTS)
    costs.set(title="What each promise brings", xlabel="promised precision", ylabel="share")
    promise = f"promised {promised.threshold:.0%}"
    costs.axvline(promised.threshold, linestyle="--", color="grey", label=promise)
    for axes in (recalls, costs):
        axes.set(xlim=(0, 1), ylim=(0, None))
        axes.xaxis.set_major_formatter("{x:.0%}")
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.grid(color="#ddd")
        axes.legend()
    figure.supxlabel(
        f"marked: the promise of {promised.threshold:.0%}, "
        f"{promised.edits} edits, {promised.right} of them right",
        fontsize=10,
    )
    figure.savefig(path, dpi=120)


def _draw(
    axes: Any, points: Sequence[CurvePoint], across: Share, lines: Mapping[str, Share]
) -> None:
    """A line for each share; a mark where it meets the promise."""
    for name, share in lines.items():
        known = [one for one in points if None not in (across(one), share(one))]
        axes.plot(
            [across(one) for one in known],
            [share(one) for one in known],
            label=name,
            marker="o",
            markevery=[at for at, one in enumerate(known) if one.promised],
        )
