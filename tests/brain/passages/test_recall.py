"""Recall on a real store: what is found, what comes first, what happens when parts fail; and what
of it fits a prompt."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.question import read_question
from kds.brain.passages.recall import Hit, Recall, assemble, recall
from kds.brain.passages.rerank import Fused
from kds.brain.passages.values import ChunkKind, Role
from kds.brain.settings import RecallOptions
from kds.brain.words.terms import estimate_tokens

from ..spoken import passage

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


class Meaning:
    """A model that knows two things: teeth, and all the rest."""

    name = "meaning"

    def embed_query(self, text: str) -> list[float]:
        near = any(word in text.lower() for word in ("dentist", "tooth", "teeth"))
        return [1.0, 0.1] if near else [0.1, 1.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Odd(Meaning):
    """A model that fails, or gives something other than a vector of the usual length."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def embed_query(self, text: str) -> list[float]:
        if not self.values:
            raise ConnectionError("no route to host")
        return self.values


@pytest.fixture
def talk(store: SqliteStore) -> SqliteStore:
    store.create_session(session_id="talk", document_context="guide.md")
    for number, (role, speaker, text) in enumerate(TALK):
        at = datetime(2024, 5 + number // 4, 1 + number, tzinfo=UTC)
        store.append("talk", role, text, speaker=speaker, at=at, message_id=str(number))
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
    assert _ids(recall(talk, query, session="talk", few=0))[0] == message


def test_the_conversation_comes_first_and_others_when_it_has_too_little(talk: SqliteStore) -> None:
    found = recall(talk, "syslog", session="talk")
    assert _ids(found) == ["o"]
    assert found.hits[0].elsewhere
    assert found.flags["widened"]
    assert not recall(talk, "staging port", session="talk").flags["widened"]
    assert _ids(recall(talk, "syslog", session="talk", few=0)) == []


def test_the_document_lifts_a_hit_and_hides_none(talk: SqliteStore) -> None:
    plain = recall(talk, "proxy staging")
    biased = recall(talk, "proxy staging", document="guide.md")
    assert set(_ids(plain)) == set(_ids(biased))
    lifted = {hit.passage.message_id: hit.score for hit in biased.hits}
    for hit in plain.hits:
        factor = 1.15 if hit.passage.session_id == "talk" else 1.0
        assert lifted[hit.passage.message_id] == pytest.approx(hit.score * factor)


def test_a_model_finds_what_shares_no_word(talk: SqliteStore) -> None:
    _embed(talk, Meaning())
    found = recall(talk, "tooth trouble", session="talk", few=0, embedder=Meaning())
    assert "2" in _ids(found)[:2]
    assert found.counts["dense"] > 0
    assert "embedding" in found.timings_ms


@pytest.mark.parametrize(
    ("model", "note"),
    [
        (Odd(), "no route to host"),
        (Odd(float("nan")), "no usable vector"),
        (Odd(1.0, 0.0, 0.0), "no search by meaning"),
    ],
)
def test_a_failing_model_leaves_the_words(talk: SqliteStore, model: Meaning, note: str) -> None:
    _embed(talk, Meaning())
    found = recall(talk, "staging port", session="talk", embedder=model)
    assert _ids(found)[0] == "1"
    assert any(note in line for line in found.notes)


def test_without_hybrid_only_words_are_searched(talk: SqliteStore) -> None:
    _embed(talk, Meaning())
    off = RecallOptions(hybrid=False)
    found = recall(talk, "parse_rows", session="talk", options=off, embedder=Meaning())
    assert _ids(found)[0] == "5"
    assert (found.counts["code"], found.counts["dense"]) == (0, 0)


def test_without_chunking_whole_messages_are_found_once(talk: SqliteStore) -> None:
    off = RecallOptions(chunking=False)
    found = recall(talk, "parse_rows list", session="talk", options=off, few=0)
    assert len(set(_ids(found))) == len(found.hits)
    assert found.hits[0].passage.body == TALK[5][2]


def test_words_that_are_everywhere_are_not_searched_for_everywhere(store: SqliteStore) -> None:
    store.create_session(session_id="s")
    for number in range(230):
        store.append("s", "user", f"common words and rare{number}")
    found = recall(store, "common rare7")
    assert found.notes == ("too common to search all conversations for: 'common'",)
    assert found.hits[0].passage.body == "common words and rare7"


def test_the_words_of_neighbours_count_less_with_the_distance(store: SqliteStore) -> None:
    store.create_session(session_id="s")
    for text in ("the port", "a", "b", "c", "d", "e", "f"):
        store.append("s", "user", text, speaker="Ann")
    found = {hit.passage.body: hit for hit in recall(store, "port").hits}
    assert list(found) == ["the port", "a", "b", "c", "d"]
    assert "has 'port'" in found["the port"].why[0]
    assert "beside it stands 'port'" in found["a"].why[0]


@pytest.mark.parametrize(
    ("query", "said", "answer", "why"),
    [
        # who is named is not a word to look for, but who said it
        ("What does Bob like?", ["Ann: Ann, I like tea.", "Bob: I like tea."], 1, "said by Bob"),
        ("staging port", ["Ann: What is the staging port?", "Bob: The staging port: 81."], 1,
         "words 1.00"),
    ],
)  # fmt: skip
def test_who_said_it_and_whether_it_asks_counts(
    store: SqliteStore, query: str, said: list[str], answer: int, why: str
) -> None:
    store.create_session(session_id="s")
    for number, (speaker, _, text) in enumerate(one.partition(": ") for one in said):
        store.append("s", "user", text, speaker=speaker, message_id=str(number))
    best = recall(store, query).hits[0]
    assert best.passage.message_id == str(answer)
    assert any(why in reason for reason in best.why)


@pytest.mark.parametrize(
    ("text", "names", "code"),
    [
        ("getUserName", ("getUserName",), True),
        ("where is get_user_name()?", ("get_user_name",), True),
        ("get user name", ("get_user_name",), False),  # a few words may be a name
        ("tell me how staging gets its port number", (), False),
    ],
)
def test_what_a_question_asks(text: str, names: tuple[str, ...], code: bool) -> None:
    question = read_question(text)
    assert (question.identifiers, question.asks_for_code) == (names, code)
    assert not names or "getusername" in [term.word for term in question.terms]


def _hit(number: int, body: str, kind: ChunkKind = "prose") -> Hit:
    return Hit(passage(number, body, kind), 1.0, Fused(1.0, None, 1.0, 0.0), False, ())


def test_a_prompt_quotes_passages_whole_with_date_and_speaker_code_first_for_code() -> None:
    said, code, long = _hit(1, "Port 8081."), _hit(2, "x = 1", "code"), _hit(3, "word " * 300)
    made = assemble("port", [long, said, code, said], budget_tokens=50)
    assert made.text == "[2025-11-03, Ann]\nPort 8081.\n\n[2025-11-03, Ann]\nx = 1"
    assert (made.used, made.left_out) == ((said, code), (long,))
    assert made.notes == ("left out for 50 tokens: 1 passage of 300 tokens",)
    assert assemble("show me parse_rows()", [said, code]).used == (code, said)


KINDS: st.SearchStrategy[ChunkKind] = st.sampled_from(["prose", "code"])
BODIES = st.text(max_size=200) | st.text("ab \n", max_size=2000)
HITS = st.lists(st.builds(_hit, st.integers(0, 9), BODIES, KINDS), max_size=8)


@given(HITS, st.integers(0, 300), st.text(max_size=30))
def test_the_budget_is_never_exceeded(hits: list[Hit], budget: int, query: str) -> None:
    made = assemble(query, hits, budget_tokens=budget)
    assert made.tokens == estimate_tokens(made.text) <= budget
    assert set(map(id, (*made.used, *made.left_out))) <= set(map(id, hits))
