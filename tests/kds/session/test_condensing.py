"""The user's model condenses a conversation: after the answer, checked, and where it is wanted."""

from collections.abc import Callable

import pytest

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.workspace import Workspace

from ...agents.openai_server import Asked, FakeProvider, Reply, Text
from ..conftest import Run, data
from .conftest import Chat

THINGS = ("uploader", "downloader", "scheduler", "importer", "exporter", "parser", "renderer")
SUMMARY = "The user adds a retry to the uploader and to other parts. Key topics: retry, uploader."


def is_summary(asked: Asked) -> bool:
    return "Conversation summarizer" in asked.text


def answering(summary: Reply) -> Callable[[Asked], Reply]:
    return lambda asked: summary if is_summary(asked) else Text("Done, and tested.")


def talk(chat: Chat, turns: int, **options: str) -> None:
    """Ask one question a process, as `kds ask` does."""
    for turn in range(turns):
        with chat.open(**options) as session:
            session.ask(f"Add a retry to the {THINGS[turn % len(THINGS)]}")


def sent(model: FakeProvider) -> list[Asked]:
    return [asked for asked in model.asked if not is_summary(asked)]


def summaries(chat: Chat, kind: str) -> list[str]:
    with MemoryPlace.of(Workspace(chat.folder, chat.folder / "kds-brain")).open() as store:
        [session] = store.sessions()
        return [one.text for one in store.summaries(session.id) if one.kind == kind]


def test_the_model_condenses_a_conversation_and_reads_its_summary(chat: Chat) -> None:
    chat.model.default = answering(Text(SUMMARY))
    talk(chat, 14, name="retries")
    asked = [one for one in chat.model.asked if is_summary(one)]
    assert len(sent(chat.model)) == 14
    assert 2 <= len(asked) <= 6
    assert "Key topics" in asked[0].text
    assert any(text.startswith(SUMMARY) for text in summaries(chat, "rolling"))
    assert any(text.startswith(SUMMARY) for text in summaries(chat, "periodic"))
    assert SUMMARY in sent(chat.model)[-1].text


@pytest.mark.parametrize("mode", ["off", "extractive"])
def test_no_model_is_asked_where_the_settings_say_so(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("KDS_MEMORY_SUMMARIES", mode)
    talk(chat, 10, name="retries")
    assert len(chat.model.asked) == 10
    assert bool(summaries(chat, "periodic")) == (mode == "extractive")
    earlier = "Earlier in this conversation" in chat.model.asked[-1].text
    assert earlier == (mode == "extractive")


def test_a_session_is_summarized_on_demand(chat: Chat, kds_call: Run) -> None:
    chat.model.default = answering(Text(SUMMARY))
    talk(chat, 2, name="retries")
    made = data(kds_call("memory", "summarize", "retries", "--json"))["summary"]
    assert made["text"].startswith(SUMMARY)
    assert (made["first_seq"], made["last_seq"]) == (1, 4)
    assert "nothing was said since" in kds_call("memory", "summarize").out
    found = data(kds_call("memory", "search", "uploader", "--session", "retries", "--json"))
    assert found["summaries"][0]["text"].startswith(SUMMARY)


def test_periodic_summaries_are_found_by_meaning_in_their_own_session(
    chat: Chat, kds_call: Run, embeddings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    talk(chat, 5, name="retries")
    talk(chat, 1, name="another")
    assert data(kds_call("memory", "check", "--backfill", "--json"))["embedded"] > 0
    assert "there was nothing to do" in kds_call("memory", "check", "--backfill").out
    for name, count in (("retries", 1), ("another", 0)):
        found = data(kds_call("memory", "search", "seirter daolpu", "--session", name, "--json"))
        assert len(found["summaries"]) == count
    kds_call("memory", "delete", "retries", "--yes")
    assert data(kds_call("memory", "check", "--json"))["problems"] == []
