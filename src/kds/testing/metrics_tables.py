"""The figures of `kds metrics` as tables, for the terminal and for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from kds.api.measures import Spread
from kds.testing.metrics_report import (
    HOURLY,
    Bucket,
    MetricsReport,
    Recalls,
    Rewrites,
    Turns,
    memory_rows,
)

ACTIONS: Final = {"route": "acted", "clarify": "asked back", "abstain": "abstained"}


@dataclass(frozen=True, slots=True)
class MetricsTable:
    """A table of figures; ``key`` names it in addresses, files and charts."""

    key: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def metrics_tables(report: MetricsReport) -> Iterator[MetricsTable]:
    """Yield the tables of a report that have any rows."""
    if report.turns is not None or report.recalls is not None:
        heads = ("from (UTC)", "turns", "recalls", "found something")
        span = report.until - report.since
        rows = [
            (bucket_label(one, span), *map(str, (one.turns, one.recalls, one.found)))
            for one in report.buckets
        ]
        yield MetricsTable("activity", "Turns and recalls", heads, rows)
    if report.turns is not None:
        yield from _of_turns(report.turns)
    if report.recalls is not None:
        yield from _of_recalls(report.recalls)
    if sent := list(memory_rows(report)):
        yield MetricsTable("memory", "Conversations sent to models", ("", "figure", ""), sent)
    hits = report.session_memory
    if hits.turns:
        rows = [
            ("sessions", str(hits.sessions)),
            ("questions", str(hits.turns)),
            ("from the third on", str(hits.later_turns)),
            ("of those, served by the session's memory", percent(hits.hit_rate)),
        ]
        yield MetricsTable("sessions", "Questions in sessions", ("", "figure"), rows)


def bucket_label(bucket: Bucket, span: timedelta) -> str:
    """The hour or the day of a bucket."""
    return f"{bucket.start:%m-%d %H:%M}" if span <= HOURLY else f"{bucket.start:%m-%d}"


def percent(share: float | None) -> str:
    """A share for a reader; a dash when nothing counted."""
    return "–" if share is None else f"{share:.1%}"


def _of_turns(turns: Turns) -> Iterator[MetricsTable]:
    judged = turns.corrections
    intents = [
        (intent, str(count), percent(count / turns.count), str(judged.by_intent.get(intent, 0)))
        for intent, count in turns.intents.items()
    ]
    yield MetricsTable("intents", "Intents", ("intent", "turns", "share", "corrected"), intents)
    rows = [
        (ACTIONS.get(action, action), str(count), percent(count / turns.count))
        for action, count in turns.actions.items()
    ]
    right = f"{judged.judged - judged.corrected} of {judged.judged}"
    rows.append(("right, of those the next turn judged", right, percent(judged.accuracy)))
    rows.append(("confidence of those acted on", "", percent(turns.confidence)))
    heads = ("", "turns", "share")
    yield MetricsTable("actions", "Acted, asked back, abstained", heads, rows)
    pointing = turns.references
    yield MetricsTable(
        "references",
        "Words that point back",
        ("", "words"),
        [("resolved", str(pointing.resolved)), ("left alone", str(pointing.left_alone))],
        "Left alone: no earlier message answers them.",
    )
    yield _times(
        "latency", "CPU of a turn by step (ms)", {"all steps": turns.cpu_ms, **turns.stages_ms}
    )
    if turns.rewrites is not None:
        yield _model(turns.rewrites)


def _model(found: Rewrites) -> MetricsTable:
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
    shown = [(label, str(count)) for label, count in rows]
    if found.ms is not None:
        shown.append(("ms that a turn waited, p50", f"{found.ms.p50:.0f}"))
    return MetricsTable("model", "Rewritten by a model", ("", "turns"), shown)


def _of_recalls(recalls: Recalls) -> Iterator[MetricsTable]:
    rows = [("recalls", str(recalls.count)), ("found something", percent(recalls.hit_rate))]
    if recalls.widened is not None:
        rows.append(("had to look elsewhere", percent(recalls.widened)))
    if recalls.top_score is not None:
        rows.append(("best score, on average", f"{recalls.top_score:.2f}"))
    if recalls.budget is not None:
        rows.append(("token budget used", percent(recalls.budget.used)))
        rows.append(("over the budget", str(recalls.budget.over)))
    for flag, on in recalls.flags.items():
        rows.append((f"with: {flag.replace('_', ' ')}", percent(on)))
    rows += [(f"asked by: {name}", str(count)) for name, count in recalls.surfaces.items()]
    yield MetricsTable("recalls", "Recalls", ("", "figure"), rows)
    if recalls.candidates:
        yield MetricsTable(
            "candidates",
            "Candidates by source, a recall",
            ("source", "candidates"),
            [(name, f"{count:.1f}") for name, count in recalls.candidates.items()],
        )
    stages = {"all but embedding": recalls.latency_ms, **recalls.stages_ms}
    yield _times("recall-latency", "Time of a recall by step (ms)", stages)


def _times(key: str, title: str, stages: Mapping[str, Spread]) -> MetricsTable:
    rows = [(name, f"{s.p50:.2f}", f"{s.p95:.2f}", f"{s.p99:.2f}") for name, s in stages.items()]
    return MetricsTable(key, title, ("step", "p50", "p95", "p99"), rows)
