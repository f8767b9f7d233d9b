"""Measurements in SQLite, as JSON, for some days: figures, never a text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from kds.brain.errors import StoreError
from kds.brain.memory.records import Metric
from kds.brain.passages.recall import Recall
from kds.brain.store.columns import from_micros, json_column, to_micros
from kds.brain.store.engine import Engine

if TYPE_CHECKING:
    from kds.brain.memory.memory_store import MemoryStore

EMBEDDING: Final = "embedding"
"""Name of the measurement of a batch of texts that an embedding model was given."""

RECALL: Final = "recall"
"""Name of the measurement of a recall, for `kds metrics`."""

KEPT: Final = timedelta(days=30)
"""How long a measurement is kept."""


@dataclass(frozen=True, slots=True)
class MetricTable:
    """The table of measurements."""

    database: Engine

    def add(self, name: str, data: Mapping[str, object], *, at: datetime | None = None) -> None:
        """Store one measurement and drop old ones. Raises StoreError for what JSON cannot hold."""
        now = self.database.clock()
        try:
            text = json.dumps(dict(data), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the measurement {name!r} cannot be written as JSON: {error}",
                where=self.database.place,
                hint="measure numbers, texts, and lists and dictionaries of these",
            ) from error
        with self.database.write(durable=False) as connection:
            connection.execute("DELETE FROM metric WHERE at < ?", (to_micros(now - KEPT),))
            connection.execute(
                "INSERT INTO metric(at, name, data) VALUES (?, ?, ?)",
                (to_micros(at or now), name, text),
            )

    def since(self, moment: datetime, *, name: str | None = None) -> tuple[Metric, ...]:
        """Return the measurements from ``moment`` on, oldest first."""
        oldest = max(moment, self.database.clock() - KEPT)
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT at, name, data FROM metric WHERE at >= ? AND name = coalesce(?, name) "
                "ORDER BY at, num",
                (to_micros(oldest), name),
            ).fetchall()
        return tuple(Metric(from_micros(at), found, json_column(data)) for at, found, data in rows)


def log_recall(
    store: "MemoryStore",
    found: Recall,
    *,
    surface: str,
    budget_tokens: int | None = None,
    used_tokens: int | None = None,
    profile: int = 0,
) -> Recall:
    """Log a recall, and how much of its budget was used where texts were put together.

    ``profile``: how many of its lines were found as well. Returns the recall. A measurement that
    cannot be kept (a read-only memory, a full disk) is a note of it: what was found is not lost
    for that.
    """
    data = found.as_metric(profile=profile) | {"surface": surface}
    if budget_tokens is not None:
        data |= {"budget_tokens": budget_tokens, "used_tokens": used_tokens or 0}
    try:
        store.metrics.add(RECALL, data)
    except StoreError as error:
        return replace(found, notes=(*found.notes, f"not measured: {error.message}"))
    return found
