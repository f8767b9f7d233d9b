"""The conversation context on a server: shared by all services, and got on with without it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kds.brain.context.journal import MAX_AGE, Contexts
from kds.brain.errors import OutageError
from kds.brain.store.postgres import Server
from kds.brain.turn import ContextEntry
from kds.brain.workspace import LEARNED, Workspace, open_texts

from ...conformance import HandClock

OpenContexts = Callable[..., Contexts]


@pytest.fixture
def environ(url: str, tmp_path: Path) -> dict[str, str]:
    return {
        "KDS_DATABASE": url,
        "KDS_DATABASE_PERSON": "ann",
        "KDS_CONFIG": str(tmp_path / "none.yaml"),
    }


@pytest.fixture
def open_contexts(
    environ: dict[str, str], place: Workspace, clock: HandClock
) -> Iterator[OpenContexts]:
    """Opens the contexts of a person as a service of its own would."""
    opened: list[Contexts] = []

    def open_it() -> Contexts:
        opened.append(Contexts(place, clock=clock, environ=environ))
        return opened[-1]

    yield open_it
    for contexts in opened:
        contexts.close()
        contexts.close()


def said(clock: HandClock, text: str) -> ContextEntry:
    return ContextEntry(clock.now, text, "PLAN")


def texts(contexts: Contexts, conversation: str = "c") -> list[str]:
    return [one.user_message for one in contexts.journal(conversation).load().entries]


def test_the_last_ten_of_two_hours_are_kept_and_the_rest_leaves_the_disk(
    open_contexts: OpenContexts, clock: HandClock, url: str, place: Workspace
) -> None:
    journal = open_contexts().journal("c")
    for number in range(12):
        journal.log(said(clock, str(number)))
    assert [one.user_message for one in journal.load().entries] == [str(n) for n in range(2, 12)]
    clock.move(hours=2, seconds=1)
    loaded = journal.log(said(clock, "later"))
    assert [one.user_message for one in loaded.entries] == ["later"]
    assert loaded.expired == 10
    with psycopg.connect(url) as admin:
        [row] = admin.execute("SELECT name, content FROM kds.kept_text").fetchall()
    assert row[0].startswith("conversations/c-")
    assert row[1].count("\n") == 1
    assert list(place.brain.iterdir()) == []


def test_what_several_services_log_is_kept(open_contexts: OpenContexts, clock: HandClock) -> None:
    services = [open_contexts() for _ in range(3)]

    def talk(name: int) -> None:
        for number in range(3):
            services[name].journal("c").log(said(clock, f"{name}-{number}"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(talk, range(3)))
    found = texts(open_contexts())
    assert len(found) == 9
    for name in range(3):
        mine = [text for text in found if text.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(3)]


def test_an_outage_is_got_over_with_what_the_process_knows(
    open_contexts: OpenContexts, clock: HandClock, outage: Callable[[bool], None]
) -> None:
    one, other = open_contexts(), open_contexts()
    one.journal("c").log(said(clock, "before"))
    outage(True)
    loaded = one.journal("c").load()
    assert [entry.user_message for entry in loaded.entries] == ["before"]
    assert "cannot be reached" in loaded.warnings[0]
    during = one.journal("c").log(said(clock, "during"))
    assert [entry.user_message for entry in during.entries] == ["before", "during"]
    assert "1 not stored yet" in during.warnings[0]
    outage(False)
    other.journal("c").log(said(clock, "meanwhile"))
    assert one.journal("c").log(said(clock, "after")).warnings == ()
    assert texts(other) == ["before", "meanwhile", "during", "after"]


def test_what_was_stored_although_nobody_could_tell_is_not_stored_twice(
    open_contexts: OpenContexts, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Server._commit

    def commit(server: Server, *how: Any) -> None:
        commits(server, *how)
        raise OutageError("the answer was lost")

    journal = open_contexts().journal("c")
    with monkeypatch.context() as patched:
        patched.setattr(Server, "_commit", commit)
        assert "1 not stored yet" in journal.log(said(clock, "once")).warnings[0]
    journal.log(said(clock, "then"))
    assert texts(open_contexts()) == ["once", "then"]


def test_what_waits_goes_after_two_hours_and_with_its_conversation(
    open_contexts: OpenContexts, clock: HandClock, outage: Callable[[bool], None]
) -> None:
    one = open_contexts()
    outage(True)
    one.journal("c").log(said(clock, "old"))
    one.journal("d").log(said(clock, "unwanted"))
    clock.move(hours=3)
    outage(False)
    assert one.journal("d").clear() == 0
    one.journal("c").log(said(clock, "now"))
    one.journal("d").log(said(clock, "now"))
    assert texts(open_contexts()) == texts(open_contexts(), "d") == ["now"]


def test_each_state_has_a_mark(environ: dict[str, str], place: Workspace, clock: HandClock) -> None:
    texts = open_texts(place, environ=environ, clock=clock)
    text = texts(LEARNED)
    seen = [texts.mark(LEARNED)]
    for content in (b"a", b"b", b"a", None, b"a"):
        if content is None:
            text.remove()
        else:
            text.replace(content)
        seen.append(texts.mark(LEARNED))
    texts("work/x.json").replace(b"{}")
    assert texts.mark(LEARNED) == seen[-1]
    assert seen[0] == seen[4]
    assert len({*seen}) == 5
    texts.close()


def test_old_contexts_are_removed(open_contexts: OpenContexts, clock: HandClock, url: str) -> None:
    contexts = open_contexts()
    contexts.journal("old").log(said(clock, "old"))
    clock.move(hours=3)
    contexts.journal("new").log(said(clock, "new"))
    contexts.texts(LEARNED).replace(b"")
    contexts.texts.remove_older("conversations", clock.now - MAX_AGE)
    with psycopg.connect(url) as admin:
        names = admin.execute("SELECT left(name, 17) FROM kds.kept_text ORDER BY name").fetchall()
    assert names == [("conversations/new",), ("learned.yaml",)]
