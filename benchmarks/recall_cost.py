"""What a recall costs at 100k messages: in one conversation and in all, words, names and vectors.

    python benchmarks/recall_cost.py [--messages N] [--width N] [--folder DIR] [--json]

The conversations are those of memory_store.py, which builds the same database in DIR, with a
random vector a chunk. A question is six words of one of the messages, frequent and rare ones, or
a name from a block of code; its vector is random, and making it is not part of the time. Times
are the process's own CPU time, and those on the clock.

Then 10,000 random choices of hits are put together for random budgets: none may exceed its own.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np
from common import costs, spent
from memory_store import MODEL, Writer, build, run

from kds.api.measures import percentile
from kds.brain.passages.assembly import assemble
from kds.brain.passages.query import WORD
from kds.brain.passages.recall import recall
from kds.brain.passages.recalled import RecallSettings
from kds.brain.passages.values import EVERYWHERE, Scope
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.words.tokens import estimate_tokens

QUESTIONS = 300
ASSEMBLIES = 10_000
WARM_UP = 5
WORDS_ASKED = 6
ALONE = RecallSettings(few=0)


class RandomEmbedder:
    """Vectors out of nothing: the cost of searching them is the same."""

    name = MODEL

    def __init__(self, width: int) -> None:
        self._generator = np.random.default_rng(6)
        self._width = width

    def embed_query(self, text: str) -> list[float]:
        """Return a random vector."""
        return self._generator.standard_normal(self._width).tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return random vectors."""
        return [self.embed_query(text) for text in texts]


def _measured(path: Path, given: argparse.Namespace) -> Iterator[tuple[str, object]]:
    built = path.exists()
    with SqliteStore(path) as store:
        if not built:
            build(store, Writer(), given.messages, given.width)
        yield "messages", store.stats().messages
        asked = list(_questions(store))
        yield from _recalling(store, asked, RandomEmbedder(given.width))
        yield from _assembling(store, asked)


def _recalling(
    store: SqliteStore, asked: Sequence[tuple[str, str]], embedder: RandomEmbedder
) -> Iterator[tuple[str, object]]:
    for what, everywhere, model in (
        ("conversation_words", False, None),
        ("conversation_hybrid", False, embedder),
        ("global_words", True, None),
        ("global_hybrid", True, embedder),
    ):
        scopes = [EVERYWHERE if everywhere else Scope(session) for session, _ in asked]
        texts = [text for _, text in asked]
        times = [_times(store, *one, model) for one in zip(texts, scopes, strict=True)]
        yield from costs(what, times[WARM_UP:])


def _times(
    store: SqliteStore, text: str, scope: Scope, embedder: RandomEmbedder | None
) -> tuple[float, float]:
    """Milliseconds of a recall, without those of making its vector."""
    vector_ms = []

    def ask() -> None:
        found = recall(store, text, scope=scope, settings=ALONE, embedder=embedder)
        vector_ms.append(found.timings_ms.get("embedding", 0.0))

    cpu, wall = spent(ask)
    return cpu - vector_ms[0], wall - vector_ms[0]


def _assembling(
    store: SqliteStore, asked: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, object]]:
    chooser = random.Random(8)
    hits = [hit for _, text in asked[:60] for hit in recall(store, text, limit=20).hits]
    times, shares, over = [], [], 0
    for _ in range(ASSEMBLIES):
        budget = chooser.randint(0, 2000)
        chosen = chooser.sample(hits, chooser.randint(0, 15))
        started = process_time()
        made = assemble(chooser.choice(asked)[1], chosen, budget_tokens=budget)
        times.append(1000 * (process_time() - started))
        over += estimate_tokens(made.text) > budget
        if made.left_out:
            shares.append(made.tokens / max(budget, 1))
    yield "assemblies", ASSEMBLIES
    yield "assemblies_over_budget", over
    yield "budget_used_where_short", round(sum(shares) / max(len(shares), 1), 3)
    yield "assemble_cpu_ms_p95", round(percentile(times, 95), 2)


def _questions(store: SqliteStore) -> Iterator[tuple[str, str]]:
    chooser = random.Random(7)
    sessions = store.sessions(limit=10_000)
    for number in range(QUESTIONS + WARM_UP):
        session = chooser.choice(sessions)
        message = chooser.choice(store.messages(session.id))
        words = WORD.findall(message.content)
        names = [word for word in message.content.split() if word.isidentifier() and "_" in word]
        if number % 4 == 0 and names:
            yield session.id, chooser.choice(names)
        else:
            yield session.id, " ".join(chooser.sample(words, min(WORDS_ASKED, len(words))))


if __name__ == "__main__":
    run(__doc__, _measured)
