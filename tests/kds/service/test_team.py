"""A service that people share: tokens, each person's own rows, several services, outages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import httpx
import pytest

from kds.brain.errors import StoreError
from kds.brain.postgres.server import Server
from kds.brain.postgres.team import Team
from kds.service import team as module
from kds.service.listener import TeamAddress
from kds.service.server import ServiceOptions

from ...effort import PATIENCE_S  # noqa: TID252  # one way of waiting for all
from .conftest import Running

Start = Callable[[], Running]
Client = Callable[..., httpx.Client]


@pytest.fixture
def start(
    running: Callable[..., AbstractContextManager[Running]],
    new_workspace: Callable[[], Path],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Start]:
    """Starts services of one database, each in a folder of its own, as on machines of their own."""
    monkeypatch.setenv("KDS_DATABASE", url)
    monkeypatch.setenv("KDS_DATABASE_PROJECT", "shop")
    monkeypatch.setenv("KDS_MEMORY", "on")
    monkeypatch.setattr(module, "BELIEVED_S", 0.0)
    with ExitStack() as stack:

        def begin() -> Running:
            options = ServiceOptions(team=TeamAddress("127.0.0.1", 0))
            return stack.enter_context(running(new_workspace(), options=options))

        yield begin


@pytest.fixture
def team(server: Server) -> Team:
    return Team(server, actor="root")


@pytest.fixture
def client_of() -> Iterator[Client]:
    with ExitStack() as stack:

        def client(service: Running, token: str = "") -> httpx.Client:
            where = next(place for place in service.service.places if place.startswith("http"))
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return stack.enter_context(
                httpx.Client(base_url=where, headers=headers, timeout=PATIENCE_S)
            )

        yield client


def expanded(client: httpx.Client, message: str, conversation: str = "c") -> str:
    reply = client.post("/route", json={"message": message, "conversation": conversation})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["expanded"])


def test_a_conversation_goes_on_at_another_service(
    start: Start, team: Team, client_of: Client
) -> None:
    token = team.make_token("acme", "ann")
    one, other = (client_of(start(), token) for _ in range(2))
    expanded(one, "I want to add a FAB button")
    assert expanded(other, "Make it purple") == "Make the FAB button purple"
    context = one.get("/context", params={"conversation": "c"}).json()
    assert [entry["user_message"] for entry in context["entries"]] == [
        "I want to add a FAB button",
        "Make it purple",
    ]
    assert len(other.get("/sessions").json()["sessions"]) == 1


def test_people_see_nothing_of_one_another(start: Start, team: Team, client_of: Client) -> None:
    service = start()
    ann = client_of(service, team.make_token("acme", "ann"))
    bob = client_of(service, team.make_token("acme", "bob"))
    expanded(ann, "I want to add a FAB button")
    assert expanded(bob, "Make it purple") == "Make it purple"
    assert [one["title"] for one in ann.get("/sessions").json()["sessions"]] != []
    assert "FAB" not in bob.get("/sessions").text
    assert bob.delete("/sessions/c").status_code == 200
    assert len(ann.get("/sessions").json()["sessions"]) == 1


def test_without_a_token_there_is_nothing_but_yes_and_no(
    start: Start, team: Team, client_of: Client
) -> None:
    stranger = client_of(start())
    assert stranger.get("/livez").text == "ok\n"
    assert stranger.get("/readyz").text == "ok\n"
    for path in ("/context", "/sessions", "/metrics", "/openapi.json", "/healthz"):
        assert stranger.get(path).status_code == 401
    assert (
        client_of(start(), team.make_token("acme", "ann") + "x").get("/context").status_code == 401
    )


def test_what_reads_files_of_the_machine_is_not_there_for_others(
    start: Start, team: Team, client_of: Client
) -> None:
    ann = client_of(start(), team.make_token("acme", "ann"))
    for method, path in (("POST", "/hook"), ("POST", "/web"), ("GET", "/api/memory/debug/stats")):
        assert ann.request(method, path).status_code == 404
    variables = {"KDS_MODEL_URL": "http://127.0.0.1:9"}
    refused = ann.post("/route", json={"message": "plan it", "variables": variables})
    assert refused.status_code == 400
    assert "variables" in refused.text


def test_a_revoked_token_lets_nobody_in(start: Start, team: Team, client_of: Client) -> None:
    ann = client_of(start(), team.make_token("acme", "ann"))
    assert ann.get("/context").status_code == 200
    team.revoke("acme", "ann")
    assert ann.get("/context").status_code == 401


def test_figures_are_for_admins(start: Start, team: Team, client_of: Client) -> None:
    service = start()
    ann = client_of(service, team.make_token("acme", "ann"))
    expanded(ann, "I want to add a FAB button")
    assert ann.get("/metrics").status_code == 403
    figures = client_of(service, team.make_token("acme", "eve", "admin")).get("/metrics").text
    assert 'kds_request_seconds_count{operation="route",status="200"} 1.0' in figures
    assert "FAB" not in figures
    assert "ann" not in figures.replace("channel", "")


def test_an_outage_is_said_and_got_over(
    start: Start,
    team: Team,
    client_of: Client,
    outage: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kds.brain.postgres.server.RETRY_S", 0.0)
    ann = client_of(start(), team.make_token("acme", "ann"))
    expanded(ann, "I want to add a FAB button")
    outage(True)
    reply = ann.post("/route", json={"message": "Make it purple", "conversation": "c"}).json()
    assert reply["expanded"] == "Make the FAB button purple"
    assert "cannot be reached" in str(reply)
    assert ann.get("/readyz").status_code == 503
    assert ann.get("/sessions").status_code == 503
    outage(False)
    assert ann.get("/readyz").status_code == 200
    expanded(ann, "Add tests for that")
    entries = ann.get("/context", params={"conversation": "c"}).json()["entries"]
    assert [entry["user_message"] for entry in entries] == [
        "I want to add a FAB button",
        "Make it purple",
        "Add tests for that",
    ]


def test_the_log_has_who_asked_what_and_no_text(
    running: Callable[..., AbstractContextManager[Running]],
    new_workspace: Callable[[], Path],
    start: Start,
    team: Team,
    client_of: Client,
) -> None:
    told: list[Mapping[str, object]] = []
    options = ServiceOptions(team=TeamAddress("127.0.0.1", 0), tell=told.append)
    with running(new_workspace(), options=options) as service:
        expanded(client_of(service, team.make_token("acme", "ann")), "I want to add a FAB button")
    (line,) = told
    assert (line["operation"], line["status"], line["person"]) == ("route", 200, "ann")
    assert "FAB" not in str(line)


def test_a_shared_service_needs_a_database(
    running: Callable[..., AbstractContextManager[Running]], new_workspace: Callable[[], Path]
) -> None:
    options = ServiceOptions(team=TeamAddress("127.0.0.1", 0))
    with (
        pytest.raises(StoreError, match="none is named"),
        running(new_workspace(), options=options),
    ):
        pass
