"""The page of figures: what the memory measured of turns and recalls, drawn and in tables."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from markupsafe import Markup
from starlette.responses import Response

from kds.api.measures import Spread
from kds.service.errors import NotServedError
from kds.testing.metrics_report import (
    MetricsReport,
    Recalls,
    Rewrites,
    Turns,
    memory_rows,
    read_report,
)
from kds.web.charts import Series, bars, columns, reliability
from kds.web.visit import Visit, download, get

RANGES: Final = {1: "a day", 7: "a week", 30: "a month"}
"""Days to look back; measurements are kept for thirty."""

ACTIONS: Final = {"route": "acted", "clarify": "asked back", "abstain": "abstained"}


@dataclass(frozen=True, slots=True)
class Figures:
    """A table, and the chart of it where one says more."""

    key: str
    """Names it in addresses and files."""
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    chart: Markup | None = None
    note: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The columns of figures: all but the first."""
        return tuple(range(1, len(self.heads)))


async def show(visit: Visit) -> Response:
    """Every figure of the days that were asked for."""
    days = _days(visit)
    report = await _report(visit, days)
    return visit.page(
        "analytics.html", title="Analytics", days=days, ranges=RANGES, figures=list(figures(report))
    )


async def table(visit: Visit) -> Response:
    """One of the tables, as CSV."""
    days, key = _days(visit), visit.text("table")
    found = {one.key: one for one in figures(await _report(visit, days))}
    if (chosen := found.get(key)) is None:
        raise NotServedError(
            f"there is no table '{key}' for these days",
            where="/analytics.csv",
            hint=f"ask for one of: {', '.join(found) or 'none, nothing was measured'}",
        )
    text = io.StringIO()
    csv.writer(text).writerows([chosen.heads, *chosen.rows])
    return download(text.getvalue(), f"kds-{chosen.key}.csv", "text/csv")


def figures(report: MetricsReport) -> Iterator[Figures]:
    """The tables of a report that have anything in them."""
    if report.turns is not None or report.recalls is not None:
        yield _activity(report)
    if report.turns is not None:
        yield from _of_turns(report.turns)
    if report.recalls is not None:
        yield from _of_recalls(report.recalls)
    if sent := list(memory_rows(report)):
        yield Figures("memory", "Conversations sent to models", ("", "figure", ""), sent)
    hits = report.session_memory
    if hits.turns:
        rows = [
            ("sessions", str(hits.sessions)),
            ("questions", str(hits.turns)),
            ("from the third on", str(hits.later_turns)),
            ("of those, served by what the session remembered", _percent(hits.hit_rate)),
        ]
        yield Figures("sessions", "Questions in sessions", ("", "figure"), rows)


def _activity(report: MetricsReport) -> Figures:
    labels = [_label(report, at) for at in range(len(report.buckets))]
    turns = [one.turns for one in report.buckets]
    recalls = [one.recalls for one in report.buckets]
    found = [one.found for one in report.buckets]
    chart = columns(
        "Turns and recalls over time", labels, [Series("turns", turns), Series("recalls", recalls)]
    )
    rows = [
        (label, *map(str, counts))
        for label, *counts in zip(labels, turns, recalls, found, strict=True)
    ]
    heads = ("from (UTC)", "turns", "recalls", "found something")
    return Figures("activity", "Turns and recalls", heads, rows, chart)


def _label(report: MetricsReport, at: int) -> str:
    start = report.buckets[at].start
    return (
        f"{start:%m-%d %H:%M}"
        if report.until - report.since <= timedelta(days=2)
        else f"{start:%m-%d}"
    )


