"""KDS's own numbers, from the measurements that the memory keeps for 30 days; and their tables.

Figures have the form of `kds metrics --json`: objects of numbers. A figure without measurements
is None. docs/memory-cli.md says what each means.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from kds.api.measures import mean, percentile, rounded, share, spread, tally
from kds.brain.clock import moment, utc_now
from kds.brain.context.journal import MAX_AGE
from kds.brain.memory.memory_store import EMBEDDING, MOST_READ, RECALL, TURN, MemoryStore, Metric
from kds.brain.memory.window import SUMMARY, WINDOW
from kds.query.values import session_hits

Row = Mapping[str, Any]
"""What one measurement holds; of an older or newer KDS it may be anything."""

Figures = dict[str, Any]

HOURLY: Final = timedelta(days=2)
"""Up to this span figures are counted by the hour, beyond it by the day."""


@dataclass(frozen=True, slots=True)
class MetricsTable:
    """A table of figures; ``key`` names it in addresses and files."""

    key: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All figures of a span of time."""

    since: datetime
    until: datetime
    figures: Figures

    def as_dict(self) -> Figures:
        """The JSON form, as `kds metrics --json` prints it."""
        return {"since": moment(self.since), "until": moment(self.until), **rounded(self.figures)}

    def tables(self) -> Iterator[MetricsTable]:
        """Yield the tables that have any rows."""
        found = self.figures
        if found["turns"] or found["recalls"]:
            label = slice(5, 16 if self.until - self.since <= HOURLY else 10)
            heads = ("from (UTC)", "turns", "recalls", "found something")
            counts = [[one["start"][label].replace("T", " "),
                       *(str(one[name]) for name in ("turns", "recalls", "found"))]
                      for one in found["buckets"]]  # fmt: skip
            yield MetricsTable("activity", "Turns and recalls", heads, counts)
        for key in ("turns", "recalls", "windows", "embedding", "content", "session_memory"):
            if found[key] and any(found[key].values()):
                title = key.replace("_", " ").capitalize()
                yield MetricsTable(key, title, ("", "figure"), list(_rows(found[key])))


def _rows(figures: Figures, above: str = "") -> Iterator[tuple[str, str]]:
    """Each figure behind the names of its groups; percentiles stand together."""
    for key, value in figures.items():
        name = f"{above}{key.replace('_', ' ')}"
        if isinstance(value, int | float):
            yield name, f"{value:.2f}" if isinstance(value, float) else str(value)
        elif value and [*value] == ["p50", "p95", "p99"]:
            yield f"{name}, p50 / p95 / p99", " / ".join(f"{ms:.2f}" for ms in value.values())
        elif value:
            yield from _rows(value, f"{name}: ")


def read_report(
    store: MemoryStore | None, span: timedelta, corrections: Collection[str]
) -> MetricsReport:
    """Return the figures of the last ``span``; empty ones without a store."""
    until = utc_now()
    found = store.metrics.since(until - span) if store else ()
    since = found[0].at if len(found) == MOST_READ else until - span
    report = report_metrics(found, since=since, until=until, corrections=corrections)
    report.figures["content"] = store.kinds() if store else {}
    return report


def report_metrics(
    metrics: Sequence[Metric], *, since: datetime, until: datetime, corrections: Collection[str]
) -> MetricsReport:
    """Work out the figures of measurements made from ``since`` to ``until``, oldest first.

    ``corrections`` are intents of messages that say the turn before was not what was wanted.
    """
    of = defaultdict[str, list[Metric]](list)
    for one in metrics:
        of[one.name].append(one)
    rows = {name: [one.data for one in found] for name, found in of.items()}
    recalls, windows, embedded = (rows.get(name, []) for name in (RECALL, WINDOW, EMBEDDING))
    texts = _numbers(embedded, "texts")
    each_ms = [ms / count for ms, count in zip(_numbers(embedded, "ms"), texts, strict=False)
               if count]  # fmt: skip
    figures = {
        "turns": _turns(of[TURN], corrections) if of[TURN] else None,
        "recalls": _recalls(recalls) if recalls else None,
        "session_memory": session_hits(metrics),
        "windows": _windows(windows, rows.get(SUMMARY, [])) if windows or of[SUMMARY] else None,
        "embedding": {"texts": round(sum(texts)), "ms": spread(each_ms)} if each_ms else None,
        "content": {},
        "buckets": list(_buckets(of[TURN], of[RECALL], since, until)),
    }
    return MetricsReport(since, until, figures)


def _turns(metrics: Sequence[Metric], corrections: Collection[str]) -> Figures:
    rows = [metric.data for metric in metrics]
    costs = _objects(rows, "cpu_ms")
    left_alone = round(sum(_numbers(rows, "unresolved")))
    return {
        "count": len(rows),
        "conversations": len({row.get("conversation") for row in rows}),
        "intents": tally(row.get("intent") for row in rows),
        "actions": tally(row.get("action") for row in rows),
        "confidence": mean(_numbers([r for r in rows if r.get("action") == "route"], "confidence")),
        "corrections": _corrections(metrics, corrections),
        "references": {
            "resolved": round(sum(_numbers(rows, "references"))), "left_alone": left_alone,
        },
        "cpu_ms": spread([sum(_numbers([cost], *cost)) for cost in costs]),
        "stages_ms": _stages(costs),
        "rewrites": rewrites_of(_objects(rows, "rewriting")),
    }  # fmt: skip


