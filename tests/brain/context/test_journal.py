import json
import os
import stat
from pathlib import Path

import pytest

from kds.brain.context.journal import ContextJournal
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile
from kds.brain.turn import ContextEntry

from ..conftest import HandClock  # what all tests of the brain share


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kds-brain" / "conversation-context.jsonl"


@pytest.fixture
def journal(path: Path, clock: HandClock) -> ContextJournal:
    return ContextJournal(path, clock=clock)


def entry(clock: HandClock, message: str = "Make it purple", **fields: str) -> ContextEntry:
    return ContextEntry(clock.now, message, fields.pop("intent", "EXECUTE"), **fields)


def messages(journal: ContextJournal) -> list[str]:
    return [entry.user_message for entry in journal.load().entries]


def on_disk(path: Path) -> list[str]:
    return [json.loads(line)["user_message"] for line in path.read_text().splitlines()]


def aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.bad")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_context_is_empty_and_not_made(journal: ContextJournal, tmp_path: Path) -> None:
    loaded = journal.load()
    assert (loaded.entries, loaded.warnings) == ((), ())
    assert list(tmp_path.iterdir()) == []


def test_what_was_logged_is_loaded_oldest_first(journal: ContextJournal, clock: HandClock) -> None:
    first = entry(clock, "I want to add a FAB button", intent="PLAN", session_id="fab-20251103")
    second = entry(clock, context_ref="FAB button")
    journal.log(first)
    assert journal.log(second).entries == (first, second)
    assert journal.load().entries == (first, second)


def test_clearing_forgets_everything(journal: ContextJournal, clock: HandClock, path: Path) -> None:
    assert journal.clear() == 0
    journal.log(entry(clock, "a"))
    path.write_bytes(path.read_bytes() + b"damaged\n")
    journal.log(entry(clock, "b"))
    assert journal.clear() == 2
    assert path.read_bytes() == b""
    assert not aside(path).exists()
    assert journal.load().entries == ()


def test_an_entry_lives_two_hours(journal: ContextJournal, clock: HandClock, path: Path) -> None:
    journal.log(entry(clock, "old"))
    clock.move(hours=1)
    journal.log(entry(clock, "young"))
    clock.move(hours=1)
    assert messages(journal) == ["old", "young"]
    clock.move(microseconds=1)
    loaded = journal.load()
    assert [entry.user_message for entry in loaded.entries] == ["young"]
    assert loaded.expired == 1
    assert on_disk(path) == ["young"]


def test_a_line_of_the_future_is_set_aside(journal: ContextJournal, clock: HandClock) -> None:
    journal.log(entry(clock))
    clock.move(minutes=-6)
    loaded = journal.load()
    assert loaded.entries == ()
    assert "dated in the future" in loaded.warnings[0]


def test_the_disk_sees_no_secret(journal: ContextJournal, clock: HandClock, path: Path) -> None:
    secret = entry(
        clock,
        "log in with password: hunter2\n```py\nx\n```",
        context_ref="token ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        session_id="key-AKIAIOSFODNN7EXAMPLE",
        intent="PASSWORD=swordfish",
    )
    logged = journal.log(secret)
    content = path.read_text()
    for part in ("hunter2", "ghp_", "AKIA", "swordfish", "```"):
        assert part not in content
    assert logged.entries[0].user_message == (
        "log in with password: [secret: password]\n[code: py, 1 line]"
    )


@pytest.mark.parametrize("umask", [0, 0o777])
def test_files_are_for_their_owner_alone_under_any_umask(
    journal: ContextJournal, clock: HandClock, path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        journal.log(entry(clock))
        with path.open("ab") as file:
            file.write(b"damaged\n")
        journal.load()
    finally:
        os.umask(before)
    assert mode_of(path.parent) == 0o700
    made = {file.name: mode_of(file) for file in path.parent.iterdir()}
    assert made == dict.fromkeys([path.name, f"{path.name}.lock", f"{path.name}.bad"], 0o600)


def test_unknown_fields_survive(journal: ContextJournal, clock: HandClock, path: Path) -> None:
    journal.log(entry(clock, "a"))
    path.write_bytes(path.read_bytes().replace(b"}", b', "new": [1]}'))
    loaded = journal.log(entry(clock, "b"))
    assert (len(loaded.entries), loaded.warnings) == (2, ())
    assert json.loads(path.read_text().splitlines()[0])["new"] == [1]


def test_damaged_lines_are_set_aside_and_the_rest_is_kept(
    journal: ContextJournal, clock: HandClock, path: Path
) -> None:
    journal.log(entry(clock, "a"))
    good = path.read_bytes()
    path.write_bytes(b"\x00\x00\n" + good + b"\xff\xfe\n" + good[:30])
    loaded = journal.load()
    assert [entry.user_message for entry in loaded.entries] == ["a"]
    assert [warning.split(": ")[0] for warning in loaded.warnings] == [
        f"{path}:1",
        f"{path}:3",
        f"{path}:4",
    ]
    assert all(aside(path).name in warning for warning in loaded.warnings)
    assert path.read_bytes() == good
    assert aside(path).read_bytes() == b"\x00\x00\n\xff\xfe\n" + good[:30] + b"\n"
    assert mode_of(aside(path)) == 0o600
    assert journal.load().warnings == ()


def test_a_link_is_neither_read_nor_replaced(
    journal: ContextJournal, clock: HandClock, path: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"precious\n")
    path.parent.mkdir()
    path.symlink_to(other)
    for use in (journal.load, lambda: journal.log(entry(clock)), journal.clear):
        with pytest.raises(StoreError, match="symbolic link"):
            use()
    assert path.is_symlink()
    assert other.read_bytes() == b"precious\n"


def test_a_folder_or_pipe_is_refused(journal: ContextJournal, clock: HandClock, path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        journal.log(entry(clock))
    assert caught.value.where == str(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(StoreError, match="not an ordinary file"):
        journal.load()


def test_a_read_only_folder_is_still_read_from(users_folder: Path, clock: HandClock) -> None:
    path = users_folder / "kds-brain" / "context.jsonl"
    journal = ContextJournal(path, clock=clock)
    journal.log(entry(clock, "old"))
    clock.move(hours=1)
    journal.log(entry(clock, "young"))
    path.parent.chmod(0o500)
    content = path.read_bytes()
    clock.move(hours=1, seconds=1)
    loaded = journal.load()
    assert [entry.user_message for entry in loaded.entries] == ["young"]
    assert "Permission denied" in loaded.warnings[0]
    for use in (lambda: journal.log(entry(clock)), journal.clear):
        with pytest.raises(StoreError, match="give yourself permission"):
            use()
    assert path.read_bytes() == content


def test_a_held_lock_stops_writers_and_not_readers(
    path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kds.brain.context.journal.LOCK_TIMEOUT_S", 0.02)
    journal = ContextJournal(path, clock=clock)
    journal.log(entry(clock, "a"))
    clock.move(hours=3)
    content = path.read_bytes()
    # A thread would do; the lock is of the file, so that a second holder in this one does too.
    with PrivateFile(path).locked(timeout_s=1):
        loaded = journal.load()
        assert loaded.entries == ()
        assert "held the lock" in loaded.warnings[0]
        with pytest.raises(StoreError, match=r"held the lock for 0\.02 s"):
            journal.log(entry(clock))
    assert path.read_bytes() == content
    assert journal.load().expired == 1
