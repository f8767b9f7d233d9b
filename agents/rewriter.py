"""The user's chat model as a rewriter of messages, with the prompt from its file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kds.agents.models import ModelError, load_chat_model, model_error, model_label, model_secrets
from kds.brain.memory.shortening import mark_code, shorten
from kds.brain.message import one_line
from kds.brain.settings import ModelSettings
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.checks import OUTPUT_TOKENS

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it comes with a model
    from langchain_core.language_models import BaseChatModel

PROMPT: Final = "query-rewriter"

SAID_CHARS: Final = 600
"""Characters of one earlier message that the model reads: what a follow-up points to is said in
few words, and six messages of this length are some 900 tokens."""

THINKING_TOKENS: Final = 1_024
"""More output for models that think before they write: their thoughts count as output."""

_LIMITS: Final = ("max_tokens", "num_predict", "max_output_tokens")
"""How LangChain's integrations call the bound on the output."""

_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)


class ModelRewriter:
    """A `kds.router.rewriting.writer.Rewriter` that asks a LangChain chat model. For any threads.

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
        self._given = model
        self._library = library
        self._name = name
        self._lock = Lock()
        self._model: BaseChatModel | None = None

    @property
    def name(self) -> str:
        """The model as the user calls it, else as it calls itself."""
        return self._name or model_label(self._bounded())

    @cached_property
    def version(self) -> str:
        """A hash of the model's name and of the prompt."""
        prompt = self._library.get(PROMPT)
        content = "\0".join((self.name, prompt.body, str(OUTPUT_TOKENS)))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def rewrite(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Return what the model writes. Raises ModelError, DispatchError when the prompt fails."""
        prompt = self.render(history, message, expanded)
        model = self._bounded()
        try:
            answer = model.invoke(prompt, {"run_name": PROMPT, "tags": ["kds", PROMPT]})
        except Exception as error:  # whatever a provider's client raises
            raise model_error(error, self.name, secrets=model_secrets(model)) from error
        return _THOUGHTS.sub("", str(answer.text)).strip()

    def render(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        """Return the prompt. What was said enters it as data only."""
        values = {
            "messages": [
                {
                    "speaker": _SPEAKERS[said.role],
                    "text": one_line(shorten(mark_code(said.text), limit=SAID_CHARS)),
                }
                for said in history
            ],
            "message": message,
            "expanded": expanded if expanded != message else "",
        }
        return self._library.render(self._library.get(PROMPT), values)

    def _bounded(self) -> BaseChatModel:
        """The model, with its output bounded; made at the first call."""
        with self._lock:
            if self._model is None:
                self._model = bounded(self._made())
            return self._model

    def _made(self) -> BaseChatModel:
        given: Any = self._given
        model: BaseChatModel = given if hasattr(given, "invoke") else given()
        return model


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
    if field is None:
        return model
    profile = getattr(model, "profile", None) or {}
    limit = OUTPUT_TOKENS + (THINKING_TOKENS if profile.get("reasoning_output") else 0)
    own = getattr(model, field)
    if isinstance(own, int) and own <= limit:
        return model
    return model.model_copy(update={field: limit})
