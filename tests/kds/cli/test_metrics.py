"""`kds metrics`: tables and JSON."""

from pathlib import Path

import pytest

from kds.api.turn_log import TURN, turn_metric
from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.metrics import log_recall
from kds.brain.passages.recall import recall
from kds.brain.turn import StepRecord, Turn

from ..conftest import Run, data


@pytest.fixture
def measured(workspace: Path) -> Path:
    """A workspace with three turns, one of them corrected, and two recalls."""
    with SqliteStore(workspace / "kds-brain" / "memory.db") as store:
        session = store.create_session()
        store.append(session.id, "user", "Staging uses port 8443.")
        for intent in ("PLAN", "EXECUTE", "CORRECT"):
            records = (StepRecord("classify", (), 4.0),)
            turn = Turn("x", utc_now(), intent=intent, action="route", confidence=0.9,
                        records=records)  # fmt: skip
            store.metrics.add(TURN, turn_metric(turn))
        for query in ("staging port", "zeppelin"):
            log_recall(store, recall(store, query), surface="test")
    return workspace


def test_without_measurements_it_says_how_to_get_them(kds_call: Run, workspace: Path) -> None:
    result = kds_call("metrics")
    assert (result.code, result.err) == (0, "")
    assert "nothing was measured" in result.out
    assert "KDS_MEMORY=on" in result.out
    found = data(kds_call("metrics", "--json"))
    assert (found["turns"], found["recalls"]) == (None, None)
    assert not (workspace / "kds-brain" / "memory.db").exists()


def test_the_tables_say_what_was_measured(kds_call: Run, measured: Path) -> None:
    text = kds_call("metrics").out
    for part in ("1 of 2", "EXECUTE", "33.3%", "found something", "classify", "lexical",
                 "asked by: test", "p99"):  # fmt: skip
        assert part in text


def test_the_json_has_the_same_figures(kds_call: Run, measured: Path) -> None:
    found = data(kds_call("metrics", "--since", "24h", "--json"))
    corrections = found["turns"]["corrections"]
    assert corrections == {
        "judged": 2, "corrected": 1, "accuracy": 0.5, "by_intent": {"EXECUTE": 1},
    }  # fmt: skip
    assert set(found["turns"]["references"]) == {"resolved", "left_alone"}
    assert found["recalls"]["hit_rate"] == 0.5
    assert set(found["recalls"]["latency_ms"]) == {"p50", "p95", "p99"}
    assert len(found["buckets"]) == 25
    assert found["memory"]["messages"] == 1
