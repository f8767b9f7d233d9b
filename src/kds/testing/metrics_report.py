"""KDS's own numbers, from the measurements that the memory keeps for 30 days.

A figure without measurements is None.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from kds.api.measures import Spread, mean, percentile, rounded, share, spread, tally
from kds.api.turn_log import TURN
from kds.brain.clock import moment, utc_now
from kds.brain.context.journal import MAX_AGE
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.metrics import EMBEDDING, RECALL
from kds.brain.memory.records import Metric
from kds.brain.memory.window import SUMMARY, WINDOW
from kds.query.session import SessionHits, session_hits

HOURLY: Final = timedelta(days=2)
"""Up to this span figures are counted by the hour, beyond it by the day."""

TOTAL: Final = "total"


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Figures of the turns that a model was to rewrite (docs/rewriting.md).

    ``asked`` counts the calls, ``cached`` the answers known from before, ``resting`` the turns in
    which the model was not asked because it had just failed. ``rejected`` counts by the check
    that failed, ``failed`` by what went wrong; ``ms`` is what the turns that asked waited.
    """

    count: int
    asked: int
    cached: int
    used: int
    unchanged: int
    rejected: Mapping[str, int]
    failed: Mapping[str, int]
    resting: int
    ms: Spread | None


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of their budget recalls used: a mean share, and how many were over it."""

    recalls: int
    used: float
    over: int


@dataclass(frozen=True, slots=True)
class Recalls:
    """Figures of the recalls.

    ``hit_rate``: the share that found something. ``widened``: of those in one conversation, the
    share that had to search the others. ``latency_ms`` is without the embedding model.
    ``candidates``: the mean of each source. ``flags``: the share in which each switch was on.
    """

    count: int
    hit_rate: float
    widened: float | None
    top_score: float | None
    latency_ms: Spread
    stages_ms: Mapping[str, Spread]
    candidates: Mapping[str, float]
    budget: Budget | None
    surfaces: Mapping[str, int]
    flags: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of conversations that were sent to models, and the summaries made for them.

    ``tokens``: the mean of a window. ``shortened``: messages that were cut to fit. ``summaries``:
    how many, by kind and author ("rolling, extractive"). ``fell_back``: a model's that were
    rejected.
    """

    count: int
    tokens: float
    tokens_p95: float
    shortened: int
    summaries: Mapping[str, int]
    fell_back: int


@dataclass(frozen=True, slots=True)
class Embedding:
    """How long the embedding model took a text, in milliseconds."""

    texts: int
    ms: Spread


@dataclass(frozen=True, slots=True)
class Corrections:
    """Which turns that were acted on were corrected by the next one of the conversation.

    ``judged`` turns were followed by another one within two hours. ``by_intent`` counts the
    corrected ones.
    """

    judged: int
    corrected: int
    accuracy: float | None
    by_intent: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Pointing:
    """How many expressions that point back were resolved, and how many were not."""

    resolved: int
    left_alone: int


@dataclass(frozen=True, slots=True)
class Turns:
    """Figures of the routed turns."""

    count: int
    conversations: int
    intents: Mapping[str, int]
    actions: Mapping[str, int]
    confidence: float | None
    corrections: Corrections
    references: Pointing
    cpu_ms: Spread
    stages_ms: Mapping[str, Spread]
    rewrites: Rewrites | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """The turns and recalls of an hour or a day; ``found``: recalls that found something."""

    start: datetime
    turns: int
    recalls: int
    found: int


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All figures of a span of time; None where nothing was measured.

    ``content`` counts the stored passages by kind: prose, code.
    """

    since: datetime
    until: datetime
    turns: Turns | None
    recalls: Recalls | None
    session_memory: SessionHits
    windows: Windows | None
    embedding: Embedding | None
    content: Mapping[str, int]
    buckets: tuple[Bucket, ...]

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, as `kds metrics --json` prints it."""
        buckets = [{**asdict(one), "start": moment(one.start)} for one in self.buckets]
        times = {"since": moment(self.since), "until": moment(self.until)}
        return rounded(asdict(self)) | times | {"buckets": buckets}


def read_report(
    store: MemoryStore | None, span: timedelta, corrections: Collection[str]
) -> MetricsReport:
    """Return the figures of the last ``span``; empty ones without a store."""
    until = utc_now()
    found = store.metrics.since(until - span) if store else ()
    report = report_metrics(found, since=until - span, until=until, corrections=corrections)
    return replace(report, content=store.kinds()) if store else report


