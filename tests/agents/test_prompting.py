"""The user's model as a rewriter and as a summarizer: what it is asked, and what comes back."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from kds.agents import ModelError
from kds.agents.prompting import (
    MESSAGE_CHARS,
    PROMPT_CHARS,
    THINKING_TOKENS,
    ModelRewriter,
    ModelSummarizer,
    bounded,
    configured_rewriter,
)  # fmt: skip
from kds.brain.memory.summarizer import CheckedSummarizer, ExtractiveSummarizer
from kds.brain.passages.values import Message
from kds.brain.settings import ModelSettings
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.checks import OUTPUT_TOKENS

from .openai_server import Dead, Failure, FakeProvider, Text, garbage

SAID = (Utterance("I want to add a FAB button"), Utterance("Planned.", "assistant"))


def faked(library: PromptLibrary, *answers: str) -> ModelRewriter:
    model = GenericFakeChatModel(messages=iter([AIMessage(answer) for answer in answers]))
    return ModelRewriter(model, library, name="fake")


def served(provider: FakeProvider, library: PromptLibrary, **options: object) -> ModelRewriter:
    settings = ModelSettings.model_validate({"name": f"{provider.url}#m", **options})
    rewriter = configured_rewriter(settings, library)
    assert rewriter is not None
    return rewriter


def ask(rewriter: ModelRewriter, history: Sequence[Utterance] = SAID) -> str:
    return rewriter.rewrite(history, "Make it purple", "Make the FAB button purple")


def test_the_prompt_has_the_conversation_the_message_and_the_rules_attempt(
    library: PromptLibrary,
) -> None:
    prompt = faked(library).render(SAID, "Make it {{ purple }}", "Make the FAB button purple")
    assert "User: I want to add a FAB button\nAssistant: Planned.\n" in prompt
    assert "<message>\nMake it {{ purple }}\n</message>" in prompt
    assert "<attempt>\nMake the FAB button purple\n</attempt>" in prompt


def test_the_answer_is_the_text_without_thoughts(library: PromptLibrary) -> None:
    answer = "<think>\nWhat is it?\n</think>\n\nMake the FAB button purple\n"
    assert ask(faked(library, answer)) == "Make the FAB button purple"


def test_a_provider_is_asked_once_with_a_bound(
    provider: FakeProvider, library: PromptLibrary
) -> None:
    provider.play(Text("Make the FAB button purple"))
    rewriter = served(provider, library)
    assert ask(rewriter) == "Make the FAB button purple"
    (asked,) = provider.asked
    assert asked.body["max_completion_tokens"] == OUTPUT_TOKENS
    assert "Make it purple" in asked.text
    assert rewriter.name == f"{provider.url}#m"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [(Failure(401, "bad key"), "key"), (Dead(), "unreachable"), (garbage(), "garbage")],
)
def test_what_goes_wrong_is_a_model_error(
    reply: Failure, kind: str, provider: FakeProvider, library: PromptLibrary
) -> None:
    provider.play(default=reply)
    with pytest.raises(ModelError) as failure:
        ask(served(provider, library, max_retries=0))
    assert failure.value.kind == kind


def test_nothing_is_made_or_sent_before_it_is_asked(
    provider: FakeProvider, library: PromptLibrary
) -> None:
    settings = ModelSettings(name=provider.url)  # which models it serves has to be asked
    rewriter = configured_rewriter(settings, library)
    assert rewriter is not None
    assert rewriter.name == provider.url
    assert (provider.asked, provider.listed) == ([], [])


def test_without_a_model_there_is_no_rewriter(library: PromptLibrary) -> None:
    assert configured_rewriter(ModelSettings(), library) is None


@pytest.mark.parametrize(
    ("model", "field", "limit"),
    [
        (ChatOpenAI(model="gpt-4.1-mini", api_key="k"), "max_tokens", OUTPUT_TOKENS),
        (ChatOpenAI(model="gpt-4.1-mini", api_key="k", max_tokens=40), "max_tokens", 40),
        (
            ChatOpenAI(model="gpt-5-mini", api_key="k"),
            "max_tokens",
            OUTPUT_TOKENS + THINKING_TOKENS,
        ),
        (ChatOllama(model="llama3.1"), "num_predict", OUTPUT_TOKENS),
    ],
    ids=["openai", "tighter", "thinking", "ollama"],
)
def test_the_output_is_bounded_as_each_integration_spells_it(
    model: BaseChatModel, field: str, limit: int
) -> None:
    assert getattr(bounded(model), field) == limit


AT = datetime(2025, 11, 3, tzinfo=UTC)


def told(content: str, *, speaker: str | None = None) -> Message:
    return Message("m", "s", 1, "user", content, AT, 3, speaker)


def answering(library: PromptLibrary, text: str) -> ModelSummarizer:
    return ModelSummarizer(GenericFakeChatModel(messages=iter([AIMessage(text)])), library)


def test_the_prompt_has_the_messages_and_the_summary_before_them(library: PromptLibrary) -> None:
    prompt = answering(library, "").render(
        [told("Make it {{ purple }}", speaker="Ann")], "User: wants a button."
    )
    assert "Ann: Make it {{ purple }}" in prompt
    assert "User: wants a button." in prompt
    assert "at most 120 words" in prompt


def test_code_and_very_long_messages_are_shortened(library: PromptLibrary) -> None:
    prompt = answering(library, "").render([told("```py\nx = 1\n```\n" + "word " * 5000)], "")
    assert "[code: py, 1 line]" in prompt
    assert len(prompt) < MESSAGE_CHARS + 3000
    many = answering(library, "").render([told("word " * 5000)] * 1000, "")
    assert len(many) < PROMPT_CHARS * 1.2


def test_the_answer_is_the_summary(library: PromptLibrary) -> None:
    model = answering(library, " They add a login form for Maria Lopez. ")
    made = CheckedSummarizer(ExtractiveSummarizer(), model).make(
        [told("Add a login form for Maria Lopez")]
    )
    assert (made.source, made.text) == ("model", "They add a login form for Maria Lopez.")


def test_a_model_without_an_answer_is_replaced(library: PromptLibrary) -> None:
    model = ModelSummarizer(GenericFakeChatModel(messages=iter([])), library)
    made = CheckedSummarizer(ExtractiveSummarizer(), model).make([told("Add a login form")])
    assert made.source == "extractive"
    assert made.reason is not None
