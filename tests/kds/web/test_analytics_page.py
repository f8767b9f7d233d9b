"""The page of figures."""

import csv
import io
import sqlite3
from contextlib import closing

import pytest

from kds.brain.memory.memory_store import SqliteStore
from kds.testing.metrics import MetricsTable
from kds.web.analytics_page import bars, columns

from .conftest import Site, Visitor


def measured(site: Site) -> None:
    """Three turns of a conversation, the second of them corrected, and a recall; what other tests
    have left is gone."""
    path = site.workspace.brain / "memory.db"
    with SqliteStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("DELETE FROM metric")
        for intent, certain in (("PLAN", 0.9), ("EXECUTE", 0.6), ("CORRECT", 0.8)):
            store.metrics.add("turn", {
                "conversation": "a", "intent": intent, "action": "route", "confidence": certain,
                "references": 2, "unresolved": 1, "cpu_ms": {"resolve": 3.0, "classify": 5.0},
            })  # fmt: skip
        store.metrics.add("recall", {
            "hits": 3, "counts": {"words": 5, "vectors": 2}, "timings_ms": {"total": 4.0},
            "used_tokens": 50, "budget_tokens": 100,
        })  # fmt: skip


def test_figures_are_drawn_and_stand_in_tables(site: Site, visitor: Visitor) -> None:
    measured(site)
    page = visitor.get("/analytics?days=1").text
    for told in (
        "<title>EXECUTE: 1 figure</title>",
        '<td>left alone</td><td class="number">3</td>',
        '<td>used</td><td class="number">0.50</td>',
    ):
        assert told in page
    assert page.count("<svg") >= 6


def test_every_table_can_be_downloaded(site: Site, visitor: Visitor) -> None:
    measured(site)
    page = visitor.get("/analytics").text
    keys = [part.split('"', 1)[0] for part in page.split("table=")[1:]]
    assert {"activity", "turns-intents", "turns-stages_ms-times", "recalls-candidates"} <= {*keys}
    for key in keys:
        answer = visitor.get("/analytics.csv", params={"days": 7, "table": key})
        assert answer.headers["content-type"].startswith("text/csv")
        heads, *rows = csv.reader(io.StringIO(answer.text))
        assert all(len(row) == len(heads) for row in rows)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><b>'])
def test_names_in_charts_are_text(name: str) -> None:
    drawn = [
        columns(name, [name], {name: [1.0]}),
        bars(MetricsTable("a", name, ("", name), [(name, "1")], drawn=1)),
    ]
    assert all("<script" not in one and "<b>" not in one for one in drawn)
