"""The file itself: private, durable, refused when it is damaged or another's."""

import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import SqliteStore

from ..conformance import by_text, say
from ..conftest import OpenStore
from ..sound import sound


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not modes on Windows")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_private(open_store: OpenStore, memory_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = open_store()
        say(store, store.create_session(), "one")
    finally:
        os.umask(before)
    found = modes(memory_path.parent)
    assert {"memory.db", "memory.db-wal", "memory.db-shm"} <= set(found)
    assert set(found.values()) == {0o600}


def test_a_link_is_not_followed(memory_path: Path, tmp_path: Path) -> None:
    memory_path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(StoreError, match="symbolic link"):
        SqliteStore(memory_path)
    assert not (tmp_path / "elsewhere.db").exists()


@pytest.mark.parametrize("damage", ["garbage", "header", "middle"])
def test_a_damaged_file_is_refused_and_stays(
    open_store: OpenStore, memory_path: Path, damage: str
) -> None:
    store = open_store()
    say(store, store.create_session(), *[f"message {n} " + "word " * 200 for n in range(60)])
    with store.database.read() as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'message'"
        page = connection.execute(query).fetchone()[0]
    store.close()
    data = bytearray(memory_path.read_bytes())
    if damage == "garbage":
        data = bytearray(b"not a database at all " * 100)
    elif damage == "header":
        data[:100] = b"\x00" * 100
    else:
        data[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    memory_path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged") as caught:  # "middle" is found when it is read
        [open_store().messages(one.id) for one in open_store().sessions()]
    assert "move it away" in (caught.value.hint or "")
    assert memory_path.read_bytes() == data


def test_a_log_whose_file_is_gone_is_refused(open_store: OpenStore, memory_path: Path) -> None:
    memory_path.with_name("memory.db-wal").write_bytes(b"remains")
    with pytest.raises(StoreError, match="is gone"):
        open_store()


def test_the_database_of_another_program_is_left_alone(memory_path: Path) -> None:
    with closing(sqlite3.connect(memory_path)) as other:
        other.execute("CREATE TABLE recipe(name)")
    before = memory_path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(memory_path)
    assert memory_path.read_bytes() == before


def test_a_read_only_file_is_a_clear_error(open_store: OpenStore, memory_path: Path) -> None:
    store = open_store()
    session = store.create_session()
    say(store, session, "the walrus")
    store.close()
    memory_path.chmod(0o400)
    with pytest.raises(StoreError, match="read-only") as caught:
        open_store()
    assert caught.value.hint
    memory_path.chmod(0o600)


def test_a_full_disk_loses_nothing(open_store: OpenStore) -> None:
    store = open_store()
    session = store.create_session()
    say(store, session, "before")
    with store.database.exclusive() as connection:  # the file may not grow: as good as full
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="disk is full") as caught:
        store.append(session.id, "user", "x" * 100_000)
    assert "nothing that was stored is lost" in (caught.value.hint or "")
    assert [message.content for message in store.messages(session.id)] == ["before"]
    assert store.session(session.id).message_count == 1
    with store.database.exclusive() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert store.append(session.id, "user", "x" * 100_000).seq == 2
    assert sound(store)


DROPPED = [
    *("DROP TABLE chunk_fts", "DROP TABLE chunk_word"),
    "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'chunk_fts_data'",
]
EMPTIED = ["DELETE FROM chunk_fts_data"]


def harmed(store: SqliteStore, harm: str) -> None:
    """Do ``harm`` to the file of a store, as another program would."""
    with closing(sqlite3.connect(store.path)) as connection:
        connection.executescript(harm)


@pytest.mark.parametrize("harm", [*DROPPED, *EMPTIED])
@pytest.mark.parametrize("meanwhile", ["reopened", "searched", "appended", "deleted"])
def test_a_lost_index_is_made_again(open_store: OpenStore, harm: str, meanwhile: str) -> None:
    store = open_store()
    session, other = store.create_session(), store.create_session()
    for number in range(200):  # an index of several pages
        store.append(session.id, "user", f"the walrus{number} of the north")
    store.append(other.id, "user", "of the south")
    harmed(store, harm)
    if meanwhile == "reopened":
        store.close()
        store = open_store()
    elif meanwhile == "appended":
        store.append(session.id, "user", "one more")
    elif meanwhile == "deleted":
        store.delete_session(other.id)
    assert store.document_frequencies(["walrus7"]) == {"walrus7": 1}
    assert len(by_text(store, "walrus7", limit=5)) == 1
    assert sound(store)


@pytest.mark.parametrize("harm", [DROPPED[0], EMPTIED[0]])
def test_an_index_that_is_made_anew_is_said_once(open_store: OpenStore, harm: str) -> None:
    store = open_store()
    say(store, store.create_session(), "the walrus", "of the north")
    harmed(store, harm)
    assert store.document_frequencies(["walrus"]) == {"walrus": 1}
    [said] = store.take_warnings()
    assert "has been made anew" in said
    assert store.take_warnings() == ()


def test_an_index_that_lacks_a_row_is_noticed_and_rebuilt(open_store: OpenStore) -> None:
    store = open_store()
    session = store.create_session()
    say(store, session, "the walrus")
    with store.database.write() as connection:
        connection.execute(
            "INSERT INTO chunk_fts(chunk_fts, rowid, header, body, context, idents) "
            "SELECT 'delete', id, header, body, context, idents FROM chunk_text"
        )
    problems = store.check().problems
    assert problems
    assert "search index" in problems[0]
    assert store.rebuild().sound
    assert len(by_text(store, "walrus", limit=5)) == 1


def test_a_replaced_file_is_noticed(open_store: OpenStore, memory_path: Path) -> None:
    store = open_store()
    session = store.create_session()
    say(store, session, "in the first file")
    for path in memory_path.parent.glob("memory.db*"):
        path.rename(path.with_name(f"old-{path.name}"))
    assert store.sessions() == ()
    again = store.create_session()
    say(store, again, "in the second file")
    assert [s.id for s in open_store().sessions()] == [again.id]
