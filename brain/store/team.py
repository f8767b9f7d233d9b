"""Who may use a shared service: people of organisations, their tokens, and what was done to them.

A token is 256 random bits and their checksum, printed once; the server has its digest only, so that
nobody can take one from a dump. No text of a conversation is ever in the audit log.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from math import inf
from typing import Final, Literal, get_args
from zlib import crc32

from kds.brain.errors import StoreError
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import checked_name
from kds.brain.workspace import SharedDatabase

Role = Literal["member", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)

PREFIX: Final = "kds_"
"""Of a token, so that scanners for secrets know it."""

_TOKEN: Final = re.compile(rf"{PREFIX}([\w-]{{43}})([0-9a-f]{{8}})?", re.ASCII)

EVERYBODY: Final = "*"
"""In the place of a person: whose the documents of a project are."""

_AUDIT: Final = (
    b"INSERT INTO kds.audit(organisation, actor, action, person) VALUES (%s, session_user, %s, %s)"
)
"""The actor is the role that the database has authenticated, whatever is written there."""


def of_everybody(shared: SharedDatabase) -> SharedDatabase:
    """Return the same project as the tenant whose documents everybody in it sees."""
    organisation, _, project = shared.tenant
    return replace(shared, tenant=(organisation, EVERYBODY, project))


@dataclass(frozen=True, slots=True)
class Person:
    """Who a request comes from."""

    organisation: str
    name: str
    role: Role
    removal: int = 0
    """Where the audit log has the last removal of somebody of this name: who was added since is
    another person."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; the token itself is not."""

    id: str
    """The beginning of its digest: enough to name it."""
    person: Person
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What somebody did to a person's access or data."""

    at: datetime
    organisation: str
    actor: str
    action: str
    person: str


class Team:
    """The tokens and the audit log of a server: of every organisation."""

    def __init__(self, server: Server) -> None:
        """The role of the ``server`` owns the tables, or is a member of ``kds_tokens``."""
        self._server = server

    def make_token(
        self, organisation: str, person: str, role: Role = "member", *, days: int | None = None
    ) -> str:
        """Make a token and return it, this once; it ends after ``days``, if they are given."""
        checked_name(organisation, "organisation")
        if checked_name(person, "person") == EVERYBODY:
            raise StoreError(f"{EVERYBODY!r} stands for everybody", hint="name one person")
        if role not in ROLES:
            raise StoreError(f"{role!r} is not a role", hint=f"use {' or '.join(ROLES)}")
        random = secrets.token_urlsafe(32)
        token = PREFIX + random + _checksum(random)
        lifetime = None if days is None else timedelta(days=days)
        with self._server.transaction() as connection:
            connection.execute(
                b"INSERT INTO kds.token(digest, organisation, person, role, expires_at) "
                b"VALUES (%s, %s, %s, %s, now() + %s::interval)",
                (_digest(token), organisation, person, role, lifetime),
            )
            connection.execute(_AUDIT, (organisation, "token made", person))
        return token

    def tokens(self, organisation: str | None = None) -> tuple[Token, ...]:
        """Return all tokens, those that ended too, oldest first."""
        with self._server.transaction() as connection:
            rows = connection.execute(
                b"SELECT encode(digest, 'hex'), organisation, person, role, created_at, "
                b"expires_at, revoked_at FROM kds.token "
                b"WHERE organisation = coalesce(%s, organisation) ORDER BY created_at, digest",
                (organisation,),
            ).fetchall()
        return tuple(Token(row[0][:12], Person(*row[1:4]), *row[4:]) for row in rows)

    def revoke(self, organisation: str, person: str, token: str | None = None) -> int:
        """End the tokens of a person, or the one whose id begins so; returns how many."""
        with self._server.transaction() as connection:
            gone = connection.execute(
                b"UPDATE kds.token SET revoked_at = now() WHERE organisation = %s AND person = %s "
                b"AND revoked_at IS NULL AND starts_with(encode(digest, 'hex'), %s)",
                (organisation, person, token or ""),
            ).rowcount
            if gone:
                connection.execute(_AUDIT, (organisation, "token revoked", person))
        return gone

    def remove(self, organisation: str, person: str) -> int:
        """Remove a person, all of it or nothing: tokens, and every row of every project; returns
        how many projects.

        A new one of that name begins with nothing. The audit log keeps that it was done, and the
        name.
        """
        names, whose = (organisation, person), b" WHERE organisation = %s AND person = %s"
        with self._server.transaction("BEGIN", limit_s=inf) as connection:
            connection.execute(b"DELETE FROM kds.token" + whose, names)
            gone = connection.execute(b"DELETE FROM kds.tenant" + whose, names).rowcount
            connection.execute(_AUDIT, (organisation, "person removed", person))
        return gone

    def audit(self, organisation: str | None = None, *, limit: int = 100) -> Sequence[AuditEntry]:
        """Return the last entries of the audit log, the newest first."""
        with self._server.transaction() as connection:
            rows = connection.execute(
                b"SELECT at, organisation, actor, action, person FROM kds.audit "
                b"WHERE organisation = coalesce(%s, organisation) ORDER BY num DESC LIMIT %s",
                (organisation, limit),
            ).fetchall()
        return [AuditEntry(*row) for row in rows]


def person_of(server: Server, token: str) -> Person | None:
    """Return whose token it is; None when it is nobody's, or has ended. Raises StoreError."""
    if not is_token(token):
        return None
    with server.transaction() as connection:
        row = connection.execute(
            b"SELECT organisation, person, role, removal FROM kds.person_of(%s)", (_digest(token),)
        ).fetchone()
    return Person(*row) if row else None


def is_token(text: str) -> bool:
    """Tell whether a text can be a token: what is mistyped, cut off or made up cannot.

    Tokens that were made before there was a checksum have none.
    """
    found = _TOKEN.fullmatch(text)
    return found is not None and found[2] in (None, _checksum(found[1]))


def _checksum(random: str) -> str:
    return f"{crc32(random.encode()):08x}"


def _digest(token: str) -> bytes:
    # A plain digest is enough: nobody guesses 256 random bits, however fast.
    return sha256(token.encode(errors="replace")).digest()
