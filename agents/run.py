"""An agent as a LangChain Runnable: from a Turn or a message to an AgentReply.

    reply = agent.as_runnable(model).invoke("Make it purple")

No call takes longer than ``timeout_s`` in all, whatever the model does: retries, stalls, slow
trickles, several rounds of tools. Every error of a model becomes a ModelError without secrets;
what a tool raises is told to the model. A stream yields replies that add up (`AgentReply.__add__`).
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool

from kds.agents.agent import Agent
from kds.agents.models import (
    ModelError,
    checked_model,
    load_chat_model,
    model_error,
    model_label,
    model_secrets,
    without_secrets,
)
from kds.agents.reply import HAND_OFF, AgentReply, Handing, Handoff, ToolUse, Usage
from kds.agents.runnable import RouterInput, message_text
from kds.agents.tools import AnyTool, built_in_tools, chosen_tools, ready
from kds.brain.documents.store import DocumentPlace
from kds.brain.errors import KdsError
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.message import well_formed
from kds.brain.settings import load_settings
from kds.brain.timeouts import Deadline
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import schema_faults

TIMEOUT_S: Final = 60.0
"""Seconds that a reply may take where nothing else is set (settings: model.timeout_s)."""

MOST_ROUNDS: Final = 8
"""Times that a model may use tools before it has to answer."""

RESULT_CHARS: Final = 16_000
"""Characters of a tool's result that a model reads: some 4,000 tokens."""

GAP: Final = "\n\n"
"""Between what a model says before it uses tools, and what it says after."""

AgentInput = Turn | RouterInput
"""A Turn from the router, or a message in any shape that the router takes (`RouterInput`);
{"turn": Turn} as well."""

_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length"})
_FILTERED: Final = frozenset({"content_filter", "refusal", "safety"})
_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason", "status")
"""Where OpenAI, Anthropic and Ollama say why an answer ended."""


