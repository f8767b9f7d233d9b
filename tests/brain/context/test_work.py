"""The work in progress in a file and on a server: private, short-lived, taken out once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kds.brain.context.journal import MAX_AGE
from kds.brain.context.work import NOTHING, Halted, Offer, Work, WorkStore
from kds.brain.files import PrivateFile
from kds.brain.turn import ContextEntry, Reference, Turn
from kds.brain.workspace import Texts, Workspace

from ..conftest import HandClock, MakeText  # what all tests of the brain share

PENDING = Work(exchange="e1", confirm="COMMIT", rest=("TEST",), session="s1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work" / "workspace.json"


@pytest.fixture
def file(path: Path, clock: HandClock) -> WorkStore:
    return WorkStore(PrivateFile(path), clock=clock)


@pytest.fixture
def work(make_text: MakeText, clock: HandClock) -> WorkStore:
    """The work of a conversation, in a file and then on a server."""
    text = make_text("work.json")
    return WorkStore(text, clock=clock)


def turn(clock: HandClock, message: str = "commit this") -> Turn:
    entry = ContextEntry(clock.now, "I want to add a FAB button", "PLAN", "fab-button-20251103")
    reference = Reference("this", 7, 11, "FAB button", "pron.this", 0.5)
    return Turn(
        message,
        clock.now,
        context=(entry,),
        references=(reference,),
        expanded="commit the FAB button",
        intent="COMMIT",
        confidence=0.75,
        action="route",
        session_id="fab-button-20251103",
        agent="commit-handler",
        prompt="# Commit handler",
    )


def test_work_is_found_again_without_the_prompt(work: WorkStore, clock: HandClock) -> None:
    halted = Halted(("work-planner",), ("TEST",), "e0")
    offers = (Offer("TEST", "test-generator", "it is built", chosen=True),)
    todo = replace(PENDING, turn=turn(clock), offers=offers, chain=("PLAN",), halted=halted)
    work.change(lambda _: todo)
    again = WorkStore(work.text, clock=clock)
    assert again.load().work == replace(todo, turn=replace(turn(clock), prompt=""))


def test_secrets_do_not_reach_the_disk(work: WorkStore, clock: HandClock) -> None:
    said = turn(clock, "push it with password: hunter2")
    work.change(lambda _: replace(PENDING, turn=replace(said, expanded=said.message)))
    assert b"hunter2" not in (work.text.read() or b"")
    found = work.load().work.turn
    assert found is not None
    assert found.message == "push it with password: [secret: password]"


def test_it_expires_like_the_context_and_leaves_the_disk(work: WorkStore, clock: HandClock) -> None:
    work.change(lambda _: PENDING)
    clock.now += MAX_AGE
    assert work.load().work == PENDING
    clock.move(seconds=1)
    assert work.load().work == NOTHING
    assert work.text.read() is None


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 9999),
        *(b'{"version": 2}', b'{"version": 1}'),
        b'{"version": 1, "at": "2025-11-03T09:00:00+00:00", "turn": 3, "exchange": [], "rest": 1}',
    ],
)
def test_what_cannot_be_read_does_not_count(content: bytes, file: WorkStore, path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    loaded = file.load()
    assert loaded.work == NOTHING
    assert "cannot be read" in loaded.warnings[0]
    assert not path.exists()


def test_old_files_of_others_are_tidied(file: WorkStore, path: Path, tmp_path: Path) -> None:
    file.change(lambda _: PENDING)
    other = path.with_name("notes.txt")
    other.write_text("mine")
    context = path.with_name("talk-0123456789abcdef.jsonl")
    context.touch()
    texts = Texts(Workspace(tmp_path, tmp_path))
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    texts.remove_older("work", written - timedelta(seconds=9))
    assert path.exists()
    texts.remove_older("work", written + timedelta(seconds=9))
    assert list(path.parent.iterdir()) == [other]


def test_of_many_at_once_one_gets_the_confirmation(work: WorkStore) -> None:
    work.change(lambda _: PENDING)
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(work.change, Work.idle) for _ in range(4)]
    assert sorted(str(one.result().work.confirm) for one in found) == ["COMMIT", *["None"] * 3]
