"""The page of figures."""

import csv
import io
import sqlite3
from contextlib import closing

from kds.brain.memory.memory_store import SqliteStore

from .conftest import Site, Visitor


def test_figures_stand_in_tables_with_bars_which_can_be_downloaded(
    site: Site, visitor: Visitor
) -> None:
    path = site.workspace.brain / "memory.db"
    with SqliteStore(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("DELETE FROM metric")  # of other tests
        for intent, certain in (("PLAN", 0.9), ("EXECUTE", 0.6), ("CORRECT", 0.8)):
            store.metrics.add("turn", {
                "conversation": "a", "intent": intent, "action": "route", "confidence": certain,
                "references": 2, "unresolved": 1, "cpu_ms": {"resolve": 3.0, "classify": 5.0},
            })  # fmt: skip
        store.metrics.add("recall", {
            "hits": 3, "counts": {"words": 5, "vectors": 2}, "timings_ms": {"total": 4.0},
            "used_tokens": 50, "budget_tokens": 100,
        })  # fmt: skip
    page = visitor.get("/analytics?days=1").text
    bar = '<meter aria-hidden="true" max="3.0" value="3.0"></meter> 3</td>'
    assert all(told in page for told in (bar, "<td>references: left alone</td>", "0.50</td>"))
    keys = [part.split('"', 1)[0] for part in page.split("table=")[1:]]
    assert {"activity", "turns", "recalls"} <= {*keys}
    for key in keys:
        answer = visitor.get("/analytics.csv", params={"days": 7, "table": key})
        assert answer.headers["content-type"].startswith("text/csv")
        heads, *rows = csv.reader(io.StringIO(answer.text))
        assert all(len(row) == len(heads) for row in rows)
