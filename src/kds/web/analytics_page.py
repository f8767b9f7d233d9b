"""The page of figures: what the memory measured of turns and recalls, drawn and in tables."""

import csv
import io
from collections import Counter
from datetime import timedelta
from typing import Final

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


async def show(context: RequestContext) -> Response:
    """Every figure of the days that were asked for."""
    days, tables = await _tables(context)
    return context.page(
        "analytics.html", title="Analytics", days=days, ranges=RANGES, figures=tables
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
