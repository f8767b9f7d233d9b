"""What was deleted is gone from the bytes of every file, not only from the answers."""

from pathlib import Path

import pytest

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.profile import Profile
from kds.brain.store.sqlite import Database

from ..conformance import MARKS, by_text, say, traces
from ..conftest import OpenStore
from ..sound import sound


def fill(store: SqliteStore) -> str:
    """Store sessions around one that is to go; returns its id."""
    store.use_model("m")
    doomed = ""
    for number in range(6):
        session = store.create_session(document_context=MARKS[2] if number == 3 else None)
        words = " ".join(f"word{number}x{n}" for n in range(40))
        texts = [f"{n} {words} " * 3 for n in range(20)]
        if number == 3:
            doomed = session.id
            texts = [f"{text} {MARKS[0]} and `{MARKS[1]}_name()`" for text in texts]
        say(store, session, *texts)
        store.add_summary(session.id, 1, 2, texts[0], kind="rolling")
    return doomed


def test_a_deleted_session_leaves_no_bytes(open_store: OpenStore, memory_path: Path) -> None:
    store = open_store()
    doomed = fill(store)
    store.entities.remember_turn(doomed, [MARKS[0]], answer=f"{MARKS[0]} {MARKS[1]}")
    assert traces(memory_path.parent)
    other = open_store()
    assert by_text(other, MARKS[0], limit=50)
    store.delete_session(doomed)
    assert traces(memory_path.parent) == []
    assert by_text(other, MARKS[0], limit=50) == {}
    assert sound(store)


def test_a_withdrawn_profile_leaves_no_bytes(open_store: OpenStore, memory_path: Path) -> None:
    store = open_store()
    fill(store)
    store.delete_session(store.sessions()[2].id)
    store.profile.grant("answers")
    for mark in MARKS:
        store.profile.save(Profile(name=mark))
    told, about = {MARKS[0]: MARKS[1]}, "about " * 900 + MARKS[2]
    profile = Profile(MARKS[0], MARKS[1], (MARKS[2],), preferences=told, about=about)
    store.profile.save(profile)
    with store.database.write() as connection:  # as an earlier KDS did
        connection.execute(
            "INSERT INTO profile_vector VALUES ('m', 'about', ?)", (b"\x88\x2a" * 384,)
        )
    vector = memory_path.read_bytes() + memory_path.with_name("memory.db-wal").read_bytes()
    pattern = b"\x88\x2a" * 100  # 1/sqrt(384) in half precision
    assert pattern in vector
    store.profile.save(profile)
    store.profile.revoke()
    assert traces(memory_path.parent) == []
    assert all(pattern not in path.read_bytes() for path in memory_path.parent.iterdir())


def test_a_process_that_dies_between_leaves_the_rest_to_the_next(
    open_store: OpenStore, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    doomed = fill(store)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Database, "wipe", die)
        with pytest.raises(KeyboardInterrupt):
            store.delete_session(doomed)
    assert store.find_session(doomed) is None
    assert traces(memory_path.parent)
    open_store()
    assert traces(memory_path.parent) == []
