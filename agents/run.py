"""An agent as a LangChain Runnable: from a Turn or a message to an AgentReply.

    reply = agent.as_runnable(model).invoke("Make it purple")

No call takes longer than ``timeout_s`` in all, whatever the model does: retries, stalls, slow
trickles, several rounds of tools. Every error of a model becomes a ModelError without secrets;
what a tool raises is told to the model. A stream yields replies that add up (`AgentReply.__add__`).
"""

import asyncio
import os
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages import message_chunk_to_message as to_message
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool, StructuredTool, Tool

from kds.agents.exchange import GAP, AskModel, Exchange, Step, UseTool, has_end
from kds.agents.models import (
    ModelError,
    model_error,
    model_label,
    model_secrets,
    model_timeout,
    without_secrets,
)
from kds.agents.reply import AgentReply
from kds.agents.runnable import RouterInput, message_text
from kds.agents.tools import AnyTool, chosen_tools, ready
from kds.brain.errors import KdsError
from kds.brain.message import well_formed
from kds.brain.timeouts import Deadline
from kds.brain.turn import Turn
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

TIMEOUT_S: Final = 60.0
"""Seconds that a reply may take where nothing else is set (settings: model.timeout_s)."""

TEXT_CHARS: Final = 1_000_000
"""Characters of one answer: a model that goes beyond will not stop by itself."""

AgentInput = Turn | RouterInput
"""A Turn from the router, or a message in any shape that the router takes (`RouterInput`);
{"turn": Turn} as well."""

Result = AIMessage | ToolMessage | Mapping[str, Any] | ModelError | None
"""The result of a step; an error is thrown into the exchange."""

_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("kds-loop", default=None)
"""The event loop of the caller: tools that are made for one run there."""


class Prompted(Protocol):
    """What can be run: a `kds.agents.agent.Agent`."""

    @property
    def prompt(self) -> PromptFile:
        """Its prompt file."""
        ...

    @property
    def library(self) -> PromptLibrary:
        """The prompt files of the agents that it may hand on to."""
        ...

    @property
    def name(self) -> str:
        """The name of the prompt file."""
        ...

    def taking(self, turn: Turn) -> Turn:
        """``turn`` as a turn of this agent, with its prompt."""
        ...

    def turn(self, message: str) -> Turn:
        """A turn for a message that has not been routed."""
        ...


