"""What docs/operations.md says of backup and restore, run as it stands by a role like KDS's own."""

import os
import re
import subprocess
from pathlib import Path

import psycopg

from kds.brain.memory.memory_store import PostgresStore
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import require, state_of, upgrade
from kds.brain.store.team import Team, person_of
from kds.brain.store.tenancy import Tenancy, tenant_number

from ....postgres import of_database
from .conftest import as_role

PAGE = Path(__file__).resolve().parents[4] / "docs" / "operations.md"


def test_the_steps_of_the_page_restore_a_backup(postgres: str, role: str, tmp_path: Path) -> None:
    address = as_role(of_database(postgres, role), role)
    server = Server(address)
    upgrade(server)
    token = Team(server).make_token("acme", "ann")
    number = tenant_number(server, ("acme", "ann", "shop"))
    with PostgresStore(Tenancy(server, number)) as store:
        store.append(store.create_session(session_id="fab").id, "user", "a FAB button")
    server.close()
    with psycopg.connect(postgres) as admin:
        row = admin.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert row is not None
    restored = as_role(of_database(postgres, f"{role}_restored"), role)
    section = PAGE.read_text(encoding="utf-8").partition("## Backup and restore")[2]
    steps = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[0]
    # The last step is a command of KDS, whose test is elsewhere.
    steps = re.sub(r"(?m)^KDS_DATABASE=.*\n", "", steps)
    steps = re.sub(r"\bkds_restored\b", f"{role}_restored", steps).replace(
        "OWNER kds'", f"OWNER {role}'"
    )
    environ = {"KDS_DATABASE": address, "ADMIN": postgres, "RESTORED": restored}
    path = f"{row[0]}:{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-ec", steps],
        cwd=tmp_path,
        env={**os.environ, **environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    copy = Server(restored)
    require(copy)
    upgrade(copy)
    assert not list(state_of(copy).problems)
    person = person_of(copy, token)
    with PostgresStore(Tenancy(copy, number)) as store:
        assert [one.content for one in store.messages("fab")] == ["a FAB button"]
        assert store.search_words(["button"], limit=9, weights=(1,) * 4)
    copy.close()
    assert person is not None
    assert person.name == "ann"
