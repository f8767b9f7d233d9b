"""One search of the memory, with all that `kds memory search` shows of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import MemoryStore, log_recall
from kds.brain.passages.recall import Assembled, Hit, assemble, recall
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Summary
from kds.brain.settings import RecallOptions


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found, and how; ``context`` where the hits were to be put together."""

    query: str
    hits: tuple[Hit, ...]
    summaries: tuple[tuple[Summary, float], ...]
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    timings_ms: Mapping[str, float]
    profile: tuple[str, ...]
    """Lines of the profile that the question is about."""
    titles: Mapping[str, str]
    """Of the sessions that hits are from, by their ids."""
    context: Assembled | None = None


def search_memory(
    store: MemoryStore,
    query: str,
    *,
    options: RecallOptions,
    session: str | None = None,
    limit: int = 10,
    budget: int | None = None,
    embedder: Embedder | None = None,
    surface: str = "cli",
) -> Searched:
    """Search past conversations, those of ``session`` first; the search is measured.

    ``budget`` puts the hits together as context of so many tokens.
    """
    found = recall(
        store, query, session=session, limit=limit, options=options,
        embedder=embedder, now=utc_now(),
    )  # fmt: skip
    context = assemble(query, found.hits, budget_tokens=budget) if budget else None
    profile = store.profile.matching(found.question, f"searched: {surface}", vector=found.vector)
    found = log_recall(
        store, found, surface=surface, budget_tokens=budget,
        used_tokens=context.tokens if context else None, profile=len(profile),
    )  # fmt: skip
    kept = map(store.find_session, {hit.passage.session_id for hit in found.hits})
    return Searched(
        query, found.hits, found.summaries, found.notes, found.counts, found.timings_ms,
        profile, {one.id: one.title for one in kept if one}, context,
    )  # fmt: skip
