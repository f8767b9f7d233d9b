"""Recall over many messages on PostgreSQL: in one conversation, and over everything.

    python benchmarks/postgres_recall.py                         100,000 messages
    python benchmarks/postgres_recall.py --messages 100000 --copies 10 --vectors 100000
    python benchmarks/postgres_recall.py --url postgresql://...  on a server; what is there stays

Ten thousand conversations at most, of words as frequent as words are (Zipf), and vectors of 384
numbers for some. What a turn costs is measured at each tenth of the way, so that its growth can be
seen. Copies are made by the server of what was stored: a million messages in minutes, with words as
frequent as they were.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import numpy as np
from common import Words, options, postgres, ranks, spent

from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.recall import recall
from kds.brain.passages.values import Message, Scope
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import tenant_number
from kds.brain.postgres.upgrade import upgrade
from kds.brain.sessions.session_values import Archive, Session

TALKS: Final = 10_000
LEAST_TALK: Final = 10
WORDS: Final = 50_000
WIDTH: Final = 384
ASKED: Final = 200
APPENDED: Final = 50
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def conversation(words: Words, number: int, length: int) -> Archive:
    """Return a whole conversation, ready to be stored."""
    name = f"talk-{number}"
    session = Session(name, 0, name, NOW, NOW, None, length, 0)
    messages = tuple(
        Message(f"{name}-{n}", name, n + 1, "user", " ".join(words.some(12)), NOW, 12)
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
    writer, turns = Words(1, WORDS), []
    begun, cpu = time.monotonic(), time.process_time()
    length = max(LEAST_TALK, messages // TALKS)
    talks = messages // length // copies
    present = store.stats().sessions
    if vectors and not present:
        store.use_model("random")
    for number in range(present, talks):
        store.restore(conversation(writer, number, length))
        if (number + 1) % max(1, talks // 10) == 0:
            turns.append((store.stats().messages, _turn_ms(store, writer)))
            print(f"{turns[-1][0]:>9,} messages: {turns[-1][1]} ms a message", file=sys.stderr)
    filled = {"s": round(time.monotonic() - begun), "cpu_s": round(time.process_time() - cpu)}
    if copies > 1 and present < talks * copies:
        _copy(store, copies - 1)
    turns.append((store.stats().messages, _turn_ms(store, writer)))
    if vectors:
        _embed(store, vectors)
    questions = [" ".join(writer.some(6)) for _ in range(ASKED)]
    scopes = [Scope(f"talk-{number * 7 % talks}") for number in range(ASKED)]
    found: dict[str, Any] = {
        "messages": store.stats().messages, "filled": filled, "message_ms": turns,
        "inside": _asked(lambda one, scope: recall(store, one, scope=scope), questions, scopes),
        "everywhere": _asked(lambda one: recall(store, one), questions),
        "words": _asked(
            lambda one: store.search_words(one.split(), limit=50, weights=COLUMN_WEIGHTS), questions
        ),
    }  # fmt: skip
    if vectors:
        some = np.random.default_rng(2).standard_normal((ASKED, WIDTH)).tolist()
        found["dense"] = _asked(lambda one: store.search_dense(one, model="random", limit=50), some)
    return found


def _copy(store: PostgresStore, copies: int) -> None:
    script = COPY.format(tenant=store.database.tenant, copies=copies, bits=CHUNK_BITS)
    with store.database.server.transaction("BEGIN") as connection:
        connection.execute(script.encode())


def _asked(call: Callable[..., object], *given: Sequence[Any]) -> dict[str, float]:
    """How long a call takes on the clock, with one of each list after the other."""
    waits = [_wall_ms(partial(call, *one)) for one in zip(*given, strict=True)]
    return {f"{name}_ms": at for name, at in ranks(waits, 50, 95, 99, digits=1).items()}


def _wall_ms(call: Callable[[], object]) -> float:
    return spent(call)[1]


def _turn_ms(store: PostgresStore, writer: Words) -> float:
    session = store.create_session()
    waits = [
        _wall_ms(lambda: store.append(session.id, "user", " ".join(writer.some(12))))
        for _ in range(APPENDED)
    ]
    store.delete_session(session.id)
    return round(statistics.median(waits), 2)


def _embed(store: PostgresStore, number: int) -> None:
    generator = np.random.default_rng(1)
    while number > 0 and (jobs := store.pending_embeddings(min(500, number))):
        rows = generator.standard_normal((len(jobs), WIDTH)).tolist()
        store.store_embeddings(
            "random", dict(zip((one.chunk_id for one in jobs), rows, strict=True))
        )
        number -= len(jobs)


@contextmanager
def _server(url: str | None) -> Iterator[Server]:
    with nullcontext(url) if url else postgres() as address:
        server = Server(address, timeout_s=600)
        try:
            upgrade(server)
            yield server
        finally:
            server.close()


def main() -> int:
    """Fill, ask, and print the figures."""
    parser = options(__doc__, messages=100_000, copies=1, vectors=0)
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