def _corrections(metrics: Sequence[Metric], corrections: Collection[str]) -> Figures:
    """Judge each turn by the next one of its conversation, while that remembers the first."""
    conversations = defaultdict[object, list[Metric]](list)
    for metric in metrics:
        conversations[metric.data.get("conversation")].append(metric)
    judged = [
        (str(turn.data.get("intent")), following.data.get("intent") in corrections)
        for turns in conversations.values()
        for turn, following in pairwise(turns)
        if following.at - turn.at <= MAX_AGE
        and turn.data.get("action") == "route"
        and turn.data.get("intent") not in corrections
    ]
    wrong = [intent for intent, corrected in judged if corrected]
    return {
        "judged": len(judged),
        "corrected": len(wrong),
        "accuracy": share(not corrected for _, corrected in judged),
        "by_intent": tally(wrong),
    }


def rewrites_of(rows: Sequence[Row]) -> Figures | None:
    """Figures of the turns that a model was to rewrite (docs/rewriting.md); None for no turns.

    ``asked`` counts the calls, ``resting`` the turns in which the model was left alone because it
    had just failed, ``ms`` is what the turns that asked waited.
    """
    if not rows:
        return None
    reasons = defaultdict[object, list[object]](list)
    for row in rows:
        reasons[row.get("outcome")].append(row.get("reason"))
    asked = [row for row in rows if not row.get("cached") and row.get("outcome") != "resting"]
    return {
        "count": len(rows),
        "asked": len(asked),
        "cached": sum(row.get("cached") is True for row in rows),
        **{outcome: len(reasons[outcome]) for outcome in ("used", "unchanged")},
        **{outcome: tally(reasons[outcome]) for outcome in ("rejected", "failed")},
        "resting": len(reasons["resting"]),
        "ms": spread(_numbers(asked, "ms")) if asked else None,
    }


def _recalls(rows: Sequence[Row]) -> Figures:
    """Figures of the recalls; ``latency_ms`` is without the embedding model."""
    stages = _stages(_objects(rows, "timings_ms"))
    flags = _objects(rows, "flags")
    budgets = [_numbers([row], "used_tokens", "budget_tokens") for row in rows]
    used = [pair[0] / pair[1] for pair in budgets if len(pair) == 2 and pair[1]]
    over = sum(part > 1.0 for part in used)
    within = (one for one in flags if one.get("in_conversation") is True)
    return {
        "count": len(rows),
        "hit_rate": share(hits > 0 for hits in _numbers(rows, "hits")),
        "widened": share(one.get("widened") is True for one in within),
        "top_score": mean(row["top_scores"][0] for row in rows if row.get("top_scores")),
        "latency_ms": stages.pop("total", spread(())),
        "stages_ms": stages,
        "candidates": _means(_objects(rows, "counts")),
        "budget": {"recalls": len(used), "used": mean(used), "over": over} if used else None,
        "surfaces": tally(row.get("surface") for row in rows),
        "flags": {
            name: share(one.get(name) is True for one in flags)
            for name in dict.fromkeys(name for one in flags for name in one)
        },
        "found": _means(_objects(rows, "found")),
    }


def _windows(windows: Sequence[Row], summaries: Sequence[Row]) -> Figures:
    """What was sent to models of conversations, and the summaries made for that."""
    tokens = _numbers(windows, "tokens")
    return {
        "count": len(windows),
        "tokens": mean(tokens) or 0.0,
        "tokens_p95": percentile(tokens, 95),
        "shortened": round(sum(_numbers(windows, "cut"))),
        "summaries": tally(f"{row.get('kind')}, {row.get('source')}" for row in summaries),
        "fell_back": sum(row.get("fell_back") is True for row in summaries),
    }


def _buckets(
    turns: Iterable[Metric], recalls: Sequence[Metric], since: datetime, until: datetime
) -> Iterator[Figures]:
    """The turns, the recalls, and those of them that found something, by the hour or the day."""
    hourly = until - since <= HOURLY

    def start(at: datetime) -> datetime:
        return at.replace(hour=at.hour if hourly else 0, minute=0, second=0, microsecond=0)

    counts = {
        "turns": Counter(start(one.at) for one in turns),
        "recalls": Counter(start(one.at) for one in recalls),
        "found": Counter(start(one.at) for one in recalls if sum(_numbers([one.data], "hits")) > 0),
    }
    at = start(since)
    while at <= until:
        yield {"start": moment(at), **{name: found[at] for name, found in counts.items()}}
        at += timedelta(hours=1) if hourly else timedelta(days=1)


# What rows hold: of another version of KDS it may be anything; what is of no use is left out


def _numbers(rows: Iterable[Row], *keys: str) -> list[float]:
    found = (row.get(key) for row in rows for key in keys)
    return [float(one) for one in found if isinstance(one, int | float)]


def _objects(rows: Iterable[Row], key: str) -> list[Row]:
    return [row[key] for row in rows if isinstance(row.get(key), Mapping)]


def _columns(rows: Sequence[Row]) -> dict[str, list[float]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _numbers(rows, name) for name in names}


def _stages(rows: Sequence[Row]) -> Figures:
    return {name: spread(values) for name, values in _columns(rows).items()}


def _means(rows: Sequence[Row]) -> Figures:
    return {name: sum(values) / len(rows) for name, values in _columns(rows).items()}