def report_metrics(
    metrics: Sequence[Metric], *, since: datetime, until: datetime, corrections: Collection[str]
) -> MetricsReport:
    """Work out the figures of measurements made from ``since`` to ``until``, oldest first.

    ``corrections`` are intents of messages that say the turn before was not what was wanted.
    """
    turns = [metric for metric in metrics if metric.name == TURN]
    recalls = [metric for metric in metrics if metric.name == RECALL]
    return MetricsReport(
        since,
        until,
        _turns(turns, corrections) if turns else None,
        _recalls([metric.data for metric in recalls]) if recalls else None,
        session_hits(metrics),
        _windows(metrics),
        _embedding(metrics),
        {},
        tuple(_buckets(turns, recalls, since, until)),
    )


def memory_rows(report: MetricsReport) -> Iterator[tuple[str, str, str]]:
    """Yield the rows for windows, summaries, passages and embedding: name, figure, of."""
    if (windows := report.windows) is not None:
        of = f"p95 {windows.tokens_p95:.0f}, {windows.count} windows"
        yield "tokens of a window", f"{windows.tokens:.0f}", of
        yield "messages shortened", str(windows.shortened), ""
        for kind, count in windows.summaries.items():
            yield f"summaries: {kind}", str(count), ""
        if windows.fell_back:
            yield "summaries of a model not taken", str(windows.fell_back), ""
    for kind, count in report.content.items():
        yield f"stored passages: {kind}", str(count), ""
    if (embedding := report.embedding) is not None:
        yield "ms to embed a text", f"{embedding.ms.p50:.1f}", f"p50 of {embedding.texts}"


def _recalls(rows: Sequence[Mapping[str, Any]]) -> Recalls:
    stages = _stages(row.get("timings_ms") for row in rows)
    inside = [row for row in rows if _flag(row, "in_conversation")]
    best = [_number(row["top_scores"][0]) for row in rows if row.get("top_scores")]
    return Recalls(
        count=len(rows),
        hit_rate=share(_number(row.get("hits")) > 0 for row in rows) or 0.0,
        widened=share(_flag(row, "widened") for row in inside),
        top_score=mean(best),
        latency_ms=stages.pop(TOTAL, Spread(0.0, 0.0, 0.0)),
        stages_ms=stages,
        candidates=_candidates(rows),
        budget=_budget(rows),
        surfaces=tally(row.get("surface") for row in rows),
        flags=_flags(rows),
    )


def _flags(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in _mapping(row.get("flags")))
    return {name: share(_flag(row, name) for row in rows) or 0.0 for name in names}


def _windows(metrics: Sequence[Metric]) -> Windows | None:
    windows = [one.data for one in metrics if one.name == WINDOW]
    summaries = [one.data for one in metrics if one.name == SUMMARY]
    if not (windows or summaries):
        return None
    tokens = [_number(row.get("tokens")) for row in windows]
    return Windows(
        count=len(windows),
        tokens=mean(tokens) or 0.0,
        tokens_p95=percentile(tokens, 95),
        shortened=_sum(windows, "cut"),
        summaries=tally(f"{row.get('kind')}, {row.get('source')}" for row in summaries),
        fell_back=sum(row.get("fell_back") is True for row in summaries),
    )


def _embedding(metrics: Sequence[Metric]) -> Embedding | None:
    rows = [one.data for one in metrics if one.name == EMBEDDING]
    texts = [_number(row.get("texts")) for row in rows]
    taken = [_number(row.get("ms")) for row in rows]
    times = [ms / count for ms, count in zip(taken, texts, strict=True) if count]
    return Embedding(round(sum(texts)), spread(times)) if times else None


