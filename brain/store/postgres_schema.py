"""The tables on a server: made, changed step by step, and examined. Their SQL is in `schema/`.

Conversations have the schema ``kds``; documents, whose tables share names with theirs, and what is
known of assistants' sessions have one each. They are the tables of a file
(`brain/memory/memory_store.py`, `brain/documents/tables.sql`, `kds.transcripts.catalogue`)
with a tenant in every row, so that the same SQL runs on both. What keeps tenants apart:

- every service transaction runs as the role `tenancy.MEMBER`, which owns nothing and obeys the row
  policies, with the tenant's number in ``kds.tenant``; without a number no row is seen;
- a row gets its tenant by default, and a key is unique within its tenant;
- the functions of `schema/passages.sql` read past the policies, because an index on words cannot be
  used under them (``@@`` is not leakproof): they name the tenant themselves, and return numbers
  only. A lexeme "tenant:N" stands in every ``words``, so that the index itself narrows a search;
- the policies bind the owner of the tables, too, once the roles below are there (`_protect`).

The login roles that an administrator makes are members of ``kds_service`` (acts for people, and may
ask whose a token is) or of ``kds_tokens`` (makes and ends tokens, reads the audit log).
``kds_reader`` is nobody's login: the functions that search are its own, and backups are made as it.
Where these roles cannot be made, one role does everything, as before.

Services of the version before go on serving during an upgrade: steps add, they do not take away.
"""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final, cast

from kds.brain.errors import StoreError
from kds.brain.store.migrations import read_script
from kds.brain.store.postgres import PgConnection, Server
from kds.brain.store.tenancy import LOCK_SPACE, MEMBER

_OWNED: Final = (
    "tenant bigint NOT NULL DEFAULT kds.tenant() REFERENCES kds.tenant ON DELETE CASCADE"
)
"""The column that says whose a row is."""


def _sql(name: str, **values: object) -> str:
    return read_script(Path(__file__).parent / "schema" / f"{name}.sql", owned=_OWNED, **values)


ROLE: Final = _sql("role")
"""Roles are the server's, not a database's: made once for all of them. The lock of an upgrade is
its database's, so that of another one may make the role at the same moment."""

STEPS: Final = {
    12: (
        _sql("conversations"),
        _sql("passages", schema="kds"),
        _sql("documents"),
        _sql("passages", schema="kds_documents"),
        *map(_sql, ("assistants", "team", "recall")),
        *(_sql("own_rows", schema=one) for one in ("kds", "kds_documents", "kds_assistants")),
    )
}
"""Version -> the scripts that lead to it from the version before; the first makes all tables. Only
ever added to at the end: a step that a server has had stays as it is."""

FIRST, VERSION = min(STEPS), max(STEPS)

SCHEMAS: Final = "'kds', 'kds_documents', 'kds_assistants'"
"""All that have tables with a tenant in every row."""

ROLES: Final = _sql("roles", schemas=SCHEMAS)
"""Makes the roles that are not there, and says what each may do, as often as it is run."""

_READERS: Final = _sql("readers", schemas=SCHEMAS)

_OWNS: Final = (
    b"SELECT pg_has_role(nspowner, 'USAGE') AND to_regproc('kds.person_of') IS NOT NULL "
    b"FROM pg_namespace WHERE nspname = 'kds'"
)
_BECOMES_READER: Final = (
    b"SELECT coalesce((SELECT pg_has_role(oid, 'SET') FROM pg_roles "
    b"WHERE rolname = 'kds_reader'), false)"
)
_UNPROTECTED: Final = (
    "SELECT pg_class.oid::regclass::text FROM pg_class "
    "JOIN pg_attribute ON attrelid = pg_class.oid "
    "JOIN pg_namespace ON pg_namespace.oid = relnamespace "
    f"WHERE nspname IN ({SCHEMAS}) AND relkind = 'r' AND attname = 'tenant' "
    "AND NOT relforcerowsecurity"
)
UPGRADE_LOCK: Final = f"SELECT pg_advisory_xact_lock({LOCK_SPACE}, -1)"

LEAST_SERVER: Final = 160_000
"""PostgreSQL 16, as its ``server_version_num`` has it."""

LEAST_VECTOR: Final = (0, 8)
"""The pgvector whose index goes on until it has enough rows of one tenant."""

_OLDER: Final = (
    "an older database: kds memory export --all by the KDS that made it, then import into a new one"
)


def upgrade(server: Server) -> tuple[int, int]:
    """Take the steps that the database has not had; returns the version before and after.

    Raises StoreError when the server or pgvector is too old, when the role may not make tables,
    or when a newer KDS made them, or one before the first release.
    """
    with server.transaction(f"BEGIN; {UPGRADE_LOCK}", limit_s=inf) as connection:
        found = connection.info.server_version
        if found < LEAST_SERVER:
            told = f"PostgreSQL {found // 10_000} is too old"
            raise StoreError(told, where=server.place, hint="use PostgreSQL 16 or newer")
        before = steps_of(connection)
        if before > VERSION or 0 < before < FIRST:
            raise StoreError(
                f"another KDS made the tables (version {before}, this one knows {VERSION})",
                where=server.place,
                hint=f"update KDS; {_OLDER}",
            )
        if not before:
            _prepare(connection, server.place)
        connection.execute(b"SET LOCAL search_path = kds, public")
        for number, scripts in STEPS.items():
            for script in scripts if number > before else ():
                connection.execute(script.encode())
        if before < VERSION:
            connection.execute(b"UPDATE kds.version SET steps = %s", (VERSION,))
        if connection.execute(_OWNS).fetchone() == (True,):  # not a service's role
            _protect(connection)
    return before, VERSION


