"""The user's model as a rewriter and as a summarizer: what it is asked, and what comes back."""

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from pydantic import Field

from kds.agents import ModelError
from kds.agents.models import LazyModel
from kds.agents.prompting import (
    MESSAGE_CHARS,
    PROMPT_CHARS,
    THINKING_TOKENS,
    bounded,
    rewriter_of,
    summarizer_of,
)  # fmt: skip
from kds.brain.memory.summarizer import ExtractiveSummarizer, Summarizer, summarised
from kds.brain.passages.values import Message
from kds.brain.settings import ModelSettings
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.checks import OUTPUT_TOKENS

from .openai_server import Failure, FakeProvider, Text

SAID = (Utterance("I want to add a FAB button"), Utterance("Planned.", "assistant"))


def ask(
    provider: FakeProvider, library: PromptLibrary, message: str = "Make it purple", **options: int
) -> str:
    """What a model of the provider writes."""
    settings = ModelSettings.model_validate({"name": f"{provider.url}#m", **options})
    rewrite = rewriter_of(LazyModel(settings), library)
    return rewrite(SAID, message, "Make the FAB button purple")


def test_a_provider_is_asked_within_bounds(provider: FakeProvider, library: PromptLibrary) -> None:
    provider.play(Text("<think>\nWhat is it?\n</think>\n\nMake the FAB button purple\n"))
    assert ask(provider, library, "Make it {{ purple }}") == "Make the FAB button purple"
    (asked,) = provider.asked
    assert asked.body["max_completion_tokens"] == OUTPUT_TOKENS
    assert "User: I want to add a FAB button\nAssistant: Planned.\n" in asked.text
    assert "<message>\nMake it {{ purple }}\n</message>" in asked.text
    assert "<attempt>\nMake the FAB button purple\n</attempt>" in asked.text
    provider.play(Failure(401, "bad key"))
    with pytest.raises(ModelError) as failure:
        ask(provider, library, max_retries=0)
    assert failure.value.kind == "key"


def test_the_output_is_bounded_as_each_integration_spells_it() -> None:
    usual = ChatOpenAI(model="gpt-4.1-mini", api_key="k")
    tighter = ChatOpenAI(model="gpt-4.1-mini", api_key="k", max_tokens=40)
    thinking = ChatOpenAI(model="gpt-5-mini", api_key="k")
    limits = [bounded(one).max_tokens for one in (usual, tighter, thinking)]
    assert limits == [OUTPUT_TOKENS, 40, OUTPUT_TOKENS + THINKING_TOKENS]
    assert bounded(ChatOllama(model="llama3.1")).num_predict == OUTPUT_TOKENS


AT = datetime(2025, 11, 3, tzinfo=UTC)


def told(content: str, *, speaker: str | None = None) -> Message:
    return Message("m", "s", 1, "user", content, AT, 3, speaker)


class Writer(GenericFakeChatModel):
    """Writes what it is given to write, and keeps what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        self.asked.append(messages[0].text)
        return super()._generate(messages, *args, **options)


def summarizing(library: PromptLibrary, *texts: str) -> tuple[Summarizer, list[str]]:
    """A summarizer whose model writes ``texts``, and the prompts that it gets."""
    model = Writer(messages=iter(map(AIMessage, texts)))
    found = summarizer_of(LazyModel(ModelSettings(), model), library)
    assert found is not None
    return found, model.asked


def test_a_summarizer_sees_messages_and_the_summary_before(library: PromptLibrary) -> None:
    summarize, asked = summarizing(library, "", "", "")
    summarize([told("Make it {{ purple }}", speaker="Ann")], "User: wants a button.")
    for part in ("Ann: Make it {{ purple }}", "User: wants a button.", "at most 120 words"):
        assert part in asked[0]
    summarize([told("```py\nx = 1\n```\n" + "word " * 5000)], "")
    assert "[code: py, 1 line]" in asked[1]
    assert len(asked[1]) < MESSAGE_CHARS + 3000
    summarize([told("word " * 5000)] * 1000, "")
    assert len(asked[2]) < PROMPT_CHARS * 1.2


def test_the_answer_is_the_summary_or_the_model_is_replaced(library: PromptLibrary) -> None:
    summarize, _ = summarizing(library, " They add a login form for Maria Lopez. ")
    extractive = ExtractiveSummarizer()
    made = summarised(extractive, [told("Add a login form for Maria Lopez")], model=summarize)
    assert (made.source, made.text) == ("model", "They add a login form for Maria Lopez.")
    again = summarised(extractive, [told("Add a login form")], model=summarize)
    assert again.source == "extractive"
    assert again.reason is not None