def _of_turns(turns: Turns) -> Iterator[Figures]:
    judged = turns.corrections
    rows = [
        (intent, str(count), _percent(count / turns.count), str(judged.by_intent.get(intent, 0)))
        for intent, count in turns.intents.items()
    ]
    split = [
        (intent, (count - judged.by_intent.get(intent, 0), judged.by_intent.get(intent, 0)))
        for intent, count in turns.intents.items()
    ]
    chart = bars("Turns by intent", split, ("turns", "corrected"))
    yield Figures("intents", "Intents", ("intent", "turns", "share", "corrected"), rows, chart)
    yield from _of_certainty(turns)
    actions = [(ACTIONS.get(one, one), (count,)) for one, count in turns.actions.items()]
    yield Figures(
        "actions", "Acted, asked back, abstained", ("", "turns", "share"),
        [(label, str(count), _percent(count / turns.count)) for label, (count,) in actions],
        bars("What was done", actions, ("turns",)),
    )  # fmt: skip
    pointing = turns.references
    done = [("resolved", (pointing.resolved,)), ("left alone", (pointing.left_alone,))]
    yield Figures(
        "references", "Words that point back", ("", "words"),
        [(label, str(count)) for label, (count,) in done],
        bars("Words that point back", done, ("words",)),
        "Left alone: nothing that was said answers them.",
    )  # fmt: skip
    yield _times(
        "latency", "CPU of a turn by step (ms)", {"all steps": turns.cpu_ms, **turns.stages_ms}
    )
    if turns.rewrites is not None:
        yield _model(turns.rewrites)


def _of_certainty(turns: Turns) -> Iterator[Figures]:
    judged = turns.corrections
    if not judged.bins:
        return
    rows = [
        (_percent(one.confidence), _percent(one.accuracy), str(one.count)) for one in judged.bins
    ]
    yield Figures(
        "certainty", "How certain, and how often right", ("certain", "right", "turns"), rows,
        reliability("Certainty against corrections", judged.bins),
        f"{judged.judged} turns were judged by what came next: {judged.corrected} were corrected. "
        "On the dashed line KDS is as certain as it is right.",
    )  # fmt: skip


def _model(found: Rewrites) -> Figures:
    rows = [
        ("turns to rewrite", found.count),
        ("calls", found.asked),
        ("known from before", found.cached),
        ("taken", found.used),
        ("left as written", found.unchanged),
        ("not asked, after a failure", found.resting),
    ]
    rows += [(f"turned down: {check}", count) for check, count in found.rejected.items()]
    rows += [(f"failed: {reason}", count) for reason, count in found.failed.items()]
    return Figures("model", "Calls of the model that rewrites", ("", "turns"),
                   [(label, str(count)) for label, count in rows])  # fmt: skip


def _of_recalls(recalls: Recalls) -> Iterator[Figures]:
    rows = [("recalls", str(recalls.count)), ("found something", _percent(recalls.hit_rate))]
    if recalls.widened is not None:
        rows.append(("had to look elsewhere", _percent(recalls.widened)))
    if recalls.top_score is not None:
        rows.append(("best score, on average", f"{recalls.top_score:.2f}"))
    if recalls.budget is not None:
        rows.append(("token budget used", _percent(recalls.budget.used)))
        rows.append(("over the budget", str(recalls.budget.over)))
    for flag, on in recalls.flags.items():
        rows.append((f"with: {flag.replace('_', ' ')}", _percent(on)))
    yield Figures("recalls", "Recalls", ("", "figure"), rows)
    if recalls.candidates:
        sources = [(name, (count,)) for name, count in recalls.candidates.items()]
        yield Figures(
            "candidates", "Candidates by source, a recall", ("source", "candidates"),
            [(name, f"{count:.1f}") for name, (count,) in sources],
            bars("Candidates by source", sources, ("candidates",)),
        )  # fmt: skip
    stages = {"all but embedding": recalls.latency_ms, **recalls.stages_ms}
    yield _times("recall-latency", "Time of a recall by step (ms)", stages)


def _times(key: str, title: str, stages: Mapping[str, Spread]) -> Figures:
    rows = [(stage, f"{s.p50:.2f}", f"{s.p95:.2f}", f"{s.p99:.2f}") for stage, s in stages.items()]
    drawn = [
        (stage, (s.p50, max(s.p95 - s.p50, 0.0), max(s.p99 - s.p95, 0.0)))
        for stage, s in stages.items()
    ]
    chart = bars(title, drawn, ("p50", "more at p95", "more at p99"))
    return Figures(key, title, ("step", "p50", "p95", "p99"), rows, chart)


async def _report(visit: Visit, days: int) -> MetricsReport:
    corrections = visit.served.conversations.library.corrections()
    span = timedelta(days=days)
    return await visit.archive(lambda: read_report(visit.served.memory_if_any(), span, corrections))


def _days(visit: Visit) -> int:
    asked = visit.number("days", 7)
    return asked if asked in RANGES else 7


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


routes = (get("/analytics", show), get("/analytics.csv", table))