def _protect(connection: PgConnection) -> None:
    """Set the roles apart, and bind the owner to the row policies, as far as the role may."""
    connection.execute(ROLES.encode())
    if connection.execute(_BECOMES_READER).fetchone() != (True,):
        return  # one role for everything
    connection.execute(_READERS.encode())
    for (name,) in connection.execute(_UNPROTECTED.encode()).fetchall():
        connection.execute(
            f"DROP POLICY IF EXISTS reader ON {name}; "
            f"CREATE POLICY reader ON {name} FOR SELECT TO kds_reader USING (true); "
            f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY".encode()
        )


def require(server: Server) -> None:
    """Raise StoreError unless the tables are those that this KDS works with, or newer ones.

    Newer ones are fine: a service of the version before serves on while others are replaced.
    """
    with server.transaction() as connection:
        found = steps_of(connection)
    if found < VERSION:
        older = f"the tables are older (version {found}, this KDS needs {VERSION})"
        told = older if found else "the database has no tables of KDS"
        hint = _OLDER if 0 < found < FIRST else "make them: kds db --upgrade"
        raise StoreError(told, where=server.place, hint=hint)


def steps_of(connection: PgConnection) -> int:
    """Return how many steps the database has had; 0 when it has no tables of KDS."""
    row = connection.execute(b"SELECT to_regclass('kds.version') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return 0
    found = connection.execute(b"SELECT steps FROM kds.version").fetchone()
    return int(found[0]) if found else 0


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _prepare(connection: PgConnection, place: str) -> None:
    connection.execute(b"CREATE EXTENSION IF NOT EXISTS vector")
    row = connection.execute(
        b"SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    text = str(row[0]) if row else "0"
    if numbers_of(text) < LEAST_VECTOR:
        hint = "install pgvector 0.8 or newer, then ALTER EXTENSION vector UPDATE"
        raise StoreError(f"pgvector {text} is too old", where=place, hint=hint)
    connection.execute(ROLE.encode())
    connection.execute(
        b"CREATE SCHEMA IF NOT EXISTS kds;"
        b"CREATE TABLE IF NOT EXISTS kds.version(steps int NOT NULL);"
        b"INSERT INTO kds.version SELECT 0 WHERE NOT EXISTS (TABLE kds.version);"
        b"GRANT SELECT ON kds.version TO kds_member"  # services may read it
    )


_STATE: Final = f"""
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
  (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  current_user, rolsuper, rolbypassrls, pg_is_in_recovery(),
  EXISTS (SELECT 1 FROM pg_roles AS member
    WHERE member.rolname = %s AND pg_has_role(current_user, member.oid, 'SET')),
  EXISTS (SELECT 1 FROM pg_auth_members WHERE roleid = to_regrole('kds_service')),
  EXISTS ({_UNPROTECTED})
FROM pg_roles WHERE rolname = current_user
""".encode()


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as it answers, and the role that it was asked in."""

    number: int
    """As ``server_version_num`` has it: 160004."""
    version: str
    vector: str | None
    """pgvector's version; None where the database does not have it."""
    steps: int
    """The version of the tables; 0 when there are none."""
    role: str
    superuser: bool
    bypasses_policies: bool
    standby: bool
    member: bool
    """Whether the role may act as services do."""
    services_apart: bool
    """Whether services have a role that does not own the tables."""
    owner_unbound: bool
    """Whether the row policies leave the owner of some tables out."""

    @property
    def problems(self) -> list[str]:
        """What keeps KDS from working here, each with what to do about it."""
        least = ".".join(map(str, LEAST_VECTOR))
        vector = self.vector or ""
        return _true(
            (self.number < LEAST_SERVER,
             f"PostgreSQL {self.version} is too old: use {LEAST_SERVER // 10_000} or newer"),
            (not vector,
             "the database has no pgvector: `kds db --upgrade` adds it where it is installed"),
            (bool(vector) and numbers_of(vector) < LEAST_VECTOR,
             f"pgvector {vector} is too old: use {least} or newer"),
            (not self.steps, "the database has no tables of KDS: run `kds db --upgrade`"),
            (0 < self.steps < VERSION,
             f"the tables are of version {self.steps}, not {VERSION}: run `kds db --upgrade`"),
            (bool(self.steps) and not self.member,
             f"the role {self.role} may not act as {MEMBER}: GRANT {MEMBER} TO {self.role}"),
            (self.standby,
             "it is a standby, which takes no writes: name all hosts in KDS_DATABASE"),
        )  # fmt: skip

    @property
    def warnings(self) -> list[str]:
        """What works, and should not stay so."""
        kind = "a superuser" if self.superuser else "exempt from row policies"
        return _true(
            (self.superuser or self.bypasses_policies,
             f"the role {self.role} is {kind}: who has its password reads every tenant, and "
             "more; use a role of its own (kds help operations)"),
            (bool(self.steps) and self.owner_unbound,
             "the row policies do not bind the owner of the tables: have an administrator make "
             "the roles, then run `kds db --upgrade` (kds help operations)"),
            (bool(self.steps) and not self.services_apart,
             "one role owns the tables and serves people: give services a role of their own, a "
             "member of kds_service (kds help operations)"),
            (self.steps > VERSION,
             f"a newer KDS made the tables (version {self.steps}): update this one soon"),
        )  # fmt: skip


def _true(*told: tuple[bool, str]) -> list[str]:
    return [text for holds, text in told if holds]


def state_of(server: Server) -> ServerState:
    """Ask a server what it is. Raises StoreError when it cannot be reached."""
    with server.transaction() as connection:
        number, named, vector, *role = cast("Any", connection.execute(_STATE, (MEMBER,)).fetchone())
        steps = steps_of(connection)
    return ServerState(number, named.partition(" ")[0], vector, steps, *role)
