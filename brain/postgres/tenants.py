"""Who a server is for: organisations and the people in them.

A tenant is a person in an organisation: their conversations, profile and figures are theirs alone.
"""

from typing import Final

from kds.brain.errors import StoreError
from kds.brain.postgres.server import Server

NAME_LIMIT: Final = 128
"""Characters of the name of an organisation or a person."""

_NUMBER: Final = b"SELECT num FROM kds.tenant WHERE organisation = %s AND person = %s"


def tenant_number(server: Server, organisation: str, person: str) -> int:
    """Return the number of a tenant, who is made if there is none. Raises StoreError."""
    names = (checked_name(organisation, "organisation"), checked_name(person, "person"))
    with server.transaction("BEGIN") as connection:
        row = connection.execute(_NUMBER, names).fetchone()
        if row is None:
            connection.execute(
                b"INSERT INTO kds.tenant(organisation, person) VALUES (%s, %s) "
                b"ON CONFLICT DO NOTHING",
                names,
            )
            row = connection.execute(_NUMBER, names).fetchone()
    if row is None:
        raise StoreError(
            f"the tenant {'/'.join(names)} was removed meanwhile",
            where=server.place,
            hint="try again",
        )
    return int(row[0])


def remove_tenant(server: Server, organisation: str, person: str) -> bool:
    """Remove a person and every row that is theirs; tells whether there was such a one."""
    with server.transaction("BEGIN") as connection:
        gone = connection.execute(
            b"DELETE FROM kds.tenant WHERE organisation = %s AND person = %s",
            (organisation, person),
        )
        return gone.rowcount > 0


def checked_name(text: str, what: str) -> str:
    """Return a name from outside. Raises StoreError when it cannot be one."""
    if not text or len(text) > NAME_LIMIT or not text.isprintable() or text != text.strip():
        raise StoreError(
            f"{text[:40]!r} cannot be the name of a {what}",
            hint=f"use 1 to {NAME_LIMIT} printable characters, without blanks at the ends",
        )
    return text
