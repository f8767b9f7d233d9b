"""Copying what stands beside the sessions: terms, items, profile, figures, conversation contexts.

Of each, what the server has already stays: it is the newer one. What has a key is there or not; the
consent to the profile and its log go together; of figures, which have no key, as many are added as
are missing of each moment.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import uuid4

from kds.brain.context.entry_line import decode_lines, encode
from kds.brain.context.journal import LIMIT, MAX_AGE
from kds.brain.database.database import Database
from kds.brain.database.engine import Connection
from kds.brain.database.instant import to_micros
from kds.brain.passages.rows import IDS_AT_ONCE, Row, insert, marks, slices
from kds.brain.passages.text_search import WordForms
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.word_index import indexed
from kds.brain.private_file import read_private
from kds.brain.sessions.metrics import KEPT
from kds.brain.turn import ContextEntry
from kds.brain.workspace import Workspace

_MEMORY: Final = "key, documents, sections, turn_count, expires_at"
_ITEM: Final = "namespace, key, value, created_at, updated_at, lifetime, expires_at"
ENTITIES: Final = f"SELECT {_MEMORY} FROM entity_memory"
TERMS: Final = "SELECT term, snippet, turn FROM entity WHERE key = ? ORDER BY rowid"
ITEMS: Final = f"SELECT {_ITEM}, num FROM item"
EVENTS: Final = "SELECT at, action, purpose FROM consent_event ORDER BY num"
PROFILE: Final = "SELECT field, value FROM profile ORDER BY field"

Conversation = tuple[str, tuple[ContextEntry, ...]]
"""A conversation's name on the server, and what holds of it."""


def copy_entities(source: Database, target: Tenancy) -> int:
    """Copy what the router may resolve references with; returns how many memories are new."""
    with source.read() as old:
        rows = old.execute(f"{ENTITIES} ORDER BY key").fetchall()
    return sum(_store_entities(source, target, some) for some in slices(rows))


def copy_items(source: Database, target: Tenancy) -> int:
    """Copy what agents keep, and what it is found by; returns how many items are new."""
    with source.read() as old:
        rows = old.execute(f"{ITEMS} ORDER BY num").fetchall()
    with WordForms() as forms:
        return sum(_store_items(source, target, some, forms) for some in slices(rows))


def copy_profile(source: Database, target: Tenancy) -> int:
    """Copy profile and consent, unless the server was asked for consent itself: that counts."""
    with source.read() as old:
        events = old.execute(EVENTS).fetchall()
        fields = old.execute(PROFILE).fetchall()
    if not events:
        return 0
    with target.write() as connection:
        if connection.execute("SELECT count(*) FROM consent_event").fetchone()[0]:
            return 0
        insert(connection, "consent_event", "at, action, purpose", events)
        insert(connection, "profile", "field, value", fields)
    return len(events)


def copy_metrics(source: Database, target: Tenancy) -> int:
    """Copy the figures that are kept still; returns how many are new."""
    new = 0
    for rows in metric_slices(source, target):
        with target.write(durable=False) as connection:
            lacking = missing_metrics(connection, rows)
            insert(connection, "metric", "at, name, data", lacking)
        new += len(lacking)
    return new


def metric_slices(source: Database, target: Tenancy) -> Iterator[list[Row]]:
    """Yield the figures of a file in order, those of one moment never cut in two."""
    after = to_micros(target.clock() - KEPT) - 1
    while True:
        with source.read() as old:
            last = old.execute(
                "SELECT max(at) FROM (SELECT at FROM metric WHERE at > ? ORDER BY at LIMIT ?)",
                (after, IDS_AT_ONCE),
            ).fetchone()[0]
            if last is None:
                return
            rows = old.execute(
                "SELECT at, name, data FROM metric WHERE at > ? AND at <= ? ORDER BY at, num",
                (after, last),
            ).fetchall()
        after = last
        yield rows


def missing_metrics(connection: Connection, rows: Sequence[Row]) -> list[Row]:
    """Return those of ``rows`` that the server lacks, of equal ones as many as it lacks."""
    there = connection.execute(
        "SELECT at, name, data FROM metric WHERE at BETWEEN ? AND ?", (rows[0][0], rows[-1][0])
    )
    return list((Counter(rows) - Counter(there.fetchall())).elements())


def conversations(workspace: Workspace, target: Tenancy) -> Iterator[Conversation]:
    """Yield the conversations of a workspace that hold something now; the files stay."""
    now = target.clock()
    for path in (workspace.context_path, *sorted(workspace.conversations_dir.glob("*.jsonl"))):
        lines = decode_lines(read_private(path) or b"")
        entries = (line.entry for line in lines if line.entry)
        young = tuple(one for one in entries if now - one.timestamp <= MAX_AGE)
        if young:
            yield path.stem, young[-LIMIT:]


def copy_conversations(workspace: Workspace, target: Tenancy) -> int:
    """Copy the contexts that hold, unless the server has the conversation; returns how many."""
    new = 0
    for name, entries in conversations(workspace, target):
        with target.write(lock=name) as connection:
            if entries_of(connection, name):
                continue
            rows = [
                (name, uuid4().hex, to_micros(one.timestamp), encode(one).decode())
                for one in entries
            ]
            insert(connection, "context_entry", "conversation, id, at, line", rows)
            new += 1
    return new


def entries_of(connection: Connection, conversation: str) -> list[str]:
    """Return the lines of a conversation on the server."""
    rows = connection.execute(
        "SELECT line FROM context_entry WHERE conversation = ? ORDER BY num", (conversation,)
    )
    return [line for (line,) in rows]


def _store_entities(source: Database, target: Tenancy, rows: Sequence[Row]) -> int:
    with source.read() as old:
        terms = {row[0]: old.execute(TERMS, (row[0],)).fetchall() for row in rows}
    with target.write() as connection:
        known = connection.execute(
            "SELECT key FROM entity_memory WHERE key = ANY(?)", (list(terms),)
        ).fetchall()
        new = [row for row in rows if (row[0],) not in known]
        insert(connection, "entity_memory", _MEMORY, new)
        rows = [(row[0], *term) for row in new for term in terms[row[0]]]
        insert(connection, "entity", "key, term, snippet, turn", rows)
    return len(new)


def _store_items(source: Database, target: Tenancy, rows: Sequence[Row], forms: WordForms) -> int:
    new = 0
    with source.read() as old, target.write() as connection:
        for *values, number in rows:
            made = connection.execute(
                f"INSERT INTO item({_ITEM}) VALUES ({marks(values)}) "
                "ON CONFLICT DO NOTHING RETURNING num",
                values,
            ).fetchone()
            if made is None:
                continue
            new += 1
            texts = old.execute(
                "SELECT text, model, f16 FROM item_text WHERE item_num = ? ORDER BY num", (number,)
            ).fetchall()
            found = [(made[0], *row, indexed(forms, ("", row[0])).words) for row in texts]
            insert(connection, "item_text", "item_num, text, model, f16, words", found)
    return new
