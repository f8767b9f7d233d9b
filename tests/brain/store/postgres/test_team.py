"""People get tokens, lose them, and are removed; the audit log says by whom."""

import psycopg
import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.team import Person, Team, person_of
from kds.brain.store.tenancy import tenant_number


@pytest.fixture
def team(server: Server) -> Team:
    return Team(server, actor="root")


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


def test_removing_a_person_removes_all_they_had(server: Server, team: Team, url: str) -> None:
    token = team.make_token("acme", "ann")
    kept = team.make_token("acme", "bob")
    for project in ("shop", "blog"):
        tenant_number(server, ("acme", "ann", project))
    assert team.remove("acme", "ann") == 2
    assert person_of(server, token) is None
    assert person_of(server, kept) == Person("acme", "bob", "member")
    with psycopg.connect(url) as admin:
        assert admin.execute("SELECT count(*) FROM kds.tenant").fetchone() == (0,)
    done = [(one.actor, one.action, one.person) for one in team.audit("acme")]
    assert done == [
        ("root", "person removed", "ann"),
        ("root", "token made", "bob"),
        ("root", "token made", "ann"),
    ]
