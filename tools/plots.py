"""The plots of the documentation, with the tables beside them.

    python tools/plots.py DATA_FOLDER                                          (`make plots`)

Reads chats/dev.jsonl (labelled chats, docs/evaluation.md) and intents/clinc150_{val,train}.jsonl
(CLINC150, CC BY 3.0, github.com/clinc/oos-eval, a {"text", "intent"} a line) of DATA_FOLDER.
Writes docs/pictures/{curve,intents}.svg and the tables between their marks of docs/references.md
and docs/intents.md. Needs the extra `eval`. Measured on chats that the weights were fitted on, the
curve flatters; it is for comparing promises.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from kds.api.measures import share
from kds.api.parts import Parts
from kds.api.routing import precision_of, rehearsed, workspace_at
from kds.brain.config import LiveConfig
from kds.brain.turn import Edit, Proposal, Turn
from kds.router.intents.linear import ReliabilityBin
from kds.router.references.decision import bar
from kds.router.references.resolver import apply_edits
from kds.testing.chats import JudgedEdit, PlayedChatTurn, judge_edits, play_with, read_chats
from kds.testing.intents import load_intents, score_intents
from kds.testing.metrics_plot import load_drawing

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"

PROMISES: Final = (0.0, 0.25, 0.5, 0.75, 0.93, 1.0)
"""The points of the curve that its table has."""

FIGURES: Final = {
    "accuracy": "right, in scope",
    "ece": "error of the confidence",
    "acted_precision": "right, where KDS would act",
    "coverage": "acted on, in scope",
    "oos_acted": "acted on, out of scope",
}
"""The rows of the table beside the plot of the intents."""

RECALLS: Final = {
    "recall": "all references",
    "must_user": "needed, the user named it",
    "must_assistant": "needed, only a reply named it",
}
COSTS: Final = {
    "precision": "edits that are right",
    "harmed": "turns changed for the worse",
    "recall": "references written out",
}

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Weighed:
    """The proposed edits of a turn, each with the highest promise at which it is written."""

    turn: PlayedChatTurn
    edits: tuple[tuple[float, JudgedEdit], ...]


def precision_curve(played: Sequence[PlayedChatTurn], promised: float) -> list[Point]:
    """Work out the outcome at every promise at which it changes, and at ``promised``.

    The decision gives each proposed edit a probability and writes those that reach the promise, so
    one play tells the outcome of every other promise too.
    """
    turns = [_weighed(one) for one in played if one.expected.labelled]
    limits = {limit for turn in turns for limit, _ in turn.edits if limit >= 0.0}
    return [_point(turns, limit) for limit in sorted(limits | {promised})]


def _weighed(one: PlayedChatTurn) -> Weighed:
    weighed = {proposal.edit for proposal in one.turn.proposals}
    certain = [Proposal(edit, 1.0) for edit in one.turn.edits if edit not in weighed]
    found = (
        (_limit(one.turn, proposal.probability), edit)
        for proposal in (*one.turn.proposals, *certain)
        for edit in _judged(one, proposal.edit)
    )
    return Weighed(one, tuple(found))


def _limit(turn: Turn, probability: float) -> float:
    """The highest promise that ``probability`` reaches; below 0 it reaches none."""
    return 1.0 - (1.0 - probability) / (1.0 - bar(turn.message, 0.0))


def _judged(one: PlayedChatTurn, edit: Edit) -> tuple[JudgedEdit, ...]:
    written = edit in one.turn.edits
    expanded = one.turn.expanded if written else apply_edits(one.turn.message, [edit])
    return judge_edits(replace(one.turn, edits=(edit,), expanded=expanded), one.expected)


def _point(turns: Sequence[Weighed], promise: float) -> Point:
    written = [[edit for limit, edit in turn.edits if limit >= promise] for turn in turns]
    edits = list(chain.from_iterable(written))
    right = sum(edit.outcome == "right" for edit in edits)
    met = [
        (reference, replace(turn.turn, edits=tuple(ours)).met(reference))
        for turn, ours in zip(turns, written, strict=True)
        for reference in turn.turn.expected.references
    ]
    needed = {
        f"must_{source}": share(done for ref, done in met if ref.must and ref.source == source)
        for source in ("user", "assistant")
    }
    return {
        "promise": promise,
        "edits": len(edits),
        "right": right,
        "precision": right / len(edits) if edits else None,
        "harmed": share(any(edit.outcome != "right" for edit in ours) for ours in written),
        "recall": share(done for _, done in met),
        **needed,
    }


def draw_curve(path: Path, points: Sequence[Point], promised: float) -> None:
    """Draw recall against precision, and beside it the outcome of each promise."""
    figure = load_drawing().Figure(figsize=(12, 6), layout="constrained")
    recalls, costs = figure.subplots(1, 2)
    _lines(recalls, points, "precision", RECALLS, promised)
    _lines(costs, points, "promise", COSTS, promised)
    recalls.set(title="Recall against precision", xlabel="precision: share of edits that are right",
                ylabel="recall: share of references written out")  # fmt: skip
    costs.set(title="What each promise brings", xlabel="promised precision", ylabel="share")
    costs.axvline(promised, linestyle="--", color="grey", label=f"promised {promised:.0%}")
    for axes in (recalls, costs):
        axes.set(xlim=(0, 1), ylim=(0, None))
        axes.xaxis.set_major_formatter("{x:.0%}")
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.grid(color="#ddd")
        axes.legend()
    at = next(point for point in points if point["promise"] == promised)
    said = (
        f"marked: the promise of {promised:.0%}, {at['edits']} edits, {at['right']} of them right"
    )
    figure.supxlabel(said, fontsize=10)
    figure.savefig(path, dpi=120)


def _lines(
    axes: Any, points: Sequence[Point], across: str, lines: Mapping[str, str], promised: float
) -> None:
    for key, label in lines.items():
        known = [one for one in points if None not in (one[across], one[key])]
        marks = [at for at, one in enumerate(known) if one["promise"] == promised]
        values = [one[across] for one in known], [one[key] for one in known]
        axes.plot(*values, label=label, marker="o", markevery=marks)


def draw_intents(
    path: Path, pairs: Sequence[tuple[str, str]], bins: Sequence[ReliabilityBin]
) -> None:
    """Draw the confusion matrix and the reliability diagram."""
    labels = sorted({label for pair in pairs for label in pair})
    counts, sums = Counter(pairs), Counter(truth for truth, _ in pairs)
    shares = [[counts[row, column] / max(sums[row], 1) for column in labels] for row in labels]
    figure = load_drawing().Figure(figsize=(24, 12), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    left.set(title="Confusion, share of each expected intent", xlabel="actual", ylabel="expected")
    left.set(xticks=[], yticks=[])  # too many to be read
    filled = [one for one in bins if one.count]
    most = max((one.count for one in filled), default=1)
    x, y = [one.confidence for one in filled], [one.accuracy for one in filled]
    right.plot([0, 1], [0, 1], linestyle="--", color="grey", label="as confident as right")
    right.plot(x, y, color="C0")
    right.scatter(x, y, s=[20 + 180 * one.count / most for one in filled], color="C0",
                  label="messages of about this confidence (larger: more of them)")  # fmt: skip
    right.set(title="Reliability", xlabel="confidence", ylabel="share right", aspect="equal")
    right.set(xlim=(0, 1), ylim=(0, 1.02))
    right.legend(loc="upper left", fontsize=8)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def write_table(page: str, part: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Put a table between its marks of a page of the documentation."""
    path = ROOT / "docs" / f"{page}.md"
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{path} has no marks {begin} and {end}")
    lines = [head, ["---"] * len(head), *rows]
    table = [
        f"| {' | '.join(line)} |".replace("| --- ", "|---").replace("- |", "-|") for line in lines
    ]
    path.write_text("\n".join([before + begin, *table, end + after]), encoding="utf-8")


