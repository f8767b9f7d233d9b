"""How common a tenant's common words are: counted in a sample, once for all services.

To count a word the server reads every passage that has it: 0.7 s when a million have. Of a large
memory the counts of common words are estimated from some of it, and stored; rarer words are
counted. The estimates are made anew when the memory has grown or shrunk by a quarter.
"""

from collections.abc import Sequence
from contextlib import suppress
from hashlib import md5
from typing import Final
from uuid import UUID

from kds.brain.database.engine import Connection
from kds.brain.errors import StoreError
from kds.brain.passages.passage_schema import CHUNK_BITS
from kds.brain.passages.text_search import COMMON
from kds.brain.postgres.tenancy import Tenancy

SAMPLE: Final = 20_000
"""Passages looked at, some 0.2 s of the server's time. With fewer in all, every word is counted."""

OF_ONE: Final = 100
"""Passages of one session or document that are looked at, the first ones."""

LEAST: Final = 40
"""Passages of the sample that must have a word: the estimate is right within a third then, which
changes its weight (a logarithm) by a twentieth."""

CHANGE: Final = 1.25
"""Times as many passages as there were, or as few, make estimates old."""

_AMONG: Final = "00000000-0000-0000-0000-000000000000"

AMONG: Final = f"(SELECT passages FROM common_word WHERE word = '{_AMONG}')"
"""SQL: of how many passages the estimates are; null when there are none."""

_PICKED: Final = (
    "SELECT num, chunk_count FROM (SELECT num, chunk_count, row_number() OVER (ORDER BY num) "
    "AS nth FROM session) AS one WHERE mod(nth, {step}) = 0"
)
_WORDS: Final = (
    f"SELECT words FROM ({_PICKED}) AS picked CROSS JOIN LATERAL (SELECT words FROM chunk "
    f"WHERE id >= num << {CHUNK_BITS} AND id < (num + 1) << {CHUNK_BITS} ORDER BY id LIMIT {OF_ONE}"
    ") AS first"
)
# A word is stored as a digest of what asks for it: who deletes a session leaves no word of it.
_STORE: Final = r"""INSERT INTO common_word(word, passages)
SELECT CAST(md5('''' || replace(replace(word, '\', '\\'), '''', '''''') || '''') AS uuid),
  ndoc * CAST(? AS float8)
FROM ts_stat(?) WHERE ndoc >= ? AND word <> ?"""


class CommonWords:
    """In how many passages common words stand, as far as this process has seen."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._among: int | None = None

    def known(self, connection: Connection, queries: Sequence[str]) -> dict[str, int]:
        """Return the counts of those of the queries that ask for a common word."""
        new = {_digest(one): one for one in queries if one not in self._counts}
        if new and self._among is not None:
            rows = connection.execute(
                "SELECT CAST(word AS text), passages FROM common_word "
                "WHERE word = ANY(CAST(? AS uuid[]))",
                (list(new),),
            ).fetchall()
            self._counts |= {new[word]: int(passages) for word, passages in rows}
        return {one: self._counts[one] for one in queries if one in self._counts}

    def counted(self, counts: dict[str, int]) -> None:
        """Remember those that are so common that a second count would cost more than it tells."""
        self._counts |= {one: count for one, count in counts.items() if count >= COMMON}

    def follow(self, database: Tenancy, passages: int, among: int | None) -> None:
        """Make the estimates anew when they are of a smaller or larger memory than this."""
        fits = among is not None and among / CHANGE <= passages <= among * CHANGE
        if not fits and (among is not None or passages >= SAMPLE):
            # Who asks something gets an answer without them, too.
            with suppress(StoreError):
                among = _estimate(database, passages)
        if among != self._among:
            self._counts, self._among = {}, among


def _estimate(database: Tenancy, passages: int) -> int | None:
    with database.write(durable=False, lock="common words") as connection:
        connection.execute("DELETE FROM common_word")
        if passages < SAMPLE:
            return None
        (holders,) = connection.execute("SELECT count(*) FROM session").fetchone()
        step = max(1, min(passages // SAMPLE, int(holders) * OF_ONE // SAMPLE))
        (seen,) = connection.execute(
            f"SELECT coalesce(sum(least(chunk_count, {OF_ONE})), 0) "
            f"FROM ({_PICKED.format(step=step)}) AS picked"
        ).fetchone()
        values = (
            passages / max(int(seen), 1),
            _WORDS.format(step=step),
            LEAST,
            f"tenant:{database.tenant}",
        )
        connection.execute(_STORE, values)
        connection.execute(
            "INSERT INTO common_word(word, passages) VALUES (CAST(? AS uuid), ?)",
            (_AMONG, passages),
        )
    return passages


def _digest(query: str) -> str:
    return str(UUID(bytes=md5(query.encode(), usedforsecurity=False).digest()))
