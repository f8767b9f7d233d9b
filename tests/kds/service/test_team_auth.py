"""A service that people share: tokens, each person's own rows, several services, outages."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.team import Person, Role, Team
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.learning import Learning, teach
from kds.service import team_auth as module
from kds.service.listening import HttpAddress
from kds.service.server import ServiceOptions
from kds.service.team_auth import Passes

from ...effort import PATIENCE_S
from ...postgres import driver
from .conftest import Running, meanwhile, routed, running, wait_until
from .talking import FAB, client_of, expanded, heard
from .test_reload import PROMPT

DEPLOY = Path(__file__).resolve().parents[3] / "docs" / "deploy"


class Office:
    """Services of one database, as on machines of their own, and people who ask them."""

    def __init__(
        self,
        stack: ExitStack,
        new_workspace: Callable[[], Path],
        team: Team,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.team = team
        self._stack = stack
        self._new_workspace = new_workspace
        self._monkeypatch = monkeypatch

    def start(self, folder: Path | None = None, **options: Any) -> Running:
        """Start a service, in a folder of its own unless one is named."""
        wanted = ServiceOptions(team=HttpAddress(team=True), **options)
        return self._stack.enter_context(running(folder or self._new_workspace(), options=wanted))

    def stranger(self, service: Running, token: str = "") -> httpx.Client:
        return self._stack.enter_context(client_of(service, token))

    def client(
        self, person: str, service: Running | None = None, role: Role = "member"
    ) -> httpx.Client:
        """A client of somebody; without a service, of a new one."""
        token = self.team.make_token("acme", person, role)
        return self.stranger(service or self.start(), token)

    @contextmanager
    def acting_as(self, person: str) -> Iterator[None]:
        """As somebody at a machine of their own, with the database in the environment."""
        with self._monkeypatch.context() as own:
            own.setenv("KDS_DATABASE_ORGANISATION", "acme")
            own.setenv("KDS_DATABASE_PERSON", person)
            yield


@pytest.fixture
def office(
    new_workspace: Callable[[], Path], url: str, team: Team, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Office]:
    monkeypatch.setenv("KDS_DATABASE", url)
    monkeypatch.setenv("KDS_DATABASE_PROJECT", "shop")
    monkeypatch.setenv("KDS_MEMORY", "on")
    monkeypatch.setattr(module, "BELIEVED_S", 0.0)
    monkeypatch.setattr(module, "READY_S", 0.0)
    with ExitStack() as stack:
        yield Office(stack, new_workspace, team, monkeypatch)


def test_a_conversation_goes_on_at_another_service_and_nobody_else_sees_it(office: Office) -> None:
    services = [office.start(), office.start()]
    one, other = (office.client("ann", service) for service in services)
    expanded(one, FAB)
    assert expanded(other, "Make it purple") == "Make the FAB button purple"
    assert heard(one) == [FAB, "Make it purple"]
    bob = office.client("bob", services[0])
    assert expanded(bob, "Make it purple") == "Make it purple"
    assert "FAB" not in bob.get("/sessions").text
    assert bob.delete("/sessions/c").status_code == 200
    assert len(other.get("/sessions").json()["sessions"]) == 1


def test_what_people_say_gets_vectors_in_the_background(
    office: Office, server: Server, embeddings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    monkeypatch.setattr("kds.service.workspaces.EMBED_LOOK_S", 0.02)
    monkeypatch.setattr("kds.service.workspaces.PAUSE_S", 0.0)
    service = office.start()
    numbers = [tenant_number(server, ("acme", name, "shop")) for name in ("ann", "bob")]
    for name, number in zip(("ann", "bob"), numbers, strict=True):
        store, client = PostgresStore(Tenancy(server, number)), office.client(name, service)
        for count, said in enumerate((FAB, "Make it purple"), start=1):
            routed(client, said, conversation="c")
            done = partial(lambda store, count: _vectors(store) == [(count, 0)], store, count)
            wait_until(done)


def _vectors(store: PostgresStore) -> list[tuple[int, int]]:
    return [(one.vectors, one.waiting) for one in store.models()]


def test_without_a_token_there_is_nothing_but_yes_and_no(office: Office) -> None:
    service = office.start()
    stranger = office.stranger(service)
    assert stranger.get("/livez").text == "ok\n"
    assert stranger.get("/readyz").text == "ok\n"
    for path in ("/context", "/sessions", "/metrics", "/openapi.json", "/healthz"):
        assert stranger.get(path).status_code == 401
    guessed = office.team.make_token("acme", "ann") + "x"
    assert office.stranger(service, guessed).get("/context").status_code == 401


def test_what_cannot_be_a_token_is_not_asked_of_the_database_and_a_token_once(
    server: Server, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = team.make_token("acme", "ann")
    asked: list[str] = []
    ask = module.person_of

    def note(server: Server, token: str) -> Person | None:
        asked.append(token)
        return ask(server, token)

    async def find() -> None:
        passes = Passes(server)
        wrong = ["", "x" * 10_000, "kds_guess", token[:-1], token[:-1] + "z", "kds_" + token]
        assert [await passes.find(one) for one in wrong] == [None] * len(wrong)
        found = await asyncio.gather(*(passes.find(token) for _ in range(50)))
        assert {one and one.name for one in found} == {"ann"}

    monkeypatch.setattr(module, "person_of", note)
    asyncio.run(find())
    assert asked == [token]


def test_however_often_it_is_asked_whether_it_is_ready_the_database_is_asked_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Server] = []
    monkeypatch.setattr(module, "require", asked.append)
    monkeypatch.setattr(module, "READY_S", 3600.0)

    async def look() -> list[bool]:
        passes = Passes(server)
        return await asyncio.gather(*(passes.reachable() for _ in range(50)))

    assert asyncio.run(look()) == [True] * 50
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "asked", "status"),
    [
        ("memory.sessions", {"limit": 1}, 200),
        ("memory.sessions", {"limit": "many"}, 400),
        ("memory.sessions", {"limit": 501}, 400),
        ("memory.sessions", {"limit": 1, "offset": -1}, 400),
        ("memory.messages", {"session_id": "s"}, 400),
        ("memory.session", {"session_id": "s", "_": 1}, 400),
        ("memory.session", {"session_id": "a\0b"}, 400),
        ("entities.load", {"key": "s", "ttl": 8e13}, 400),
        ("memory.use_model", {"name": "x"}, 404),
        ("memory.__init__", {}, 404),
    ],
)
def test_commands_call_what_is_permitted_and_nothing_else(
    office: Office, name: str, asked: Mapping[str, object], status: int
) -> None:
    assert office.client("ann").post(f"/calls/{name}", json=asked).status_code == status


def test_what_reads_files_of_the_machine_is_not_there_for_others(office: Office) -> None:
    ann = office.client("ann")
    for method, path in (("POST", "/hook"), ("POST", "/web"), ("GET", "/api/memory/debug/stats")):
        assert ann.request(method, path).status_code == 404
    variables = {"KDS_MODEL_URL": "http://127.0.0.1:9"}
    refused = ann.post("/route", json={"message": "plan it", "variables": variables})
    assert refused.status_code == 400
    assert "variables" in refused.text


def test_figures_and_log_tell_who_asked_what_and_no_text(office: Office) -> None:
    told: list[Mapping[str, object]] = []
    service = office.start(tell=told.append)
    ann = office.client("ann", service)
    expanded(ann, FAB)
    wait_until(lambda: told)  # a line is told behind the answer
    line = told[0]
    assert (line["operation"], line["status"], line["person"]) == ("route", 200, "ann")
    assert "FAB" not in str(line)
    assert ann.get("/metrics").status_code == 403
    figures = office.client("eve", service, "admin").get("/metrics").text
    assert 'kds_request_seconds_count{operation="route",status="200"} 1.0' in figures
    assert "FAB" not in figures
    assert "ann" not in figures.replace("channel", "")
    shown = "".join((DEPLOY / name).read_text() for name in ("alerts.yaml", "grafana.json"))
    assert set(re.findall(r"\bkds_\w+", shown)) <= set(re.findall(r"(?m)^kds_\w+", figures))
    office.team.revoke("acme", "ann")
    assert ann.get("/context").status_code == 401


def intent(client: httpx.Client, message: str, *, log: bool = False) -> str:
    return str(routed(client, message, conversation="learning", log=log)["intent"])


DASHBOARD = "give the dashboard some love"


def test_what_one_person_teaches_counts_for_nobody_else_and_at_every_service(
    office: Office,
) -> None:
    services = [office.start(), office.start()]
    place = services[0].workspaces[0]
    anns = [office.client("ann", one) for one in services]
    bob = office.client("bob", services[0])
    before = intent(bob, DASHBOARD)
    assert [intent(ann, DASHBOARD) for ann in anns] == [before, before]
    with office.acting_as("ann"):
        done = teach(place, DASHBOARD, "PLAN")
    for ann in anns:
        assert intent(ann, DASHBOARD, log=True) == "PLAN"
        assert intent(ann, "can you give the dashboard some love?") == "PLAN"
    assert intent(bob, DASHBOARD, log=True) == before
    with office.acting_as("bob"):
        assert Learning(place).examples() == ()
    with office.acting_as("ann"):
        Learning(place).undo(done.learned.id)
    assert [intent(ann, DASHBOARD) for ann in anns] == [before, before]


def test_an_edited_prompt_counts_at_the_next_message_and_a_broken_one_is_left_out(
    office: Office, folder: Path
) -> None:
    ann = office.client("ann", office.start(folder, unix_socket=False))
    assert intent(ann, "brew a pot of tea") != "TEA"
    path = folder / "prompts" / "user" / "tea-maker.md"
    path.parent.mkdir(parents=True)
    for text in (PROMPT, "---\nname: ["):
        path.write_text(text)
        assert (intent(ann, "brew a pot of tea") == "TEA") == (text == PROMPT)


def test_an_outage_is_said_and_got_over(
    office: Office, outage: Callable[[bool], None], server: Server
) -> None:
    ann = office.client("ann")
    expanded(ann, FAB)
    outage(True)
    said = {"message": "Make it purple", "conversation": "c"}
    answers = [ann.post("/route", json=said), ann.get("/sessions"), ann.get("/context")]
    assert [one.status_code for one in answers] == [200, 503, 200]
    assert answers[0].json()["expanded"] == "Make the FAB button purple"
    for text in (one.text for one in answers):
        assert "cannot be reached" in text or "could not be reached" in text
        assert server.place.rpartition("/")[2] not in text, "where the database is"
        assert "postgres" not in text
    assert ann.get("/readyz").status_code == 503
    outage(False)
    assert ann.get("/readyz").status_code == 200
    expanded(ann, "Add tests for that")
    assert heard(ann) == [FAB, "Make it purple", "Add tests for that"]


def test_a_service_that_drains_answers_on_and_says_that_it_is_not_ready(office: Office) -> None:
    service = office.start(drain_s=10 * PATIENCE_S)
    ann = office.client("ann", service)
    assert "connection" not in ann.get("/readyz").headers
    service.service.stop("SIGTERM")
    assert ann.get("/readyz").status_code == 503
    reply = ann.post("/route", json={"message": FAB})
    assert (reply.status_code, reply.headers["connection"]) == (200, "close")


def test_who_was_removed_is_refused_and_begins_anew_when_added_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BELIEVED_S", 60.0)
    service = office.start()
    ann = office.client("ann", service)
    expanded(ann, FAB)
    office.team.remove("acme", "ann")
    reply = ann.post("/route", json={"message": "Make it purple", "conversation": "c"})
    assert reply.status_code == 401  # a token that is believed still
    assert "constraint" not in reply.text
    again = office.client("ann", service)
    assert expanded(again, "Make it purple") == "Make it purple"
    assert heard(again) == ["Make it purple"]


def test_a_shared_service_starts_while_the_database_is_away(
    office: Office, outage: Callable[[bool], None]
) -> None:
    token = office.team.make_token("acme", "ann")
    outage(True)
    service = office.start()
    ann = office.stranger(service, token)
    assert ann.get("/livez").status_code == 200
    assert ann.get("/readyz").status_code == 503
    assert ann.get("/context").status_code == 503
    outage(False)
    assert ann.get("/readyz").status_code == 200
    expanded(ann, FAB)
    assert heard(ann) == [FAB]


def test_somebody_who_waits_for_a_lock_holds_up_nobody_else_and_is_told_soon(
    office: Office, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Server.__init__.__kwdefaults__, "timeout_s", PATIENCE_S)
    monkeypatch.setattr("kds.brain.store.tenancy.LOCK_S", PATIENCE_S)
    service = office.start()
    ann, second, bob = (office.client(name, service) for name in ("ann", "ann", "bob"))
    for one in (ann, bob):
        expanded(one, FAB)
    path, body = "/sessions/c/messages", {"role": "user", "content": "hm"}
    number, is_held = tenant_number(server, ("acme", "ann", "shop")), Event()
    with (
        meanwhile(lambda: is_held.wait() and ann.post(path, json=body)) as answers,
        Tenancy(server, number).write() as connection,
    ):
        is_held.set()
        waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: connection.execute(waits).fetchone())
        assert bob.post(path, json=body).is_success
        assert second.get("/context", params={"conversation": "other"}).is_success
        assert answers == []
        monkeypatch.setattr("kds.brain.store.tenancy.LOCK_S", 0.1)
        reply = office.client("ann").post(path, json=body)  # at another service
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        assert "postgres" not in reply.text
    assert answers[0].is_success


def test_a_statement_that_takes_too_long_in_mid_turn_is_said_and_got_over(
    office: Office, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Server.__init__.__kwdefaults__, "timeout_s", 0.5)
    ann = office.client("ann")
    expanded(ann, FAB)
    with driver().connect(url) as admin:
        admin.execute("LOCK TABLE kds.kept_text IN ACCESS EXCLUSIVE MODE")
        reply = ann.post("/route", json={"message": "Make it purple", "conversation": "c"})
        assert reply.status_code == 200, reply.text
    assert reply.json()["expanded"] == "Make the FAB button purple"
    assert "took too long" in reply.text
    assert "not stored yet" in reply.text
    expanded(ann, "Add tests for that")
    assert heard(ann) == [FAB, "Make it purple", "Add tests for that"]


def test_nobody_else_is_told_where_the_service_keeps_its_files(
    office: Office, folder: Path
) -> None:
    ann = office.client("ann", office.start(folder, unix_socket=False))
    (folder / "kds-brain" / "settings.yaml").write_text("memory: {enabled: perhaps}\n")
    for path, name in {"/route": "message", "/query": "query"}.items():
        reply = ann.post(path, json={name: FAB})
        assert reply.status_code == 200, reply.text
        assert str(folder) not in reply.text
    shutil.rmtree(folder / "kds-brain")
    (folder / "kds-brain").write_text("")
    reply = ann.post("/route", json={"message": FAB})
    assert (reply.status_code, reply.json()["error"]["where"]) == (500, None)
    assert "not a folder" in reply.text
    assert str(folder) not in reply.text