def _percent(value: float) -> str:
    return f"{value:.1%}".replace("%", " %")


def _curve(data: Path) -> None:
    with tempfile.TemporaryDirectory() as empty:
        workspace = workspace_at(empty)
        parts, promised = (
            Parts.load(workspace, may_write=False),
            precision_of(LiveConfig(workspace))(),
        )
    chats = read_chats(data / "chats/dev.jsonl")
    played = [one for chat in chats for one in play_with(chat, partial(rehearsed, parts))]
    points = precision_curve(played, promised)
    draw_curve(PICTURES / "curve.svg", points, promised)
    nothing: Point = {"edits": 0, "right": 0, "harmed": 0.0, "recall": 0.0}
    rows = []
    for promise in PROMISES:
        # a point holds from the change before it up to its own promise
        at = next((point for point in points if point["promise"] >= promise), nothing)
        shares = (_percent(at["harmed"]), _percent(at["recall"]))
        rows.append((f"{promise:.2f}", str(at["edits"]), str(at["right"]), *shares))
    head = ("promised", "edits", "right", "changed for the worse", "written out")
    write_table("references", "curve", head, rows)


def _intents(data: Path) -> None:
    test, train = (
        load_intents(data / f"intents/clinc150_{part}.jsonl") for part in ("val", "train")
    )
    report = score_intents(test, train=train, shots=10, seeds=1)
    draw_intents(PICTURES / "intents.svg", report.pairs, report.bins)
    rows = [(said, _percent(report.figures[key] or 0.0)) for key, said in FIGURES.items()]
    write_table("intents", "reliability", ("measure", "value"), rows)


def main() -> None:
    """Draw both plots and write both tables."""
    usage = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usage.add_argument("data", type=Path)
    data = usage.parse_args().data
    import matplotlib as mpl

    os.environ["SOURCE_DATE_EPOCH"] = "0"
    # text stays text, and the same figures make the same file
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kds"})
    _curve(data)
    _intents(data)


if __name__ == "__main__":
    main()
