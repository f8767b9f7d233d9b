"""People get tokens, lose them, and are removed; the audit log says by whom."""

import psycopg
import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.team import Person, Team, person_of

from ...conformance import say
from .conftest import OpenStore


@pytest.fixture
def team(server: Server) -> Team:
    return Team(server)


def test_a_token_says_whose_it_is(server: Server, team: Team) -> None:
    token = team.make_token("acme", "ann", "admin")
    assert person_of(server, token) == Person("acme", "ann", "admin")
    assert person_of(server, token + "x") is None
    assert person_of(server, "") is None


def test_the_server_has_no_token_only_its_digest(server: Server, team: Team, url: str) -> None:
    token = team.make_token("acme", "ann")
    with psycopg.connect(url) as admin:
        rows = admin.execute("SELECT token::text FROM kds.token").fetchall()
    assert len(rows) == 1
    assert token not in str(rows)


def test_a_revoked_or_expired_token_is_nobodys(server: Server, team: Team, url: str) -> None:
    first, second = team.make_token("acme", "ann"), team.make_token("acme", "ann", days=1)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("UPDATE kds.token SET expires_at = now() WHERE expires_at IS NOT NULL")
    assert person_of(server, second) is None
    assert team.revoke("acme", "bob") == 0
    assert team.revoke("acme", "ann", team.tokens()[0].id) == 1
    assert person_of(server, first) is None
    assert [one.revoked_at is None for one in team.tokens("acme")] == [False, True]
    assert team.tokens("other") == ()


def test_a_removal_leaves_nothing_and_touches_nobody_else(
    server: Server, team: Team, url: str, open_store: OpenStore
) -> None:
    ann, bob = open_store("ann"), open_store("bob")
    for store in (ann, bob):
        say(store, store.create_session(session_id="s"), *(f"walrus {n}" for n in range(5)))
    token = team.make_token("acme", "ann")
    assert team.remove("acme", "ann") == 1
    assert person_of(server, token) is None
    assert open_store("ann").sessions() == ()  # who is added again is another person
    with psycopg.connect(url) as admin:
        for table in ("message", "chunk"):
            assert admin.execute(f"SELECT count(*) FROM kds.{table}").fetchone() == (5,)
    assert [one.content for one in bob.messages("s")] == [f"walrus {n}" for n in range(5)]
    assert [one.action for one in team.audit("acme")].count("person removed") == 1


def test_nothing_that_refers_to_another_table_is_found_by_reading_all_of_it(url: str) -> None:
    with psycopg.connect(url) as admin:
        bare = admin.execute(WITHOUT_INDEX).fetchall()
    assert bare == []


WITHOUT_INDEX = b"""
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'f' AND connamespace::regnamespace::text LIKE 'kds%' AND NOT EXISTS (
  SELECT 1 FROM pg_index WHERE indrelid = conrelid AND indisvalid
  AND (indkey::int2[])[0:array_length(conkey, 1) - 1] @> conkey)
"""
