"""The memory as a chat uses it: windows, recalls and terms, switched while it runs."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from kds.brain.memory.memory import ConversationMemory, Tools
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.summarizer import Summarizer
from kds.brain.memory.window import LABEL
from kds.brain.passages.values import Message
from kds.brain.workspace import Workspace

from ..conformance import HandClock
from ..spoken import CONVERSATION, FACTS

START = datetime(2020, 1, 1, tzinfo=UTC)


class Chat:
    """A workspace, its environment, and the memory over both."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder, folder / "kds-brain")
        self.environ: dict[str, str] = {}
        self.clock = HandClock()

    def limit(self, tokens: int) -> None:
        self.workspace.ensure()
        settings = f"memory: {{context_limit_tokens: {tokens}}}\n"
        self.workspace.settings_path.write_text(settings)

    def open(self, *, summarizer: Summarizer | None = None) -> ConversationMemory:
        tools = Tools(summarizer=summarizer, clock=self.clock)
        return ConversationMemory.open(self.workspace, tools, environ=self.environ)


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


def talk(memory: ConversationMemory, turns: int, *, summarise: bool = True) -> None:
    for turn in range(1, turns + 1):
        memory.add("s", "user", f"Add field{turn} to module_{turn}.")
        memory.add("s", "assistant", f"Added field{turn} in {turn + 10} ms.", summarise=summarise)


def measured(memory: ConversationMemory, name: str) -> list[dict[str, object]]:
    return [metric.data for metric in memory.store.metrics.since(START, name=name)]


def test_a_surface_that_only_routes_does_not_remember_unless_told(chat: Chat) -> None:
    routes = Tools(on_by_default=False)
    memory = ConversationMemory.open(chat.workspace, routes, environ=chat.environ)
    assert memory.flags.enabled is False
    chat.environ["KDS_MEMORY"] = "1"
    assert memory.flags.enabled


def test_what_has_left_the_window_is_in_the_summary(chat: Chat) -> None:
    memory = chat.open()
    for role, text in CONVERSATION:
        memory.add("s", role, text)
    talk(memory, 4)
    window = memory.window("s", "next?")
    assert window.first_seq == len(CONVERSATION) + 1
    assert all(fact in window.summary for fact in FACTS)
    assert window.messages[0].content == f"{LABEL}\n{window.summary}"
    assert window.tokens.total <= 1100


def test_a_question_that_was_added_already_is_not_sent_twice(chat: Chat) -> None:
    memory = chat.open()
    talk(memory, 2)
    memory.add("s", "user", "the password is: hunter2")
    sent = [message.content for message in memory.window("s", "the password is: hunter2").messages]
    assert sent[-1] == "the password is: hunter2"
    assert len(sent) == 5


def test_every_five_replies_make_a_summary_that_can_be_found(chat: Chat) -> None:
    memory = chat.open()
    talk(memory, 5)
    [summary] = memory.store.summaries("s", kind="periodic")
    assert (summary.first_seq, summary.last_seq) == (1, 10)
    found = memory.recall("module_3", session="s").recall
    assert [one.id for one, _ in found.summaries] == [summary.id]


def test_a_recall_is_assembled_within_its_budget_and_measured(chat: Chat) -> None:
    memory = chat.open()
    talk(memory, 6)
    found = memory.recall("Who added module_3?", session="s", budget_tokens=60)
    assert "module_3" in found.assembled.text
    assert found.assembled.tokens <= 60
    [metric] = measured(memory, "recall")
    assert metric["budget_tokens"] == 60
    assert metric["surface"] == "chat"
    assert "module_3" not in str(metric)


def test_with_the_memory_off_nothing_is_stored_and_the_chat_goes_on(chat: Chat) -> None:
    chat.environ["KDS_MEMORY"] = "off"
    memory = chat.open()
    session = memory.begin()
    assert memory.add(session.id, "user", "hello") is None
    memory.catch_up_later(session.id)
    memory.remember_turn(session.id, ["login form"])
    assert memory.antecedents(session.id) == ()
    assert [one.content for one in memory.window(session.id, "next?").messages] == ["next?"]
    assert memory.recall("hello").recall.hits == ()
    assert not (chat.workspace.brain / SqliteStore.file_name).exists()


def test_terms_are_remembered_unless_switched_off(chat: Chat) -> None:
    memory = chat.open()
    memory.remember_turn("s", ["login form"], answer="The login form is done.")
    assert [one.term for one in memory.antecedents("s")] == ["login form"]
    chat.environ["KDS_ENABLE_SESSION_MEMORY"] = "off"
    assert memory.antecedents("s") == ()


def test_the_model_writes_summaries_and_no_window_waits_for_it(chat: Chat) -> None:
    asked: list[int] = []

    def model(messages: Sequence[Message], previous: str) -> str:
        asked.append(len(messages))
        return "Together: " + " ".join([previous, *(message.content for message in messages)])

    memory = chat.open(summarizer=model)
    chat.environ["RAG_SUMMARY_FREQUENCY"] = "0"
    talk(memory, 8, summarise=False)
    assert asked == []
    memory.catch_up_later("s")
    memory.close()
    memory = chat.open(summarizer=model)
    assert asked == [8]
    assert memory.window("s", "next?").summary.startswith("Together: Add field1")
    assert asked == [8]
    assert [one["source"] for one in measured(memory, "summary")] == ["model"]


def test_a_model_that_fails_loses_no_turn(chat: Chat) -> None:
    def model(messages: Sequence[Message], previous: str) -> str:
        raise ConnectionError("no model")

    memory = chat.open(summarizer=model)
    talk(memory, 9)
    assert len(memory.store.messages("s")) == 18
    assert "module_1" in memory.window("s", "next?").summary
    assert all(one["fell_back"] for one in measured(memory, "summary"))


def test_condensing_begins_at_95_percent_of_the_limit(chat: Chat) -> None:
    chat.limit(3000)
    memory = chat.open()
    shares = []
    for turn in range(400):
        memory.add("s", "user", f"Add field{turn} to module_{turn}.")
        memory.add("s", "assistant", "All is well.")
        window = memory.window("s", "next?")
        shares.append(window.tokens.total / 3000)
        assert window.tokens.total <= 0.95 * 3000
    drops = [before for before, after in pairwise(shares) if after < before]
    assert len(drops) > 1
    assert min(drops) > 0.94


def test_a_model_condenses_a_whole_conversation_behind_the_answer(chat: Chat) -> None:
    def model(messages: Sequence[Message], previous: str) -> str:
        return "The user adds fields to a module."

    chat.limit(2000)
    memory = chat.open(summarizer=model)
    for turn in range(200):
        memory.add("s", "user", f"Add field{turn} to module_{turn}.")
        memory.window("s", f"Add field{turn} to module_{turn}.")
        memory.add("s", "assistant", "All is well.", summarise=False)
        memory.catch_up_later("s")
    memory.close()
    rolling = chat.open().store.summaries("s", kind="rolling")
    assert rolling
    assert all(one.text.startswith("The user adds fields to a module.") for one in rolling)
