"""Rows are checked when they are read: SQLite stores whatever it is given, in any column.

A file that another program wrote, or a project brought along, may hold bytes where a text is meant.
Found here, that is one clear error; further on it would be a fault of whatever reads the text.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Self

from kds.brain.store.columns import DamagedRowError

Kinds = tuple[type, ...]

_KINDS: Final[Mapping[str, Kinds]] = {
    "TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,),
}  # fmt: skip
_READABLE: Final[Kinds] = (str, int, float)
"""What is worked out from columns, such as a part of a text, is no bytes."""
_STATEMENTS: Final = 256
"""Statements whose columns are remembered: those of KDS are some hundred."""
_DECLARED: Final = """\
SELECT p.name, p.type FROM sqlite_master AS m, pragma_table_info(m.name) AS p
WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'"""


class CheckedConnection(sqlite3.Connection):
    """A connection whose rows are checked by the names of their columns, once it knows them."""

    _columns: Mapping[str, Kinds] = {}
    _read: dict[str, tuple[tuple[int, str, Kinds], ...]]

    def check_rows(self) -> Self:
        """Learn from the schema, which was looked at, what each column is to hold.

        A name that stands for two kinds in two tables may be of both.
        """
        columns: dict[str, Kinds] = {}
        for name, kind in super().execute(_DECLARED):
            if kind in _KINDS:  # the tables behind a search index declare none
                columns[name] = (*columns.get(name, ()), *_KINDS[kind])
        self._columns, self._read = columns, {}
        return self

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        """Run one statement; a damaged row raises DamagedRowError when it is fetched."""
        cursor = super().execute(sql, values)
        if self._columns and cursor.description is not None and sql.startswith(("SELECT", "WITH")):
            checks = self._read.get(sql)
            if checks is None:
                if len(self._read) >= _STATEMENTS:
                    self._read.clear()
                checks = self._read[sql] = self._checks([one[0] for one in cursor.description])
            cursor.row_factory = partial(_checked, checks)
        return cursor

    def _checks(self, names: Sequence[str]) -> tuple[tuple[int, str, Kinds], ...]:
        return tuple(
            (place, name, (*self._columns.get(name, _READABLE), type(None)))
            for place, name in enumerate(names)
        )


def _checked(
    checks: Sequence[tuple[int, str, Kinds]], cursor: sqlite3.Cursor, row: tuple[Any, ...]
) -> tuple[Any, ...]:
    for place, name, kinds in checks:
        if not isinstance(row[place], kinds):
            raise DamagedRowError(f"{name} holds {type(row[place]).__name__}")
    return row
