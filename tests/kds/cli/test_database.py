"""`kds db` and `kds team` on the database that the user named."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.store.postgres import Server
from kds.brain.store.team import person_of
from kds.brain.timeouts import Deadline

from ...effort import PATIENCE_S
from ...postgres import driver
from ..conftest import BAD_INPUT, Run, begin_session, data, refused

pytestmark = pytest.mark.usefixtures("workspace")

TESTS_FAILED = 1


@pytest.fixture
def named(url: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with tables, named by the user."""
    monkeypatch.setenv("KDS_DATABASE", url)
    monkeypatch.setenv("KDS_DATABASE_PERSON", "ann")
    return url


@pytest.fixture
def empty(named: str) -> str:
    """A database without tables, named by the user."""
    with driver().connect(named, autocommit=True) as admin:
        admin.execute("DROP SCHEMA kds, kds_documents, kds_assistants CASCADE")
    return named


@pytest.fixture
def remembered(workspace: Path) -> Path:
    """A memory in a file; returns the file."""
    with SqliteStore(workspace / "kds-brain" / "memory.db") as store:
        session = store.create_session(session_id="dark")
        store.append(session.id, "user", "I want to add a dark mode toggle")
        store.append(session.id, "assistant", "It goes into the header.")
        return store.path


COMMANDS = (["db", "--upgrade"], ["db"], ["team", "list"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_database_that_is_not_named_or_away_is_told_of_without_its_password(
    command: list[str], kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(kds_call(*command), "no database is named", "KDS_DATABASE=postgresql://")
    monkeypatch.setenv("KDS_DATABASE", "postgresql://ann:hunter2@127.0.0.1:9/team")
    result = kds_call(*command, "--json")
    assert result.code == BAD_INPUT
    error = json.loads(result.out)["error"]
    assert "cannot be reached" in error["message"]
    assert error["where"].startswith("postgresql://127.0.0.1:9/team (connection failed: ")
    assert "hunter2" not in result.out + result.err


def test_an_upgrade_makes_the_tables_once_and_a_check_says_what_the_server_is(
    kds_call: Run, empty: str
) -> None:
    assert kds_call("db").code == TESTS_FAILED
    made = kds_call("db", "--upgrade")
    assert (made.code, made.err) == (0, "")
    assert "went from version 0 to " in made.out
    again = data(kds_call("db", "--upgrade", "--json"))
    assert again["before"] == again["after"] > 0
    assert kds_call("db", "--upgrade").out.startswith("nothing to do")
    result = kds_call("db")
    assert result.code == 0
    for part in ("PostgreSQL", "pgvector", "the database is in order"):
        assert part in result.out
    assert "is a superuser" in result.err
    assert data(kds_call("db", "--json"))["problems"] == []


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ("UPDATE kds.session SET word_count = word_count + 1",
         "sessions count their words wrong: 1"),
        ("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
         "pgvector 0.7.4 is too old: use 0.8 or newer"),
    ],
)  # fmt: skip
def test_a_check_finds_what_is_wrong(
    kds_call: Run, named: str, workspace: Path, harm: str, problem: str
) -> None:
    begin_session(workspace, "Dark mode")
    with driver().connect(named, autocommit=True) as admin:
        admin.execute(harm)
    assert data(kds_call("db", "--json"), TESTS_FAILED)["problems"] == [problem]
    assert problem in kds_call("db").out


def test_a_memory_moves_to_the_server_and_back_with_one_checksum(
    kds_call: Run, named: str, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KDS_DATABASE")
    there = data(kds_call("memory", "export", "--all", "--to", "there.json", "--json"))
    assert (there["sessions"], there["messages"]) == (1, 2)
    monkeypatch.setenv("KDS_DATABASE", named)
    assert (
        data(kds_call("memory", "import", "there.json", "--json"))["checksum"] == there["checksum"]
    )
    assert "dark" in kds_call("memory", "show", "--json").out
    back = data(kds_call("memory", "export", "--all", "--to", "back.json", "--json"))
    assert back["checksum"] == there["checksum"]
    assert Path("back.json").read_text() == Path("there.json").read_text()
    with SqliteStore(remembered) as store:
        store.append("dark", "user", "Make it purple")
    monkeypatch.delenv("KDS_DATABASE")
    changed = data(kds_call("memory", "export", "--all", "--to", "more.json", "--json"))
    assert changed["checksum"] != there["checksum"]


def test_an_import_that_was_killed_goes_on_when_it_is_repeated(
    remembered: Path, named: str, kds_call: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_DATABASE", "")
    with SqliteStore(remembered) as store:
        for number in range(60):
            session = store.create_session(title=f"walrus {number}")
            for seq in range(1, 41):
                store.append(session.id, "user", f"it says {seq}")
    kds_call("memory", "export", "--all", "--to", "all.json")
    monkeypatch.setenv("KDS_DATABASE", named)
    command = [sys.executable, "-m", "kds", "memory", "import", "all.json"]
    with driver().connect(named, autocommit=True) as admin:

        def stored() -> tuple[int, int]:
            query = "SELECT count(*), coalesce(sum(message_count), 0)::int FROM kds.session"
            return admin.execute(query).fetchone()

        for least in (5, 30):
            ended = subprocess.Popen(command, cwd=workspace, stdout=subprocess.DEVNULL)
            wanted = partial(lambda least: stored()[0] >= least, least)
            assert Deadline(PATIENCE_S).until(wanted, pause_s=0.005)
            ended.kill()
            ended.wait()
        assert stored()[0] < 61
        assert kds_call("memory", "import", "all.json").code == 0
        assert stored() == (61, 2 + 60 * 40)


def test_a_token_is_printed_once_listed_revoked_and_audited_and_a_removal_asked_for_twice(
    kds_call: Run, named: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_DATABASE_ORGANISATION", "acme")
    run = partial(kds_call, "team")
    token = run("add", "ann", "--admin").out.strip()
    person = person_of(server, token)
    assert person is not None
    assert (person.name, person.role) == ("ann", "admin")
    (listed,) = data(run("list", "--json"))
    assert (listed["person"]["name"], listed["revoked_at"]) == ("ann", None)
    assert token not in run("list").out
    assert run("remove", "ann", "--token", "all").out == "revoked 1 token\n"
    assert person_of(server, token) is None
    actions = [one["action"] for one in data(run("list", "--audit", "--json"))]
    assert actions == ["token revoked", "token made"]
    refused(run("remove", "bob", "--token", "all"), "kds team list")
    refused(run("remove", "ann"), "add --yes")
    assert run("remove", "ann", "--yes").out == "removed ann: 0 projects\n"
    assert data(run("list", "--json")) == []
