"""The answer to a question from its passages, by the knowledge retriever and the user's model.

What the agent is told of the passages is in `prompts/internal/passages-found.md`. Models are waited
for in threads of their own, a few at a time: a model may be dead or slow, and no caller waits
longer than its timeout.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from kds.agents.agent import Agent
from kds.agents.models import LazyModel, model_label
from kds.agents.prompting import cited, prompt_with, quoted, summarizer_of
from kds.brain.errors import KdsError
from kds.brain.memory.memory import PromptMemory
from kds.brain.memory.summarizer import Summarizer
from kds.brain.settings import ModelSettings
from kds.brain.turn import Turn
from kds.query.values import Chunk
from kds.router.prompts.library import PromptLibrary

RETRIEVER: Final = "knowledge-retriever"
PASSAGES: Final = "passages-found"
"""Prompt files: of the agent that answers, and of what it is told of the passages."""

NOTHING: Final = PromptMemory()

EMPTY: Final = "the model answered with nothing"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What became of asking a model. All None: none is configured."""

    text: str | None = None
    error: str | None = None
    model: str | None = None


class Answerer:
    """Lets the knowledge retriever answer, with the user's model as it is set at the moment.

    It is loaded once for each way in which it is set.
    """

    def __init__(
        self, library: PromptLibrary, workspace: str, settings: Callable[[], ModelSettings]
    ) -> None:
        self.library = library
        self._workspace, self._settings = workspace, settings
        self._model = LazyModel(settings())

    @property
    def model(self) -> LazyModel:
        """The model as it is set now."""
        if self._model.settings != (settings := self._settings()):
            self._model = LazyModel(settings)
        return self._model

    @property
    def configured(self) -> bool:
        """Whether a model is set at all."""
        return bool(self.model)

    def summarizer(self) -> Summarizer | None:
        """What condenses conversations with the model; None without one."""
        return summarizer_of(self.model, self.library)

    def speak(self, turn: Turn, chunks: Sequence[Chunk], memory: PromptMemory = NOTHING) -> Spoken:
        """Ask the model, and wait for it, but no longer than it has; never raises KdsError."""
        settings = self.model.settings
        label = model_name_of(settings)
        try:
            model = self.model.load()
            if model is None:
                return Spoken()
            label = model_label(model)
            agent = Agent.named(RETRIEVER, self.library, workspace=self._workspace)
            asked = self.prompted(agent, turn, chunks, memory)
            reply = agent.as_runnable(model, timeout_s=settings.timeout_s).invoke(asked)
            text = reply.text.strip()
            return Spoken(text, None, label) if text else Spoken(None, EMPTY, label)
        except KdsError as error:
            return Spoken(None, told(error), label)

    def prompted(
        self, agent: Agent, turn: Turn, chunks: Sequence[Chunk], memory: PromptMemory = NOTHING
    ) -> Turn:
        """``turn`` with the agent's prompt, the memory and the passages. Raises DispatchError."""
        own = agent.taking(turn)
        passages = [{"citation": cited(one.citation), "text": quoted(one.text)} for one in chunks]
        prompt = self.library.render(self.library.get(PASSAGES), {"passages": passages})
        return replace(own, prompt=f"{prompt_with(memory, own.prompt, self.library)}\n\n{prompt}")


def told(error: KdsError) -> str:
    """An error as one line: what is wrong, and the fix.

    >>> told(KdsError("no key", hint="set OPENAI_API_KEY"))
    'no key; fix: set OPENAI_API_KEY'
    """
    return f"{error.message}; fix: {error.hint}" if error.hint else error.message


def model_name_of(settings: ModelSettings) -> str | None:
    """The model's name as the settings have it, or the host that serves it."""
    name = settings.name or settings.base_url
    if name is None:
        return None
    if "://" in name:
        return name.partition("#")[2] or urlsplit(name).hostname
    return name.partition(":")[2] or name


MOST_AT_ONCE: Final = 16
"""Models that are waited for at the same time. Each wait holds a connection; providers limit
a user to a few dozen requests at once."""

GRACE_S: Final = 1.0
"""What a call may take beyond its timeout: its own error says more than ours."""

_Result = TypeVar("_Result")


class WaitError(KdsError):
    """No answer: time was up, or the service is stopping."""


class Speakers:
    """Runs calls that wait for a model, off the event loop it is used from.

    In daemon threads: one that hangs does not keep the process from ending.
    """

    def __init__(self, *, limit: int = MOST_AT_ONCE) -> None:
        self._room = asyncio.Semaphore(limit)
        self._waiting: set[Future[Any]] = set()
        self._stopped = False

    async def run(
        self, call: Callable[[], _Result], *, timeout_s: float, setting: str = "model.timeout_s"
    ) -> _Result:
        """Run ``call``; waiting for a place and for its end take ``timeout_s`` at most.

        ``setting`` is where a user sets that limit. Raises WaitError, and whatever ``call`` raises.
        """
        try:
            async with asyncio.timeout(timeout_s + GRACE_S), self._room:
                return await asyncio.wrap_future(self._start(call))
        except TimeoutError:
            raise WaitError(
                f"no answer within {timeout_s:g} s",
                hint=f"try again, use a faster model, or raise {setting} in your own settings",
            ) from None

    def stop(self) -> None:
        """Release every caller that waits; from any thread."""
        self._stopped = True
        for future in list(self._waiting):
            _release(future)

    def _start(self, call: Callable[[], _Result]) -> Future[_Result]:
        future: Future[_Result] = Future()
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)

        def work() -> None:
            with suppress(InvalidStateError):  # released, or timed out
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001  # it belongs to the caller
                    future.set_exception(error)

        if self._stopped:
            _release(future)
        else:
            run = copy_context().run
            Thread(target=run, args=(work,), name="kds-answer", daemon=True).start()
        return future


def _release(future: Future[Any]) -> None:
    with suppress(InvalidStateError):
        future.set_exception(WaitError("the service is stopping"))
