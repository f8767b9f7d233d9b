"""Items in SQLite: JSON values under a key in a namespace, for `agents/memory_store.py`.

A namespace is stored as its labels, each closed by SEPARATOR: all namespaces under a prefix are
one range of the index, and ("a",) is no prefix of ("ab",). The texts that an item is found by
stand beside it, each with its vector once there is one: what failed to be embedded, or was by
another model, is `due` until it is made up for.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from kds.brain.database.database import Database
from kds.brain.database.engine import Connection, Engine
from kds.brain.database.instant import from_micros, to_micros
from kds.brain.database.stored_text import kept_text
from kds.brain.errors import StoreError
from kds.brain.passages.text_search import any_of, words_of
from kds.brain.passages.vector_blob import FORMAT, to_blobs, unit
from kds.brain.sessions.session_values import Item, ItemText, Namespace

SEPARATOR: Final = "\x1f"
_AFTER: Final = "\x20"
"""The character behind SEPARATOR: the end of the range under a prefix."""

_COLUMNS: Final = "item.namespace, item.key, item.value, item.created_at, item.updated_at"
ALIVE: Final = "(item.expires_at IS NULL OR item.expires_at > ?)"


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The tables of items, their texts and vectors. Expired items are never returned."""

    database: Engine

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, object],
        *,
        texts: Sequence[str] = (),
        lifetime: timedelta | None = None,
    ) -> Item:
        """Store a value in the place of any before; it is found by ``texts``.

        With a ``lifetime`` it expires that long after it was last put or refreshed. Raises
        StoreError when the value is no JSON.
        """
        place = self._place(namespace)
        text = self._json(key, value)
        now = to_micros(self.database.clock())
        span = None if lifetime is None else lifetime // timedelta(microseconds=1)
        with self.database.write() as connection:
            row = connection.execute(
                "INSERT INTO item(namespace, key, value, created_at, updated_at, lifetime, "
                "expires_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(namespace, key) DO UPDATE "
                "SET value = excluded.value, updated_at = excluded.updated_at, "
                "lifetime = excluded.lifetime, expires_at = excluded.expires_at "
                f"RETURNING num, {_COLUMNS.replace('item.', '')}",
                (place, key, text, now, now, span, None if span is None else now + span),
            ).fetchone()
            connection.execute("DELETE FROM item_text WHERE item_num = ?", (row[0],))
            kept = [kept_text(one) for one in dict.fromkeys(texts) if one.strip()]
            self.add_texts(connection, row[0], kept)
        return _item(row[1:])

    def add_texts(self, connection: Connection, item: int, texts: Sequence[str]) -> None:
        """Add what an item is found by, within a transaction."""
        connection.executemany(
            "INSERT INTO item_text(item_num, text) VALUES (?, ?)", [(item, one) for one in texts]
        )

    def get(self, namespace: Namespace, key: str, *, refresh: bool = False) -> Item | None:
        """Return an item, and with ``refresh`` put off its expiry."""
        now = to_micros(self.database.clock())
        where = f"namespace = ? AND key = ? AND {ALIVE}"
        values = (self._place(namespace), key, now)
        with self.database.read() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS}, lifetime FROM item WHERE {where}", values
            ).fetchone()
        if row is None:
            return None
        if refresh and row[-1] is not None:
            self._refresh(f"WHERE {where}", values, now)
        return _item(row[:-1])

    def delete(self, places: Iterable[tuple[Namespace, str]]) -> int:
        """Remove items and their bytes; returns how many there were."""
        chosen = [(self._place(namespace), key) for namespace, key in places]
        with self.database.write() as connection:
            where = "namespace = ? AND key = ?"
            count = sum(_delete(connection, where, place) for place in chosen)
        if count:
            self._wipe()
        return count

    def under(self, prefix: Namespace = ()) -> tuple[Item, ...]:
        """Return every item under a prefix, the one changed last first."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM item WHERE {ALIVE} AND namespace >= ? AND namespace < ? "
                "ORDER BY updated_at DESC, num DESC",
                (to_micros(self.database.clock()), *self.range_of(prefix)),
            ).fetchall()
        return tuple(map(_item, rows))

    def namespaces(self) -> tuple[Namespace, ...]:
        """Return every namespace that holds an item, in order."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT DISTINCT namespace FROM item WHERE {ALIVE} ORDER BY namespace",
                (to_micros(self.database.clock()),),
            ).fetchall()
        return tuple(sorted(_labels(row[0]) for row in rows))

    def refresh(self, items: Iterable[Item]) -> None:
        """Put off the expiry of items that have one."""
        with self.database.read() as connection:  # most stores have none that expires
            query = "SELECT EXISTS (SELECT 1 FROM item WHERE lifetime IS NOT NULL)"
            if not connection.execute(query).fetchone()[0]:
                return
        now = to_micros(self.database.clock())
        for item in items:
            where = "WHERE namespace = ? AND key = ? AND lifetime IS NOT NULL"
            self._refresh(where, (self._place(item.namespace), item.key), now)

    def search_words(
        self, query: str, prefix: Namespace = ()
    ) -> dict[tuple[Namespace, str], float]:
        """Score the items that share words with ``query`` by BM25: higher is better."""
        question = any_of(words_of(query))
        if not question:
            return {}
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT item.namespace, item.key, -item_fts.rank FROM item_fts "
                "JOIN item_text ON item_text.num = item_fts.rowid "
                "JOIN item ON item.num = item_text.item_num "
                f"WHERE item_fts MATCH ? AND {ALIVE} "
                "AND item.namespace >= ? AND item.namespace < ?",
                (question, to_micros(self.database.clock()), *self.range_of(prefix)),
            ).fetchall()
        return best_scores(rows)

    def search_vectors(
        self, vector: Sequence[float], *, model: str, prefix: Namespace = ()
    ) -> dict[tuple[Namespace, str], float]:
        """Score the items that have vectors of ``model`` by the cosine of their nearest one."""
        import numpy as np

        asked = unit(np.asarray(vector, dtype=np.float32)[None, :])[0]
        size = len(asked) * np.dtype(FORMAT).itemsize
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT item.namespace, item.key, f16 FROM item_text "
                "JOIN item ON item.num = item_text.item_num WHERE model = ? AND length(f16) = ? "
                f"AND {ALIVE} AND item.namespace >= ? AND item.namespace < ?",
                (model, size, to_micros(self.database.clock()), *self.range_of(prefix)),
            ).fetchall()
        return best_scores(
            (place, key, float(np.frombuffer(blob, dtype=FORMAT).astype(np.float32) @ asked))
            for place, key, blob in rows
        )

    def due(self, model: str, limit: int) -> tuple[ItemText, ...]:
        """Return texts that have no vector of ``model``, those of the latest items first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT num, text FROM item_text WHERE (model IS NULL OR model <> ?) "
                "ORDER BY num DESC LIMIT ?",
                (model, limit),
            ).fetchall()
        return tuple(ItemText(number, text) for number, text in rows)

    def store_vectors(self, model: str, vectors: Mapping[int, Sequence[float]]) -> None:
        """Store vectors by the id of the text; texts that are gone are passed over."""
        _, blobs = to_blobs(vectors, where=self.database.place)
        with self.database.write(durable=False) as connection:
            connection.executemany(
                "UPDATE item_text SET model = ?, f16 = ? WHERE num = ?",
                [(model, blob, number) for number, blob in blobs.items()],
            )

    def expire(self) -> int:
        """Remove what has expired, and its bytes; returns how many items."""
        now = to_micros(self.database.clock())
        with self.database.write() as connection:
            count = _delete(connection, "expires_at <= ?", (now,))
        if count:
            self._wipe()
        return count

    def _wipe(self) -> None:
        """Remove what is left of deleted items: words in the index, pages in the log.

        Freed space is overwritten at once (``secure_delete``). Where another process still
        reads the log, what it reads goes with the next checkpoint.
        """
        if not isinstance(self.database, Database):
            return
        with self.database.exclusive() as connection:
            connection.execute("INSERT INTO item_fts(item_fts) VALUES ('optimize')")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _refresh(self, where: str, values: tuple[object, ...], now: int) -> None:
        with self.database.write(durable=False) as connection:
            connection.execute(f"UPDATE item SET expires_at = ? + lifetime {where}", (now, *values))

    def _json(self, key: str, value: Mapping[str, object]) -> str:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the value of {key!r} cannot be written as JSON: {error}",
                where=self.database.place,
                hint="store texts, numbers, and lists and dictionaries of these",
            ) from error
        return json.dumps(_kept(json.loads(text)), ensure_ascii=False)

    def _place(self, namespace: Namespace) -> str:
        if any(not label or SEPARATOR in label for label in namespace):
            raise StoreError(
                f"{namespace!r} cannot be a namespace",
                where=self.database.place,
                hint="its labels are not empty, and hold no control characters",
            )
        return "".join(label + SEPARATOR for label in namespace)

    def range_of(self, prefix: Namespace) -> tuple[str, str]:
        """Return where the namespaces under a prefix begin and end."""
        place = self._place(prefix)
        return (place, place[:-1] + _AFTER) if place else ("", "\U0010ffff")


def best_scores(
    rows: Iterable[tuple[str, str, float]],
) -> dict[tuple[Namespace, str], float]:
    """Return the best score of each item, of the rows of its texts."""
    found: dict[tuple[Namespace, str], float] = {}
    for place, key, score in rows:
        one = (_labels(place), key)
        found[one] = max(score, found.get(one, score))
    return found


def _delete(connection: Connection, where: str, values: tuple[object, ...]) -> int:
    # Texts first: the index learns of them by a trigger, which a cascade would not fire for
    # rows whose text it can no longer read.
    connection.execute(
        f"DELETE FROM item_text WHERE item_num IN (SELECT num FROM item WHERE {where})", values
    )
    return connection.execute(f"DELETE FROM item WHERE {where}", values).rowcount


def _item(row: Sequence[Any]) -> Item:
    place, key, value, created_at, updated_at = row
    return Item(
        _labels(place), key, json.loads(value), from_micros(created_at), from_micros(updated_at)
    )


def _labels(place: str) -> Namespace:
    return tuple(place.split(SEPARATOR)[:-1])


def _kept(value: Any, name: str = "") -> Any:
    """Return the value with secrets replaced; a name such as "password" tells what is one."""
    if isinstance(value, str):
        return _kept_string(value, name)
    if isinstance(value, dict):
        return {key: _kept(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_kept(one, name) for one in value]
    return value


def _kept_string(text: str, name: str) -> str:
    label = f"{name}: "
    labelled = kept_text(label + text) if name else ""
    return labelled[len(label) :] if labelled.startswith(label) else kept_text(text)
