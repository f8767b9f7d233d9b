"""Forgetting: data is backed up, deleted, and can be restored."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

import kds.forget
from kds.activation.uses import Uses
from kds.brain.clock import utc_now
from kds.brain.context.journal import ContextJournal
from kds.brain.documents.store import DocumentStore
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile
from kds.brain.learning.events import EventLog, LearningEvent
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.profile import Profile
from kds.brain.turn import ContextEntry
from kds.brain.workspace import Workspace
from kds.cli.guard import BAD_INPUT
from kds.forget import KINDS, ForgetError, backups, forget, kind_of, restore, survey

from .conftest import Run, data, holding

SECRET = "nightingale"
"""A word of everything that is remembered."""


@pytest.fixture
def place(workspace: Path) -> Workspace:
    found = Workspace.find(workspace)
    fill(found)
    return found


def fill(place: Workspace) -> None:
    """Remember something of every kind."""
    place.ensure()
    brain = place.brain
    entry = ContextEntry(utc_now(), f"Add the {SECRET} page", "PLAN")
    ContextJournal(place.context_path).log(entry)
    for folder in ("conversations", "work", "cache", "rules"):
        (brain / folder).mkdir(exist_ok=True)
    ContextJournal(brain / f"conversations/{SECRET}-{'0' * 16}.jsonl").log(entry)
    (brain / "work/workspace.json").write_text(json.dumps({"doing": SECRET}))
    (brain / "cache/intents-1.npz").write_bytes(SECRET.encode() * 10)
    (brain / "learned.yaml").write_text(
        f"examples:\n- text: open the {SECRET} page\n  intent: PLAN\n"
    )
    told = LearningEvent(utc_now(), "told", f"open the {SECRET} page", "PLAN")
    EventLog(PrivateFile(brain / "learning.jsonl")).append([told])
    with SqliteStore(brain / "memory.db") as store:
        session = store.create_session(title=f"The {SECRET} page")
        store.append(session.id, "user", f"The {SECRET} page is blue")
        store.profile.grant("tests")
        store.profile.save(Profile(name=f"Ada {SECRET}"))
    Uses(place).add(f"open the {SECRET} page", "pages", "used")
    (brain / "rules/mine.yaml").write_text("# rules\n")
    (brain / "settings.yaml").write_text("service: {enabled: true}\n")
    (place.root / "app.py").write_text(f"# {SECRET}\n")


def contents(place: Workspace) -> dict[str, bytes]:
    """Every file of the workspace folder but for locks and backups."""
    return {
        str(path.relative_to(place.brain)): path.read_bytes()
        for path in place.brain.rglob("*")
        if path.is_file() and path.suffix != ".lock" and "backups" not in path.parts
    }


def remembered(place: Workspace) -> tuple[str, ...]:
    with SqliteStore(place.brain / "memory.db") as store:
        return tuple(session.title for session in store.sessions())


def test_what_is_remembered_goes_from_every_file_and_comes_back_and_the_rest_stays(
    place: Workspace,
) -> None:
    DocumentStore(place.brain / "documents.db").database.close()
    copies = ("memory.db.bad-20260101T000000Z", "memory.db.backup-v1-20260101T000000Z",
              "conversation-context.jsonl.bad", ".learned.yaml.0123456789ab.tmp")  # fmt: skip
    others = ("notes.txt", "conversations/notes.txt", "service.token", "memory.dbx", "hook.log")
    for names, text in ((copies, SECRET), (others, "mine")):
        for name in names:
            (place.brain / name).write_text(text)
    before = contents(place)
    forget(place)
    assert not survey(place).files
    assert holding(place.brain, SECRET) == []
    theirs = {*others, ".gitignore", "rules/mine.yaml", "settings.yaml"}
    assert set(contents(place)) == theirs & set(before)
    assert [(place.brain / name).read_text() for name in others] == ["mine"] * len(others)
    assert (place.root / "app.py").read_text() == f"# {SECRET}\n"
    restored = restore(place)
    after = contents(place)
    for name in ("conversation-context.jsonl", "learned.yaml", "learning.jsonl", copies[0]):
        assert after[name] == before[name]
    assert {"documents.db", *restored[1]} <= {*after}
    assert remembered(place) == (f"The {SECRET} page",)
    with SqliteStore(place.brain / "memory.db") as store:
        assert store.check().sound
        profile = store.profile.use("tests")
        assert profile is not None
        assert profile.name == f"Ada {SECRET}"
    modes = {path.stat().st_mode & 0o777 for path in place.brain.glob("*.jsonl")}
    assert modes == {0o600}


@pytest.mark.parametrize("kept", KINDS)
def test_what_is_kept_keeps_every_byte(kept: str, place: Workspace) -> None:
    before = contents(place)
    forget(place, keep=[kept])
    after = contents(place)
    mine = {name for name in before if kind_of(name) == kept}
    kept_whole = {name for name in mine if not name.endswith(("-wal", "-shm"))}
    assert [name for name in kept_whole if after[name] != before[name]] == []
    assert {kind_of(name) for name in after} <= {kept, None}


def test_links_are_neither_followed_nor_taken(place: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    thesis = outside / f"thesis-{'0' * 16}.jsonl"
    thesis.write_text(SECRET)
    (place.brain / "learning.jsonl").unlink()
    (place.brain / "learning.jsonl").symlink_to(thesis)
    for path in (place.brain / "conversations").iterdir():
        path.unlink()
    (place.brain / "conversations").rmdir()
    (place.brain / "conversations").symlink_to(outside)
    (place.brain / "backups").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="is a link"):
        forget(place)
    (place.brain / "backups").unlink()
    report = forget(place)
    assert {*report.forgotten.links} == {"learning.jsonl", "conversations"}
    assert thesis.read_text() == SECRET
    assert (place.brain / "learning.jsonl").is_symlink()
    assert report.backup is not None
    with zipfile.ZipFile(report.backup) as archive:
        assert not [name for name in archive.namelist() if "learning" in name or "thesis" in name]
    (place.brain / "work").rmdir()
    (place.brain / "work").symlink_to(outside)
    with pytest.raises(StoreError, match="link"):
        restore(place)
    assert list(outside.iterdir()) == [thesis]


def test_a_backup_that_names_other_files_is_not_a_backup(place: Workspace) -> None:
    path = place.brain / "backups" / "forgotten-1.zip"
    path.parent.mkdir()
    for name in (
        "../escaped.jsonl", "settings.yaml", "rules/mine.yaml", "/etc/passwd", "work/../x.db",
        "memory.db.bad-x/../../escaped", "documents.db.backup-x/y", "uploads/..", "uploads/.",
        "memory.db.bad-\\..\\x", "uploads/..\\x", "uploads/a\nb.md", "uploads/a\x1b[2Jb.md",
    ):  # fmt: skip
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(name, b"x")
        with pytest.raises(StoreError, match="not data of KDS"):
            restore(place, path.stem)


def test_a_damaged_backup_is_refused_before_anything_is_touched(place: Workspace) -> None:
    report = forget(place)
    assert report.backup is not None
    content = bytearray(report.backup.read_bytes())
    content[len(content) // 3] ^= 0xFF
    report.backup.write_bytes(content)
    with pytest.raises(StoreError):
        restore(place, report.backup.stem)
    assert holding(place.brain, SECRET) == []


def test_nothing_is_deleted_when_the_backup_cannot_be_made(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(place)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zipfile.ZipFile.write", full)
    with pytest.raises(StoreError, match="No space left"):
        forget(place)
    assert [n for n, c in before.items() if "-" not in n and contents(place)[n] != c] == []
    assert list((place.brain / "backups").iterdir()) == []


DYING = """
import os
import kds.forget
from kds.brain.files import PrivateFile
from kds.brain.workspace import Workspace
left = [{left}]
remove = PrivateFile.remove
def dying(file):
    if left[0] == 0:
        os._exit(9)
    left[0] -= 1
    remove(file)
