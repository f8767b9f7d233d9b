"""Files of other versions: older ones are copied and brought up to date, newer ones refused."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import MEMORY, SqliteStore
from kds.brain.store.migrations import FileKind
from kds.brain.store.sqlite import Database

from ..conformance import HandClock, say
from ..sound import sound

ADD_COLOUR = "ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'purple';"
FAIL_HALFWAY = "ALTER TABLE session ADD COLUMN half TEXT;\nSELECT no_such_luck();"

NEXT = replace(MEMORY, migrations=(*MEMORY.migrations, ADD_COLOUR))
COPY = f"memory.db.backup-v{len(MEMORY.migrations)}-20251103T090000Z"


def failing(kind: FileKind) -> FileKind:
    return replace(kind, migrations=(*kind.migrations, FAIL_HALFWAY))


@pytest.fixture
def old_file(memory_path: Path, clock: HandClock) -> Path:
    """A memory of the version before, with something in it."""
    with SqliteStore(memory_path, clock=clock) as store:
        say(store, store.create_session(session_id="s"), "the walrus")
    return memory_path


def columns(database: Database) -> set[str]:
    with database.read() as connection:
        return {row[1] for row in connection.execute("PRAGMA table_info(session)")}


def test_an_older_file_is_copied_and_brought_up_to_date(old_file: Path, clock: HandClock) -> None:
    database = Database(old_file, NEXT, clock=clock)
    assert "colour" in columns(database)
    (warning,) = database.warnings
    assert COPY in warning
    database.close()
    copy = old_file.with_name(COPY)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with SqliteStore(copy, clock=clock) as store:
        assert store.stats().schema_version == len(MEMORY.migrations)
        assert [message.content for message in store.messages("s")] == ["the walrus"]
        assert store.take_warnings() == ()
        assert sound(store)
    again = Database(old_file, NEXT, clock=clock)
    assert again.warnings == ()
    again.close()


def test_a_newer_file_is_refused_and_left_alone(old_file: Path, clock: HandClock) -> None:
    Database(old_file, NEXT, clock=clock).close()
    before = old_file.read_bytes()
    with pytest.raises(StoreError, match="newer KDS") as caught:
        SqliteStore(old_file, clock=clock)
    assert "update KDS" in (caught.value.hint or "")
    assert old_file.read_bytes() == before


def test_a_step_that_fails_leaves_the_file_as_it_was(old_file: Path, clock: HandClock) -> None:
    with pytest.raises(StoreError, match="no_such_luck"):
        Database(old_file, failing(MEMORY), clock=clock)
    with SqliteStore(old_file, clock=clock) as store:
        assert "half" not in columns(store.database)
        assert [message.content for message in store.messages("s")] == ["the walrus"]
