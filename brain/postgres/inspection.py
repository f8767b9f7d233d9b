"""Looking at a server: what it is, and who we are on it. Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from kds.brain.postgres.server import Server
from kds.brain.postgres.steps import STEPS
from kds.brain.postgres.tenancy import MEMBER
from kds.brain.postgres.upgrade import LEAST_SERVER, LEAST_VECTOR, numbers_of, steps_of

_STATE: Final = b"""
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
  (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  current_user, rolsuper, rolbypassrls, pg_is_in_recovery(),
  EXISTS (SELECT 1 FROM pg_roles AS member
    WHERE member.rolname = %s AND pg_has_role(current_user, member.oid, 'SET'))
FROM pg_roles WHERE rolname = current_user
"""


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

    @property
    def problems(self) -> Iterator[str]:
        """What keeps KDS from working here, each with what to do about it."""
        if self.number < LEAST_SERVER:
            yield f"PostgreSQL {self.version} is too old: use {LEAST_SERVER // 10_000} or newer"
        least = ".".join(map(str, LEAST_VECTOR))
        if self.vector is None:
            yield "the database has no pgvector: `kds db upgrade` adds it where it is installed"
        elif numbers_of(self.vector) < LEAST_VECTOR:
            yield f"pgvector {self.vector} is too old: use {least} or newer"
        if not self.steps:
            yield "the database has no tables of KDS: run `kds db upgrade`"
        elif self.steps < len(STEPS):
            yield f"the tables are of version {self.steps}, not {len(STEPS)}: run `kds db upgrade`"
        if self.steps and not self.member:
            yield f"the role {self.role} may not act as {MEMBER}: GRANT {MEMBER} TO {self.role}"
        if self.standby:
            yield "it is a standby, which takes no writes: name all hosts in KDS_DATABASE"

    @property
    def warnings(self) -> Iterator[str]:
        """What works, and should not stay so."""
        if self.superuser or self.bypasses_policies:
            kind = "a superuser" if self.superuser else "exempt from row policies"
            yield (
                f"the role {self.role} is {kind}: who has its password reads every tenant, and "
                "more; use a role of its own (kds help operations)"
            )
        if self.steps > len(STEPS):
            yield f"a newer KDS made the tables (version {self.steps}): update this one soon"


def state_of(server: Server) -> ServerState:
    """Ask a server what it is. Raises StoreError when it cannot be reached."""
    with server.transaction(server.begin) as connection:
        number, named, vector, *role = cast("Any", connection.execute(_STATE, (MEMBER,)).fetchone())
        steps = steps_of(connection)
    return ServerState(number, named.partition(" ")[0], vector, steps, *role)
