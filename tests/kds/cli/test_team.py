"""`kds team` on a real database."""

from collections.abc import Callable

import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.team import person_of

from ..conftest import Result, data, refused

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, url: str, kds_call: Run) -> Run:
    monkeypatch.setenv("KDS_DATABASE", url)
    monkeypatch.setenv("KDS_DATABASE_ORGANISATION", "acme")

    return lambda *words: kds_call("team", *words)


def test_a_token_is_printed_once_listed_revoked_and_audited(run: Run, server: Server) -> None:
    token = run("add", "ann", "--admin").out.strip()
    person = person_of(server, token)
    assert person is not None
    assert (person.name, person.role) == ("ann", "admin")
    (listed,) = data(run("list", "--json"))
    assert (listed["person"], listed["revoked_at"]) == ("ann", None)
    assert token not in run("list").out
    assert run("remove", "ann", "--token", "all").out == "revoked 1 token\n"
    assert person_of(server, token) is None
    actions = [one["action"] for one in data(run("list", "--audit", "--json"))]
    assert actions == ["token revoked", "token made"]


def test_removing_somebody_is_asked_for_twice(run: Run) -> None:
    run("add", "ann")
    refused(run("remove", "ann"), "add --yes")
    assert run("remove", "ann", "--yes").out == "removed ann: 0 projects\n"
    assert data(run("list", "--json")) == []


def test_revoking_what_is_not_there_is_refused(run: Run) -> None:
    refused(run("remove", "bob", "--token", "all"), "kds team list")


def test_without_a_database_there_is_no_team(kds_call: Run) -> None:
    refused(kds_call("team", "list"), "KDS_DATABASE")
