"""The conversation context on a server: shared by all services, in order, and through outages."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from kds.brain.context.postgres_journal import PostgresContexts
from kds.brain.errors import OutageError
from kds.brain.store.postgres import Server
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.brain.turn import ContextEntry

from ...conformance import HandClock

OpenContexts = Callable[..., PostgresContexts]


@pytest.fixture
def open_contexts(url: str, clock: HandClock) -> Iterator[OpenContexts]:
    """Opens the contexts of a person as a service of its own would."""
    servers: list[Server] = []

    def open_it(person: str = "ann") -> PostgresContexts:
        server, tenant = Server(url), ("acme", person, "shop")
        servers.append(server)

        def tenancy() -> Tenancy:
            return Tenancy(server, tenant_number(server, tenant), clock=clock)

        return PostgresContexts(tenancy, clock=clock)

    yield open_it
    for server in servers:
        server.close()


def said(clock: HandClock, text: str) -> ContextEntry:
    return ContextEntry(clock.now, text, "PLAN")


def texts(contexts: PostgresContexts, conversation: str = "c") -> list[str]:
    return [one.user_message for one in contexts.journal(conversation).load().entries]


def test_the_last_ten_of_two_hours_are_kept_and_the_rest_leaves_the_disk(
    open_contexts: OpenContexts, clock: HandClock, url: str
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
        assert admin.execute("SELECT count(*) FROM kds.context_entry").fetchone() == (1,)


def test_a_fresh_entry_drops_the_earlier_ones_and_secrets_are_redacted(
    open_contexts: OpenContexts, clock: HandClock
) -> None:
    contexts = open_contexts()
    contexts.journal("c").log(said(clock, "before"))
    contexts.journal("c").log(said(clock, "password: hunter2"), fresh=True)
    assert texts(contexts) == ["password: [secret: password]"]


def test_turns_of_one_conversation_wait_for_one_another(
    open_contexts: OpenContexts, clock: HandClock
) -> None:
    services = [open_contexts() for _ in range(3)]
    lost: list[tuple[str, ...]] = []

    def talk(service: PostgresContexts, name: int) -> None:
        for number in range(3):
            journal = service.journal("c")
            with journal.alone():
                before = tuple(one.user_message for one in journal.load().entries)
                after = journal.log(said(clock, f"{name}-{number}")).entries
                if tuple(one.user_message for one in after[:-1]) != before:
                    lost.append(before)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(talk, services, range(3)))
    assert lost == []
    found = texts(services[0])
    assert len(found) == 9
    for name in range(3):
        mine = [text for text in found if text.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(3)]


def test_what_fails_in_a_turn_is_not_stored(open_contexts: OpenContexts, clock: HandClock) -> None:
    contexts = open_contexts()
    journal = contexts.journal("c")

    def fail() -> None:
        with journal.alone():
            journal.log(said(clock, "lost"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert texts(contexts) == []


def test_an_outage_is_got_over_with_what_the_process_knows(
    open_contexts: OpenContexts,
    clock: HandClock,
    outage: Callable[[bool], None],
) -> None:
    one, other = open_contexts(), open_contexts()
    one.journal("c").log(said(clock, "before"))
    outage(True)
    with one.journal("c").alone():
        loaded = one.journal("c").load()
        assert [entry.user_message for entry in loaded.entries] == ["before"]
        assert "cannot be reached" in loaded.warnings[0]
        during = one.journal("c").log(said(clock, "during"))
    assert [entry.user_message for entry in during.entries] == ["before", "during"]
    assert "1 not stored yet" in during.warnings[0]
    outage(False)
    assert one.journal("c").log(said(clock, "after")).warnings == ()
    assert texts(other) == ["before", "during", "after"]


@pytest.mark.parametrize("logged", [0, 1])
def test_a_server_that_goes_away_within_a_turn_does_not_end_it(
    open_contexts: OpenContexts,
    clock: HandClock,
    outage: Callable[[bool], None],
    logged: int,
) -> None:
    one, other = open_contexts(), open_contexts()
    journal = one.journal("c")
    journal.log(said(clock, "before"))
    with journal.alone():
        journal.load()
        for number in range(logged):
            journal.log(said(clock, f"lost {number}"))
        outage(True)
        during = journal.log(said(clock, "during"))
        assert "not stored yet" in during.warnings[0]
        assert journal.load().entries == during.entries
    outage(False)
    assert journal.log(said(clock, "after")).warnings == ()
    expected = ["before", *(f"lost {number}" for number in range(logged)), "during", "after"]
    assert texts(other) == expected


def test_who_waits_too_long_for_a_turn_keeps_nobody_else_waiting(
    open_contexts: OpenContexts, clock: HandClock, url: str
) -> None:
    slow, other = open_contexts(), Server(url, timeout_s=0.3)
    number = tenant_number(other, ("acme", "ann", "shop"))
    hurried = PostgresContexts(lambda: Tenancy(other, number, clock=clock), clock=clock)
    with slow.journal("c").alone():
        waited = hurried.journal("c").log(said(clock, "make it purple"))
        assert "too long" in waited.warnings[0]
        assert hurried.journal("d").log(said(clock, "add a FAB button")).warnings == ()
    other.close()


def test_what_was_stored_although_nobody_could_tell_is_not_stored_twice(
    open_contexts: OpenContexts, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(server: Server, connection: psycopg.Connection[object]) -> None:
        connection.execute(b"COMMIT")
        raise OutageError("the answer was lost")

    one = open_contexts()
    journal = one.journal("c")
    with monkeypatch.context() as patched:
        patched.setattr(Server, "_commit", commit)
        with journal.alone():
            journal.log(said(clock, "once"))
    assert one.late == {"c"}
    one.catch_up()
    with journal.alone():
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
    one.journal("c").log(said(clock, "now"))
    outage(False)
    one.journal("d").clear()
    one.catch_up()
    assert texts(open_contexts()) == ["now"]
    assert texts(open_contexts(), "d") == []
