"""Making and changing the tables on a server: each step once, whoever else tries at the time.

Services of the version before go on serving meanwhile: steps add, they do not take away.
"""

from math import inf
from typing import TYPE_CHECKING, Any, Final

from kds.brain.errors import StoreError
from kds.brain.postgres.server import Server
from kds.brain.postgres.steps import ROLE, STEPS
from kds.brain.postgres.tenancy import LOCK_SPACE

if TYPE_CHECKING:
    import psycopg

UPGRADE_LOCK: Final = f"SELECT pg_advisory_xact_lock({LOCK_SPACE}, -1)"

LEAST_SERVER: Final = 160_000
"""PostgreSQL 16, as its ``server_version_num`` has it."""

LEAST_VECTOR: Final = (0, 7)
"""The pgvector that has half precision."""


def version(server: Server) -> int:
    """Return how many steps the database has had; 0 when it has no tables of KDS."""
    with server.transaction(server.begin) as connection:
        return steps_of(connection)


def upgrade(server: Server) -> tuple[int, int]:
    """Take the steps that the database has not had; returns the version before and after.

    Raises StoreError when the server or pgvector is too old, when the role may not make tables,
    or when a newer KDS made them.
    """
    # A step may build an index over all there is, and who comes second waits for it.
    with server.transaction(f"BEGIN; {UPGRADE_LOCK}", limit_s=inf) as connection:
        _require_server(connection, server.place)
        before = steps_of(connection)
        if before > len(STEPS):
            raise StoreError(
                f"a newer KDS made the tables (version {before}, this one knows {len(STEPS)})",
                where=server.place,
                hint="update KDS; nothing was touched",
            )
        if not before:
            _prepare(connection, server.place)
        connection.execute(b"SET LOCAL search_path = kds, public")
        for step in STEPS[before:]:
            for script in step:
                connection.execute(script.encode())
        connection.execute(b"UPDATE kds.version SET steps = %s", (len(STEPS),))
    return before, len(STEPS)


def require(server: Server) -> None:
    """Raise StoreError unless the tables are those that this KDS works with, or newer ones.

    Newer ones are fine: a service of the version before serves on while others are replaced.
    """
    found = version(server)
    if found < len(STEPS):
        raise StoreError(
            "the database has no tables of KDS"
            if not found
            else f"the tables are older (version {found}, this KDS needs {len(STEPS)})",
            where=server.place,
            hint="make them: kds db upgrade",
        )


def steps_of(connection: "psycopg.Connection[tuple[Any, ...]]") -> int:
    """Return how many steps the database has had, within a transaction."""
    row = connection.execute(b"SELECT to_regclass('kds.version') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return 0
    found = connection.execute(b"SELECT steps FROM kds.version").fetchone()
    return int(found[0]) if found else 0


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _require_server(connection: "psycopg.Connection[tuple[Any, ...]]", place: str) -> None:
    found = connection.info.server_version
    if found < LEAST_SERVER:
        raise StoreError(
            f"PostgreSQL {found // 10_000} is too old",
            where=place,
            hint="use PostgreSQL 16 or newer",
        )


def _prepare(connection: "psycopg.Connection[tuple[Any, ...]]", place: str) -> None:
    connection.execute(b"CREATE EXTENSION IF NOT EXISTS vector")
    row = connection.execute(
        b"SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    text = str(row[0]) if row else "0"
    if numbers_of(text) < LEAST_VECTOR:
        raise StoreError(
            f"pgvector {text} is too old",
            where=place,
            hint="install pgvector 0.7 or newer, then ALTER EXTENSION vector UPDATE",
        )
    connection.execute(ROLE.encode())
    connection.execute(b"CREATE SCHEMA IF NOT EXISTS kds")
    connection.execute(b"CREATE TABLE IF NOT EXISTS kds.version(steps int NOT NULL)")
    connection.execute(b"INSERT INTO kds.version SELECT 0 WHERE NOT EXISTS (TABLE kds.version)")
    # Whoever may read the version is a service.
    connection.execute(b"GRANT SELECT ON kds.version TO kds_member")
