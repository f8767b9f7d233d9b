"""Two engines behind one protocol: a SQLite file, and a tenant of a PostgreSQL server."""