class AgentRunnable(Runnable[AgentInput, AgentReply]):
    """Runs one agent. Make it with `Agent.as_runnable` or `kds.agents.load`.

    Raises MessageError for an input without a text, DispatchError for a prompt that cannot be
    rendered, and ModelError.
    """

    def __init__(
        self,
        agent: Prompted,
        model: BaseChatModel | None = None,
        *,
        tools: Iterable[AnyTool] = (),
        timeout_s: float | None = None,
    ) -> None:
        self.agent = agent
        self.model = model
        self.timeout_s = timeout_s or model_timeout(model) or TIMEOUT_S
        self.name = agent.name
        self._given = tuple(tools)
        self._tools, self._notes = chosen_tools(agent.prompt, self._given)

    def with_model(
        self, model: BaseChatModel | None, *, timeout_s: float | None = None
    ) -> "AgentRunnable":
        """The same agent with another model, or with none; the time is that model's, if known."""
        limit = timeout_s or model_timeout(model) or self.timeout_s
        return AgentRunnable(self.agent, model, tools=self._given, timeout_s=limit)

    def invoke(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AgentReply:
        """Run the agent; further arguments go to the model."""
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AgentReply:
        """As `invoke`, in a thread."""
        _LOOP.set(asyncio.get_running_loop())
        return await run_in_executor(config, self.invoke, input, config, **kwargs)

    def stream(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AgentReply]:
        """Yield pieces of the reply; the last one has all that is not text."""
        yield from self._transform_stream_with_config(
            iter([input]), self._transform, config, **kwargs
        )

    async def astream(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AgentReply]:
        """As `stream`, in a thread."""
        _LOOP.set(asyncio.get_running_loop())
        pieces = self.stream(input, config, **kwargs)
        try:
            while (piece := await run_in_executor(config, next, pieces, None)) is not None:
                yield piece
        finally:
            with suppress(ValueError):  # cancelled while the thread waits for the next piece
                pieces.close()  # type: ignore[attr-defined]  # a generator

    def turn(self, given: AgentInput) -> Turn:
        """The turn that the agent answers: the one given, or one for a message."""
        if isinstance(given, Mapping) and isinstance(given.get("turn"), Turn):
            given = given["turn"]
        if isinstance(given, Turn):
            return self.agent.taking(given)
        return self.agent.turn(message_text(given))

    def _invoke(
        self, given: AgentInput, run_manager: object, config: RunnableConfig, **kwargs: Any
    ) -> AgentReply:
        [reply] = self._run(given, config, kwargs, streams=False)
        return reply

    def _transform(
        self, given: Iterator[AgentInput], run_manager: object, config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[AgentReply]:  # fmt: skip
        yield from self._run(next(given), config, kwargs, streams=True)

    def _run(
        self, given: AgentInput, config: RunnableConfig, options: Mapping[str, Any],
        *, streams: bool,
    ) -> Iterator[AgentReply]:  # fmt: skip
        """Yield the pieces of the reply, or the whole."""
        turn, prompt = self.turn(given), self.agent.prompt
        blank = AgentReply(prompt.name, prompt.intent or turn.intent, "", turn.prompt, turn)
        if self.model is None:
            yield replace(blank, text=turn.prompt, notes=self._notes)
            return
        blank = replace(blank, answered=True, model=model_label(self.model))
        tools = {name: ready(tool, turn) for name, tool in self._tools.items()}
        exchange = Exchange(
            prompt, self.agent.library, blank, self.model, tools=tools, notes=self._notes
        )
        yield from _Run(
            steps=exchange.steps(),
            blank=blank,
            model=self.model,
            timeout_s=self.timeout_s,
            deadline=Deadline(self.timeout_s),
            config=config,
            options=options,
            streams=streams and prompt.output is None,
        ).pieces()


@dataclass(slots=True)
class _Run:
    """One exchange under way. `pieces` runs once."""

    steps: Generator[Step, Any, AgentReply]
    blank: AgentReply
    """The reply before anything is said: pieces of a stream are made of it."""
    model: BaseChatModel
    timeout_s: float
    deadline: Deadline
    config: RunnableConfig
    options: Mapping[str, Any]
    """Further arguments of the call, for the model."""
    streams: bool

    def pieces(self) -> Iterator[AgentReply]:
        """Run to the end; yield texts as they come, last what else there is. Raises ModelError."""
        said = _Said(self.blank)
        step = self._next(None)
        while not isinstance(step, AgentReply):
            if isinstance(step, UseTool):
                step = self._next(self._called(step))
            elif self.streams:
                step = self._next((yield from self._streamed(step, said)))
            else:
                step = self._next(self._asked(step))
        yield said.rest(step)

    def _next(self, result: Result) -> Step | AgentReply:
        """Hand the exchange the result of its step; returns its next step, or its reply."""
        try:
            if isinstance(result, ModelError):
                return self.steps.throw(result)
            return self.steps.send(result)
        except StopIteration as stop:
            reply: AgentReply = stop.value
            return reply

    def _asked(self, step: AskModel) -> Result:
        ask = partial(step.runnable.invoke, list(step.messages), self.config, **self.options)
        try:
            answer = self.deadline.call(ask)
        except Exception as error:  # noqa: BLE001  # foreign code; it goes into the exchange
            return self._failure(error)
        return self._read(answer, structured=step.structured)

    def _streamed(self, step: AskModel, said: "_Said") -> Generator[AgentReply, None, Result]:
        """Yield the pieces of an answer; returns all of it, if it has an end."""
        stream = partial(step.runnable.stream, list(step.messages), self.config, **self.options)
        said.begin()
        try:
            for chunk in self.deadline.each(stream):
                if piece := said.heard(chunk):
                    yield piece
        except Exception as error:  # noqa: BLE001  # foreign code; it goes into the exchange
            return self._failure(error)
        answer = said.whole()
        if answer is None or has_end(answer, self.model):
            return self._read(answer)
        message = f"{model_label(self.model)} broke off: the answer has no end"
        hint = "ask again; if it stays so, see what the model's server says"
        return ModelError(message, kind="provider", hint=hint)

    def _called(self, step: UseTool) -> ToolMessage:
        try:
            returned = self._use(step)
        except Exception as error:  # noqa: BLE001  # a tool is foreign code: the model is told
            return _refusal(error, step)
        if isinstance(returned, ToolMessage):
            return returned
        return ToolMessage(str(returned), tool_call_id=step.call["id"] or "")

    def _use(self, step: UseTool) -> object:
        """In the caller's event loop where the tool is made for one: it may be bound to it."""
        call: Any = {**step.call, "type": "tool_call"}
        loop = _LOOP.get()
        if loop is None or not _is_async(step.tool):
            return self.deadline.call(partial(step.tool.invoke, call, self.config))
        future = asyncio.run_coroutine_threadsafe(step.tool.ainvoke(call, self.config), loop)
        try:
            return future.result(self.deadline.left_s)
        finally:
            future.cancel()

    def _read(self, answer: Any, *, structured: bool = False) -> Result:
        """The answer, if it is one."""
        if structured and isinstance(answer, Mapping) and isinstance(answer.get("raw"), AIMessage):
            return answer
        if isinstance(answer, BaseMessage) and not structured:
            return answer if isinstance(answer, AIMessage) else AIMessage(answer.content)
        return self._failure(TypeError(f"the model returned a {type(answer).__name__}"))

    def _failure(self, error: Exception) -> ModelError:
        secrets = {**os.environ, **model_secrets(self.model)}
        name = model_label(self.model)
        return model_error(error, name, secrets=secrets, timeout_s=self.timeout_s)


class _Said:
    """What of a stream has been shown, and what of its newest answer has been heard."""

    def __init__(self, blank: AgentReply) -> None:
        self._blank = blank
        self._shown = ""
        self._chunks: list[AIMessageChunk] = []
        self._size = 0

    def begin(self) -> None:
        """A new answer."""
        self._chunks, self._size = [], 0

    def heard(self, chunk: Any) -> AgentReply | None:
        """Take a chunk; the piece that it is for the caller, if it holds text."""
        if isinstance(chunk, BaseMessage) and not isinstance(chunk, AIMessageChunk):
            chunk = AIMessageChunk(**chunk.model_dump(include=_KEPT))  # the model does not stream
        if not isinstance(chunk, AIMessageChunk):
            raise TypeError(f"the stream held a {type(chunk).__name__}")
        self._chunks.append(chunk)
        text = well_formed(str(chunk.text))
        if not text:
            return None
        if not self._size and self._shown:
            text = GAP + text
        self._size += len(text)
        if self._size > TEXT_CHARS:
            raise ValueError(f"the answer is longer than {TEXT_CHARS} characters")
        self._shown += text
        return replace(self._blank, text=text)

    def whole(self) -> AIMessage | None:
        """The answer, when its stream has ended."""
        if not self._chunks:
            return None
        first, *others = self._chunks
        whole = to_message(first + others if others else first)
        return whole if isinstance(whole, AIMessage) else None

    def rest(self, reply: AgentReply) -> AgentReply:
        """The last piece: all of ``reply`` but the text that has been shown."""
        whole = reply.text
        rest = whole[len(self._shown) :] if whole.startswith(self._shown) else ""
        return replace(reply, text=rest)


_KEPT: Final = {
    *("content", "additional_kwargs", "response_metadata", "id", "tool_calls", "usage_metadata")
}
"""What of a whole answer a chunk has too."""


def _is_async(tool: BaseTool) -> bool:
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun


def _refusal(error: Exception, step: UseTool) -> ToolMessage:
    said = error.message if isinstance(error, KdsError) else str(error)
    text = f"{type(error).__name__}: {without_secrets(said)}" if said else type(error).__name__
    return ToolMessage(text, tool_call_id=step.call["id"] or "", status="error")
