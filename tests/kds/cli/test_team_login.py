"""The command line of people who are logged in at a team's service: real processes, a real one."""

import io
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import httpx
import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.team import Team
from kds.service.team_client import Login, keep_login, login_path, read_login

from ...agents.openai_server import FakeProvider
from ...effort import PATIENCE_S
from ..conftest import FAB, Run, data, refused
from ..service.conftest import TeamProcess, wait_until

pytestmark = pytest.mark.usefixtures("workspace")


@pytest.fixture(scope="module")
def service(
    shared_url: str, fitted_brain: Path, launchers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of a service that people share, in a process of its own."""
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(fitted_brain, folder / "kds-brain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KDS_DATABASE", shared_url)
        patch.setenv("KDS_DATABASE_PROJECT", "shop")
        patch.setenv("KDS_MEMORY", "on")
        process = TeamProcess(launchers, folder)
    yield f"http://{process.place}"
    process.end(signal.SIGTERM)
    wait_until(lambda: process.ended)


@pytest.fixture
def people(shared_server: Server) -> Team:
    return Team(shared_server)


@pytest.fixture
def logged_in(
    service: str, people: Team, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Logs somebody of an organisation of the test's own in; returns their token."""
    organisation = uuid4().hex

    def log_in(person: str = "ann", role: Any = "member") -> str:
        token = people.make_token(organisation, person, role)
        typed(monkeypatch, token)
        done = data(kds_call("login", service, "--json"))
        assert (done["person"], done["project"], done["role"]) == (person, "shop", role)
        return token

    return log_in


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    yield
    login_path().unlink(missing_ok=True)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))


def test_a_login_is_checked_kept_for_the_user_alone_shown_and_forgotten(
    logged_in: Callable[..., str], kds_call: Run, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "kds_wrong")
    refused(kds_call("login", service), "the token is not valid", "ask an admin")
    assert not login_path().exists()
    token = logged_in()
    assert login_path().stat().st_mode & 0o777 == 0o600
    assert read_login() == Login(service, token)
    shown = kds_call("status")
    assert f"{service}, as ann of " in shown.out
    assert token not in shown.out + shown.err
    assert kds_call("login", "--out").out == "logged out\n"
    assert not login_path().exists()
    assert data(kds_call("status", "--json"))["team"] is None


