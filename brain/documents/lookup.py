"""Looking up what the index of words does not tell: who defines a term, whose number it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.documents.document_schema import CLAUSE
from kds.brain.documents.question import Reference
from kds.brain.passages.schema import CHUNK_BITS, marks, slices
from kds.brain.store.engine import Connection, Engine

MANY_DEFINERS: Final = 30
"""Passages that define one term, the surest first: a term of many documents stays cheap."""

MANY_REFERRED: Final = 40
"""Passages of the sections with one number."""

EXACT: Final = 1.0
INNER: Final = 0.5
"""A section inside the one that was named."""

NUMBERED: Final = 0.9
"""A paragraph with that number: a heading would be surer."""

OTHER_LABEL: Final = 0.4
"""An article with the number of a section that was asked for."""

HANDED_ON: Final = 0.75
"""What a section is worth for a term of which another passage says that it is defined there."""

MANY_HANDED_ON: Final = 3

_ALIKE: Final = frozenset({"", "section", "clause", "paragraph", "rule", "item", "step"})
_CHAPTERS: Final = frozenset({"", "article", "chapter", "part", "title"})


@dataclass(frozen=True, slots=True)
class Lookup:
    """The tables of terms and sections."""

    database: Engine
    within: int | None = None
    """The number of the only document to be looked at."""

    def definers(self, keys: Sequence[str]) -> Mapping[str, Mapping[int, float]]:
        """Return for each key that somebody defines the passages that do."""
        found: dict[str, dict[int, float]] = {}
        with self.database.read() as connection:
            for some in slices(keys):
                rows = connection.execute(
                    "SELECT key, chunk_id, strength, label, refers FROM term "
                    f"WHERE key IN ({marks(some)}) ORDER BY strength DESC, chunk_id",
                    some,
                ).fetchall()
                for key, chunk_id, strength, label, refers in rows:
                    known = found.setdefault(key, {})
                    if not self._has(chunk_id) or len(known) >= MANY_DEFINERS:
                        continue
                    known.setdefault(chunk_id, strength)
                    if refers:
                        for one in self._handed_on(connection, chunk_id, label, refers):
                            known.setdefault(one, HANDED_ON * strength)
        return {key: definers for key, definers in found.items() if definers}

    def referred(self, reference: Reference) -> dict[int, float]:
        """Return the passages of the sections that a reference names, and how well they fit."""
        found: dict[int, float] = {}
        with self.database.read() as connection:
            for key, label, chunk_id in self._sections(connection, reference.key):
                if not self._has(chunk_id) or len(found) >= MANY_REFERRED:
                    continue
                fit = INNER
                if key == reference.key:
                    fit = EXACT if _labels_agree(reference.label, label) else OTHER_LABEL
                found[chunk_id] = max(fit, found.get(chunk_id, 0.0))
            for (chunk_id,) in connection.execute(
                "SELECT chunk_id FROM term WHERE key = ? ORDER BY chunk_id LIMIT ?",
                (f"{CLAUSE}{reference.key}", MANY_REFERRED),
            ):
                if self._has(chunk_id):
                    found[chunk_id] = max(NUMBERED, found.get(chunk_id, 0.0))
        return found

    def _handed_on(
        self, connection: Connection, chunk_id: int, label: str, refers: str
    ) -> list[int]:
        """Return the first passages of the section where a definition says the meaning stands."""
        return [
            one
            for key, own, one in self._sections(connection, refers)
            if key == refers
            and one >> CHUNK_BITS == chunk_id >> CHUNK_BITS
            and _labels_agree(label, own)
        ][:MANY_HANDED_ON]

    def _sections(self, connection: Connection, key: str) -> list[tuple[str, str, int]]:
        query = (
            "SELECT number_key, label, chunk.id FROM section "
            "JOIN chunk ON chunk.section_num = section.num "
            "WHERE number_key = ? OR (number_key > ? AND number_key < ?) "
            "ORDER BY number_key <> ?, chunk.id"
        )
        return connection.execute(query, (key, f"{key}.", f"{key}/", key)).fetchall()

    def _has(self, chunk_id: int) -> bool:
        return self.within is None or chunk_id >> CHUNK_BITS == self.within


def _labels_agree(asked: str, label: str) -> bool:
    return asked == label or any(asked in group and label in group for group in (_ALIKE, _CHAPTERS))
