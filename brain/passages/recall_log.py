"""Recalls that leave their measurement behind, for `kds metrics`: figures, never a text."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.passages.recall import DEFAULT_SETTINGS, recall
from kds.brain.passages.recalled import Recall, RecallSettings
from kds.brain.passages.store import Embedder, MemoryStore
from kds.brain.passages.values import EVERYWHERE, Scope

RECALL: Final = "recall"
"""Name of the measurement."""


def logged_recall(
    store: MemoryStore,
    query: str,
    *,
    surface: str,
    scope: Scope = EVERYWHERE,
    limit: int = 10,
    settings: RecallSettings = DEFAULT_SETTINGS,
    embedder: Embedder | None = None,
    now: datetime | None = None,
) -> Recall:
    """Recall as `recall` does, and log it as one of ``surface``, such as "cli"."""
    found = recall(
        store, query, scope=scope, limit=limit, settings=settings, embedder=embedder, now=now
    )
    return log_recall(store, found, surface=surface)


def log_recall(
    store: MemoryStore,
    found: Recall,
    *,
    surface: str,
    budget_tokens: int | None = None,
    used_tokens: int | None = None,
) -> Recall:
    """Log a recall, and how much of its budget was used where texts were put together.

    Returns the recall. A measurement that cannot be kept (a read-only memory, a full disk) is
    a note of it: what was found is not lost for that.
    """
    data = found.as_metric() | {"surface": surface}
    if budget_tokens is not None:
        data |= {"budget_tokens": budget_tokens, "used_tokens": used_tokens or 0}
    try:
        store.metrics.add(RECALL, data)
    except StoreError as error:
        return replace(found, notes=(*found.notes, f"not measured: {error.message}"))
    return found
