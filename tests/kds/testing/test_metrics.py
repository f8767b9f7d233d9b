"""KDS's own numbers: worked out from measurements, and as `kds metrics` prints them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kds.api.turn_log import turn_metric
from kds.brain.memory.memory_store import RECALL, TURN, Metric, SqliteStore, log_recall
from kds.brain.passages.recall import recall
from kds.brain.turn import StepRecord, Turn
from kds.testing.metrics import report_metrics

from ..conftest import Run, data

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
WEEK = timedelta(days=7)


def turn(
    minute: float, intent: str, *, conversation: str = "a", action: str = "route", ms: float = 1.0
) -> Metric:
    made = Turn("secret text", NOW, intent=intent, action=action, confidence=0.8,  # type: ignore[arg-type]
                records=(StepRecord("classify", (), ms), StepRecord("log", (), 1.0)))  # fmt: skip
    data = dict(turn_metric(made, conversation))
    return Metric(NOW - timedelta(hours=5) + timedelta(minutes=minute), TURN, data)


def recalled(hits: int, ms: float = 5.0, **more: Any) -> Metric:
    data: dict[str, object] = {
        "hits": hits, "counts": {"lexical": hits, "code": 0}, "top_scores": [0.9] * hits,
        "timings_ms": {"lexical": ms / 2, "total": ms},
        "flags": {"in_conversation": True, "widened": hits == 0},
    }  # fmt: skip
    return Metric(NOW - timedelta(hours=1), RECALL, data | more)


def report(*metrics: Metric, span: timedelta = WEEK) -> dict[str, Any]:
    found = sorted(metrics, key=lambda metric: metric.at)
    return report_metrics(found, since=NOW - span, until=NOW, corrections={"CORRECT"}).as_dict()


def test_recalls_are_counted_with_hit_rate_sources_and_latency() -> None:
    found = report(recalled(2, 4.0, surface="cli"), recalled(0, 8.0, surface="mcp"))["recalls"]
    assert found | {
        "count": 2, "hit_rate": 0.5, "widened": 0.5, "top_score": 0.9, "budget": None,
        "candidates": {"lexical": 1.0, "code": 0.0}, "surfaces": {"cli": 1, "mcp": 1},
        "latency_ms": {"p50": 4.0, "p95": 8.0, "p99": 8.0},
        "stages_ms": {"lexical": {"p50": 2.0, "p95": 4.0, "p99": 4.0}},
    } == found  # fmt: skip


@pytest.mark.parametrize(("span", "count", "step"), [
    (WEEK, 8, timedelta(days=1)), (timedelta(hours=24), 25, timedelta(hours=1)),
])  # fmt: skip
def test_buckets_cover_the_span_without_gaps(span: timedelta, count: int, step: timedelta) -> None:
    found = report(turn(0, "PLAN"), recalled(1), recalled(0), span=span)
    starts = [datetime.fromisoformat(bucket["start"]) for bucket in found["buckets"]]
    assert len(starts) == count
    assert {later - earlier for earlier, later in pairwise(starts)} == {step}
    for name, total in {"turns": 1, "recalls": 2, "found": 1}.items():
        assert sum(bucket[name] for bucket in found["buckets"]) == total


def test_measurements_hold_no_text(tmp_path: Path) -> None:
    text = str(dict(turn_metric(Turn("secret text", NOW, expanded="secret"), "window-7")))
    assert "secret" not in text
    assert "window-7" not in text
    with SqliteStore(tmp_path / "memory.db") as store:
        session = store.create_session()
        store.append(session.id, "user", "Staging uses port 8443.")
        found = recall(store, "staging port")
        kept = log_recall(
            store, found, surface="test", budget_tokens=100, used_tokens=40, profile=2
        )
        [metric] = store.metrics.since(datetime(2020, 1, 1, tzinfo=UTC), name=RECALL)
    assert kept == found
    assert "staging" not in str(metric.data).lower()
    assert metric.data["found"] == {
        "conversation": 0, "elsewhere": 1, "summaries": 0, "profile": 2,
    }  # fmt: skip
    assert (metric.data["budget_tokens"], metric.data["surface"]) == (100, "test")


@pytest.fixture
def measured(workspace: Path) -> Path:
    """A workspace with three turns, one of them corrected, and two recalls."""
    with SqliteStore(workspace / "kds-brain" / "memory.db") as store:
        session = store.create_session()
        store.append(session.id, "user", "Staging uses port 8443.")
        for intent in ("PLAN", "EXECUTE", "CORRECT"):
            records = (StepRecord("classify", (), 4.0),)
            turn = Turn("x", NOW, intent=intent, action="route", confidence=0.9,
                        records=records)  # fmt: skip
            store.metrics.add(TURN, turn_metric(turn))
        for query in ("staging port", "zeppelin"):
            log_recall(store, recall(store, query), surface="test")
    return workspace


def test_without_measurements_it_says_how_to_get_them(kds_call: Run, workspace: Path) -> None:
    result = kds_call("metrics")
    assert (result.code, result.err) == (0, "")
    assert "nothing was measured" in result.out
    assert "memory.enabled on" in result.out
    found = data(kds_call("metrics", "--json"))
    assert (found["turns"], found["recalls"]) == (None, None)
    assert not (workspace / "kds-brain" / "memory.db").exists()


def test_tables_and_json_say_what_was_measured(kds_call: Run, measured: Path) -> None:
    text = kds_call("metrics").out
    for part in ("corrections: accuracy", "EXECUTE", "hit rate", "classify", "lexical",
                 "surfaces: ", "p99"):  # fmt: skip
        assert part in text
    found = data(kds_call("metrics", "--since", "24h", "--json"))
    corrections = found["turns"]["corrections"]
    assert corrections == {
        "judged": 2, "corrected": 1, "accuracy": 0.5, "by_intent": {"EXECUTE": 1},
    }  # fmt: skip
    assert set(found["turns"]["references"]) == {"resolved", "left_alone"}
    assert found["recalls"]["hit_rate"] == 0.5
    assert found["recalls"]["found"]["elsewhere"] == 0.5
    assert set(found["recalls"]["latency_ms"]) == {"p50", "p95", "p99"}
    assert len(found["buckets"]) == 25
    assert found["memory"]["messages"] == 1
