"""What a cloned project can bring along in `kds-brain/`, and what KDS makes of it."""

import os
import sqlite3
import struct
import sys
from contextlib import closing
from pathlib import Path

import pytest

import kds
from kds.brain.errors import KdsError, StoreError
from kds.brain.files import make_private_folder
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.clients.doctor import make_private
from kds.forget import forget
from kds.hooks.log import note

posix = pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")


@pytest.fixture
def place(workspace: Path) -> Workspace:
    return Workspace(workspace, workspace / "kds-brain")


def test_nothing_is_written_or_changed_where_a_linked_folder_or_workspace_leads(
    place: Workspace, tmp_path: Path
) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "clone"
    elsewhere.mkdir(mode=0o755)
    for name in ("conversations", "work", "cache"):
        (place.brain / name).symlink_to(elsewhere)
        with pytest.raises(StoreError, match="is a link"):
            make_private_folder(place.brain / name)
    root.mkdir()
    (root / "kds-brain").symlink_to(elsewhere)
    with pytest.raises(KdsError, match="is a link"):
        kds.Router.open(root).route("I want to add a FAB button")
    note(str(root / "kds-brain"), "no service")
    assert make_private(Workspace(root, root / "kds-brain")) == 0
    assert list(elsewhere.iterdir()) == []
    assert elsewhere.stat().st_mode & 0o777 == 0o755


@posix
def test_a_pipe_in_the_place_of_the_settings_is_refused_at_once(place: Workspace) -> None:
    os.mkfifo(place.settings_path)
    with pytest.raises(KdsError, match="ordinary file"):
        load_settings(place)


HOSTILE = (
    "CREATE VIEW extra AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
    "SELECT count(*) FROM c",
    "CREATE TRIGGER extra AFTER INSERT ON message BEGIN DELETE FROM message; END",
    "DROP TABLE profile; CREATE VIEW profile AS SELECT 1 AS field, 2 AS value",
    "DROP INDEX metric_by_time; CREATE INDEX metric_by_time ON metric(length(hex(zeroblob(at))))",
    *(
        "PRAGMA writable_schema = ON; "
        f"UPDATE sqlite_master SET sql = replace(sql, {old!r}, {new!r})"
        for old, new in (
            ("value TEXT NOT NULL)", "value TEXT NOT NULL CHECK(length(zeroblob(value)) > 1))"),
            ("count INTEGER NOT NULL DEFAULT 0", "count INTEGER NOT NULL DEFAULT (random())"),
            ("value TEXT NOT NULL)", "value TEXT NOT NULL, more TEXT AS (hex(value)))"),
            ("content='chunk_text'", "content='profile'"),
        )
    ),
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_extra', "
    "'message', 0, 'CREATE TRIGGER sqlite_extra AFTER INSERT ON message BEGIN DELETE FROM message; "
    "END')",
)


@pytest.mark.parametrize("sql", HOSTILE)
def test_a_database_with_what_kds_did_not_make_is_refused(place: Workspace, sql: str) -> None:
    path = place.brain / SqliteStore.file_name
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    with pytest.raises(StoreError, match="not made by KDS"):
        SqliteStore(path)


def journal_that_names(victim: Path, database: bytes) -> bytes:
    """A rollback journal without pages, as the file format of SQLite has it."""
    page = int.from_bytes(database[16:18], "big")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(victim).encode()
    header = magic + struct.pack(">5I", 0, 0, len(database) // page, 512, page)
    end = struct.pack(">I", 0x40000000 // page + 1) + name
    end += struct.pack(">II", len(name), sum(name)) + magic
    return header.ljust(512, b"\0") + end


@posix
def test_what_lies_in_the_place_of_the_journal_deletes_no_file_of_the_user(
    place: Workspace, tmp_path: Path
) -> None:
    victim, path = tmp_path / "precious.txt", place.brain / SqliteStore.file_name
    victim.write_text("mine")
    SqliteStore(path).close()
    journal = path.with_name(f"{SqliteStore.file_name}-journal")
    for opened in (lambda: SqliteStore(path).close(), lambda: forget(place)):
        journal.write_bytes(journal_that_names(victim, path.read_bytes()))
        opened()
        assert victim.read_text() == "mine"
        assert not journal.exists()
    SqliteStore(path).close()
    os.mkfifo(journal)
    with SqliteStore(path) as store:
        assert "rollback journal" in " ".join(store.take_warnings())
