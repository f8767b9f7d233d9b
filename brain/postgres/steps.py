"""The tables on a server, step by step, as `upgrade` takes the steps. Their SQL is in `sql/`.

Conversations have the schema ``kds``, documents, whose tables share names with theirs, one of their
own. They are the tables of a file (`brain/sessions/memory_schema.py`, `brain/documents/tables.sql`)
with a tenant in every row, so that the same SQL runs on both. What keeps tenants apart:

- every service transaction runs as the role `tenancy.MEMBER`, which owns nothing and obeys the row
  policies, with the tenant's number in ``kds.tenant``; without a number no row is seen;
- a row gets its tenant by default, and a key is unique within its tenant;
- the functions of `sql/passages.sql` read past the policies, because an index on words cannot be
  used under them (``@@`` is not leakproof): they name the tenant themselves, and return numbers
  only. A lexeme "tenant:N" stands in every ``words``, so that the index itself narrows a search.
"""

from pathlib import Path
from typing import Final

from kds.brain.database.migrations import read_script
from kds.brain.documents.document_schema import AFTER_CHARACTERS, BEFORE_CHARACTERS
from kds.brain.postgres.full_text import scored

_OWNED: Final = (
    "tenant bigint NOT NULL DEFAULT kds.tenant() REFERENCES kds.tenant ON DELETE CASCADE"
)
"""The column that says whose a row is."""

_RANKED: Final = scored(
    "SELECT id, size, words FROM {schema}.chunk WHERE tenant = $7 AND words @@ $1",
    asked="$2", idfs="$3", weights="$4", unit="$8", mean="$5", most="$6",
)  # fmt: skip
"""Ranks the passages of a schema. The unit of the weights is a fifth weight."""


def _sql(name: str, **values: object) -> str:
    return read_script(Path(__file__).parent / "sql" / f"{name}.sql", owned=_OWNED, **values)


def _passages(schema: str) -> str:
    """The tables and functions that every schema of passages has, whatever they are passages of."""
    return _sql("passages", schema=schema, query=_RANKED.format(schema=schema))


def _own_rows(schema: str) -> str:
    """Let a member see and make rows of one tenant only, in the tables that are new."""
    return _sql("own_rows", schema=schema)


ROLE: Final = _sql("role")
"""Roles are the server's, not a database's: made once for all of them. The lock of an upgrade is
its database's, so that of another one may make the role at the same moment."""

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (_sql("conversations"), _passages("kds"), _own_rows("kds")),
    (
        _sql("documents", before=BEFORE_CHARACTERS, after=AFTER_CHARACTERS),
        _passages("kds_documents"),
        _own_rows("kds_documents"),
    ),
    tuple(
        script
        for schema in ("kds", "kds_documents")
        for script in (_sql("common_words", schema=schema), _own_rows(schema))
    ),
    (_sql("kept_texts"), _own_rows("kds")),
)
"""Only ever added to at the end: a step that a server has had stays as it is."""