PrivateFile.remove = dying
kds.forget.forget(Workspace.find(environ={{"KDS_HOME": {root!r}}}))
"""


def forget_and_die(place: Workspace, deleted: int, launchers: Path) -> None:
    """Forget in a process that dies when it has deleted so many files."""
    code = DYING.format(left=deleted, root=str(place.root))
    assert subprocess.run([launchers / "python-block", code], timeout=120).returncode == 9


@pytest.mark.parametrize("deleted", [0, 1, 3, 6])
def test_a_kill_between_backup_and_deletion_loses_nothing_and_the_next_one_goes_on(
    place: Workspace, deleted: int, launchers: Path
) -> None:
    before = contents(place)
    forget_and_die(place, deleted, launchers)
    [backup] = backups(place)
    forget(place)
    restore(place, backup.stem)
    after = contents(place)
    for name, content in before.items():
        if kind_of(name) not in (None, "cache") and not name.startswith("memory.db"):
            assert after[name] == content
    assert remembered(place) == (f"The {SECRET} page",)
    forget_and_die(place, deleted, launchers)
    assert forget(place).backup
    assert holding(place.brain, SECRET) == []


def test_a_memory_that_is_open_forgets_goes_on_and_sees_what_is_restored(place: Workspace) -> None:
    with SqliteStore(place.brain / "memory.db") as store:
        assert len(store.sessions()) == 1
        store.append(store.sessions()[0].id, "user", f"more about the {SECRET}")
        forget(place)
        assert store.sessions() == ()
        session = store.create_session(title="New")
        store.append(session.id, "user", "a new page")
        assert [one.title for one in store.sessions()] == ["New"]
        assert store.check().sound
        assert holding(place.brain, SECRET) == []
        with pytest.raises(ForgetError, match="newer data"):
            restore(place)
        forget(place)
        restore(place, kds.forget.backups(place)[0].stem)
        assert [one.title for one in store.sessions()] == [f"The {SECRET} page"]
        assert store.check().sound


def test_without_a_yes_it_is_shown_what_goes_and_a_yes_can_be_taken_back(
    kds_call: Run, place: Workspace
) -> None:
    before = contents(place)
    shown = kds_call("forget").out
    for part in ("conversation context: 1 file", "prompts/", "settings.yaml"):
        assert part in shown
    found = data(kds_call("forget", "--json"))
    assert {one["kind"] for one in found["items"]} == {*KINDS} - {"documents"}
    assert contents(place) == before
    refused = kds_call("forget", "--restore")
    assert (refused.code, "there is no backup" in refused.err) == (BAD_INPUT, True)
    done = data(kds_call("forget", "--yes", "--keep", "cache", "--json"))
    assert (place.brain / "cache/intents-1.npz").exists()
    backup = done["backup"]
    assert "nothing is remembered" in kds_call("forget", "--keep", "cache").out
    assert "restored" in kds_call("forget", "--restore", Path(backup).stem).out
    assert remembered(place) == (f"The {SECRET} page",)
    assert "kds forget --yes" in kds_call("forget", "--restore").err
