"""What KDS itself asks the user's chat model, by prompt files: to rewrite messages, to summarize
conversations, to hand a session over; and how a prompt quotes what is stored, so that nothing in it
poses as the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kds.agents.models import (
    LazyModel,
    ModelError,
    load_chat_model,
    model_error,
    model_label,
    model_secrets,
)
from kds.brain.memory.memory import PromptMemory
from kds.brain.memory.shortening import mark_code, shorten
from kds.brain.memory.summarizer import LABELS, Summarizer
from kds.brain.message import one_line
from kds.brain.passages.values import Message
from kds.brain.settings import ModelSettings
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.checks import OUTPUT_TOKENS

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it comes with a model
    from langchain_core.language_models import BaseChatModel

REWRITER: Final = "query-rewriter"
SUMMARIZER: Final = "conversation-summarizer"
HANDOFF: Final = "handoff-writer"
MEMORY: Final = "memory-found"
"""The prompt files; the last says what an agent is told of the memory."""

SAID_CHARS: Final = 600
"""Characters of one earlier message that a rewriter reads: what a follow-up points to is said in
few words, and six messages of this length are some 900 tokens."""

THINKING_TOKENS: Final = 1_024
"""More output for models that think before they write: their thoughts count as output."""

MESSAGE_CHARS: Final = 4000
"""Characters of one message that a summarizer reads; what it misses of a longer one is added from
the facts that `kds.brain.memory.summarizer` finds lacking."""

LEAST_CHARS: Final = 80
PROMPT_CHARS: Final = 120_000
"""Characters of all messages together, some 30,000 tokens: an imported session can be any size."""

SUMMARY_WORDS: Final = 120
"""Words that the model is asked for: what it leaves out has room behind them."""

BRIEF_WORDS: Final = 450
"""Words that a brief is asked for: with the lists of files and commands it has 1,500 tokens."""

PASSAGE_CHARS: Final = 2000
"""Characters of one passage that a model reads: a chunk has 500 tokens at most."""

CITATION_CHARS: Final = 400
"""Characters of a citation that a model reads: a heading may be as long as its document."""

_LIMITS: Final = ("max_tokens", "num_predict", "max_output_tokens")
"""How LangChain's integrations call the bound on the output."""

_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)

_FRAME: Final = re.compile(r"<(?=\W*(?:passages|memory|profile)\b)", re.IGNORECASE)
"""The tags that frame quotations, which a quotation could close."""

_NUMBER: Final = re.compile(r"\[(\s*\d+\s*)\]")
"""What a passage begins with, which a heading could hold."""


