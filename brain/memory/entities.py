"""What a conversation talks about, for some hours: terms, documents, sections.

A router that knows it can tell what "it" is when the message that named it has gone from the
context. Nothing here fails because a memory has expired: then there is nothing to know.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kds.brain.memory.facts import FILE_ENDINGS
from kds.brain.memory.shortening import mark_code, shorten
from kds.brain.memory.summarizer import split
from kds.brain.store.columns import from_micros, json_column, kept_text, to_micros
from kds.brain.store.engine import Connection, Engine

TTL: Final = timedelta(hours=4)
"""Since the last access."""

SAME_ACCESS: Final = timedelta(minutes=1)
"""Accesses so close together put the expiry off once: a turn asks three times, and each would be a
transaction."""

REACH_TURNS: Final = 10
"""Turns back that a term still counts as something to refer to: as far as the context goes."""

TERMS_KEPT: Final = 200
"""Of one memory, the latest: a conversation does not point back to more."""

SNIPPET_LIMIT: Final = 300
"""Characters of the answer kept with a term."""

MANY: Final = 5
"""Active documents or sections kept of one turn."""

_READ_CHARS: Final = 20_000
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(\S.*?)[\s#]*$", re.MULTILINE)
_FILE: Final = re.compile(rf"(?<![\w/.:-])[\w~./\\@-]*\w\.(?:{FILE_ENDINGS})\b")


@dataclass(frozen=True, slots=True)
class EntityTerm:
    """A term that was resolved, and a piece of the answer it was resolved with."""

    term: str
    snippet: str
    turn: int


@dataclass(frozen=True, slots=True)
class EntityMemory:
    """What is known of the things a conversation talks about, for resolving references."""

    key: str
    terms: tuple[EntityTerm, ...]
    """The latest first."""
    documents: tuple[str, ...]
    sections: tuple[str, ...]
    turn_count: int
    expires_at: datetime

    @property
    def recent(self) -> tuple[EntityTerm, ...]:
        """The terms of the last REACH_TURNS turns, each once, the oldest first."""
        near = [one for one in self.terms if self.turn_count - one.turn < REACH_TURNS]
        return tuple({one.term.casefold(): one for one in reversed(near)}.values())


@dataclass(frozen=True, slots=True)
class EntityTable:
    """The tables of entity memories; each expires ``ttl`` after its last access."""

    database: Engine

    def load(self, key: str, *, ttl: timedelta = TTL) -> EntityMemory | None:
        """Return a memory, and put its expiry off; None when there is none or it expired."""
        now = self.database.clock()
        with self.database.read() as connection:
            found = _live(connection, key, now)
        later = now + ttl
        if found is None or abs(later - found.expires_at) < SAME_ACCESS:
            return found
        with self.database.write(durable=False) as connection:
            query = "UPDATE entity_memory SET expires_at = ? WHERE key = ?"
            connection.execute(query, (to_micros(later), key))
            return _live(connection, key, now)

    def remember_turn(
        self,
        key: str,
        terms: Iterable[str] = (),
        *,
        answer: str = "",
        documents: Sequence[str] | None = None,
        sections: Sequence[str] | None = None,
        fresh: bool = False,
        ttl: timedelta = TTL,
        within: Connection | None = None,
    ) -> None:
        """Count a turn, with what it referred to and what was answered; what has expired, of any
        key, is removed.

        ``fresh``: the topic has changed, and all that was known before is forgotten. Documents
        and sections that are not given are those that the answer names; when it names none, those
        of the turns before stay active. ``within``: a transaction that is open.
        """
        text = kept_text(answer)[:_READ_CHARS]  # whole: a piece of it hides what is a secret
        named = filter(None, dict.fromkeys(kept_text(" ".join(term.split())) for term in terms))
        files = (found[0] for found in _FILE.finditer(text))
        headings = (found[1] for found in _HEADING.finditer(mark_code(text)))
        active = [
            json.dumps([*map(kept_text, names)]) if names is not None else None
            for names in (
                _first(files) if documents is None else documents,
                _first(headings) if sections is None else sections,
            )
        ]
        now = self.database.clock()
        lent = nullcontext(within) if within else self.database.write(durable=False)
        with lent as connection:
            connection.execute(
                "DELETE FROM entity_memory WHERE expires_at <= ? OR key = ?",
                (to_micros(now), key if fresh else None),
            )
            (turn,) = connection.execute(
                "INSERT INTO entity_memory(key, documents, sections, turn_count, expires_at) "
                "VALUES (?, coalesce(?, '[]'), coalesce(?, '[]'), 1, ?) "
                "ON CONFLICT(key) DO UPDATE SET "
                "documents = coalesce(?, entity_memory.documents), "
                "sections = coalesce(?, entity_memory.sections), "
                "turn_count = entity_memory.turn_count + 1, expires_at = excluded.expires_at "
                "RETURNING turn_count",
                (key, *active, to_micros(now + ttl), *active),
            ).fetchone()
            if not (rows := [(key, term, snippet(term, text), turn) for term in named]):
                return
            connection.executemany(
                "INSERT INTO entity(key, term, snippet, turn) VALUES (?, ?, ?, ?) "
                "ON CONFLICT(key, term) DO UPDATE SET snippet = excluded.snippet, "
                "turn = excluded.turn",
                rows,
            )
            connection.execute(
                "DELETE FROM entity WHERE key = ? AND term NOT IN "
                "(SELECT term FROM entity WHERE key = ? ORDER BY turn DESC, rowid DESC LIMIT ?)",
                (key, key, TERMS_KEPT),
            )

    def forget(self, key: str) -> bool:
        """Remove a memory; tells whether there was one."""
        with self.database.write() as connection:
            gone = connection.execute("DELETE FROM entity_memory WHERE key = ?", (key,))
            return bool(gone.rowcount)


def _first(named: Iterable[str]) -> list[str] | None:
    return list(dict.fromkeys(named))[:MANY] or None


def _live(connection: Connection, key: str, now: datetime) -> EntityMemory | None:
    row = connection.execute(
        "SELECT documents, sections, turn_count, expires_at FROM entity_memory "
        "WHERE key = ? AND expires_at > ?",
        (key, to_micros(now)),
    ).fetchone()
    if row is None:
        return None
    documents, sections, turns, expires = row
    rows = connection.execute(
        "SELECT term, snippet, turn FROM entity WHERE key = ? ORDER BY turn DESC, rowid DESC",
        (key,),
    )
    return EntityMemory(
        key=key,
        terms=tuple(EntityTerm(*row) for row in rows),
        documents=tuple(json_column(documents)),
        sections=tuple(json_column(sections)),
        turn_count=turns,
        expires_at=from_micros(expires),
    )


def snippet(term: str, answer: str) -> str:
    """Return the sentence of ``answer`` about ``term``, else how it begins.

    >>> snippet("login form", "Done. The login form has two fields now.")
    'The login form has two fields now.'
    """
    sentences = list(split(mark_code(answer)))
    wanted = term.casefold()
    said = next((one for one in sentences if wanted in one.casefold()), "")
    return shorten(said or " ".join(sentences[:2]), limit=SNIPPET_LIMIT)
