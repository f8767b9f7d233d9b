"""Measurements in SQLite, as JSON, for some days."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.instant import from_micros, to_micros
from kds.brain.errors import StoreError
from kds.brain.passages.values import Metric

KEPT: Final = timedelta(days=30)
"""How long a measurement is kept (issue 5)."""


@dataclass(frozen=True, slots=True)
class MetricTable:
    """The table of measurements."""

    database: Database

    def add(self, name: str, data: Mapping[str, object], *, at: datetime | None = None) -> None:
        """Store one measurement; what is too old goes. Raises StoreError when it is no JSON."""
        now = self.database.clock()
        try:
            text = json.dumps(dict(data), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the measurement {name!r} cannot be written as JSON: {error}",
                where=str(self.database.path),
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
        return tuple(Metric(from_micros(at), found, json.loads(data)) for at, found, data in rows)
