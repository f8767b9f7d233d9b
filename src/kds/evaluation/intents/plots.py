"""Draws how a classifier did: which intents it confuses, and whether its confidence is true."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kds.brain.installation import load_extra
from kds.router.intents.calibration import ReliabilityBin

SUFFIXES: Final = (".png", ".svg")
DARK: Final = 0.5
"""Share from which a field is so dark that its number is white."""

NAMED_LABELS: Final = 45
"""Intents that can be named along an axis and still be read."""


def load_drawing() -> Any:
    """Import matplotlib's figures. KdsError when it is not installed."""
    return load_extra("matplotlib.figure", extra="eval", purpose="draw plots")


def draw_plots(
    path: Path,
    labels: Sequence[str],
    matrix: Sequence[Sequence[int]],
    bins: Sequence[ReliabilityBin],
) -> None:
    """Write the confusion matrix and the reliability diagram as one picture, PNG or SVG.

    ``matrix`` counts messages, a row for each expected intent, a column for each actual one.
    Raises KdsError without matplotlib, OSError when the file cannot be written.
    """
    side = 4.0 + 0.18 * min(len(labels), NAMED_LABELS)
    # A Figure of its own, not pyplot: no display, no state that outlives this call.
    figure = load_drawing().Figure(figsize=(2 * side, side), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_confusion(left, labels, matrix)
    _draw_reliability(right, bins)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _draw_confusion(axes: Any, labels: Sequence[str], matrix: Sequence[Sequence[int]]) -> None:
    shares = [[count / max(sum(row), 1) for count in row] for row in matrix]
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set(title="Confusion, share of each expected intent", xlabel="actual", ylabel="expected")
    if len(labels) > NAMED_LABELS:
        axes.set(xticks=[], yticks=[])
        return
    axes.set_xticks(range(len(labels)), labels=labels, rotation=90, fontsize=7)
    axes.set_yticks(range(len(labels)), labels=labels, fontsize=7)
    _draw_counts(axes, matrix, shares)


def _draw_counts(
    axes: Any, matrix: Sequence[Sequence[int]], shares: Sequence[Sequence[float]]
) -> None:
    """The messages behind every colour: a share of two is not one of two hundred."""
    for row, counts in enumerate(matrix):
        for column, count in enumerate(counts):
            tint = "white" if shares[row][column] > DARK else "black"
            axes.text(
                column, row, str(count or ""), ha="center", va="center", color=tint, fontsize=6
            )


def _draw_reliability(axes: Any, bins: Sequence[ReliabilityBin]) -> None:
    filled = [one for one in bins if one.count]
    most = max((one.count for one in filled), default=1)
    axes.plot([0, 1], [0, 1], linestyle="--", color="grey", label="as confident as right")
    axes.plot([one.confidence for one in filled], [one.accuracy for one in filled], color="C0")
    axes.scatter(
        [one.confidence for one in filled],
        [one.accuracy for one in filled],
        s=[20 + 180 * one.count / most for one in filled],
        color="C0",
        label="messages of about this confidence (larger: more of them)",
    )
    axes.set(title="Reliability", xlabel="confidence", ylabel="share right", aspect="equal")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(loc="upper left", fontsize=8)