class ModelRewriter:
    """Asks a LangChain chat model for self-contained messages. For any threads.

    It raises ModelError, and waits as long as the model takes: `CheckedRewriter` bounds the time,
    checks what comes back, and falls back. A model given as a function is made when it is first
    asked, within that time.
    """

    def __init__(
        self,
        model: BaseChatModel | Callable[[], BaseChatModel],
        library: PromptLibrary,
        *,
        name: str | None = None,
    ) -> None:
        self._given: Any = model
        self._library = library
        self._name = name
        self._lock = Lock()
        self._model: BaseChatModel | None = None

    @property
    def name(self) -> str:
        """The model as the user calls it, else as it calls itself."""
        return self._name or model_label(self._bounded())

    def rewrite(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Return what the model writes. Raises ModelError, DispatchError when the prompt fails."""
        prompt = self.render(history, message, expanded)
        model = self._bounded()
        try:
            answer = model.invoke(prompt, {"run_name": REWRITER, "tags": ["kds", REWRITER]})
        except Exception as error:  # whatever a provider's client raises
            raise model_error(error, self.name, secrets=model_secrets(model)) from error
        return _THOUGHTS.sub("", str(answer.text)).strip()

    def render(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Return the prompt. What was said enters it as data only."""
        said = [
            {
                "speaker": _SPEAKERS[one.role],
                "text": one_line(shorten(mark_code(one.text), limit=SAID_CHARS)),
            }
            for one in history
        ]
        more = expanded if expanded != message else ""
        values = {"messages": said, "message": message, "expanded": more}
        return self._library.render(self._library.get(REWRITER), values)

    def _bounded(self) -> BaseChatModel:
        """The model, with its output bounded; made at the first call."""
        with self._lock:
            if self._model is None:
                given = self._given
                self._model = bounded(given if hasattr(given, "invoke") else given())
            return self._model


def configured_rewriter(settings: ModelSettings, library: PromptLibrary) -> ModelRewriter | None:
    """The rewriter with the model that ``settings`` name; None when they name none.

    Nothing is imported or sent before it is first asked.
    """
    name = settings.name or settings.base_url
    if name is None:
        return None

    def load() -> BaseChatModel:
        model = load_chat_model(settings)
        if model is None:
            raise ModelError("no model is set up", kind="setting")
        return model

    return ModelRewriter(load, library, name=name)


def bounded(model: BaseChatModel) -> BaseChatModel:
    """Return ``model`` with its output bounded to what a rewrite may have.

    A tighter bound of the user's stays. A model that has no such setting comes back as it is:
    the checks still turn a longer text down.
    """
    field = next((name for name in _LIMITS if name in type(model).model_fields), None)
    profile = getattr(model, "profile", None) or {}
    limit = OUTPUT_TOKENS + (THINKING_TOKENS if profile.get("reasoning_output") else 0)
    own = getattr(model, field) if field else 0
    if field is None or (isinstance(own, int) and own <= limit):
        return model
    return model.model_copy(update={field: limit})


@dataclass(frozen=True, slots=True)
class ModelSummarizer:
    """A `kds.brain.memory.summarizer.Summarizer` that asks a LangChain chat model.

    It raises whatever the model raises and waits as long as the model takes: `CheckedSummarizer`
    bounds the time, checks what comes back, and falls back.
    """

    model: BaseChatModel
    library: PromptLibrary

    def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Return the model's summary. Raises DispatchError when the prompt cannot be rendered."""
        answer = self.model.invoke(self.render(messages, previous))
        return str(answer.text).strip()

    def render(self, messages: Sequence[Message], previous: str) -> str:
        """Return the prompt. What was said enters it as data only."""
        values = {"previous": previous, "messages": _said(messages), "words": SUMMARY_WORDS}
        return self.library.render(self.library.get(SUMMARIZER), values)


def _said(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as a prompt quotes them, of PROMPT_CHARS in all."""
    limit = min(MESSAGE_CHARS, max(PROMPT_CHARS // max(len(messages), 1), LEAST_CHARS))
    return [
        {
            "speaker": one.speaker or LABELS[one.role],
            "text": shorten(mark_code(one.content), limit=limit),
        }
        for one in messages
    ]


BriefWriter = Callable[[Sequence[Message], str], str]
"""Writes the brief of a session from its messages and the brief by rule."""


def brief_writer(settings: ModelSettings, library: PromptLibrary) -> BriefWriter | None:
    """Return the writer with the model of the settings; None where none is set.

    It raises ModelError, and waits as long as the model takes.
    """
    name = settings.name or settings.base_url
    if not name:
        return None

    def write(messages: Sequence[Message], by_rule: str) -> str:
        most = PROMPT_CHARS // LEAST_CHARS
        values = {"brief": by_rule, "messages": _said(messages[-most:]), "words": BRIEF_WORDS}
        prompt = library.render(library.get(HANDOFF), values)
        model = load_chat_model(settings)
        if model is None:
            return ""
        try:
            answer = model.invoke(prompt, {"run_name": HANDOFF, "tags": ["kds", HANDOFF]})
        except Exception as error:  # whatever a provider's client raises
            raise model_error(error, name, secrets=model_secrets(model)) from error
        return _THOUGHTS.sub("", str(answer.text)).strip()

    return write


def summarizer_of(model: LazyModel, library: PromptLibrary) -> Summarizer | None:
    """Return what condenses conversations with ``model``; None where there is none."""

    def summarize(messages: Sequence[Message], previous: str) -> str:
        loaded = model.load()
        return ModelSummarizer(loaded, library)(messages, previous) if loaded is not None else ""

    return summarize if model else None


def prompt_with(found: PromptMemory, prompt: str, library: PromptLibrary) -> str:
    """Return ``prompt`` with what the memory has on the matter. Raises DispatchError."""
    if not found:
        return prompt
    passages = [{"citation": cited(one.citation), "text": quoted(one.text)}
                for one in found.passages]  # fmt: skip
    values = {"profile": [cited(line) for line in found.profile], "passages": passages}
    return f"{prompt}\n\n{library.render(library.get(MEMORY), values)}"


def cited(citation: str) -> str:
    """A citation on one line, in which nothing closes the frame or begins a passage.

    >>> cited("Loan </passages> [2] Fees")
    'Loan &lt;/passages> (2) Fees'
    """
    line = " ".join(citation.split())[:CITATION_CHARS]
    return _NUMBER.sub(r"(\1)", _FRAME.sub("&lt;", line))


def quoted(text: str) -> str:
    """The text of a passage, each line marked as quoted: a number or a heading in it is its own.

    >>> print(quoted("Fees:\\n[2] Loan, Section 9"))
    > Fees:
    > [2] Loan, Section 9
    """
    lines = _FRAME.sub("&lt;", text[:PASSAGE_CHARS]).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)
