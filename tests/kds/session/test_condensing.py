"""The user's model condenses a conversation: after the answer, checked, and where it is wanted."""

import threading
from collections.abc import Callable

import pytest

from kds.brain.sessions import remembering
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.workspace import Workspace

from ...agents.openai_server import Asked, FakeProvider, Reply, Slow, Text
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


@pytest.mark.parametrize("written", ["off", "'off'"])
def test_off_may_stand_in_the_settings_file(chat: Chat, written: str) -> None:
    path = chat.folder / "kds-brain" / "settings.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"memory: {{summaries: {written}}}\n")
    talk(chat, 6, name="retries")
    assert len(chat.model.asked) == 6


@pytest.mark.parametrize(
    "lie", ["The retry waits 4711 seconds.", "Carlos Vega adds a retry to the uploader.", "Sorry!"]
)
def test_a_summary_that_says_what_nobody_said_is_not_kept(chat: Chat, lie: str) -> None:
    chat.model.default = answering(Text(lie))
    talk(chat, 6, name="retries")
    [kept] = summaries(chat, "periodic")
    assert lie not in kept
    assert "User: Add a retry to the uploader." in kept


def test_nobody_waits_for_a_summary(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "CLOSING_S", 0.0)
    chat.model.default = answering(Slow())
    with chat.open(name="retries") as session:
        answers = [session.ask(f"Add a retry to the {one}") for one in THINGS]
        assert [one.text for one in answers] == ["Done, and tested."] * len(THINGS)
    assert any(map(is_summary, chat.model.asked))
    [kept] = summaries(chat, "periodic")
    assert "User: Add a retry to the uploader." in kept
    assert "kds-summaries" not in {one.name for one in threading.enumerate() if not one.daemon}


def test_a_model_that_fails_is_not_asked_to_summarise(chat: Chat, kds_call: Run) -> None:
    talk(chat, 4, name="retries")
    chat.model.default = Text("")
    talk(chat, 1, name="retries")
    assert not any(map(is_summary, chat.model.asked))


def test_a_command_line_conversation_is_condensed(chat: Chat, kds_call: Run) -> None:
    chat.model.default = answering(Text(SUMMARY))
    for thing in THINGS[:5]:
        kds_call("ask", f"Add a retry to the {thing}", "--session", "retries")
    shown = data(kds_call("memory", "show", "retries", "--json"))
    assert [one["text"].startswith(SUMMARY) for one in shown["summaries"]] == [True]
