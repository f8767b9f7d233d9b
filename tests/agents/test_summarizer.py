"""The user's model as a summariser: what it is asked, and what is made of its answer."""

from datetime import UTC, datetime

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from kds.agents.prompting import MESSAGE_CHARS, PROMPT_CHARS, ModelSummarizer
from kds.brain.memory.summarizer import CheckedSummarizer, ExtractiveSummarizer
from kds.brain.passages.values import Message
from kds.router.prompts.library import PromptLibrary

AT = datetime(2025, 11, 3, tzinfo=UTC)


def said(content: str, *, speaker: str | None = None) -> Message:
    return Message("m", "s", 1, "user", content, AT, 3, speaker)


def answering(library: PromptLibrary, text: str) -> ModelSummarizer:
    return ModelSummarizer(GenericFakeChatModel(messages=iter([AIMessage(text)])), library)


def test_the_prompt_has_the_messages_and_the_summary_before_them(library: PromptLibrary) -> None:
    prompt = answering(library, "").render(
        [said("Make it {{ purple }}", speaker="Ann")], "User: wants a button."
    )
    assert "Ann: Make it {{ purple }}" in prompt
    assert "User: wants a button." in prompt
    assert "at most 120 words" in prompt


def test_code_and_very_long_messages_are_shortened(library: PromptLibrary) -> None:
    prompt = answering(library, "").render([said("```py\nx = 1\n```\n" + "word " * 5000)], "")
    assert "[code: py, 1 line]" in prompt
    assert len(prompt) < MESSAGE_CHARS + 3000
    many = answering(library, "").render([said("word " * 5000)] * 1000, "")
    assert len(many) < PROMPT_CHARS * 1.2


def test_the_answer_is_the_summary(library: PromptLibrary) -> None:
    model = answering(library, " They add a login form for Maria Lopez. ")
    made = CheckedSummarizer(ExtractiveSummarizer(), model).make(
        [said("Add a login form for Maria Lopez")]
    )
    assert (made.source, made.text) == ("model", "They add a login form for Maria Lopez.")


def test_a_model_without_an_answer_is_replaced(library: PromptLibrary) -> None:
    model = ModelSummarizer(GenericFakeChatModel(messages=iter([])), library)
    made = CheckedSummarizer(ExtractiveSummarizer(), model).make([said("Add a login form")])
    assert made.source == "extractive"
    assert made.reason is not None
