"""An agent as a LangChain Runnable: from a Turn or a message to an AgentReply.

    reply = agent.as_runnable(model).invoke("Make it purple")

Whatever the model does, no call takes longer than ``timeout_s`` in all: retries, stalls, slow
trickles, several rounds of tools. A stream yields replies that add up (`AgentReply.__add__`).
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig

from kds.agents.exchange import Exchange
from kds.agents.models import model_label, model_timeout
from kds.agents.reply import AgentReply
from kds.agents.run import LoopInbox, Run
from kds.agents.runnable import RouterInput, message_text
from kds.agents.tools import AnyTool, chosen_tools, ready
from kds.brain.errors import MessageError
from kds.brain.timeouts import BlockingQueue, Deadline, Inbox, one_by_one
from kds.brain.turn import Turn
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

TIMEOUT_S: Final = 60.0
"""Seconds that a reply may take where nothing else is set (settings: model.timeout_s)."""

AgentInput = Turn | RouterInput
"""A Turn from the router, or a message in any shape that the router takes (`RouterInput`);
{"turn": Turn} as well."""


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
        """A turn for a message that nobody routed."""
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
        """As `invoke`, in the event loop; time out, and the request is cancelled."""
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AgentReply]:
        """Yield pieces of the reply; the last one has all that is no text."""
        yield from self.transform(iter([input]), config, **kwargs)

    async def astream(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AgentReply]:
        """As `stream`, in the event loop."""
        async for piece in self.atransform(_one(input), config, **kwargs):
            yield piece

    def transform(
        self, input: Iterator[AgentInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AgentReply]:
        """Yield pieces of the reply to what the pieces of ``input`` are together."""
        yield from self._transform_stream_with_config(input, self._transform, config, **kwargs)

    async def atransform(
        self, input: AsyncIterator[AgentInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AgentReply]:
        """As `transform`, in the event loop."""
        pieces = self._atransform_stream_with_config(input, self._atransform, config, **kwargs)
        async for piece in pieces:
            yield piece

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
        [reply] = one_by_one(self._run(given, config, kwargs, BlockingQueue, streams=False))
        return reply

    async def _ainvoke(
        self, given: AgentInput, run_manager: object, config: RunnableConfig, **kwargs: Any
    ) -> AgentReply:
        async with aclosing(self._run(given, config, kwargs, LoopInbox, streams=False)) as replies:
            [reply] = [reply async for reply in replies]
        return reply

    def _transform(
        self, given: Iterator[AgentInput], run_manager: object, config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[AgentReply]:  # fmt: skip
        yield from one_by_one(self._run(_sum(list(given)), config, kwargs, BlockingQueue))

    async def _atransform(
        self, given: AsyncIterator[AgentInput], run_manager: object, config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[AgentReply]:  # fmt: skip
        whole = _sum([piece async for piece in given])
        async with aclosing(self._run(whole, config, kwargs, LoopInbox)) as replies:
            async for reply in replies:
                yield reply

    async def _run(
        self, given: AgentInput, config: RunnableConfig, options: Mapping[str, Any],
        inbox: Callable[[], Inbox], *, streams: bool = True,
    ) -> AsyncGenerator[AgentReply, None]:  # fmt: skip
        """Yield the pieces of the reply, or the whole; ``inbox`` says how the caller waits."""
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
        run = Run(
            steps=exchange.steps(),
            blank=blank,
            model=self.model,
            timeout_s=self.timeout_s,
            deadline=Deadline(self.timeout_s),
            config=config,
            options=options,
            inbox=inbox,
            streams=streams and prompt.output is None,
        )
        async with aclosing(run.pieces()) as pieces:
            async for piece in pieces:
                yield piece


async def _one(given: AgentInput) -> AsyncIterator[AgentInput]:
    yield given


def _sum(pieces: list[Any]) -> Any:
    """What the pieces of an input are together, where they add up; else the last one."""
    if not pieces:
        raise MessageError("there is no message", hint="pass a text, or a Turn")
    whole, *others = pieces
    for piece in others:
        try:
            whole = whole + piece
        except TypeError:
            whole = piece
    return whole
