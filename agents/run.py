"""Does what an exchange asks for, in time: one way, for callers with and without an event loop.

Every error of a model becomes a ModelError without secrets; what a tool raises is told to the
model as text.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages import message_chunk_to_message as to_message
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool

from kds.agents.answer import has_end
from kds.agents.exchange import GAP, AskModel, Step, UseTool
from kds.agents.model_error import ModelError, model_error, without_secrets
from kds.agents.models import model_label, model_secrets
from kds.agents.reply import AgentReply
from kds.brain.errors import KdsError
from kds.brain.message import well_formed
from kds.brain.timeouts import Deadline, Inbox

TEXT_CHARS: Final = 1_000_000
"""Characters of one answer: a model that goes beyond will not stop by itself."""

Result = AIMessage | ToolMessage | Mapping[str, Any] | ModelError | None
"""What comes of a step; an error is thrown into the exchange."""


class LoopInbox:
    """An inbox (`kds.brain.timeouts`) of the running event loop, which goes on meanwhile."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Any] = asyncio.Queue()

    def put(self, item: Any, /) -> None:
        """Take an item. Raises RuntimeError when the loop is closed."""
        self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    async def get(self, left_s: float, /) -> Any:
        """Return the next item. Raises TimeoutError."""
        if not self._items.empty():
            return self._items.get_nowait()
        async with asyncio.timeout(left_s):
            return await self._items.get()


@dataclass(slots=True)
class Run:
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
    inbox: Callable[[], Inbox]
    """How to wait: with `kds.brain.deadline.BlockingQueue` no event loop is needed."""
    streams: bool

    async def pieces(self) -> AsyncGenerator[AgentReply, None]:
        """Run to the end; yield texts as they come, last what else there is. Raises ModelError."""
        said = _Said(self.blank)
        step = self._next(None)
        while not isinstance(step, AgentReply):
            if isinstance(step, UseTool) or not self.streams:
                step = self._next(await self._done(step))
                continue
            said.begin()
            failure: ModelError | None = None
            try:
                stream = partial(self._stream, step)
                async with aclosing(self.deadline.heard(stream, self.inbox())) as chunks:
                    async for chunk in chunks:
                        if piece := said.heard(chunk):
                            yield piece
            except Exception as error:  # noqa: BLE001  # foreign code; it goes into the exchange
                failure = self._failure(error)
            step = self._next(failure or self._streamed(said.whole()))
        yield said.rest(step)

    def _next(self, result: Result) -> Step | AgentReply:
        """Tell the exchange what came of its step; what it wants next, or its reply."""
        try:
            if isinstance(result, ModelError):
                return self.steps.throw(result)
            return self.steps.send(result)
        except StopIteration as stop:
            reply: AgentReply = stop.value
            return reply

    async def _done(self, step: Step) -> Result:
        if isinstance(step, UseTool):
            return await self._called(step)
        ask = partial(step.runnable.invoke, list(step.messages), self.config, **self.options)
        try:
            answer = await self.deadline.called(ask, self.inbox())
        except Exception as error:  # noqa: BLE001  # foreign code; it goes into the exchange
            return self._failure(error)
        return self._read(answer, structured=step.structured)

    def _stream(self, step: AskModel) -> Iterable[object]:
        return step.runnable.stream(list(step.messages), self.config, **self.options)

    async def _called(self, step: UseTool) -> ToolMessage:
        try:
            returned = await self._use(step)
        except Exception as error:  # noqa: BLE001  # a tool is foreign code: the model is told
            return _refusal(error, step)
        if isinstance(returned, ToolMessage):
            return returned
        return ToolMessage(str(returned), tool_call_id=step.call["id"] or "")

    async def _use(self, step: UseTool) -> object:
        """In the event loop where the tool is made for one: what it holds may be bound to it."""
        call: Any = {**step.call, "type": "tool_call"}
        inbox = self.inbox()
        if isinstance(inbox, LoopInbox) and _is_async(step.tool):
            async with asyncio.timeout(self.deadline.left_s):
                return await step.tool.ainvoke(call, self.config)
        return await self.deadline.called(partial(step.tool.invoke, call, self.config), inbox)

    def _read(self, answer: Any, *, structured: bool = False) -> Result:
        """The answer, if it is one."""
        if structured and isinstance(answer, Mapping) and isinstance(answer.get("raw"), AIMessage):
            return answer
        if isinstance(answer, BaseMessage) and not structured:
            return answer if isinstance(answer, AIMessage) else AIMessage(answer.content)
        return self._failure(TypeError(f"a {type(answer).__name__} came back, no message"))

    def _streamed(self, answer: AIMessage | None) -> Result:
        """The answer of a stream, if it has an end."""
        if answer is None or has_end(answer, self.model):
            return self._read(answer)
        message = f"{model_label(self.model)} broke off: the answer has no end"
        hint = "ask again; if it stays so, see what the model's server says"
        return ModelError(message, kind="provider", hint=hint)

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
            chunk = _as_chunk(chunk)  # of a model that does not stream
        if not isinstance(chunk, AIMessageChunk):
            raise TypeError(f"a {type(chunk).__name__} came in the stream, no message")
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


def _as_chunk(whole: BaseMessage) -> AIMessageChunk:
    """A whole answer as the one chunk of a stream."""
    kept = {
        "content",
        "additional_kwargs",
        "response_metadata",
        "id",
        "tool_calls",
        "usage_metadata",
    }
    return AIMessageChunk(**whole.model_dump(include=kept))


def _is_async(tool: BaseTool) -> bool:
    if isinstance(tool, StructuredTool | Tool):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun


def _refusal(error: Exception, step: UseTool) -> ToolMessage:
    said = error.message if isinstance(error, KdsError) else str(error)
    text = f"{type(error).__name__}: {without_secrets(said)}" if said else type(error).__name__
    return ToolMessage(text, tool_call_id=step.call["id"] or "", status="error")
