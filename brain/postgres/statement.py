"""The SQL of the tables as PostgreSQL wants it."""

from functools import lru_cache


@lru_cache(maxsize=1024)
def to_postgres(query: str) -> bytes:
    """Return a statement with psycopg's marks, and keys that are unique within their tenant.

    No statement of the tables has a question mark that stands for anything but a value.

    >>> to_postgres("INSERT INTO item(key) VALUES (?) ON CONFLICT(key) DO NOTHING")
    b'INSERT INTO item(key) VALUES (%s) ON CONFLICT(tenant, key) DO NOTHING'
    """
    marked = query.replace("%", "%%").replace("?", "%s")
    return marked.replace("ON CONFLICT(", "ON CONFLICT(tenant, ").encode()
