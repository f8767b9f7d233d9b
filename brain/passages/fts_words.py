"""Words as the full-text index sees them: cut, folded and stemmed by SQLite itself."""

import re
import sqlite3
from collections.abc import Iterable
from threading import Lock
from typing import Final

_WORD: Final = re.compile(r"\w+")

QUERY_WORDS: Final = 64
"""Words of a question that are searched for: a pasted page must not cost a second."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the first words of a question, each once.

    >>> words_of('What about "NEAR(x)" AND what')
    ('What', 'about', 'NEAR', 'x', 'AND', 'what')
    """
    return tuple(dict.fromkeys(_WORD.findall(text)))[:QUERY_WORDS]


def any_of(words: Iterable[str]) -> str:
    """Return the FTS5 question for rows with any of the words; "" when there is none to ask.

    Each is quoted, so that nothing in it is an operator; one of several words is a phrase.

    >>> any_of(["NEAR", "x y"])
    '"NEAR" OR "x y"'
    """
    kept = (word.replace("\x00", "") for word in words)
    return " OR ".join(f'"{_quoted(word)}"' for word in kept if _WORD.search(word))


def _quoted(word: str) -> str:
    return word.replace('"', '""')


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
                if len(self._known) > 10_000:
                    self._known.clear()
                self._known[word] = self._ask(word)
            return self._known[word]

    def close(self) -> None:
        """Let go of the table in memory."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _ask(self, word: str) -> tuple[str, ...]:
        if self._connection is None:
            self._connection = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False
            )
            self._connection.execute(
                "CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='porter unicode61')"
            )
            self._connection.execute("CREATE VIRTUAL TABLE term USING fts5vocab(probe, instance)")
        self._connection.execute("DELETE FROM probe")
        self._connection.execute("INSERT INTO probe(text) VALUES (?)", (word,))
        rows = self._connection.execute("SELECT term FROM term ORDER BY offset")
        return tuple(row[0] for row in rows)