def _candidates(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update({name: _number(count) for name, count in (row.get("counts") or {}).items()})
    return {name: count / len(rows) for name, count in total.items()}


def _budget(rows: Iterable[Mapping[str, Any]]) -> Budget | None:
    shares = [
        _number(row.get("used_tokens")) / budget
        for row in rows
        if (budget := _number(row.get("budget_tokens")))
    ]
    if not shares:
        return None
    return Budget(len(shares), mean(shares) or 0.0, sum(one > 1.0 for one in shares))


def _turns(metrics: Sequence[Metric], corrections: Collection[str]) -> Turns:
    rows = [metric.data for metric in metrics]
    costs: list[Mapping[str, Any]] = [_mapping(row.get("cpu_ms")) for row in rows]
    confidences = [_number(row.get("confidence")) for row in rows if row.get("action") == "route"]
    return Turns(
        count=len(rows),
        conversations=len({row.get("conversation") for row in rows}),
        intents=tally(row.get("intent") for row in rows),
        actions=tally(row.get("action") for row in rows),
        confidence=mean(confidences),
        corrections=_corrections(metrics, corrections),
        references=Pointing(_sum(rows, "references"), _sum(rows, "unresolved")),
        cpu_ms=spread([sum(map(_number, cost.values())) for cost in costs]),
        stages_ms=_stages(costs),
        rewrites=rewrites_of([_mapping(row["rewriting"]) for row in rows if row.get("rewriting")]),
    )


def rewrites_of(rows: Sequence[Mapping[str, Any]]) -> Rewrites | None:
    """Add up the records of turns, as `turn_metric` made them; None when there are none."""
    if not rows:
        return None
    outcomes = Counter(row.get("outcome") for row in rows)
    asked = [row for row in rows if not row.get("cached") and row.get("outcome") != "resting"]
    return Rewrites(
        count=len(rows),
        asked=len(asked),
        cached=sum(row.get("cached") is True for row in rows),
        used=outcomes["used"],
        unchanged=outcomes["unchanged"],
        rejected=tally(row.get("reason") for row in rows if row.get("outcome") == "rejected"),
        failed=tally(row.get("reason") for row in rows if row.get("outcome") == "failed"),
        resting=outcomes["resting"],
        ms=spread([float(row.get("ms") or 0.0) for row in asked]) if asked else None,
    )


def _corrections(metrics: Sequence[Metric], corrections: Collection[str]) -> Corrections:
    right: list[bool] = []
    corrected = Counter[str]()
    for turn, following in _pairs(metrics):
        if turn.data.get("action") != "route" or turn.data.get("intent") in corrections:
            continue
        right.append(following.data.get("intent") not in corrections)
        if not right[-1]:
            corrected[str(turn.data.get("intent"))] += 1
    return Corrections(
        judged=len(right),
        corrected=corrected.total(),
        accuracy=share(right),
        by_intent=dict(corrected.most_common()),
    )


def _pairs(metrics: Iterable[Metric]) -> Iterator[tuple[Metric, Metric]]:
    """Yield each turn with the next one of its conversation, while that remembers the first."""
    conversations: dict[object, list[Metric]] = defaultdict(list)
    for metric in metrics:
        conversations[metric.data.get("conversation")].append(metric)
    for turns in conversations.values():
        for turn, following in pairwise(turns):
            if following.at - turn.at <= MAX_AGE:
                yield turn, following


def _buckets(
    turns: Iterable[Metric], recalls: Iterable[Metric], since: datetime, until: datetime
) -> Iterator[Bucket]:
    hourly = until - since <= HOURLY
    step = timedelta(hours=1) if hourly else timedelta(days=1)
    turned = Counter(_start(metric.at, hourly=hourly) for metric in turns)
    asked, found = Counter[datetime](), Counter[datetime]()
    for metric in recalls:
        start = _start(metric.at, hourly=hourly)
        asked[start] += 1
        found[start] += _number(metric.data.get("hits")) > 0
    at = _start(since, hourly=hourly)
    while at <= until:
        yield Bucket(at, turned[at], asked[at], found[at])
        at += step


def _start(at: datetime, *, hourly: bool) -> datetime:
    return at.replace(hour=at.hour if hourly else 0, minute=0, second=0, microsecond=0)


def _stages(rows: Iterable[object]) -> dict[str, Spread]:
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for stage, ms in _mapping(row).items():
            values[stage].append(_number(ms))
    return {stage: spread(found) for stage, found in values.items()}


def _flag(row: Mapping[str, Any], name: str) -> bool:
    return _mapping(row.get("flags")).get(name) is True


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sum(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return round(sum(_number(row.get(name)) for row in rows))


def _number(value: object) -> float:
    """A measured number; anything else, from an older or newer KDS, counts as 0."""
    return float(value) if isinstance(value, int | float) else 0.0
