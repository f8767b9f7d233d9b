"""KDS's own numbers, from the measurements that the memory keeps for 30 days; and their tables.

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

Row = Mapping[str, Any]
"""What one measurement holds; of an older or newer KDS it may be anything."""

HOURLY: Final = timedelta(days=2)
"""Up to this span figures are counted by the hour, beyond it by the day."""

ACTIONS: Final = {"route": "acted", "clarify": "asked back", "abstain": "abstained"}


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
    ``candidates``: the mean of each source; ``found``: of what was found, by place.
    ``flags``: the share in which each switch was on.
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
    found: Mapping[str, float] = field(default_factory=dict)


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
    named: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics:
        named[metric.name].append(metric)
    rows = {name: [one.data for one in found] for name, found in named.items()}
    return MetricsReport(
        since,
        until,
        _turns(named[TURN], corrections) if TURN in named else None,
        _recalls(rows[RECALL]) if RECALL in rows else None,
        session_hits(metrics),
        _windows(rows.get(WINDOW, ()), rows.get(SUMMARY, ())),
        _embedding(rows.get(EMBEDDING, ())),
        {},
        tuple(_buckets(named[TURN], named[RECALL], since, until)),
    )


def _recalls(rows: Sequence[Row]) -> Recalls:
    stages = _stages(row.get("timings_ms") for row in rows)
    inside = [row for row in rows if _flag(row, "in_conversation")]
    flags = dict.fromkeys(name for row in rows for name in _mapping(row.get("flags")))
    used = [
        _number(row.get("used_tokens")) / budget
        for row in rows
        if (budget := _number(row.get("budget_tokens")))
    ]
    return Recalls(
        count=len(rows),
        hit_rate=share(_number(row.get("hits")) > 0 for row in rows) or 0.0,
        widened=share(_flag(row, "widened") for row in inside),
        top_score=mean(_number(row["top_scores"][0]) for row in rows if row.get("top_scores")),
        latency_ms=stages.pop("total", Spread(0.0, 0.0, 0.0)),
        stages_ms=stages,
        candidates=_means(rows, "counts"),
        budget=Budget(len(used), mean(used) or 0.0, sum(n > 1.0 for n in used)) if used else None,
        surfaces=tally(row.get("surface") for row in rows),
        flags={name: share(_flag(row, name) for row in rows) or 0.0 for name in flags},
        found=_means(rows, "found"),
    )


def _means(rows: Sequence[Row], key: str) -> Mapping[str, float]:
    """The mean of each figure below ``key`` over the rows that have it."""
    given = [_mapping(row[key]) for row in rows if key in row]
    names = dict.fromkeys(name for one in given for name in one)
    return {name: mean(_number(one.get(name)) for one in given) or 0.0 for name in names}


def _windows(windows: Sequence[Row], summaries: Sequence[Row]) -> Windows | None:
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


def _embedding(rows: Sequence[Row]) -> Embedding | None:
    texts = [(_number(row.get("ms")), _number(row.get("texts"))) for row in rows]
    times = [ms / count for ms, count in texts if count]
    return Embedding(_sum(rows, "texts"), spread(times)) if times else None


def _turns(metrics: Sequence[Metric], corrections: Collection[str]) -> Turns:
    rows = [metric.data for metric in metrics]
    costs = [_mapping(row.get("cpu_ms")) for row in rows]
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


def rewrites_of(rows: Sequence[Row]) -> Rewrites | None:
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
    """Judge each turn by the next one of its conversation, while that remembers the first."""
    conversations: dict[object, list[Metric]] = defaultdict(list)
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
    wrong = Counter(intent for intent, corrected in judged if corrected)
    return Corrections(
        judged=len(judged),
        corrected=wrong.total(),
        accuracy=share(not corrected for _, corrected in judged),
        by_intent=dict(wrong.most_common()),
    )


def _buckets(
    turns: Iterable[Metric], recalls: Sequence[Metric], since: datetime, until: datetime
) -> Iterator[Bucket]:
    hourly = until - since <= HOURLY
    step = timedelta(hours=1) if hourly else timedelta(days=1)

    def start(at: datetime) -> datetime:
        return at.replace(hour=at.hour if hourly else 0, minute=0, second=0, microsecond=0)

    turned = Counter(start(one.at) for one in turns)
    asked = Counter(start(one.at) for one in recalls)
    found = Counter(start(one.at) for one in recalls if _number(one.data.get("hits")) > 0)
    at = start(since)
    while at <= until:
        yield Bucket(at, turned[at], asked[at], found[at])
        at += step


def _stages(rows: Iterable[object]) -> dict[str, Spread]:
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for stage, ms in _mapping(row).items():
            values[stage].append(_number(ms))
    return {stage: spread(found) for stage, found in values.items()}


def _flag(row: Row, name: str) -> bool:
    return _mapping(row.get("flags")).get(name) is True


def _mapping(value: object) -> Row:
    return value if isinstance(value, Mapping) else {}


def _sum(rows: Iterable[Row], name: str) -> int:
    return round(sum(_number(row.get(name)) for row in rows))


def _number(value: object) -> float:
    """A measured number; anything else counts as 0."""
    return float(value) if isinstance(value, int | float) else 0.0


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
    if sent := list(_memory_rows(report)):
        yield MetricsTable("memory", "Conversations sent to models", ("", "figure", ""), sent)
    if (hits := report.session_memory).turns:
        yield _figures("sessions", "Questions in sessions", {
            "sessions": hits.sessions,
            "questions": hits.turns,
            "from the third on": hits.later_turns,
            "of those, served by the session's memory": percent(hits.hit_rate),
        })  # fmt: skip


def bucket_label(bucket: Bucket, span: timedelta) -> str:
    """The hour or the day of a bucket."""
    return f"{bucket.start:%m-%d %H:%M}" if span <= HOURLY else f"{bucket.start:%m-%d}"


def percent(share: float | None) -> str:
    """A share for a reader; a dash when nothing counted."""
    return "–" if share is None else f"{share:.1%}"


def _figures(
    key: str, title: str, figures: Mapping[str, object], heads: Sequence[str] = ("", "figure"),
    note: str = "",
) -> MetricsTable:  # fmt: skip
    """A table of names and figures; one that is None is left out."""
    rows = [(name, str(figure)) for name, figure in figures.items() if figure is not None]
    return MetricsTable(key, title, heads, rows, note)


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
    words = {"resolved": turns.references.resolved, "left alone": turns.references.left_alone}
    note = "Left alone: no earlier message answers them."
    yield _figures("references", "Words that point back", words, ("", "words"), note)
    yield _times(
        "latency", "CPU of a turn by step (ms)", {"all steps": turns.cpu_ms, **turns.stages_ms}
    )
    if (model := turns.rewrites) is not None:
        yield _figures("model", "Rewritten by a model", {
            "turns to rewrite": model.count,
            "calls": model.asked,
            "known from before": model.cached,
            "taken": model.used,
            "left as written": model.unchanged,
            "not asked, after a failure": model.resting,
            **{f"turned down: {check}": count for check, count in model.rejected.items()},
            **{f"failed: {reason}": count for reason, count in model.failed.items()},
            "ms that a turn waited, p50": f"{model.ms.p50:.0f}" if model.ms else None,
        }, ("", "turns"))  # fmt: skip


def _of_recalls(recalls: Recalls) -> Iterator[MetricsTable]:
    widened, score, budget = recalls.widened, recalls.top_score, recalls.budget
    yield _figures("recalls", "Recalls", {
        "recalls": recalls.count,
        "found something": percent(recalls.hit_rate),
        "had to look elsewhere": None if widened is None else percent(widened),
        "best score, on average": None if score is None else f"{score:.2f}",
        "token budget used": percent(budget.used) if budget else None,
        "over the budget": budget.over if budget else None,
        **{f"with: {flag.replace('_', ' ')}": percent(on) for flag, on in recalls.flags.items()},
        **{f"asked by: {name}": count for name, count in recalls.surfaces.items()},
    })  # fmt: skip
    if recalls.candidates:
        counts = {name: f"{count:.1f}" for name, count in recalls.candidates.items()}
        heads = ("source", "candidates")
        yield _figures("candidates", "Candidates by source, a recall", counts, heads)
    if recalls.found:
        places = {name: f"{count:.1f}" for name, count in recalls.found.items()}
        yield _figures("found", "Found by place, a recall", places, ("place", "found"))
    stages = {"all but embedding": recalls.latency_ms, **recalls.stages_ms}
    yield _times("recall-latency", "Time of a recall by step (ms)", stages)


def _times(key: str, title: str, stages: Mapping[str, Spread]) -> MetricsTable:
    rows = [(name, f"{s.p50:.2f}", f"{s.p95:.2f}", f"{s.p99:.2f}") for name, s in stages.items()]
    return MetricsTable(key, title, ("step", "p50", "p95", "p99"), rows)


def _memory_rows(report: MetricsReport) -> Iterator[tuple[str, str, str]]:
    """Windows, summaries, passages and embedding: name, figure, of."""
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
