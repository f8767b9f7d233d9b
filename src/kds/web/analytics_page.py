"""The page of figures: what the memory measured of turns and recalls, drawn and in tables."""

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from kds.learning.teaching import Learning
from kds.service.errors import NotServedError
from kds.testing.metrics import MetricsReport, MetricsTable, read_report
from kds.web.request_context import RequestContext, download, get

PUT_RIGHT: Final = {
    "clarified": "answered a question", "corrected": "said what the message before was",
    "told": "said what a message was", "accepted": "taught a message",
    "meant": "taught what a description means", "undone": "took it back",
}  # fmt: skip
"""What the events of learning are called."""

RANGES: Final = {1: "a day", 7: "a week", 30: "a month"}
"""Days to look back; measurements are kept for thirty."""


async def show(context: RequestContext) -> Response:
    """Every figure of the days that were asked for."""
    days = _days(context)
    report = await _report(context, days)
    tables = await _tables(context, report)
    return context.page(
        "analytics.html", title="Analytics", days=days, ranges=RANGES, figures=tables,
        charts=_charts(tables),
    )  # fmt: skip


async def table(context: RequestContext) -> Response:
    """One of the tables, as CSV."""
    days, key = _days(context), context.text("table")
    found = {one.key: one for one in await _tables(context, await _report(context, days))}
    if (chosen := found.get(key)) is None:
        raise NotServedError(
            f"there is no table '{key}' for these days",
            where="/analytics.csv",
            hint=f"ask for one of: {', '.join(found) or 'none, nothing was measured'}",
        )
    text = io.StringIO()
    csv.writer(text).writerows([chosen.heads, *chosen.rows])
    return download(text.getvalue(), f"kds-{chosen.key}.csv", "text/csv")


async def _tables(context: RequestContext, report: MetricsReport) -> list[MetricsTable]:
    """The tables of a report, and what the user has put right in the same time."""
    events = await context.archive(Learning(context.served.workspace).events.load)
    since = [one for one in events.events if one.at >= report.since]
    tables = list(report.tables())
    if since:
        said = Counter((PUT_RIGHT.get(one.kind, one.kind), one.intent or "-") for one in since)
        rows = [(how, intent, str(count)) for (how, intent), count in said.most_common()]
        tables.append(
            MetricsTable("put-right", "Put right by you", ("how", "intent", "times"), rows)
        )
    return tables


def _charts(tables: Sequence[MetricsTable]) -> dict[str, Markup]:
    """The charts of the tables that have one, by their keys."""
    drawn = {one.key: bars(one.title, one.bars, one.parts) for one in tables if one.bars}
    for one in (one for one in tables if one.key == "activity"):
        labels, turns, recalls, _ = zip(*one.rows, strict=True)
        series = [Series("turns", [*map(int, turns)]), Series("recalls", [*map(int, recalls)])]
        drawn[one.key] = columns(one.title, labels, series)
    return drawn


async def _report(context: RequestContext, days: int) -> MetricsReport:
    corrections = context.served.conversations.library.corrections()
    span = timedelta(days=days)
    return await context.archive(
        lambda: read_report(context.served.memory_if_any(), span, corrections)
    )


def _days(context: RequestContext) -> int:
    asked = context.number("days", 7)
    return asked if asked in RANGES else 7


routes = (get("/analytics", show), get("/analytics.csv", table))


WIDE: Final = 960
TALL: Final = 220
NARROW: Final = 440
"""Width of charts that stand two beside each other."""
LEFT: Final = 44
"""Room for the figures of the axis; the unit of all of these is that of the SVG."""
BELOW: Final = 22
ABOVE: Final = 8
MOST_LABELS: Final = 8
"""Labels along the axis of a chart over time; the others would overlap."""
LABEL: Final = 72
"""Width of such a label, that the last one ends within the picture."""
ROW: Final = 24
"""Height of a bar with its label."""
NAMED: Final = 140
"""Room for the labels of bars."""


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of figure over time."""

    name: str
    values: Sequence[float]


def columns(title: str, labels: Sequence[str], series: Sequence[Series]) -> Markup:
    """Columns over time, those of the same time beside each other; ``labels`` name the times."""
    top = _round_up(max((value for one in series for value in one.values), default=0.0))
    parts = [_grid(top)]
    step = (WIDE - LEFT) / max(len(labels), 1)
    width = max(step * 0.8 / max(len(series), 1), 1.0)
    for kind, one in enumerate(series):
        for at, value in enumerate(one.values):
            if value <= 0:
                continue
            height = _height(value, top)
            x = LEFT + at * step + step * 0.1 + kind * width
            said = f"{labels[at]}: {_figure(value)} {one.name}"
            parts.append(_rect(f"c{kind + 1}", x, TALL - BELOW - height, width, height, said))
    every = max(math.ceil(len(labels) / MOST_LABELS), 1)
    for at, label in enumerate(labels):
        if at % every == 0:
            x = min(LEFT + (at + 0.5) * step, WIDE - LABEL / 2)
            parts.append(_text(x, TALL - 6, label, "middle"))
    return _svg(title, WIDE, TALL, parts) + _legend([one.name for one in series])


def bars(title: str, rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str]) -> Markup:
    """A bar for each row, its values one after the other; ``names`` say what they are."""
    most = max((sum(values) for _, values in rows), default=0.0) or 1.0
    parts: list[Markup] = []
    for at, (label, values) in enumerate(rows):
        y, x = at * ROW, float(NAMED)
        parts.append(_text(NAMED - 8, y + 16, label, "end"))
        for kind, value in enumerate(values):
            width = value / most * (NARROW - NAMED - 50)
            if width > 0:
                said = f"{label}: {_figure(value)} {names[kind]}"
                parts.append(_rect(f"c{kind + 1}", x, y + 4, width, ROW - 8, said))
            x += width
        parts.append(_text(x + 6, y + 16, _figure(sum(values)), "start"))
    return _svg(title, NARROW, max(len(rows), 1) * ROW, parts) + _legend(names)


def _legend(names: Sequence[str]) -> Markup:
    """What the colours mean, where there are several."""
    if len(names) < 2:
        return Markup()
    items = (
        Markup('<li class="c{}">{}</li>').format(kind + 1, name) for kind, name in enumerate(names)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup().join(items))


def _svg(title: str, width: int, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        title, width, height, Markup().join(parts)
    )


def _grid(top: float) -> Markup:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = TALL - BELOW - _height(share * top, top)
        lines += [_line(LEFT, y, WIDE, y), _text(LEFT - 6, y + 4, _figure(share * top), "end")]
    return Markup().join(lines)


def _rect(kind: str, x: float, y: float, width: float, height: float, said: str) -> Markup:
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
        "<title>{}</title></rect>"
    ).format(kind, x, y, width, height, said)


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        x1, y1, x2, y2
    )


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, text
    )


def _height(value: float, top: float) -> float:
    return value / top * (TALL - BELOW - ABOVE)


def _round_up(value: float) -> float:
    """The next figure that reads well on an axis of counts; so does the half of it.

    >>> [_round_up(value) for value in (0, 1, 3, 7, 41, 1200)]
    [2.0, 2.0, 4.0, 10.0, 100.0, 2000.0]
    """
    unit = 10.0 ** math.floor(math.log10(max(value, 1)))
    return max(float(next(step * unit for step in (1, 2, 4, 10) if step * unit >= value)), 2.0)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
