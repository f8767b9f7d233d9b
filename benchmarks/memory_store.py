"""What the conversation memory costs at 100k messages: appending, searching, disk, deleting.

    python benchmarks/memory_store.py [--messages N] [--width N] [--folder DIR] [--json]

Builds a database of made-up conversations (words of a Zipf-distributed vocabulary, a fifth of the
answers with a block of code) with a random vector for each chunk, then measures on it. CPU time
is the process's own, all threads; embedding is not part of it. DIR keeps the database; without
it a temporary folder is used and removed.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import TypeVar

import numpy as np
from common import Words, costs, cpu_ms, options, show, spent

from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.passages.text_search import words_of
from kds.brain.passages.values import Message, Role
from kds.brain.sessions.session_values import Archive, Session
from kds.brain.sessions.sqlite_store import SqliteStore

SESSION_MESSAGES = 100
APPENDS = 1000
QUESTIONS = 200
MODEL = "random"
T = TypeVar("T")
START = datetime(2025, 1, 1, tzinfo=UTC)
COMMON = "the to of and a in is it that for on with as this be at or from you we can not".split()


class Writer(Words):
    """Makes up conversations; the same ones for the same seed."""

    def __init__(self) -> None:
        super().__init__(5, 40_000, COMMON)

    def text(self, role: Role) -> str:
        """Return a message: a short question, or an answer of some sentences."""
        sentences = 1 if role == "user" else self.random.randint(2, 9)
        text = " ".join(
            " ".join(self.some(self.random.randint(6, 20))) + "." for _ in range(sentences)
        )
        if role == "assistant" and self.random.random() < 0.2:
            text += f"\n\n```python\n{self.code()}\n```\n"
        return text

    def code(self) -> str:
        """Return something that looks like a function."""
        name, *others = self.some(9)
        lines = [f"def {name}_{others[0]}(self, {others[1]}):"]
        lines += [f"    {a}_{b} = self.{b}({a})" for a, b in pairwise(others)]
        return "\n".join(lines)

    def session(self, number: int, count: int) -> Archive:
        """Return a whole conversation."""
        at = START + timedelta(hours=number)
        roles: list[Role] = ["user", "assistant"]
        messages = tuple(
            Message("", "", n, roles[n % 2], self.text(roles[n % 2]), at + timedelta(minutes=n), 0)
            for n in range(count)
        )
        session = Session(f"s{number}", 0, "", at, at, None, count, 0)
        return Archive(session, messages)


def _measured(path: Path, given: argparse.Namespace) -> Iterator[tuple[str, object]]:
    writer = Writer()
    if not path.exists():
        with SqliteStore(path) as store:
            started = process_time()
            build(store, writer, given.messages, given.width)
            yield "build_cpu_s", round(process_time() - started, 1)
    started = process_time()
    store = SqliteStore(path)
    yield "open_cpu_ms", round(1000 * (process_time() - started), 2)
    stats = store.stats()
    yield "messages", stats.messages
    yield "chunks", stats.chunks
    yield "vectors", sum(model.vectors for model in stats.models)
    yield from _appending(store, writer)
    yield from _searching(store, writer, given.width)
    yield from _whole(store)


def build(store: SqliteStore, writer: Writer, count: int, width: int) -> None:
    """Fill an empty store with `count` made-up messages and their vectors."""
    store.use_model(MODEL)
    for number in range(count // SESSION_MESSAGES):
        store.restore(writer.session(number, SESSION_MESSAGES))
    generator = np.random.default_rng(5)
    while jobs := store.pending_embeddings(500):
        vectors = generator.standard_normal((len(jobs), width), dtype=np.float32)
        store.store_embeddings(
            MODEL, {job.chunk_id: vector for job, vector in zip(jobs, vectors, strict=True)}
        )


def _appending(store: SqliteStore, writer: Writer) -> Iterator[tuple[str, object]]:
    session = store.create_session().id
    texts: list[tuple[Role, str]] = []
    for number in range(APPENDS):
        role: Role = "assistant" if number % 2 else "user"
        texts.append((role, writer.text(role)))
    yield "message_characters_mean", round(sum(len(text) for _, text in texts) / APPENDS)
    yield from _times("append", texts, lambda item: store.append(session, *item))
    yield "bytes", (total := store.stats().size_bytes)
    yield "mb_per_100k_messages", round(total / store.stats().messages * 100_000 / 2**20, 1)


def _searching(store: SqliteStore, writer: Writer, width: int) -> Iterator[tuple[str, object]]:
    rare = [" ".join(writer.random.sample(writer.words[200:5000], 4)) for _ in range(QUESTIONS)]
    mixed = [" ".join(writer.some(8)) for _ in range(QUESTIONS)]
    names = [[f"{a}_{b}"] for a, b in (writer.some(2) for _ in range(QUESTIONS))]
    within = store.sessions(limit=1)[0].id
    vectors = list(np.random.default_rng(6).standard_normal((QUESTIONS, width)))

    def search(text: str, within: str | None = None, *, limit: int) -> object:
        return store.search_words(words_of(text), within, limit=limit, weights=COLUMN_WEIGHTS)

    yield from _times("lexical_session", mixed, lambda text: search(text, within, limit=50))
    yield from _times("lexical_global_rare", rare, lambda text: search(text, limit=50))
    yield from _times("lexical_global", mixed, lambda text: search(text, limit=50))
    identifiers = store.search_identifiers
    yield from _times("identifiers_global", names, lambda given: identifiers(given, limit=50))
    dense = store.search_dense
    yield from _times(
        "dense_session", vectors, lambda vector: dense(vector, model=MODEL, within=within, limit=50)
    )
    loading = cpu_ms(lambda: dense(vectors[0], model=MODEL, limit=1))
    yield "dense_load_cpu_ms", round(loading, 1)
    yield from _times("dense_global", vectors, lambda vector: dense(vector, model=MODEL, limit=50))


def _whole(store: SqliteStore) -> Iterator[tuple[str, object]]:
    for what, call in {
        "stats": store.stats,
        "check": store.check,
        "delete_session": lambda: store.delete_session(store.sessions(limit=1)[0].id),
        "rebuild": store.rebuild,
    }.items():
        cpu, wall = spent(call)
        yield f"{what}_cpu_s", round(cpu / 1000, 2)
        yield f"{what}_wall_s", round(wall / 1000, 2)


def _times(what: str, items: list[T], call: Callable[[T], object]) -> Iterator[tuple[str, object]]:
    return costs(what, [spent(lambda one=one: call(one)) for one in items])  # type: ignore[misc]


def run(
    about: str | None,
    measure: Callable[[Path, argparse.Namespace], Iterator[tuple[str, object]]],
) -> None:
    """Read the command line of a benchmark on this database, measure, print."""
    parser = options(about, "--json", messages=100_000, width=384)
    parser.add_argument("--folder", help="keep the database here, or use the one that is here")
    given = parser.parse_args()
    folder: AbstractContextManager[str]
    folder = nullcontext(given.folder) if given.folder else tempfile.TemporaryDirectory()
    with folder as name:
        figures = dict(measure(Path(name) / SqliteStore.file_name, given))
    show(figures, as_json=given.json)


if __name__ == "__main__":
    run(__doc__, _measured)
