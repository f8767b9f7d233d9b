"""PgBouncer in transaction mode may stand between: each transaction gets whatever connection.

Two connections to the server serve everybody, so that what is kept in a session, or left behind in
one, would be found by somebody else. Skipped where the program `pgbouncer` is not installed.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from kds.brain.documents.recall import COLUMN_WEIGHTS
from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.brain.timeouts import Deadline

from ....postgres import of_database  # what makes databases for all
from ...conformance import HandClock, say

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
START_S = 10
POOL = 2
BACK_S = 8
"""PgBouncer asks again after a tenth of a second; unless told to, after fifteen."""

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "deploy" / "pgbouncer.ini"


def _settings(place: str, port: int, folder: Path) -> str:
    """The shipped settings, with another database, user and port, and room for two only."""
    text = SHIPPED.read_text(encoding="utf-8")
    for key, value in (
        ("kds", None), ("auth_file", None), ("listen_port", port), ("auth_type", "any"),
        ("default_pool_size", POOL),
    ):  # fmt: skip
        text, count = re.subn(rf"(?m)^{key} = .*\n", f"{key} = {value}\n" if value else "", text)
        assert count == 1, key
    text = text.replace("[databases]\n", f"[databases]\n* = {place}\n")
    return f"{text}unix_socket_dir =\nserver_idle_timeout = 1\nlogfile = {folder}/log\n"


@pytest.fixture(scope="session")
def pooler(postgres: str) -> Iterator[int]:
    """A PgBouncer in front of the server; returns its port."""
    folder = Path(tempfile.mkdtemp(prefix="kds-pgbouncer-", dir="/tmp"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = _settings(_place(postgres), port, folder)
    (folder / "settings.ini").write_text(text)
    command = [str(PROGRAM), "-q", str(folder / "settings.ini")]
    if os.geteuid() == 0:  # which it refuses to run as
        owner = Path(_host(postgres)).owner() if _host(postgres).startswith("/") else "nobody"
        command[1:1] = ["-u", owner]
        shutil.chown(folder, owner)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert Deadline(START_S).until(lambda: _answers(port), pause_s=0.05), (
            "pgbouncer did not start"
        )
        yield port
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parse_qs(parts.query).get("host", [parts.hostname or "127.0.0.1"])[0]


def _place(url: str) -> str:
    parts = urlsplit(url)
    user = f" user={parts.username}" if parts.username else ""
    secret = f" password={parts.password}" if parts.password else ""
    return f"host={_host(url)} port={parts.port or 5432}{user}{secret}"


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def direct(postgres: str, url: str) -> str:
    """The address of the same database without the pooler."""
    return of_database(postgres, urlsplit(url).path[1:])


@pytest.fixture
def url(url: str, pooler: int) -> str:
    """The address of the database through the pooler, as every service here has it."""
    return f"postgresql://anybody@127.0.0.1:{pooler}{urlsplit(url).path}"


def test_conversations_go_through_the_pooler(server: Server, clock: HandClock) -> None:
    store = PostgresStore(
        Tenancy(server, tenant_number(server, ("acme", "ann", "shop")), clock=clock)
    )
    session = store.create_session()
    say(store, session, "the walrus speaks", "indeed")
    assert [one.content for one in store.messages(session.id)] == ["the walrus speaks", "indeed"]
    assert len(store.search_words(["walrus"], limit=9, weights=COLUMN_WEIGHTS)) == 1
    store.close()


def test_nothing_of_a_transaction_is_left_in_its_connection(server: Server) -> None:
    tenancy = Tenancy(server, tenant_number(server, ("acme", "ann", "shop")))
    for _ in range(2 * POOL):
        with tenancy.write() as connection:
            connection.execute("SELECT count(*) FROM session")
        with server.transaction("BEGIN") as raw:
            row = raw.execute(
                b"SELECT current_user = session_user, "
                b"coalesce(current_setting('kds.tenant', true), ''), "
                b"(SELECT count(*) FROM pg_prepared_statements), "
                b"(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                b"AND pid = pg_backend_pid())"
            ).fetchone()
        assert row == (True, "", 0, 0)


def test_an_outage_ends_when_the_database_is_back(direct: str, postgres: str, url: str) -> None:
    name = urlsplit(url).path[1:]
    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        for _ in range(2):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(url, connect_timeout=2).execute("SELECT 1")
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert Deadline(BACK_S).until(lambda: _works(url), pause_s=0.1)


def _works(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