def test_what_was_said_is_the_persons_own_at_the_service_and_nothing_stays_here(
    logged_in: Callable[..., str], kds_call: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.service.team_stores.PAGE", 1)  # each answer has one message
    logged_in()
    assert data(kds_call("route", FAB, "--json"))["intent"] == "PLAN"
    assert "FAB button" in kds_call("route", "Make it purple").out
    said = data(kds_call("context", "load", "--json"))["entries"]
    assert [one["user_message"] for one in said] == [FAB, "Make it purple"]
    logged = kds_call("context", "log", "--message", "ship it", "--intent", "EXECUTE", "--json")
    assert data(logged)["entries"][-1]["user_message"] == "ship it"
    (session,) = data(kds_call("memory", "show", "--json"))
    assert session["messages"] == 2
    shown = data(kds_call("memory", "show", "last", "--json"))
    assert [one["content"] for one in shown["messages"]] == [FAB, "Make it purple"]
    found = data(kds_call("memory", "search", "purple", "--json"))
    assert found["hits"][0]["text"] == "Make it purple"
    assert not list((workspace / "kds-brain").glob("conversation*"))
    assert not (workspace / "kds-brain" / "memory.db").exists()
    logged_in("bob")
    assert data(kds_call("memory", "show", "--json")) == []
    assert data(kds_call("context", "load", "--json"))["entries"] == []
    refused(kds_call("memory", "show", session["id"]), "no session")
    logged_in("ann")
    assert kds_call("context", "clear").out == "cleared 3 messages\n"
    assert data(kds_call("context", "load", "--json"))["entries"] == []


def test_sessions_and_a_profile_with_consent_are_kept_and_changed_at_the_service(
    logged_in: Callable[..., str], kds_call: Run
) -> None:
    logged_in()
    kds_call("route", FAB)
    assert "is now 'The button'" in kds_call("memory", "rename", "last", "The button").out
    out = data(kds_call("memory", "export", "--all", "--to", "out.json", "--json"))
    assert out["messages"] == 1
    again = data(kds_call("memory", "import", "out.json", "--json"))
    assert again["checksum"] == out["checksum"]
    assert len(data(kds_call("memory", "show", "--json"))) == 2
    kept = kds_call("memory", "cleanup", "--older-than", "1d", "--yes")
    assert "no session is that old" in kept.out
    assert "deleted 1 session" in kds_call("memory", "delete", "last", "--yes").out
    assert len(data(kds_call("memory", "show", "--json"))) == 1
    refused(kds_call("memory", "profile", "set", "name=Ada"), "there is no consent")
    assert "consent stands" in kds_call("memory", "consent", "grant").out
    assert "Ada" in kds_call("memory", "profile", "set", "name=Ada").out
    assert data(kds_call("memory", "profile", "--json"))["profile"]["name"] == "Ada"
    events = data(kds_call("memory", "consent", "--json"))["events"]
    assert [one["action"] for one in events] == ["granted", "used", "changed", "used"]
    assert "no consent" in kds_call("memory", "consent", "revoke").out
    for arguments, fix in (
        (("memory", "check"), "its operator can"),
        (("memory", "summarize"), "the service does so by itself"),
        (("context", "load", "--path"), "kds context load"),
    ):
        refused(kds_call(*arguments), "a team's service", fix)


def test_a_login_that_others_can_read_was_revoked_or_leads_nowhere_is_not_used(
    service: str, people: Team, kds_call: Run, logged_in: Callable[..., str]
) -> None:
    token = people.make_token("gone", "ann")
    people.revoke("gone", "ann")
    keep_login(Login(service, token))
    refused(kds_call("route", FAB), "not valid, or not any more", "kds login URL")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        away = f"http://127.0.0.1:{closed.getsockname()[1]}"
    keep_login(Login(away, token))
    refused(kds_call("memory", "show"), "does not answer", "kds login --out")
    assert f"{away}, the team's service does not answer" in kds_call("status").out
    logged_in()
    login_path().chmod(0o640)
    refused(kds_call("route", FAB), "not private to this user", "have it ended")
    login_path().unlink()
    (login_path().parent / "theirs").write_text("{}")
    login_path().symlink_to(login_path().parent / "theirs")
    refused(kds_call("route", FAB), "the login is not safe to use")


def test_a_token_is_not_asked_for_where_it_must_not_go(kds_call: Run) -> None:
    for url, message in (
        ("http://team.example", "over http everybody on the way can read the token"),
        ("http://127.0.0.1.team.example", "over http everybody on the way can read the token"),
        ("https://ann:secret@team.example", "holds a user or a password"),
        ("team.example", "is not an address"), ("https://team.example?x=1", "is not an address"),
        ("https://[::1", "is not an address"),
    ):  # fmt: skip
        refused(kds_call("login", url), message)


class Elsewhere(BaseHTTPRequestHandler):
    """Sends everybody to another place."""

    timeout = 5
    tokens: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        type(self).tokens.append(self.headers.get("Authorization"))
        self.send_response(307)
        self.send_header("Location", f"http://localhost:{self.server.server_port}/there")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Who does not trust the certificate leaves."""


@pytest.fixture
def elsewhere() -> Iterator[Quiet]:
    Elsewhere.tokens = []
    with Quiet(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_token_follows_no_redirect(
    elsewhere: Quiet, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "kds_secret")
    url = f"http://127.0.0.1:{elsewhere.server_port}"
    refused(kds_call("login", url), "is not one of KDS", "redirects are not followed")
    assert Elsewhere.tokens == ["Bearer kds_secret"]


def test_the_certificate_of_a_service_is_verified(
    elsewhere: Quiet, kds_call: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pem = tmp_path / "own.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=team.example", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out",
         tmp_path / "cert.pem"], capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", pem)
    elsewhere.socket = context.wrap_socket(
        elsewhere.socket, server_side=True, do_handshake_on_connect=False
    )
    url = f"https://127.0.0.1:{elsewhere.server_port}"
    typed(monkeypatch, "kds_secret")
    refused(kds_call("login", url), "is not trusted: self-signed certificate", "SSL_CERT_FILE")
    assert Elsewhere.tokens == []
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    typed(monkeypatch, "kds_secret")
    refused(kds_call("login", url), "is not one of KDS")
    refused(kds_call("login", url.replace("127.0.0.1", "localhost")), "no token given")
    typed(monkeypatch, "kds_secret")
    wrong = kds_call("login", url.replace("127.0.0.1", "localhost"))
    refused(wrong, "Hostname mismatch")


def test_documents_are_added_once_and_found_by_everybody_who_may_not_change_them(
    logged_in: Callable[..., str], kds_call: Run, workspace: Path, service: str
) -> None:
    logged_in("ann")
    (workspace / "handbook.md").write_text("# Handbook\n\nThe notice period is three weeks.\n")
    assert data(kds_call("docs", "add", "handbook.md", "--json"))["counts"]["added"] == 1
    assert data(kds_call("docs", "add", "handbook.md", "--json"))["counts"]["unchanged"] == 1
    bob = {"Authorization": f"Bearer {logged_in('bob')}"}
    (listed,) = data(kds_call("docs", "show", "--json"))["documents"]
    assert listed["path"] == "workspace/handbook.md"
    assert "Handbook" in kds_call("docs", "show").out
    found = data(kds_call("docs", "search", "notice period", "--json"))
    assert "three weeks" in found["hits"][0]["text"]
    asked = {"query": "What is the notice period?"}
    answer = httpx.post(f"{service}/query", json=asked, headers=bob, timeout=PATIENCE_S).json()
    assert answer["chunks"][0]["source_path"] == "workspace/handbook.md"
    outside = httpx.post(f"{service}/documents", params={"path": "../x.md"}, headers=bob,
                         content=b"# X", timeout=PATIENCE_S)  # fmt: skip
    assert outside.status_code == 400
    refused(kds_call("docs", "remove", "handbook.md"), "ann added 'Handbook'", "ask them or an")
    (workspace / "handbook.md").write_text("# Handbook\n\nThe notice period is a day.\n")
    changed = kds_call("docs", "add", "handbook.md")
    assert changed.code != 0
    assert "ann added 'Handbook'" in changed.err
    (workspace / "bad.md").write_bytes(b"")
    assert "has no text" in kds_call("docs", "add", "bad.md").err
    logged_in("eve", "admin")
    assert data(kds_call("docs", "add", "handbook.md", "--json"))["counts"]["replaced"] == 1
    assert "a day" in kds_call("docs", "search", "notice period").out
    assert "removed 'Handbook'" in kds_call("docs", "remove", "handbook.md").out
    assert data(kds_call("docs", "show", "--json"))["documents"] == []
    refused(kds_call("docs", "remove", "handbook.md"), "no document")


def test_documents_of_one_organisation_are_not_those_of_another(
    logged_in: Callable[..., str], kds_call: Run, workspace: Path, service: str, people: Team,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    logged_in("ann")
    (workspace / "handbook.md").write_text("# Handbook\n\nThe notice period is three weeks.\n")
    kds_call("docs", "add", "handbook.md")
    typed(monkeypatch, people.make_token(uuid4().hex, "ann"))
    kds_call("login", service)
    assert data(kds_call("docs", "show", "--json"))["documents"] == []
    assert data(kds_call("docs", "search", "notice period", "--json"))["hits"] == []


def test_what_is_taught_is_taught_to_the_service(
    logged_in: Callable[..., str], kds_call: Run
) -> None:
    logged_in()
    message = "give the dashboard some love"
    assert "learned" in kds_call("learn", "teach", message, "PLAN").out
    assert data(kds_call("route", message, "--no-log", "--json"))["intent"] == "PLAN"
    refused(kds_call("learn", "teach", message, "TEST"), "you taught", "--force")
    refused(kds_call("learn", "teach", message, "NOPE"), "NOPE")
    kds_call("learn", "teach", "the button", "--means", "FAB button")
    told = data(kds_call("learn", "list", "--json"))
    assert [one["text"] for one in told["examples"]] == [message]
    assert [one["antecedent"] for one in told["references"]] == ["FAB button"]
    assert "means" in kds_call("learn", "undo", "--last").out
    assert kds_call("learn", "undo", told["examples"][0]["id"]).code == 0
    assert "nothing was learned yet" in kds_call("learn", "list").out


def test_ask_and_chat_talk_with_the_service_and_both_sides_are_remembered_there(
    logged_in: Callable[..., str], kds_call: Run, monkeypatch: pytest.MonkeyPatch,
    workspace: Path, model: FakeProvider,
) -> None:  # fmt: skip
    logged_in()
    answered = data(kds_call("ask", FAB, "--session", "Buttons", "--json"))
    assert (answered["turn"]["intent"], answered["text"]) == ("PLAN", "ok")
    again = data(kds_call("ask", "Make it purple", "--session", "Buttons", "--json"))
    assert again["turn"]["expanded"] == "Make the FAB button purple"
    assert FAB in str(model.asked[-1])  # the model sees what was said before
    shown = data(kds_call("memory", "show", "Buttons", "--json"))
    assert [one["role"] for one in shown["messages"]] == ["user", "assistant"] * 2
    assert (
        "Make the FAB button red"
        in kds_call("ask", "Make it red", "--session", "Buttons", "--dry-run").out
    )
    typed(monkeypatch, "/context\n/clear\n/quit")
    chat = kds_call("chat", "Add a dark mode", "--session", "Modes")
    assert (chat.code, "cleared 1 message" in chat.out) == (0, True), chat
    assert len(data(kds_call("memory", "show", "--json"))) == 2
    assert not (workspace / "kds-brain" / "memory.db").exists()
