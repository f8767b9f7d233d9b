"""Which terms of an index a text stands for: SQLite cuts, folds and stems, for every engine."""

import sqlite3
from threading import Lock
from typing import Final, Self

KEPT: Final = 10_000
"""Words whose terms are kept in memory."""


class WordForms:
    """Tells which terms of the index a word stands for: "Services" is looked up as "servic"."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._connection: sqlite3.Connection | None = None

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the terms of a word, in order: several where the index cuts it."""
        with self._lock:
            if word not in self._known:
                if len(self._known) > KEPT:
                    self._known.clear()
                self._known[word] = self._cut(word)
            return self._known[word]

    def of_text(self, text: str) -> tuple[str, ...]:
        """Return the terms of a whole text, in order."""
        with self._lock:
            return self._cut(text)

    def close(self) -> None:
        """Let go of the table in memory."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cut(self, text: str) -> tuple[str, ...]:
        if self._connection is None:
            self._connection = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
            self._connection.execute(
                "CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='porter unicode61')"
            )
            self._connection.execute("CREATE VIRTUAL TABLE term USING fts5vocab(probe, instance)")
        self._connection.execute("DELETE FROM probe")
        self._connection.execute("INSERT INTO probe(text) VALUES (?)", (text,))
        rows = self._connection.execute("SELECT term FROM term ORDER BY offset")
        return tuple(row[0] for row in rows)
