"""Tables of every version there was are brought up to date, with all that is in them.

A service of the version before serves on meanwhile. It is stood in for by those calls of today's
that need nothing of the later steps: its SQL is theirs.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from kds.brain.documents.postgres_documents import DOCUMENTS, PostgresDocuments
from kds.brain.documents.recall import COLUMN_WEIGHTS
from kds.brain.errors import StoreError
from kds.brain.memory import profile
from kds.brain.memory.memory_store import Archive, MemoryStore, PostgresStore
from kds.brain.memory.profile import Profile
from kds.brain.passages.passage_file import words_of
from kds.brain.store import postgres_schema as upgrading
from kds.brain.store.postgres import Server
from kds.brain.store.postgres_schema import STEPS, require, upgrade
from kds.brain.store.team import Team, person_of
from kds.brain.store.tenancy import Tenancy, tenant_number
from kds.readers.text import read_text

from ...conformance import CODE, HandClock, say
from ...document_texts import LEASE, source_of

DOCUMENTS_CAME = 2
"""The version with tables of documents."""


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
    store.entities.remember_turn("long", ["walrus"], documents=["spec.md"])
    store.profile.grant("answers that suit me")
    store.profile.save(Profile(name="Ada", languages=("en", "de")))
    for _ in range(2):  # two that are alike are two
        store.metrics.add("recall", {"ms": 3})
    store.metrics.add("turn", {"ms": 4})


def all_of(store: MemoryStore) -> list[object]:
    """All that a memory holds, without what only its engine has: numbers, sizes."""
    sessions = store.sessions(limit=99)
    whole = [
        Archive(session, store.messages(session.id), store.summaries(session.id))
        for session in sessions
    ]  # without details, which came later
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
        store.profile.events(),
        store.metrics.since(whole[0].session.created_at - timedelta(days=1)),
    ]  # fmt: skip


def found(store: MemoryStore, text: str) -> list[str]:
    hits = store.search_words(words_of(text), limit=9, weights=COLUMN_WEIGHTS)
    return [one.body for one in store.passages([*hits])]


@pytest.fixture(params=range(1, len(STEPS)))
def before(request: pytest.FixtureRequest) -> int:
    """A version that there was."""
    return int(request.param)


@pytest.fixture
def old(empty: str, before: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with the tables of that version."""
    server = Server(empty)
    with monkeypatch.context() as patched:
        patched.setattr(upgrading, "STEPS", STEPS[:before])
        assert upgrade(server) == (0, before)
    yield server
    server.close()


class Person:
    """Somebody's rows: something of every kind."""

    def __init__(self, server: Server, name: str, clock: HandClock) -> None:
        number = tenant_number(server, ("acme", name, "shop"))
        self.store = PostgresStore(Tenancy(server, number, clock=clock))
        self.documents = PostgresDocuments(Tenancy(server, number, clock=clock, area=DOCUMENTS))
        self.clock = clock

    def fill(self, *, documents: bool) -> None:
        fill(self.store, self.clock)
        if documents:
            self.add_lease()

    def add_lease(self) -> None:
        self.documents.put(read_text(LEASE, "lease"), source_of(LEASE, "/x/lease.txt"))

    def all(self) -> list[object]:
        """What is there of each kind."""
        store = self.store
        return [
            all_of(store),
            store.search_dense([1.0, 0.5, 0.3], model="m", limit=9),
            store.search_summaries("walrus", "long", limit=9),
            store.profile.consent(),
        ]

    def close(self) -> None:
        self.store.close()
        self.documents.close()


def test_all_is_there_after_an_upgrade_and_an_old_service_served_on(
    old: Server, empty: str, before: int, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = Person(old, "ann", clock), Person(old, "bob", clock)
    with monkeypatch.context() as patched:  # as the version before did
        patched.setattr(profile, "_wipe", lambda one: one.execute("DELETE FROM profile"))
        ann.fill(documents=before >= DOCUMENTS_CAME)
    token = Team(old).make_token("acme", "ann")
    rows = ann.all()
    with pytest.raises(StoreError, match="older"):
        require(old)
    if before < DOCUMENTS_CAME:
        with pytest.raises(StoreError) as caught:
            ann.documents.documents()
        assert "kds db upgrade" in caught.value.hint
    other = Server(empty)
    bob.store.create_session(session_id="talk")
    said: list[str] = []
    with ThreadPoolExecutor() as pool:
        upgraded = pool.submit(upgrade, other)
        while not upgraded.done() or len(said) < 3:
            said.append(f"message {len(said)}")
            bob.store.append("talk", "user", said[-1])
    assert upgraded.result() == (before, len(STEPS))
    require(old)
    assert ann.all() == rows
    assert found(ann.store, "the walrus said 1")[0] == "the walrus said 1"
    assert [one.content for one in bob.store.messages("talk")] == said
    if before < DOCUMENTS_CAME:
        ann.add_lease()
    assert ann.documents.search("What is the Payment Date?").hits
    for one in (ann, bob):
        assert one.store.check().sound
        assert one.documents.check().sound
        one.close()
    person = person_of(old, token)
    assert person is not None
    assert person.name == "ann"
    with psycopg.connect(empty) as admin:
        built = "SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name"
        names = list(upgrading.INDEXES)
        assert admin.execute(built, (names,)).fetchone() == (len(names),)
    assert upgrade(other) == (len(STEPS), len(STEPS))
    other.close()


def test_an_upgrade_takes_as_long_as_it_takes(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(empty, timeout_s=0.1)
    monkeypatch.setattr(upgrading, "STEPS", (*STEPS, ("SELECT pg_sleep(1)",)))
    assert upgrade(server) == (0, len(STEPS) + 1)
    server.close()


def test_indexes_are_built_once_and_mended(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [Server(empty) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        assert max(after for _, after in pool.map(upgrade, servers)) == len(STEPS)
    names = list(upgrading.INDEXES)
    valid = "SELECT bool_and(indisvalid) FROM pg_index WHERE indexrelid = ANY(%s::regclass[])"
    with psycopg.connect(empty, autocommit=True) as admin:
        admin.execute(f"UPDATE pg_index SET indisvalid = false "
                      f"WHERE indexrelid = '{names[0]}'::regclass")  # fmt: skip
        assert admin.execute(valid, (names,)).fetchone() == (False,)
        upgrade(servers[0])
        assert admin.execute(valid, (names,)).fetchone() == (True,)
    for one in servers:
        one.close()
