"""What a recall costs at 100k messages: in one conversation and in all, words, names and vectors.

    python benchmarks/recall_cost.py [--messages N] [--width N] [--folder DIR] [--json]

The conversations are those of memory_store.py, which builds the same database in DIR, with a
random vector a chunk. A question is six words of one of the messages, frequent and rare ones, or
a name from a block of code; its vector is random, and making it is not part of the time. Times
are the process's own CPU time, and those on the clock.

Then 10,000 random choices of hits are put together for random budgets: none may exceed its own.
"""

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from memory_store import MODEL, Writer, build, read_options

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


def main() -> None:
    """Build or open, measure, print."""
    options = read_options(__doc__)
    folder: AbstractContextManager[str]
    folder = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory()
    with folder as name:
        path = Path(name) / SqliteStore.file_name
        built = path.exists()
        with SqliteStore(path) as store:
            if not built:
                build(store, Writer(random.Random(5)), options.messages, options.width)
            figures = dict(_measured(store, RandomEmbedder(options.width)))
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for what, figure in figures.items():
        print(f"{what:32} {figure}")


def _measured(store: SqliteStore, embedder: RandomEmbedder) -> Iterator[tuple[str, object]]:
    yield "messages", store.stats().messages
    asked = list(_questions(store))
    for what, everywhere, model in (
        ("conversation_words", False, None),
        ("conversation_hybrid", False, embedder),
        ("global_words", True, None),
        ("global_hybrid", True, embedder),
    ):
        cpu, wall = [], []
        for number, (session, text) in enumerate(asked):
            scope = EVERYWHERE if everywhere else Scope(session)
            started, started_wall = process_time(), perf_counter()
            found = recall(store, text, scope=scope, settings=ALONE, embedder=model)
            vector_ms = found.timings_ms.get("embedding", 0.0)
            if number >= WARM_UP:
                cpu.append(1000 * (process_time() - started) - vector_ms)
                wall.append(1000 * (perf_counter() - started_wall) - vector_ms)
        for name, times in (("cpu", cpu), ("wall", wall)):
            yield f"{what}_{name}_ms", {f"p{p}": round(percentile(times, p), 1)
                                        for p in (50, 95, 99)}  # fmt: skip
    yield from _assembling(store, asked)


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
    main()
