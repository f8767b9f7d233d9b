"""What keeps tenants apart, in every schema of KDS:

- every service transaction runs as the role MEMBER, which owns nothing and obeys the row policies,
  with the tenant's number in ``kds.tenant``; without a number no row is seen;
- a row gets its tenant by default, and a key is unique within its tenant;
- the functions of `passage_tables` read past the policies: they name the tenant themselves, and
  return numbers only.
"""

from collections.abc import Sequence
from typing import Final

MEMBER: Final = "kds_member"
"""The role that services act in."""

ROLE: Final = f"""
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{MEMBER}') THEN
    BEGIN
      CREATE ROLE {MEMBER} NOLOGIN NOINHERIT NOBYPASSRLS;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;
  IF NOT pg_has_role(current_user, '{MEMBER}', 'SET') THEN
    EXECUTE format('GRANT {MEMBER} TO %I', current_user);
  END IF;
END $$
"""
"""Roles are the server's, not a database's: made once for all of them. The lock of an upgrade is
its database's, so that of another one may make the role at the same moment."""

OWNED: Final = "tenant bigint NOT NULL DEFAULT kds.tenant() REFERENCES kds.tenant ON DELETE CASCADE"
"""The column that says whose a row is."""


def kept_apart(schema: str, tables: Sequence[str]) -> str:
    """Return what lets a member see and make rows of one tenant only in these tables."""
    return f"""
DO $$ DECLARE name text; BEGIN
  FOREACH name IN ARRAY ARRAY[{", ".join(map(repr, tables))}] LOOP
    EXECUTE format('ALTER TABLE {schema}.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own ON {schema}.%I USING (tenant = kds.tenant())', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.%I TO {MEMBER}', name);
  END LOOP;
END $$
"""
