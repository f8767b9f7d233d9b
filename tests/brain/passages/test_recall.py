"""Recall on a real store: what is found, what comes first, what happens when parts fail."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import Recall, RecallSettings, recall
from kds.brain.passages.rerank import PROMPT
from kds.brain.passages.values import Role, Scope

CODE = '```python\ndef parse_rows(path):\n    """Read the rows."""\n    return load(path)\n```'
TALK: tuple[tuple[Role, str, str], ...] = (
    ("user", "Ann", "Which port does staging use?"),
    ("assistant", "Bot", "It listens on 8081 behind the proxy."),
    ("user", "Ann", "I went to the dentist on Tuesday."),
    ("assistant", "Bot", "Hope it did not hurt!"),
    ("user", "Ann", "Show me the reader of the table."),
    ("assistant", "Bot", f"Here it is:\n{CODE}\nIt gives a list."),
    ("user", "Bob", "We have three retries for uploads."),
    ("assistant", "Bot", "Noted, I keep that in mind."),
)
ALONE = RecallSettings(few=0)
ODD = (
    '"', "a AND", "NEAR(", "body:x", "x* OR ^y", "-staging", "'; DROP", "{a b}: c", "\x00",
    "\ud800", "port port port", "?" * 50,
)  # fmt: skip


class Meaning:
    """A model that knows two things: teeth, and all the rest."""

    name = "meaning"

    def embed_query(self, text: str) -> list[float]:
        near = any(word in text.lower() for word in ("dentist", "tooth", "teeth"))
        return [1.0, 0.1] if near else [0.1, 1.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Broken(Meaning):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("no route to host")


class Empty(Meaning):
    def embed_query(self, text: str) -> list[float]:
        return [float("nan")]


@pytest.fixture
def talk(store: SqliteStore) -> SqliteStore:
    store.create_session(session_id="talk", document_context="guide.md")
    for number, (role, speaker, text) in enumerate(TALK):
        at = datetime(2024, 5 + number // 4, 1 + number, tzinfo=UTC)
        store.append(
            "talk",
            role,
            text,
            speaker=speaker,
            at=at,
            message_id=str(number),
        )
    store.create_session(session_id="other")
    store.append("other", "user", "The proxy of staging logs to syslog.", message_id="o")
    return store


def _embed(store: SqliteStore, model: Meaning) -> None:
    store.use_model(model.name)
    while jobs := store.pending_embeddings(50):
        vectors = model.embed_documents([job.text for job in jobs])
        ids = [job.chunk_id for job in jobs]
        store.store_embeddings(model.name, dict(zip(ids, vectors, strict=True)))


def _ids(found: Recall) -> list[str]:
    return [hit.passage.message_id for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("When did she go to the dentist?", "2"),  # "went"
        ("Which port has staging?", "1"),  # the answer shares no word with it
        ("parseRows", "5"),
        ("parse rows", "5"),
        ("how many retries", "6"),
    ],
)
def test_the_answer_comes_first(talk: SqliteStore, query: str, message: str) -> None:
    assert _ids(recall(talk, query, scope=Scope("talk"), settings=ALONE))[0] == message


def test_the_conversation_comes_first_and_others_only_when_it_has_too_little(
    talk: SqliteStore,
) -> None:
    found = recall(talk, "syslog", scope=Scope("talk"))
    assert _ids(found) == ["o"]
    assert found.hits[0].elsewhere
    assert found.flags["widened"]
    assert not recall(talk, "staging port", scope=Scope("talk")).flags["widened"]
    assert _ids(recall(talk, "syslog", scope=Scope("talk"), settings=ALONE)) == []


def test_the_document_lifts_a_hit_and_hides_none(talk: SqliteStore) -> None:
    plain = recall(talk, "proxy staging")
    biased = recall(talk, "proxy staging", scope=Scope(document="guide.md"))
    assert set(_ids(plain)) == set(_ids(biased))
    lifted = {hit.passage.message_id: hit.score for hit in biased.hits}
    for hit in plain.hits:
        factor = 1.15 if hit.passage.session_id == "talk" else 1.0
        assert lifted[hit.passage.message_id] == pytest.approx(hit.score * factor)


def test_summaries_speak_for_their_own_conversation_only(talk: SqliteStore) -> None:
    talk.add_summary("talk", 1, 2, "Staging uses port 8081.", kind="periodic")
    assert len(recall(talk, "staging port", scope=Scope("talk")).summaries) == 1
    assert recall(talk, "staging port", scope=Scope("other")).summaries == ()
    assert recall(talk, "staging port").summaries == ()


def test_a_model_finds_what_shares_no_word(talk: SqliteStore) -> None:
    _embed(talk, Meaning())
    found = recall(talk, "tooth trouble", scope=Scope("talk"), settings=ALONE, embedder=Meaning())
    assert "2" in _ids(found)[:2]
    assert found.counts["dense"] > 0
    assert "embedding" in found.timings_ms


def test_with_meaning_a_prompt_to_an_assistant_counts_less_than_what_people_say(
    store: SqliteStore,
) -> None:
    for session, speaker in (("assistant", None), ("people", "Ann")):
        store.create_session(session_id=session)
        store.append(session, "user", "the dentist port", speaker=speaker)
    _embed(store, Meaning())
    for session, worth in (("assistant", PROMPT), ("people", 1.0)):
        scope = Scope(session)
        hit = recall(store, "tooth port", scope=scope, settings=ALONE, embedder=Meaning()).hits[0]
        assert hit.score == pytest.approx(worth * hit.parts.score)
        assert recall(store, "tooth port", scope=scope, settings=ALONE).hits[0].score == 1.0


@pytest.mark.parametrize(
    ("model", "note"), [(Broken(), "no route to host"), (Empty(), "no usable vector")]
)
def test_a_model_that_fails_leaves_the_words_and_a_note(
    talk: SqliteStore, model: Meaning, note: str
) -> None:
    found = recall(talk, "staging port", scope=Scope("talk"), embedder=model)
    assert _ids(found) == _ids(recall(talk, "staging port", scope=Scope("talk")))
    assert any(note in line for line in found.notes)
    assert not found.flags["embeddings"]


def test_vectors_of_another_length_leave_the_words(talk: SqliteStore) -> None:
    class Longer(Meaning):
        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0, 0.0]

    _embed(talk, Meaning())
    found = recall(talk, "staging port", scope=Scope("talk"), embedder=Longer())
    assert _ids(found)[:1] == ["1"]
    assert any("no search by meaning" in line for line in found.notes)


def test_without_hybrid_only_words_are_searched(talk: SqliteStore) -> None:
    _embed(talk, Meaning())
    off = RecallSettings(hybrid=False)
    found = recall(talk, "parse_rows", scope=Scope("talk"), settings=off, embedder=Meaning())
    assert _ids(found)[0] == "5"
    assert (found.counts["code"], found.counts["dense"]) == (0, 0)


def test_without_chunking_whole_messages_are_found_once(talk: SqliteStore) -> None:
    off = RecallSettings(chunking=False, few=0)
    found = recall(talk, "parse_rows list", scope=Scope("talk"), settings=off)
    assert len(set(_ids(found))) == len(found.hits)
    assert found.hits[0].passage.body == TALK[5][2]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=80) | st.sampled_from(ODD))
def test_any_text_is_a_question(talk: SqliteStore, query: str) -> None:
    for scope in (Scope("talk"), Scope()):
        found = recall(talk, query, scope=scope, embedder=Meaning())
        assert all(0.0 < hit.score <= 1.16 for hit in found.hits)


def test_words_that_are_everywhere_are_not_searched_for_everywhere(store: SqliteStore) -> None:
    store.create_session(session_id="s")
    for number in range(230):
        store.append("s", "user", f"common words and rare{number}")
    found = recall(store, "common rare7")
    assert found.notes == ("too common to search all conversations for: 'common'",)
    assert found.hits[0].passage.body == "common words and rare7"
