"""Who a server is for: organisations and the people in them.

A tenant is what a person of an organisation does in a project: the rows of one are seen by no
other, as the files of two workspaces have nothing in common.
"""

from typing import Final

from kds.brain.errors import StoreError
from kds.brain.postgres.server import Server

NAME_LIMIT: Final = 128
"""Characters of the name of an organisation or a person."""

Names = tuple[str, str, str]
"""Organisation, person, project."""

_NUMBER: Final = (
    b"SELECT num FROM kds.tenant WHERE organisation = %s AND person = %s AND project = %s"
)


def tenant_number(server: Server, names: Names) -> int:
    """Return the number of a tenant, who is made if there is none. Raises StoreError."""
    for name, what in zip(names, ("organisation", "person", "project"), strict=True):
        checked_name(name, what)
    with server.transaction(server.begin) as connection:
        row = connection.execute(_NUMBER, names).fetchone()
        if row is None:
            connection.execute(
                b"INSERT INTO kds.tenant(organisation, person, project) VALUES (%s, %s, %s) "
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


def checked_name(text: str, what: str) -> str:
    """Return a name from outside. Raises StoreError when it cannot be one."""
    if not text or len(text) > NAME_LIMIT or not text.isprintable() or text != text.strip():
        raise StoreError(
            f"{text[:40]!r} cannot be the name of a {what}",
            hint=f"use 1 to {NAME_LIMIT} printable characters, without blanks at the ends",
        )
    return text
