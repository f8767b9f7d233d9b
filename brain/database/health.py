"""Examining the database, putting its search index in order, and counting what it holds."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing

from kds.brain.database.database import Database
from kds.brain.database.database_error import is_damage
from kds.brain.database.database_file import all_files, clear_suspect, size_of
from kds.brain.database.migrations import version_of
from kds.brain.database.preparation import is_file_sound
from kds.brain.errors import StoreError
from kds.brain.passages.outbox import backfill, read_models
from kds.brain.passages.values import Check, Stats

_CONTRADICTIONS = {
    "messages are missing in the middle of a session": (
        "SELECT count(*) FROM session WHERE message_count <> "
        "(SELECT count(*) FROM message WHERE session_num = session.num) OR message_count <> "
        "coalesce((SELECT max(seq) FROM message WHERE session_num = session.num), 0)"
    ),
    "sessions count their tokens wrong": (
        "SELECT count(*) FROM session WHERE token_count <> "
        "coalesce((SELECT sum(tokens) FROM message WHERE session_num = session.num), 0)"
    ),
    "messages are not cut into chunks": (
        "SELECT count(*) FROM message WHERE trim(content, char(9, 10, 32)) <> '' "
        "AND NOT EXISTS (SELECT 1 FROM chunk WHERE message_num = message.num)"
    ),
    "chunks stand outside the range of their session": (
        "SELECT count(*) FROM chunk JOIN message ON message.num = chunk.message_num "
        "WHERE chunk.id >> 24 <> session_num"
    ),
    "chunks have neither a vector nor a job": (
        "SELECT count(*) FROM chunk JOIN embedding_model AS model ON model.wanted "
        "WHERE NOT EXISTS (SELECT 1 FROM embed_job WHERE chunk_id = chunk.id) "
        "AND NOT EXISTS (SELECT 1 FROM embedding "
        "WHERE chunk_id = chunk.id AND model_num = model.num)"
    ),
}


def check(database: Database) -> Check:
    """Examine file, index and counters. Raises StoreError when the file cannot be read."""
    problems: list[str] = []
    with database.read() as connection:
        problems += file_problems(connection)
        for what, query in _CONTRADICTIONS.items():
            if count := connection.execute(query).fetchone()[0]:
                problems.append(f"{what}: {count}")
    if not database.read_only:
        problems += index_problems(database)
    return Check(tuple(dict.fromkeys(problems)))


def rebuild(database: Database) -> Check:
    """Make the index anew from the chunks, queue what has no vector, and examine everything."""
    with database.write() as connection:
        remake_indexes(connection, database.kind.indexes)
        backfill(connection)
    return check(database)


def mend_index(database: Database) -> bool:
    """Make the search index anew if it is what is damaged; tells whether it was.

    A file that is damaged itself stays as it is: the next start sets it aside.
    """
    if database.read_only:
        return False
    with database.exclusive() as connection:
        if not is_file_sound(connection):
            return False
    with database.write() as connection:
        remake_indexes(connection, database.kind.indexes)
    clear_suspect(database.path)
    database.warnings += ("the search index was damaged and has been made anew",)
    return True


def remake_indexes(connection: sqlite3.Connection, indexes: Mapping[str, str]) -> None:
    """Make the full-text indexes anew, whatever state they are in."""
    for index, definition in indexes.items():
        # SQLite opens an index in order to drop it, which a damaged one does not let it do.
        connection.execute(f"DELETE FROM {index}_data")
        connection.executemany(f"INSERT INTO {index}_data VALUES (?, ?)", _empty_index())
        connection.execute(f"DROP TABLE {index}")
        connection.execute(definition)
        connection.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")


def read_stats(database: Database) -> Stats:
    """Count what the database holds."""
    with database.read() as connection:
        sessions, messages, tokens = connection.execute(
            "SELECT count(*), coalesce(sum(message_count), 0), coalesce(sum(token_count), 0) "
            "FROM session"
        ).fetchone()
        chunks = connection.execute("SELECT count(*) FROM chunk").fetchone()[0]
        summaries = connection.execute("SELECT count(*) FROM summary").fetchone()[0]
        models = read_models(connection)
        version = version_of(connection)
    size = sum(map(size_of, all_files(database.path)))
    return Stats(sessions, messages, chunks, summaries, tokens, models, size, version)


def _empty_index() -> list[tuple[int, bytes]]:
    """Return what FTS5 itself writes for an index without content."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE fresh USING fts5(text)")
        return connection.execute("SELECT id, block FROM fresh_data").fetchall()


def file_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Examine the file itself, and the references between its tables."""
    for (found,) in connection.execute("PRAGMA integrity_check(20)"):
        if found != "ok":
            yield f"the file is damaged: {found}"
    for row in connection.execute("PRAGMA foreign_key_check"):
        yield f"{row[0]} refers to rows that are not there"


def index_problems(database: Database) -> Iterator[str]:
    """Compare each index with what it was made of. FTS5 examines by a write that writes nothing."""
    for index in database.kind.indexes:
        try:
            with database.write(durable=False) as connection:
                connection.execute(
                    f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)"
                )
        except StoreError as error:
            if not is_damage(error.__cause__):
                raise
            yield f"the search index {index} does not match what is stored"
