"""The page of figures: what the memory measured of turns and recalls, drawn and in tables."""

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from kds.learning.teaching import Learning
from kds.service.errors import NotServedError
from kds.testing.metrics import MetricsTable, read_report
from kds.web.request_context import RequestContext, download, get

PUT_RIGHT: Final = {
    "clarified": "answered a question", "corrected": "said what the message before was",
    "told": "said what a message was", "accepted": "taught a message",
    "meant": "taught what a description means", "undone": "took it back",
}  # fmt: skip
"""What the events of learning are called."""

RANGES: Final = {1: "a day", 7: "a week", 30: "a month"}
"""Days to look back; measurements are kept for thirty."""

WIDE: Final = 960
TALL: Final = 220
NARROW: Final = 440
"""Sizes of charts over the whole width, and of those that stand two beside each other; the unit of
all of these is that of the SVG."""
LEFT, BELOW, ABOVE = 44, 22, 8
"""Room for the figures and labels of the axes."""
MOST_LABELS: Final = 8
"""Labels along the axis of a chart over time; the others would overlap."""
LABEL: Final = 72
"""Width of such a label, that the last one ends within the picture."""
ROW, NAMED = 24, 140
"""Height of a bar, and room for its label."""


async def show(context: RequestContext) -> Response:
    """Every figure of the days that were asked for."""
    days, tables = await _tables(context)
    charts = {one.key: bars(one) for one in tables if one.drawn}
    for one in tables:
        if one.key == "activity":
            labels, turns, recalls, _ = zip(*one.rows, strict=True)
            series = {"turns": [*map(int, turns)], "recalls": [*map(int, recalls)]}
            charts[one.key] = columns(one.title, labels, series)
    return context.page(
        "analytics.html", title="Analytics", days=days, ranges=RANGES, figures=tables, charts=charts
    )


async def table(context: RequestContext) -> Response:
    """One of the tables, as CSV."""
    _, tables = await _tables(context)
    found, key = {one.key: one for one in tables}, context.text("table")
    if (chosen := found.get(key)) is None:
        raise NotServedError(
            f"there is no table '{key}' for these days",
            where="/analytics.csv",
            hint=f"ask for one of: {', '.join(found) or 'none, nothing was measured'}",
        )
    text = io.StringIO()
    csv.writer(text).writerows([chosen.heads, *chosen.rows])
    return download(text.getvalue(), f"kds-{key}.csv", "text/csv")


async def _tables(context: RequestContext) -> tuple[int, list[MetricsTable]]:
    """The days that were asked for, what was measured, and what the user has put right in them."""
    asked, served = context.number("days", 7), context.served
    days = asked if asked in RANGES else 7
    corrections = served.conversations.library.corrections()

    def read() -> list[MetricsTable]:
        report = read_report(served.memory_if_any(), timedelta(days=days), corrections)
        events = Learning(served.workspace).events.load().events
        said = Counter(
            (PUT_RIGHT.get(one.kind, one.kind), one.intent or "-")
            for one in events if one.at >= report.since
        )  # fmt: skip
        rows = [(how, intent, str(count)) for (how, intent), count in said.most_common()]
        heads = ("how", "intent", "times")
        own = [MetricsTable("put-right", "Put right by you", heads, rows)] if rows else []
        return [*report.tables(), *own]

    return days, await context.archive(read)


routes = (get("/analytics", show), get("/analytics.csv", table))


def columns(title: str, labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> Markup:
    """Columns over time, those of the same time beside each other; ``labels`` name the times."""
    top = _round_up(max((value for values in series.values() for value in values), default=0.0))

    def height(value: float) -> float:
        return value / top * (TALL - BELOW - ABOVE)

    parts = []
    for value in (0.0, 0.5 * top, top):
        y = TALL - BELOW - height(value)
        parts += [
            _tag("line", class_="axis", x1=LEFT, y1=y, x2=WIDE, y2=y),
            _text(LEFT - 6, y + 4, _figure(value), "end"),
        ]
    step = (WIDE - LEFT) / max(len(labels), 1)
    width = max(step * 0.8 / max(len(series), 1), 1.0)
    for kind, (name, values) in enumerate(series.items()):
        for at, value in enumerate(values):
            x, tall = LEFT + (at + 0.1) * step + kind * width, height(value)
            said = f"{labels[at]}: {_figure(value)} {name}"
            parts.append(_rect(kind, x, TALL - BELOW - tall, width, tall, said))
    every = max(math.ceil(len(labels) / MOST_LABELS), 1)
    for at in range(0, len(labels), every):
        x = min(LEFT + (at + 0.5) * step, WIDE - LABEL / 2)
        parts.append(_text(x, TALL - 6, labels[at], "middle"))
    return _svg(title, WIDE, TALL, parts, [*series])


def bars(table: MetricsTable) -> Markup:
    """A bar for each row, in parts that end where the figures of its drawn columns are."""
    names = table.heads[1 : 1 + table.drawn]
    rows = [(label, [*map(float, figures[: table.drawn])]) for label, *figures in table.rows]
    scale = (NARROW - NAMED - 50) / (max((ends[-1] for _, ends in rows), default=0.0) or 1.0)
    parts: list[Markup] = []
    for at, (label, ends) in enumerate(rows):
        y = at * ROW
        parts.append(_text(NAMED - 8, y + 16, label, "end"))
        for kind, (start, end) in enumerate(pairwise((0.0, *ends))):
            said = f"{label}: {_figure(end)} {names[kind]}"
            width = (end - start) * scale
            parts.append(_rect(kind, NAMED + start * scale, y + 4, width, ROW - 8, said))
        parts.append(_text(NAMED + ends[-1] * scale + 6, y + 16, _figure(ends[-1]), "start"))
    return _svg(table.title, NARROW, max(len(rows), 1) * ROW, parts, names)


def _svg(
    title: str, width: int, height: int, parts: Sequence[Markup], names: Sequence[str]
) -> Markup:
    """A picture, and what its colours mean where there are several."""
    items = (_tag("li", name, class_=f"c{kind}") for kind, name in enumerate(names, start=1))
    legend = _tag("ul", *items, class_="legend") if len(names) > 1 else Markup()
    box = f"0 0 {width} {height}"
    return _tag("svg", *parts, role="img", aria_label=title, viewBox=box) + legend


def _rect(kind: int, x: float, y: float, width: float, height: float, said: str) -> Markup:
    if width <= 0 or height <= 0:
        return Markup()
    inside = _tag("title", said)
    return _tag("rect", inside, class_=f"c{kind + 1}", x=x, y=y, width=width, height=height)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return _tag("text", text, x=x, y=y, text_anchor=anchor)


def _tag(tag: str, *inside: str, **attributes: str | float) -> Markup:
    """An element; everything that is not markup is escaped."""
    named = (
        Markup(' {}="{}"').format(
            name.strip("_").replace("_", "-"), f"{one:.1f}" if isinstance(one, float) else one
        )
        for name, one in attributes.items()
    )
    return Markup("<{}{}>{}</{}>").format(tag, Markup().join(named), Markup().join(inside), tag)


def _round_up(value: float) -> float:
    """The next figure that reads well on an axis of counts; so does the half of it.

    >>> [_round_up(value) for value in (0, 1, 3, 7, 41, 1200)]
    [2.0, 2.0, 4.0, 10.0, 100.0, 2000.0]
    """
    unit = 10.0 ** math.floor(math.log10(max(value, 1)))
    return max(float(next(step * unit for step in (1, 2, 4, 10) if step * unit >= value)), 2.0)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
