"""The page of figures: what the memory measured of turns and recalls, drawn and in tables."""

import csv
import io
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from kds.api.measures import Spread
from kds.learning.teaching import Learning
from kds.service.errors import NotServedError
from kds.testing.metrics import (
    ACTIONS,
    MetricsReport,
    MetricsTable,
    Recalls,
    Turns,
    bucket_label,
    metrics_tables,
    read_report,
)
from kds.web.charts import Series, bars, columns
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
        charts=charts(report),
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
    tables = list(metrics_tables(report))
    if since:
        said = Counter((PUT_RIGHT.get(one.kind, one.kind), one.intent or "-") for one in since)
        rows = [(how, intent, str(count)) for (how, intent), count in said.most_common()]
        tables.append(
            MetricsTable("put-right", "Put right by you", ("how", "intent", "times"), rows)
        )
    return tables


def charts(report: MetricsReport) -> dict[str, Markup]:
    """The charts of a report, each under the key of its table."""
    span = report.until - report.since
    labels = [bucket_label(one, span) for one in report.buckets]
    turns = Series("turns", [one.turns for one in report.buckets])
    recalls = Series("recalls", [one.recalls for one in report.buckets])
    drawn = {"activity": columns("Turns and recalls over time", labels, [turns, recalls])}
    if report.turns is not None:
        drawn |= _of_turns(report.turns)
    if report.recalls is not None:
        drawn |= _of_recalls(report.recalls)
    return drawn


def _of_turns(turns: Turns) -> dict[str, Markup]:
    corrected = turns.corrections.by_intent
    split = [
        (intent, (count - corrected.get(intent, 0), corrected.get(intent, 0)))
        for intent, count in turns.intents.items()
    ]
    actions = [(ACTIONS.get(one, one), (count,)) for one, count in turns.actions.items()]
    words = turns.references
    done = [("resolved", (words.resolved,)), ("left alone", (words.left_alone,))]
    steps = {"all steps": turns.cpu_ms, **turns.stages_ms}
    return {
        "intents": bars("Turns by intent", split, ("turns", "corrected")),
        "actions": bars("What was done", actions, ("turns",)),
        "references": bars("Words that point back", done, ("words",)),
        "latency": _times("CPU of a turn by step (ms)", steps),
    }


def _of_recalls(recalls: Recalls) -> dict[str, Markup]:
    sources = [(name, (count,)) for name, count in recalls.candidates.items()]
    steps = {"all but embedding": recalls.latency_ms, **recalls.stages_ms}
    return {
        "candidates": bars("Candidates by source", sources, ("candidates",)),
        "recall-latency": _times("Time of a recall by step (ms)", steps),
    }


def _times(title: str, stages: Mapping[str, Spread]) -> Markup:
    drawn = [
        (stage, (s.p50, max(s.p95 - s.p50, 0.0), max(s.p99 - s.p95, 0.0)))
        for stage, s in stages.items()
    ]
    return bars(title, drawn, ("p50", "more at p95", "more at p99"))


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
