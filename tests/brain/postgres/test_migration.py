"""What files hold comes to the server once and whole, wherever copying it was broken off."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from conformance import CODE, HandClock, say
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kds.brain.context.conversations import Contexts
from kds.brain.context.work import Work
from kds.brain.context.work_file import WorkFile
from kds.brain.database.engine import Connection
from kds.brain.errors import StoreError
from kds.brain.kept_text import PrivateText
from kds.brain.learning.event import LearningEvent, reference_id
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.event_log import EventLog
from kds.brain.learning.learned_file import FILE_NAME as LEARNED
from kds.brain.learning.learned_file import YOU, LearnedFile
from kds.brain.learning.reference import LearnedReference
from kds.brain.passages.lexical import COLUMN_WEIGHTS
from kds.brain.passages.text_search import words_of
from kds.brain.postgres.migration.compare import Compared
from kds.brain.postgres.migration.kept_texts import text_of
from kds.brain.postgres.migration.migrate import Migrated
from kds.brain.postgres.postgres_store import PostgresStore
from kds.brain.postgres.server import Server
from kds.brain.postgres.tenancy import Area, Tenancy, tenant_number
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.portable import archive
from kds.brain.sessions.session_values import Profile
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.turn import ContextEntry
from kds.brain.workspace import Workspace

Copy = Callable[..., Migrated]


@pytest.fixture
def file(folder: Workspace, clock: HandClock) -> Iterator[SqliteStore]:
    """The memory of the workspace, with something of every kind in it."""
    folder.ensure()
    with SqliteStore(SqliteStore.path_in(folder), clock=clock) as store:
        fill(store, clock)
        contexts = Contexts(folder, clock=clock, environ={})
        for conversation in (None, "c1"):
            journal = contexts.journal(conversation)
            journal.log(ContextEntry(clock.now, "add a FAB button", "PLAN"))
            journal.log(ContextEntry(clock.now, "make it purple", "EXECUTE"))
        _teach(folder, clock)
        yield store


def fill(store: MemoryStore, clock: HandClock) -> None:
    """Something of every kind."""
    store.create_session(title="empty", document_context="spec.md")
    long = store.create_session(session_id="long")
    say(store, long, *(f"the walrus said {number}" for number in range(11)))
    store.add_summary(long.id, 1, 5, "a walrus speaks", kind="rolling")
    for name in ("one", "two"):
        clock.move(minutes=1)
        session = store.create_session(session_id=name)
        store.append(session.id, "user", f"Hello {name} é🎉", speaker="Ann", at=clock.now)
        store.append(session.id, "assistant", CODE, message_id=f"{name}-answer")
    store.use_model("m")
    jobs = store.pending_embeddings(9)
    store.store_embeddings("m", {job.chunk_id: [1.0, job.chunk_id % 7, 0.3] for job in jobs})
    store.entities.note("long", terms={"walrus": "it speaks"}, documents=["spec.md"])
    store.items.put(("a", "b"), "k", {"x": [1, "é"]}, texts=["a purple walrus"])
    store.items.put(("a",), "short", {"y": 1}, lifetime=timedelta(days=1))
    store.profile.grant("answers that suit me")
    store.profile.save(Profile(name="Ada", languages=("en", "de")))
    for _ in range(2):  # two that are alike are two
        store.metrics.add("recall", {"ms": 3})
    store.metrics.add("turn", {"ms": 4})


def _teach(folder: Workspace, clock: HandClock) -> None:
    """Something learned, and work that waits for a yes: now, and since too long ago."""
    one = LearnedReference(
        reference_id("the button", "FAB button"), "the button", "FAB button", YOU
    )
    LearnedFile(PrivateText(folder.brain / LEARNED)).add([one], now=clock.now)
    said = LearningEvent(clock.now, "told", "sort out the walrus page", "PLAN")
    EventLog(PrivateText(folder.brain / EVENTS)).append([said])
    for name, at in (("old", clock.now - timedelta(days=1)), ("workspace", clock.now)):
        text = PrivateText(folder.brain / "work" / f"{name}.json", folder.ensure)
        WorkFile(text, clock=lambda at=at: at).change(lambda _: Work(confirm="COMMIT"))


def _ways(done: Migrated) -> Mapping[str, Compared]:
    return {one.what: one for one in done.compared}


def all_of(store: MemoryStore) -> list[object]:
    """All that a memory holds, without what only its engine has: numbers, sizes."""
    sessions = store.sessions(limit=99)
    whole = [archive(store, session.id) for session in sessions]
    models = store.models()
    return [
        [
            (one.session.id, one.session.title, one.session.created_at, one.session.updated_at,
             one.session.document_context, one.session.message_count, one.session.token_count,
             one.messages, [(s.first_seq, s.last_seq, s.text, s.at, s.kind) for s in one.summaries])
            for one in whole
        ],
        [(one.name, one.dimensions, one.state, one.vectors, one.waiting) for one in models],
        store.entities.load("long"),
        store.items.under(),
        store.profile.events(),
        store.metrics.since(whole[0].session.created_at - timedelta(days=1)),
    ]  # fmt: skip


def found(store: MemoryStore, text: str) -> list[str]:
    hits = store.search_words(words_of(text), limit=9, weights=COLUMN_WEIGHTS)
    return [one.body for one in store.passages([hit.chunk_id for hit in hits])]


def test_all_that_a_workspace_keeps_comes_over(
    migrate: Copy, file: SqliteStore, store: PostgresStore, server: Server, clock: HandClock
) -> None:
    done = migrate()
    assert done.complete
    assert done.messages == 15
    counts = {one.what: (one.in_file, one.on_server) for one in done.compared}
    assert counts == {
        "sessions": (4, 4), "messages": (15, 15), "summaries": (1, 1), "vectors": (9, 9),
        "memories of terms": (1, 1), "items": (2, 2), "profile and consent": (4, 4),
        "figures": (3, 3), "conversations": (2, 2), "learned examples": (1, 1),
        "events of learning": (1, 1), "work in progress": (1, 1),
    }  # fmt: skip
    assert all_of(store) == all_of(file)
    assert store.check().sound
    assert found(store, "walrus said 7")[0] == "the walrus said 7"
    assert store.search_dense([1.0, 3.0, 0.3], model="m", limit=1)[0].score > 0.99
    assert list(store.items.search_words("purple")) == [(("a", "b"), "k")]
    assert len(store.pending_embeddings(99)) == 10
    tenancy = Tenancy(server, store.database.tenant, clock=clock)
    with tenancy.read() as connection:
        rows = connection.execute("SELECT count(*) FROM context_entry").fetchone()
    assert rows == (4,)


def test_the_files_stay_as_they_are(
    migrate: Copy, folder: Workspace, clock: HandClock, file: SqliteStore
) -> None:
    file.close()
    clock.move(hours=1, minutes=59)
    before = _digests(folder)
    assert migrate().complete
    assert _digests(folder) == before


def _digests(folder: Workspace) -> dict[str, str]:
    files = [path for path in folder.brain.rglob("*") if path.suffix in (".db", ".jsonl")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_second_run_copies_nothing(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    first = migrate()
    before = all_of(store)
    again = migrate()
    assert (again.messages, again.complete) == (0, True)
    assert again.compared == first.compared
    assert all_of(store) == before


def test_what_came_into_the_file_since_is_copied_by_the_next_run(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    migrate()
    file.append("long", "user", "and one more")
    file.add_summary("long", 6, 12, "it goes on", kind="rolling")
    file.add_summary("two", 1, 2, "a summary alone", kind="periodic")
    file.metrics.add("recall", {"ms": 3})
    again = migrate()
    assert (again.messages, again.complete) == (1, True)
    assert store.messages("long")[-1].content == "and one more"
    assert [one.text for one in store.summaries("two")] == ["a summary alone"]
    assert _ways(again)["figures"].in_file == 4
    assert store.check().sound


def test_what_was_added_on_the_server_since_is_no_difference(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    migrate()
    store.append("long", "user", "said on the server")
    store.entities.note("long", terms={"fab": "a button"})
    store.items.put(("a",), "other", {})
    again = migrate()
    assert again.complete
    assert store.messages("long")[-1].content == "said on the server"


def test_a_session_that_the_server_has_with_other_messages_stays_and_is_told_of(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    store.create_session(session_id="long")
    store.append("long", "user", "another talk")
    done = migrate()
    assert not done.complete
    sessions = _ways(done)["sessions"]
    assert (sessions.on_server, sessions.differing) == (3, ("long",))
    assert _ways(done)["messages"].on_server == 4
    assert [one.content for one in store.messages("long")] == ["another talk"]


def test_a_message_id_that_the_server_has_elsewhere_is_told_of(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    store.create_session(session_id="elsewhere")
    store.append("elsewhere", "user", "mine", message_id="two-answer")
    assert _ways(migrate())["sessions"].differing == ("two",)
    assert store.find_session("two") is None
    assert store.message("two-answer").content == "mine"


def test_consent_that_the_server_was_asked_for_counts(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    store.profile.grant("something")
    store.profile.revoke()
    done = migrate()
    assert not done.complete
    assert not _ways(done)["profile and consent"].same
    assert not store.profile.consent().given


def test_a_conversation_that_goes_on_at_the_server_stays(
    migrate: Copy, file: SqliteStore, store: PostgresStore, server: Server, folder: Workspace
) -> None:
    with store.database.write() as connection:
        connection.execute(
            "INSERT INTO context_entry(conversation, id, at, line) VALUES (?, 'x', 0, '{}')",
            (folder.context_path.stem,),
        )
    assert migrate().complete
    with store.database.read() as connection:
        counts = connection.execute(
            "SELECT count(*) FROM context_entry GROUP BY conversation ORDER BY 1"
        ).fetchall()
    assert counts == [(1,), (2,)]


def test_where_the_server_wants_another_model_passages_wait_for_its_vectors(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    store.use_model("other")
    assert migrate().complete
    assert [(one.name, one.vectors) for one in store.models()] == [("other", 0)]
    assert len(store.pending_embeddings(99)) == 19
    assert store.check().sound


def test_what_was_learned_goes_on_there_and_what_the_server_has_stays(
    migrate: Copy, file: SqliteStore, folder: Workspace, server: Server, clock: HandClock
) -> None:
    target = Tenancy(server, tenant_number(server, ("acme", "ann", "shop")), clock=clock)
    work = WorkFile(text_of(target, "work/workspace.json"), clock=clock)
    assert migrate().complete
    assert [one.told for one in LearnedFile(text_of(target, LEARNED)).entries()] == [
        "'the button' means 'FAB button'"
    ]
    assert work.load().work.confirm == "COMMIT"
    assert text_of(target, "work/old.json").read() is None
    more = LearningEvent(clock.now, "told", "sort out the login page", "PLAN")
    EventLog(text_of(target, EVENTS)).append([more])
    work.change(lambda _: Work(confirm="TEST"))
    assert migrate().complete
    assert work.load().work.confirm == "TEST"
    LearnedFile(text_of(target, LEARNED)).remove(reference_id("the button", "FAB button"))
    again = migrate()
    assert not again.complete
    assert _ways(again)["learned examples"].differing == (LEARNED,)


def test_what_is_no_text_is_named_and_left_where_it_is(migrate: Copy, folder: Workspace) -> None:
    folder.ensure()
    (folder.brain / LEARNED).write_bytes(b"examples: \xff")
    with pytest.raises(StoreError, match="no UTF-8 text"):
        migrate()


def test_a_workspace_without_a_memory_has_its_conversations_copied(
    migrate: Copy, folder: Workspace, clock: HandClock
) -> None:
    folder.ensure()
    journal = Contexts(folder, clock=clock, environ={}).journal("c")
    journal.log(ContextEntry(clock.now, "hello", "PLAN"))
    done = migrate()
    found = {one.what: one.on_server for one in done.compared}
    assert (found.pop("conversations"), set(found.values())) == (1, {0})
    assert not SqliteStore.path_in(folder).exists()


def test_what_was_changed_behind_our_back_isfound(
    migrate: Copy, file: SqliteStore, store: PostgresStore
) -> None:
    migrate()
    for change in (
        "UPDATE message SET content = 'x' WHERE id = 'one-answer'",
        "UPDATE chunk SET idents = 'x' WHERE id = (SELECT min(id) FROM chunk)",
        "UPDATE summary SET text = 'x'",
        "UPDATE embedding SET vector = '[1,2,3]' "
        "WHERE chunk_id = (SELECT min(chunk_id) FROM embedding)",
        "UPDATE item SET value = '{}'",
        "UPDATE profile SET value = '1'",
        "DELETE FROM entity",
    ):
        with store.database.write() as connection:
            connection.execute(change)
        assert not migrate().complete, change
        _undo(store, migrate)


def _undo(store: PostgresStore, migrate: Copy) -> None:
    """Begin with an empty tenant again."""
    with store.database.write() as connection:
        for table in ("session", "entity_memory", "profile", "consent_event", "metric", "item",
                      "context_entry", "embedding_model"):  # fmt: skip
            connection.execute(f"DELETE FROM {table}")
    assert migrate().complete


class BrokenError(Exception):
    """The process was killed."""


class Breaking(Tenancy):
    """Ends the process, as it were, at a statement of a write, or just before it is committed."""

    def __init__(self, *arguments: Any, left: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.left = left

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise BrokenError

    @contextmanager
    def write(self, **options: Any) -> Iterator[Connection]:
        with super().write(**options) as connection:
            yield _Breaking(connection, self)  # type: ignore[misc]  # a connection that counts
            self.spend()

    def within(self, area: Area) -> Tenancy:
        whole = self

        class Part(Breaking):
            def spend(self) -> None:
                whole.spend()

        return Part(self.server, self.tenant, area=area, clock=self.clock, left=0)


class _Breaking:
    def __init__(self, connection: Connection, tenancy: Breaking) -> None:
        self._connection = connection
        self._tenancy = tenancy

    def __getattr__(self, name: str) -> Any:
        self._tenancy.spend()
        return getattr(self._connection, name)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stops=st.lists(st.integers(0, 70), min_size=1, max_size=4))
def test_broken_off_anywhere_and_begun_again_nothing_is_lost_and_nothing_is_there_twice(
    migrate: Copy, file: SqliteStore, server: Server, clock: HandClock, stops: list[int]
) -> None:
    person = uuid4().hex
    for left in stops:
        with suppress(BrokenError):
            migrate(person, tenancy=Breaking, left=left)
    assert migrate(person).complete
    number = tenant_number(server, ("acme", person, "shop"))
    store = PostgresStore(server, number, clock=clock)
    assert all_of(store) == all_of(file)
    assert store.check().sound
    store.close()


def test_a_server_that_goes_away_is_told_of_and_the_next_run_goes_on(
    migrate: Copy, file: SqliteStore, server: Server
) -> None:
    with suppress(BrokenError):
        migrate(tenancy=Breaking, left=20)
    server.close()
    with pytest.raises(StoreError):
        migrate()