class AgentRunnable(Runnable[AgentInput, AgentReply]):
    """Runs one agent. Make it with `Agent.as_runnable` or `load`.

    Raises MessageError for an input without a text, DispatchError for a prompt that cannot be
    rendered, and ModelError.
    """

    def __init__(
        self,
        agent: Agent,
        model: BaseChatModel | None = None,
        *,
        tools: Iterable[AnyTool] = (),
        timeout_s: float | None = None,
    ) -> None:
        self.agent = agent
        self.model = model
        self.timeout_s = timeout_s or TIMEOUT_S
        self.name = agent.name
        self._given = tuple(tools)
        self._tools, self._notes = chosen_tools(agent.prompt, self._given)

    def with_model(
        self, model: BaseChatModel | None, *, timeout_s: float | None = None
    ) -> "AgentRunnable":
        """The same agent with another model, or with none."""
        limit = timeout_s or self.timeout_s
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
        [reply] = self._pieces(given, config, kwargs, streams=False)
        return reply

    def _transform(
        self, given: Iterator[AgentInput], run_manager: object, config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[AgentReply]:  # fmt: skip
        yield from self._pieces(next(given), config, kwargs, streams=True)

    def _pieces(
        self, given: AgentInput, config: RunnableConfig, options: Mapping[str, Any],
        *, streams: bool,
    ) -> Iterator[AgentReply]:  # fmt: skip
        turn, prompt = self.turn(given), self.agent.prompt
        blank = AgentReply(prompt.name, prompt.intent or turn.intent, "", turn.prompt, turn)
        if self.model is None:
            yield replace(blank, text=turn.prompt, notes=self._notes)
            return
        yield from _Run(
            self.agent,
            self.model,
            replace(blank, answered=True, model=model_label(self.model)),
            tools={name: ready(tool, turn) for name, tool in self._tools.items()},
            notes=self._notes,
            timeout_s=self.timeout_s,
            streams=streams and prompt.output is None,
            config=config,
            options=options,
        ).pieces()


Place = Workspace | Path | str | None
"""A workspace, or the folder of one; None: the one that the current folder is in."""


def load(
    name: str,
    workspace: Place = None,
    model: BaseChatModel | str | None = None,
    *,
    tools: Iterable[AnyTool] = (),
    documents: BaseRetriever | None = None,
) -> AgentRunnable:
    """The agent of an intent ("PLAN"), or of a prompt file ("work-planner"), ready to run.

    ``model`` is a chat model of LangChain, or the name of one as in KDS_MODEL; None is the one
    that the user's settings name, if any. ``tools`` are those of your own that the prompt file
    names. ``documents`` is what its `search_documents` searches; None: what `kds docs` indexed.
    Raises DispatchError, ConfigError, WorkspaceError and ModelError.
    """
    place = Workspace.at(workspace)
    settings = load_settings(place).model
    checked_model(model)
    if isinstance(model, str):
        settings, model = settings.model_copy(update={"name": model}), None
    if model is None:
        model = load_chat_model(settings)
    library = PromptLibrary.load(place.prompts_dir)
    own = built_in_tools(
        memory=MemoryPlace.of(place), documents=documents or DocumentPlace.of(place)
    )
    return Agent.named(name, library, workspace=str(place.root)).as_runnable(
        model, tools=(*own, *tools), timeout_s=settings.timeout_s
    )


def names(workspace: Place = None) -> tuple[str, ...]:
    """The names of the agents of a workspace, by priority. Raises ConfigError, WorkspaceError."""
    library = PromptLibrary.load(Workspace.at(workspace).prompts_dir)
    return tuple(prompt.name for prompt in library.agents())


class _Run:
    """One agent, one turn, one model: what is said until there is a reply. `pieces` runs once.

    ``blank`` is the reply without what the model says; ``options`` are further arguments for it.
    """

    def __init__(
        self,
        agent: Agent,
        model: BaseChatModel,
        blank: AgentReply,
        *,
        tools: Mapping[str, BaseTool],
        notes: Sequence[str],
        timeout_s: float,
        streams: bool,
        config: RunnableConfig,
        options: Mapping[str, Any],
    ) -> None:
        self._prompt, self._model, self._blank = agent.prompt, model, blank
        self._tools = tools
        self._notes = list(notes)
        self._timeout_s, self._deadline = timeout_s, Deadline(timeout_s)
        self._streams, self._config, self._options = streams, config, options
        self._handing = Handing.of(agent.prompt, agent.library)
        self._offers = bool(self._handing.targets) and HAND_OFF not in tools
        """Whether the model is given the tool to hand on."""
        self._refused = False
        turn = blank.turn
        self._messages: list[BaseMessage] = [
            SystemMessage(turn.prompt),
            *((AIMessage if said.role == "assistant" else HumanMessage)(said.text)
              for said in turn.history),
            HumanMessage(turn.expanded or turn.message),
        ]  # fmt: skip
        self._texts: list[str] = []
        self._shown = ""
        self._data: dict[str, Any] | None = None
        self._handoffs: dict[str, Handoff] = {}
        self._uses: list[ToolUse] = []
        self._usage: Usage | None = None

    def pieces(self) -> Iterator[AgentReply]:
        """Run to the end: yield texts as they arrive, last everything else. Raises ModelError."""
        schema = self._prompt.output
        if schema is None or self._tools:
            yield from self._talk()
        if schema is not None:
            self._structure(schema)
        reply = self._reply()
        rest = reply.text.removeprefix(self._shown) if reply.text.startswith(self._shown) else ""
        yield replace(reply, text=rest)

    def _talk(self) -> Iterator[AgentReply]:
        """Ask and use tools, until the model has nothing more to call."""
        for _ in range(MOST_ROUNDS):
            try:
                answer = yield from self._ask()
            except ModelError as error:
                if self._tools or not self._offers or not _refuses_tools(error):
                    raise
                self._offers, self._refused = False, True
                answer = yield from self._ask()
            if not self._serve(self._heard(answer)):
                return
        self._notes.append(f"stopped after {MOST_ROUNDS} rounds of tools")

    def _ask(self) -> Generator[AgentReply, None, AIMessage]:
        """Ask for one answer; yields its pieces where the caller streams."""
        model = self._bound()
        answer: Any
        with self._model_errors():
            if self._streams:
                answer = yield from self._streamed(model)
            else:
                answer = self._invoked(model)
            if not isinstance(answer, BaseMessage):
                raise TypeError(f"the model returned a {type(answer).__name__}")
        return answer if isinstance(answer, AIMessage) else AIMessage(answer.content)

    def _bound(self) -> Runnable[Any, Any]:
        """The model with its tools."""
        tools = [*self._tools.values(), *([self._handing.tool()] if self._offers else [])]
        if not tools:
            return self._model
        try:
            return self._model.bind_tools(tools)
        except NotImplementedError:
            if self._tools:
                hint = "use another model, or remove 'tools' from the prompt file"
                raise self._unable("takes no tools", hint) from None
            self._offers = False
            return self._model

    def _invoked(self, model: Runnable[Any, Any]) -> Any:
        ask = partial(model.invoke, list(self._messages), self._config, **self._options)
        return self._deadline.call(ask)

    def _streamed(self, model: Runnable[Any, Any]) -> Generator[AgentReply, None, AIMessage | None]:
        whole: AIMessageChunk | None = None
        gap = GAP if self._shown else ""
        ask = partial(model.stream, list(self._messages), self._config, **self._options)
        for chunk in self._deadline.each(ask):
            if not isinstance(chunk, AIMessageChunk):
                raise TypeError(f"the stream held a {type(chunk).__name__}")
            whole = chunk if whole is None else whole + chunk
            if text := well_formed(str(chunk.text)):
                self._shown += gap + text
                yield replace(self._blank, text=gap + text)
                gap = ""
        if whole is None:
            return None
        answer = message_chunk_to_message(whole)
        assert isinstance(answer, AIMessage)
        return answer

    @contextmanager
    def _model_errors(self) -> Iterator[None]:
        """Make a ModelError of what a provider's client raises: anything."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # foreign code
            secrets = {**os.environ, **model_secrets(self._model)}
            label = model_label(self._model)
            raise model_error(error, label, secrets=secrets, timeout_s=self._timeout_s) from None

    def _heard(self, answer: AIMessage) -> AIMessage:
        """Write down an answer. Its tool calls get names and ids: some servers leave ids out."""
        made = {
            field: [
                call
                | {
                    "name": call["name"] if isinstance(call["name"], str) else "",
                    "id": call["id"] or f"call-{len(self._messages)}-{field}-{index}",
                }
                for index, call in enumerate(getattr(answer, field))
            ]
            for field in ("tool_calls", "invalid_tool_calls")
        }
        answer = answer.model_copy(update=made)
        self._messages.append(answer)
        self._count(answer)
        if answer.text:
            self._texts.append(_clean(str(answer.text)))
        return answer

    def _count(self, answer: AIMessage) -> None:
        if (spent := usage_of(answer)) is not None:
            self._usage = spent if self._usage is None else self._usage + spent
        self._notes += answer_notes(answer)

    def _serve(self, answer: AIMessage) -> bool:
        """Do what the model calls for; False when there is nothing to tell it."""
        for broken in answer.invalid_tool_calls:
            reason = f"the arguments are not JSON: {broken['error'] or broken['args']}"
            self._tell({**broken, "args": {}}, reason, failed=True)
        handed_on = bool(answer.text) and not answer.invalid_tool_calls
        for call in answer.tool_calls:
            handed_on = self._take(call) and handed_on
        return bool(answer.tool_calls or answer.invalid_tool_calls) and not handed_on

    def _take(self, call: Mapping[str, Any]) -> bool:
        """Do one call; True when it hands the work on."""
        name, tool = call["name"], self._tools.get(call["name"])
        if tool is not None:
            text, failed = self._used(tool, call)
            self._tell(call, _clean(text[:RESULT_CHARS]), failed=failed)
            return False
        if name == HAND_OFF and self._handing.targets:
            handoff = self._handing.given(call["args"].get("intent"), call["args"].get("reason"))
            if handoff is not None:
                self._handoffs.setdefault(handoff.intent, handoff)
                noted = "noted; now give your answer to the user"
                self._messages.append(ToolMessage(noted, tool_call_id=call["id"], name=name))
                return True
            reason = f"intent must be one of: {', '.join(self._handing.targets)}"
        else:
            reason = f"unknown tool; the tools are: {', '.join(self._tools) or 'none'}"
        self._tell(call, reason, failed=True)
        return False

    def _used(self, tool: BaseTool, call: Mapping[str, Any]) -> tuple[str, bool]:
        """What a tool returns, or what is wrong; and whether it failed."""
        try:
            result = self._run_tool(tool, {**call, "type": "tool_call"})
        except Exception as error:  # noqa: BLE001  # foreign code: the model is told
            said = without_secrets(error.message if isinstance(error, KdsError) else str(error))
            return (f"{type(error).__name__}: {said}" if said else type(error).__name__), True
        if isinstance(result, ToolMessage):
            return str(result.text), result.status == "error"
        return str(result), False

    def _run_tool(self, tool: BaseTool, call: Any) -> object:
        if getattr(tool, "coroutine", None) is None:
            return self._deadline.call(partial(tool.invoke, call, self._config))
        return self._deadline.call(lambda: asyncio.run(tool.ainvoke(call, self._config)))

    def _tell(self, call: Mapping[str, Any], text: str, *, failed: bool) -> None:
        """Tell the model what its call came to, and write it down for the reply."""
        self._uses.append(ToolUse(call["name"], _clean(call["args"]), text, failed=failed))
        status: Any = "error" if failed else "success"
        told = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
        self._messages.append(told)

    def _structure(self, schema: Mapping[str, object]) -> None:
        """Ask for the data, once all tools are used."""
        asking = self._asking({"title": self._prompt.name.replace("-", "_"), **schema})
        with self._model_errors():
            made = self._invoked(asking)
            raw, found = made["raw"], _clean(made["parsed"])
            text = _clean(str(raw.text))
        self._count(raw)
        fits = isinstance(found, dict)
        faults = schema_faults(schema, found) if fits else ["it is not a JSON object"]
        self._texts = [text or json.dumps(found, ensure_ascii=False) if fits else text]
        if faults:
            said = f"no data: the answer does not fit the output schema: {faults[0]}"
            self._notes.append(said)
        else:
            self._data = found

    def _asking(self, schema: dict[str, Any]) -> Runnable[Any, Any]:
        try:
            return self._model.with_structured_output(schema, include_raw=True)
        except NotImplementedError:
            hint = "use another model, or remove 'output' from the prompt file"
            raise self._unable("gives no structured output", hint) from None

    def _unable(self, what: str, hint: str) -> ModelError:
        return ModelError(f"{model_label(self._model)} {what}", kind="refused", hint=hint)

    def _reply(self) -> AgentReply:
        text = GAP.join(self._texts)
        if self._refused and not self._handoffs:
            self._notes.append("no handoffs: the model takes no tools")
        if not text.strip():
            self._notes.append("the model gave no text")
        return replace(
            self._blank,
            text=text,
            data=self._data,
            handoffs=tuple(self._handoffs.values()),
            tools=tuple(self._uses),
            usage=self._usage,
            notes=tuple(dict.fromkeys(self._notes)),
        )


def usage_of(answer: AIMessage) -> Usage | None:
    """The tokens of an answer; None when they are not counted, or not with numbers."""
    counted: Mapping[str, Any] = answer.usage_metadata or {}
    figures = [counted.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
    given, made, total = (figure if type(figure) is int else -1 for figure in figures)
    return Usage(given, made, total) if min(given, made, total) >= 0 else None


def answer_notes(answer: AIMessage) -> Iterator[str]:
    """What a user should know of how an answer ended."""
    endings = {str(answer.response_metadata.get(name)) for name in _ENDINGS}
    if endings & _CUT_OFF:
        yield "the answer was cut off at the limit of tokens (KDS_MODEL_MAX_TOKENS)"
    if endings & _FILTERED:
        yield "the provider held the answer back: its filter objects to it"
    if refusal := answer.additional_kwargs.get("refusal"):
        yield f"the model refuses: {without_secrets(str(refusal))}"


def _clean(value: Any) -> Any:
    """JSON ``value`` as it can be written as UTF-8: models may send half of a surrogate pair."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value


def _refuses_tools(error: ModelError) -> bool:
    """Whether a provider refused a request for the tools in it, as Ollama does for old models."""
    return error.kind in ("refused", "model") and "tool" in error.message.lower()
