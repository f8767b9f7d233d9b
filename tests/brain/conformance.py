"""What every MemoryStore must do, whatever keeps it.

An implementation's tests subclass `StoreConformance` and provide the fixtures `store` and
`clock`; the clock is set by hand.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from kds.brain.documents.recall import COLUMN_WEIGHTS
from kds.brain.errors import MessageError, StoreError
from kds.brain.memory.export import archive, from_json, to_json, to_markdown
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.profile import Profile
from kds.brain.memory.sessions import Session
from kds.brain.passages.passage_file import words_of
from kds.brain.passages.question import read_question
from kds.brain.passages.recall import Vector
from kds.brain.passages.values import Message, Role, Scores

from .sound import sound

CODE = "Here is app.py:\n```python\ndef getUserName(row):\n    return row.name\n```\nDone."


MARKS = ("quokkaquokka", "zyzzyvazyzzyva", "axolotlaxolotl")
"""Words that stand nowhere else, of a form that the stemmer leaves alone."""


def traces(folder: Path) -> list[str]:
    """The files that still hold one of the words; in the index a word may lack its beginning."""
    return [
        path.name for path in folder.iterdir()
        if any(mark[2:].encode() in path.read_bytes().lower() for mark in MARKS)
    ]  # fmt: skip


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2025, 11, 3, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


def say(store: MemoryStore, session: Session, *texts: str) -> list[Message]:
    """Let user and assistant speak in turn."""
    roles: list[Role] = ["user", "assistant"]
    return [store.append(session.id, roles[n % 2], text) for n, text in enumerate(texts)]


def by_text(store: MemoryStore, text: str, within: str | None = None, *, limit: int = 9) -> Scores:
    """Rank the passages that share words with ``text``."""
    return store.search_words(words_of(text), within, limit=limit, weights=COLUMN_WEIGHTS)


def bodies(store: MemoryStore, found: Scores) -> list[str]:
    return [passage.body for passage in store.passages([*found])]


class Axes:
    """An embedding model of two numbers: what is about websockets, and everything else."""

    name = "axes"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0] if "websockets" in text else [0.0, 1.0]


class SessionConformance:
    """Sessions and messages."""

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("mine", "already"),
            *((one, "cannot be the id") for one in ("", " x", "a\nb", "x" * 129)),
        ],
    )
    def test_an_unusable_id_is_refused(self, store: MemoryStore, name: str, problem: str) -> None:
        assert store.create_session(session_id="mine").id == "mine"
        with pytest.raises(StoreError, match=problem) as caught:
            store.create_session(session_id=name)
        assert caught.value.where
        assert caught.value.hint

    def test_the_last_changed_session_is_first(self, store: MemoryStore, clock: HandClock) -> None:
        first = store.create_session().id
        clock.move(minutes=1)
        second = store.create_session().id
        assert [session.id for session in store.sessions()] == [second, first]
        clock.move(minutes=1)
        store.append(first, "user", "and again")
        assert [session.id for session in store.sessions()] == [first, second]
        assert [session.id for session in store.sessions(limit=1, offset=1)] == [second]

    def test_what_does_not_exist_is_named_in_the_error(self, store: MemoryStore) -> None:
        for call in (
            lambda: store.session("nowhere"),
            lambda: store.messages("nowhere"),
            lambda: store.append("nowhere", "user", "hello"),
            lambda: store.rename("nowhere", "x"),
            lambda: store.delete_session("nowhere"),
            lambda: store.summaries("nowhere"),
            lambda: by_text(store, "x", "nowhere", limit=5),
            lambda: store.message("nowhere"),
        ):
            with pytest.raises(StoreError, match="'nowhere'") as caught:
                call()
            assert caught.value.hint
        assert store.find_session("nowhere") is None

    def test_messages_are_numbered_in_order(self, store: MemoryStore, clock: HandClock) -> None:
        session = store.create_session()
        at = datetime(2023, 5, 8, 13, 56, 0, 123456, tzinfo=UTC)
        told = say(store, session, "one", "two", "three")
        assert {message.at for message in told} == {clock.now}
        told.append(store.append(session.id, "user", "four", at=at, speaker="Caroline"))
        assert store.messages(session.id) == tuple(told)
        assert [message.seq for message in told] == [1, 2, 3, 4]
        assert (told[3].at, told[3].speaker) == (at, "Caroline")
        assert store.messages(session.id, last=2) == tuple(told[2:])
        assert store.messages(session.id, last=2, before_seq=3) == tuple(told[:2])
        assert store.messages(session.id, before_seq=2) == tuple(told[:1])
        assert store.messages(session.id, last=0) == ()
        assert store.message(told[2].id) == told[2]

    def test_secrets_do_not_reach_the_store_and_code_does(self, store: MemoryStore) -> None:
        session = store.create_session()
        message = store.append(session.id, "user", f"password: hunter2\n{CODE}")
        assert "hunter2" not in message.content
        assert "[secret: password]" in message.content
        assert "def getUserName(row):" in store.message(message.id).content
        assert "hunter2" not in store.session(session.id).title

    def test_any_text_can_be_stored(self, store: MemoryStore) -> None:
        session = store.create_session()
        odd = ("", "   ", "\ud800 broken", "nul\x00 byte", "émoji 🎉 漢字", "a\r\nb", "'\"%_--;")
        for text in odd:
            message = store.append(session.id, "user", text)
            assert store.message(message.id) == message
        assert "nul byte" in [message.content for message in store.messages(session.id)]
        assert sound(store)

    def test_the_first_message_is_the_title_unless_one_is_given(self, store: MemoryStore) -> None:
        session, named = store.create_session(), store.create_session(title="Mine")
        for one in (session, named):
            say(store, one, "## Add a **FAB button** to the page. Then test it.", "Sure", "Now")
        assert store.session(session.id).title == "Add a FAB button to the page"
        assert store.session(named.id).title == "Mine"
        assert store.rename(session.id, "  Other\nname ").title == "Other name"
        say(store, session, "More")
        assert store.session(session.id).title == "Other name"
        for unreadable in (" ", "\0"):
            with pytest.raises(MessageError, match="empty"):
                store.rename(session.id, unreadable)

    def test_a_deleted_session_is_gone_with_all_it_held(self, store: MemoryStore) -> None:
        kept, gone = store.create_session(), store.create_session()
        say(store, kept, "the walrus stays")
        store.use_model("m")
        message = say(store, gone, "the walrus goes", CODE)[0]
        store.add_summary(gone.id, 1, 2, "a walrus", kind="rolling")
        store.delete_session(gone.id)
        assert store.create_session().num > gone.num  # its number is not given again
        assert store.find_session(gone.id) is None
        assert bodies(store, by_text(store, "walrus", limit=9)) == ["the walrus stays"]
        with pytest.raises(StoreError):
            store.message(message.id)
        assert store.stats().summaries == 0
        assert len(store.pending_embeddings(99)) == 1
        assert sound(store)

    def test_cleanup_tells_first_then_removes(self, store: MemoryStore, clock: HandClock) -> None:
        old = store.create_session()
        say(store, old, "long ago", "indeed")
        clock.move(days=30)
        exactly = store.create_session()
        clock.move(days=30)
        told = store.cleanup(timedelta(days=30))
        assert [(one.id, one.message_count) for one in told] == [(old.id, 2)]
        assert store.find_session(old.id)
        done = store.cleanup(timedelta(days=30), dry_run=False)
        assert done == told
        assert [session.id for session in store.sessions()] == [exactly.id]

    def test_a_cleanup_that_is_interrupted_leaves_sessions_in_order_and_goes_on(
        self, store: MemoryStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.use_model("m")
        for count in (1, 7, 1, 2):
            session = store.create_session()
            say(store, session, *(f"walrus {number}" for number in range(count)))
            store.add_summary(session.id, 1, count, "walrus", kind="rolling")
        clock.move(days=30)
        kept = store.create_session()
        told: list[tuple[int, int]] = []

        def die(done: int, total: int) -> None:
            told.append((done, total))
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.cleanup(timedelta(days=1), dry_run=False, tell=die)
        assert told == [(1, 4), (2, 4)]
        assert [one.message_count for one in store.sessions()] == [0, 2, 1]
        assert sound(store)
        done = store.cleanup(timedelta(days=-1), dry_run=False)
        assert (len(done), store.stats().chunks) == (3, 0)
        assert store.find_session(kept.id) is None
        assert sound(store)

    def test_many_threads_may_write_at_once(self, store: MemoryStore) -> None:
        session = store.create_session()

        def write(name: int) -> None:
            for number in range(10):
                store.append(session.id, "user", f"{name} says {number}")
                by_text(store, "says", limit=5)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        assert [message.seq for message in store.messages(session.id)] == [*range(1, 41)]
        assert sound(store)


class ArchiveConformance:
    """Summaries, export, import."""

    def test_summaries_come_in_order_by_kind(self, store: MemoryStore, clock: HandClock) -> None:
        session = store.create_session()
        say(store, session, "one", "two", "three")
        for run in ((0, 1), (2, 1), (1, 4)):
            with pytest.raises(StoreError, match="no messages"):
                store.add_summary(session.id, *run, "x", kind="rolling")
        first = store.add_summary(session.id, 1, 2, "about one and two", kind="rolling")
        second = store.add_summary(session.id, 3, 3, "about three", kind="periodic")
        assert store.summaries(session.id) == (first, second)
        assert store.summaries(session.id, kind="periodic") == (second,)
        assert (first.first_seq, first.last_seq, first.at) == (1, 2, clock.now)

    def test_summaries_are_found_in_their_session_only(self, store: MemoryStore) -> None:
        here, there = store.create_session(), store.create_session()
        for session in (here, there):
            say(store, session, "x")
        made = store.add_summary(here.id, 1, 1, "they chose websockets", kind="periodic")
        store.add_summary(there.id, 1, 1, "websockets were refused", kind="periodic")
        found = store.search_summaries("websocket", here.id, limit=5)
        assert [summary for summary, _ in found] == [made]

    def test_periodic_summaries_are_found_by_their_meaning(self, store: MemoryStore) -> None:
        session = store.create_session()
        say(store, session, "x", "y")
        made = store.add_summary(session.id, 1, 1, "they chose websockets", kind="periodic")
        store.add_summary(session.id, 1, 2, "rolling ones are not embedded", kind="rolling")
        assert store.embed_summaries(Axes()) == 1
        assert store.embed_summaries(Axes()) == 0
        asked = Axes().embed_query("websockets")
        ((found, score),) = store.near_summaries(asked, session.id, model=Axes.name, limit=5)
        assert (found, round(score, 2)) == (made, 1.0)
        assert store.near_summaries([0.0, 1.0], session.id, model=Axes.name, limit=5) == ()
        store.delete_session(session.id)
        assert sound(store)

    def test_an_export_is_put_back_as_it_was(self, store: MemoryStore, clock: HandClock) -> None:
        session = store.create_session(document_context="spec.md")
        store.append(session.id, "user", "Add a walrus", speaker="Ann")
        clock.move(minutes=5)
        store.append(session.id, "assistant", CODE)
        store.add_summary(session.id, 1, 2, "a walrus was added", kind="rolling")
        before = archive(store, session.id)
        text = to_json([before])
        markdown = to_markdown(before)
        assert markdown.startswith("# Add a walrus\n")
        assert "## 1. User (Ann), 2025-11-03 09:00 UTC\n\nAdd a walrus\n" in markdown
        assert CODE in markdown
        copy = store.restore(from_json(text)[0])  # beside the original
        assert copy.id != session.id
        copied = store.messages(copy.id)
        assert [one.content for one in copied] == ["Add a walrus", CODE]
        assert not {one.id for one in copied} & {one.id for one in before.messages}
        for one in (session, copy):
            store.delete_session(one.id)
        clock.move(days=1)
        restored = [store.restore(found) for found in from_json(text)]
        after = archive(store, session.id)
        assert [found.id for found in restored] == [session.id]
        assert after.messages == before.messages
        assert to_json([after]) == text
        assert bodies(store, by_text(store, "walrus", limit=1)) == ["Add a walrus"]
        assert sound(store)

    def test_any_number_of_ids_is_looked_up(self, store: MemoryStore) -> None:
        [one] = say(store, store.create_session(), "walrus")
        ids = [*(f"none-{number}" for number in range(70_000)), one.id]
        with store.database.read() as connection:
            assert store.known_ids(connection, ids) == {one.id}


class SearchConformance:
    """Passages of messages, identifiers, what stands around a message."""

    def test_the_passages_put_together_are_the_message(self, store: MemoryStore) -> None:
        session = store.create_session(document_context="a.md")
        first, message = say(store, session, "first", CODE)
        store.use_model("m")
        ids = [job.chunk_id for job in store.pending_embeddings(9)]
        _, *passages = store.passages(ids)
        assert "".join(passage.body for passage in passages) == CODE
        assert [passage.kind for passage in passages] == ["prose", "code", "prose"]
        assert passages[1].header == "app.py def getUserName(row):"
        assert "get user name getusername" in passages[1].idents
        assert {passage.message_id for passage in passages} == {message.id}
        assert {passage.document for passage in passages} == {"a.md"}
        other_order = store.passages([ids[2], 12345, ids[0], ids[2]])
        assert [passage.chunk_id for passage in other_order] == [ids[2], ids[0]]
        assert store.passages([]) == ()
        whole = store.passages(ids, whole=True)
        assert [passage.body for passage in whole] == [first.content, *[message.content] * 3]
        assert whole[1].tokens == message.tokens

    @pytest.mark.parametrize("name", ["getUserName", "get_user_name", "GET_USER_NAME"])
    def test_an_identifier_is_found_in_every_spelling(self, store: MemoryStore, name: str) -> None:
        session = store.create_session()
        say(store, session, "the user has a name to get", CODE)
        found = store.search_identifiers([name], limit=5)
        assert [one.kind for one in store.passages([*found])] == ["code"]


class ProfileConformance:
    """Consent and the profile."""

    ANN: ClassVar = Profile(
        name="Annabel Quux",
        role="tester",
        languages=("Python", "German"),
        preferences={"tone": "terse"},
        about="Likes walruses.",
    )

    def test_nothing_is_kept_or_used_without_consent_to_a_purpose(self, store: MemoryStore) -> None:
        assert not store.profile.consent().given
        with pytest.raises(StoreError, match="no consent"):
            store.profile.save(self.ANN)
        assert store.profile.use("routing") is None
        assert store.profile.events() == ()
        with pytest.raises(MessageError, match="purpose"):
            store.profile.grant(" ")

    def test_every_use_of_the_profile_is_logged(self, store: MemoryStore, clock: HandClock) -> None:
        consent = store.profile.grant("answers")
        assert (consent.given, consent.since) == (True, clock.now)
        assert consent == store.profile.consent()
        assert store.profile.save(self.ANN) == self.ANN
        clock.move(minutes=1)
        assert store.profile.use("summary") == self.ANN
        assert [(event.action, event.purpose) for event in store.profile.events()] == [
            ("granted", "answers"),
            ("changed", "name, role, languages, preferences, about"),
            ("used", "summary"),
        ]
        assert store.profile.events()[-1].at == clock.now
        assert "Quux" not in json.dumps([event.purpose for event in store.profile.events()])

    def test_the_profile_is_found_by_words_and_by_meaning(self, store: MemoryStore) -> None:
        store.profile.grant("answers")
        store.profile.save(Profile(role="tester", domain="websockets"))
        store.profile.embed(Axes())
        vector = Vector((1.0, 0.0), Axes.name)

        def lines(question: str, vector: Vector | None = None) -> tuple[str, ...]:
            return store.profile.matching(read_question(question), "search", vector=vector)

        assert lines("who is the tester?") == ("Role: tester",)
        assert lines("live connections", vector) == ("Domain: websockets",)
        store.profile.revoke()
        store.profile.grant("again")
        store.profile.save(Profile(role="tester", domain="payments"))
        assert lines("live connections", vector) == ()

    def test_revoking_wipes_and_is_logged(self, store: MemoryStore) -> None:
        store.profile.grant("answers")
        store.profile.save(self.ANN)
        assert not store.profile.revoke().given
        assert store.profile.use("x") is None
        assert store.profile.events()[-1].action == "revoked"
        store.profile.grant("again")
        assert store.profile.use("x") == Profile()


class EntityConformance:
    """Entity memories and metrics."""

    def test_a_memory_keeps_terms_documents_sections_and_turns(self, store: MemoryStore) -> None:
        assert store.entities.load("s") is None
        note = store.entities.remember_turn
        note("s", ["closing date"], answer="The closing date is 1 March.", documents=["lease.pdf"])
        note("s", ["tenant"], answer="Ann is the tenant.", sections=["4.2"])
        note("s", ["closing date"], answer="No, the closing date is 2 March.")
        memory = store.entities.load("s")
        assert memory is not None
        assert [(term.term, term.snippet, term.turn) for term in memory.terms] == [
            ("closing date", "No, the closing date is 2 March.", 3),
            ("tenant", "Ann is the tenant.", 2),
        ]
        assert (memory.documents, memory.sections) == (("lease.pdf",), ("4.2",))
        assert memory.turn_count == 3

    def test_it_expires_four_hours_after_use(self, store: MemoryStore, clock: HandClock) -> None:
        store.entities.remember_turn("s", ["a"])
        clock.move(hours=3)
        assert store.entities.load("s")
        clock.move(hours=3)
        assert store.entities.load("s")
        clock.move(hours=4)
        assert store.entities.load("s") is None
        store.entities.remember_turn("s")
        assert getattr(store.entities.load("s"), "turn_count", 0) == 1
        clock.move(hours=4)
        store.entities.remember_turn("other")
        with store.database.read() as connection:
            keys = connection.execute("SELECT key FROM entity_memory").fetchall()
        assert [key for (key,) in keys] == ["other"]

    def test_metrics_are_kept_for_thirty_days(self, store: MemoryStore, clock: HandClock) -> None:
        start = clock.now
        store.metrics.add("recall", {"n": 1})
        clock.move(days=30)
        assert len(store.metrics.since(start)) == 1
        clock.move(seconds=1)
        store.metrics.add("recall", {"n": 2})
        assert [metric.data for metric in store.metrics.since(start)] == [{"n": 2}]
        with store.database.read() as connection:
            assert connection.execute("SELECT count(*) FROM metric").fetchone()[0] == 1


class StoreConformance(
    SessionConformance, ArchiveConformance, SearchConformance, ProfileConformance, EntityConformance
):
    """All of it."""

    def test_a_store_counts_what_it_holds(self, store: MemoryStore) -> None:
        assert (store.check().problems, store.take_warnings(), store.stats().models) == ((), (), ())
        session = store.create_session()
        say(store, session, "one", CODE)
        stats = store.stats()
        assert (stats.sessions, stats.messages, stats.chunks) == (1, 2, 4)
        assert stats.tokens == store.session(session.id).token_count
        assert stats.size_bytes > 0

    def test_a_closed_store_says_so(self, store: MemoryStore) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.sessions()
        with pytest.raises(StoreError, match="closed"):
            store.create_session()
