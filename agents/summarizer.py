"""The user's chat model as a summariser of conversations, with the prompt from its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kds.agents.models import load_chat_model
from kds.brain.memory.extractive import LABELS
from kds.brain.memory.shortening import mark_code, shorten
from kds.brain.memory.summarizer import Summarizer
from kds.brain.passages.values import Message
from kds.brain.settings import ModelSettings
from kds.router.prompts.library import PromptLibrary

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it comes with a model
    from langchain_core.language_models import BaseChatModel

PROMPT: Final = "conversation-summarizer"

MESSAGE_CHARS: Final = 4000
"""Characters of one message that the model reads; what it misses of a longer one is added from
the facts that `kds.brain.memory.summarizer` finds lacking."""

LEAST_CHARS: Final = 80
PROMPT_CHARS: Final = 120_000
"""Characters of all messages together, some 30,000 tokens: an imported session can be any size."""

MODEL_WORDS: Final = 120
"""Words that the model is asked for: what it leaves out has room behind them."""


def summarizer_of(load: Callable[[], BaseChatModel | None], library: PromptLibrary) -> Summarizer:
    """Return a summarizer whose model is loaded when it is first asked."""

    def summarize(messages: Sequence[Message], previous: str) -> str:
        model = load()
        return ModelSummarizer(model, library)(messages, previous) if model is not None else ""

    return summarize


def settings_summarizer(settings: ModelSettings, library: PromptLibrary) -> Summarizer | None:
    """Return the summarizer with the model of the settings; None where none is set."""
    if not (settings.name or settings.base_url):
        return None
    return summarizer_of(lambda: load_chat_model(settings), library)


@dataclass(frozen=True, slots=True)
class ModelSummarizer:
    """A `kds.brain.memory.summarizer.Summarizer` that asks a LangChain chat model.

    It raises whatever the model raises and waits as long as the model takes: `CheckedSummarizer`
    bounds the time, checks what comes back, and falls back.
    """

    model: BaseChatModel
    library: PromptLibrary
    words: int = MODEL_WORDS

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the model's summary. Raises DispatchError when the prompt cannot be rendered."""
        answer = self.model.invoke(self.render(messages, previous))
        return str(answer.text).strip()

    def render(self, messages: Sequence[Message], previous: str) -> str:
        """Return the prompt. What was said enters it as data only."""
        limit = min(MESSAGE_CHARS, max(PROMPT_CHARS // max(len(messages), 1), LEAST_CHARS))
        values = {
            "previous": previous,
            "messages": [
                {
                    "speaker": message.speaker or LABELS[message.role],
                    "text": shorten(mark_code(message.content), limit=limit),
                }
                for message in messages
            ],
            "words": self.words,
        }
        return self.library.render(self.library.get(PROMPT), values)
