"""An agent as a LangChain Runnable, from a Turn or a message to an AgentReply; and the router.

    reply = agent.as_runnable(model).invoke("Make it purple")

No call takes longer than ``timeout_s`` in all, whatever the model does: retries, stalls, slow
trickles, several rounds of tools. Every error of a model becomes a ModelError without secrets;
what a tool raises is told to the model. A stream yields replies that add up (`AgentReply.__add__`).
"""

import asyncio
import json
import os
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
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
    convert_to_messages,
    message_chunk_to_message,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool

from kds.agents.agent import Agent, AgentReply, Handoff, ToolUse, Usage
from kds.agents.models import (
    LazyModel,
    ModelError,
    model_error,
    model_label,
    model_secrets,
    without_secrets,
)
from kds.agents.tools import AnyTool, chosen_tools, ready, workspace_tools
from kds.brain.errors import KdsError, MessageError
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

HAND_OFF: Final = "hand_off"
"""Name of the tool that hands the work on."""

REASON_CHARS: Final = 300

GAP: Final = "\n\n"
"""Between what a model says before it uses tools, and what it says after."""

RouterInput = str | BaseMessage | PromptValue | Sequence[Any] | Mapping[str, Any]
"""A text, a human message, messages (the last human one counts), or {"message": one of these}."""

AgentInput = Turn | RouterInput
"""A Turn from the router, or a message in any shape that the router takes (`RouterInput`);
{"turn": Turn} as well."""

_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length"})
_FILTERED: Final = frozenset({"content_filter", "refusal", "safety"})
_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason", "status")
"""Where OpenAI, Anthropic and Ollama say why an answer ended."""


def router_runnable(
    route: Callable[[str], Turn], *, name: str = "kds-router"
) -> Runnable[RouterInput, Turn]:
    """A Runnable that routes a message and returns its Turn.

    Batches run one message after the other, in order: each is part of the conversation that the
    next one may refer to. Raises MessageError for an input without a human text.
    """
    step: Runnable[RouterInput, Turn] = RunnableLambda(
        lambda given: route(message_text(given)), name=name
    )
    return step.with_config(max_concurrency=1)


def message_text(given: object) -> str:
    """The text of the user, out of every shape that LangChain hands on. Raises MessageError."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, BaseMessage):
        return str(given.text)
    if isinstance(given, Mapping):
        for key in ("message", "messages", "input"):
            if key in given:
                return message_text(given[key])
        fault = f"no 'message' among the keys: {', '.join(map(str, given)) or 'none'}"
    elif isinstance(given, PromptValue) or (
        isinstance(given, Sequence) and not isinstance(given, bytes | bytearray)
    ):
        fault = "no human message in the list"
        try:
            messages = given.to_messages() if isinstance(given, PromptValue) else given
            for message in reversed(convert_to_messages(messages)):
                if isinstance(message, HumanMessage):
                    return str(message.text)
        except (NotImplementedError, ValueError, TypeError, KeyError) as error:
            fault = f"not a list of messages: {error}"
    else:
        fault = f"not a message: {type(given).__name__}"
    hint = 'pass a text, a HumanMessage, a list of messages, or {"message": ...}'
    raise MessageError(fault, hint=hint)


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
        self.tools, self.notes = chosen_tools(agent.prompt, self._given)

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

        def whole(
            given: AgentInput, run_manager: object, config: RunnableConfig, **options: Any
        ) -> AgentReply:
            [reply] = self._pieces(given, config, options, streams=False)
            return reply

        return self._call_with_config(whole, input, config, **kwargs)

    def stream(
        self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AgentReply]:
        """Yield pieces of the reply; the last one has all that is not text."""

        def pieces(
            given: Iterator[AgentInput], run_manager: object, config: RunnableConfig,
            **options: Any,
        ) -> Iterator[AgentReply]:  # fmt: skip
            yield from self._pieces(next(given), config, options, streams=True)

        yield from self._transform_stream_with_config(iter([input]), pieces, config, **kwargs)

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

    def _pieces(
        self, given: AgentInput, config: RunnableConfig, options: Mapping[str, Any],
        *, streams: bool,
    ) -> Iterator[AgentReply]:  # fmt: skip
        turn, prompt = self.turn(given), self.agent.prompt
        blank = AgentReply(prompt.name, prompt.intent or turn.intent, "", turn.prompt, turn)
        if self.model is None:
            yield replace(blank, text=turn.prompt, notes=self.notes)
            return
        blank = replace(blank, answered=True, model=model_label(self.model))
        yield from _Run(self, self.model, blank, streams, config, options).pieces()


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
    asked = LazyModel(load_settings(place).model, model)
    agent = Agent.named(name, PromptLibrary.load(place.prompts_dir), workspace=str(place.root))
    own = workspace_tools(place, documents)
    return agent.as_runnable(asked.load(), tools=(*own, *tools), timeout_s=asked.settings.timeout_s)


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
        runnable: AgentRunnable,
        model: BaseChatModel,
        blank: AgentReply,
        streams: bool,
        config: RunnableConfig,
        options: Mapping[str, Any],
    ) -> None:
        turn, prompt = blank.turn, runnable.agent.prompt
        self._prompt, self._model, self._blank = prompt, model, blank
        self._streams = streams and prompt.output is None
        self._config, self._options = config, options
        self._deadline, self._timeout_s = Deadline(runnable.timeout_s), runnable.timeout_s
        self._tools = {name: ready(tool, turn) for name, tool in runnable.tools.items()}
        found = ((one, runnable.agent.library.for_intent(one)) for one in prompt.handoffs)
        self._targets = {intent: agent for intent, agent in found if agent is not None}
        self._offers = bool(self._targets) and HAND_OFF not in self._tools
        """Whether the model is given the tool to hand on."""
        self._refused = False
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
        self._notes = list(runnable.notes)

    def pieces(self) -> Iterator[AgentReply]:
        """Run to the end: yield texts as they arrive, last everything else. Raises ModelError."""
        if self._prompt.output is None or self._tools:
            yield from self._talk()
        if self._prompt.output is not None:
            self._structure(self._prompt.output)
        text = GAP.join(self._texts)
        if self._refused and not self._handoffs:
            self._notes.append("no handoffs: the model takes no tools")
        if not text.strip():
            self._notes.append("the model gave no text")
        yield replace(
            self._blank,
            text=text.removeprefix(self._shown) if text.startswith(self._shown) else "",
            data=self._data,
            handoffs=tuple(self._handoffs.values()),
            tools=tuple(self._uses),
            usage=self._usage,
            notes=tuple(dict.fromkeys(self._notes)),
        )

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
            answer = _with_ids(answer, len(self._messages))
            self._messages.append(answer)
            self._count(answer)
            if answer.text:
                self._texts.append(_clean(str(answer.text)))
            if not self._serve(answer):
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
        tools: list[Any] = [*self._tools.values()]
        if self._offers:
            tools.append(self._hand_off_schema())
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

    def _hand_off_schema(self) -> dict[str, Any]:
        """The tool to hand on, as the model is told of it."""
        lines = "\n".join(f"{name}: {agent.description}" for name, agent in self._targets.items())
        intent = {"type": "string", "enum": list(self._targets), "description": "who goes on"}
        reason = {"type": "string", "description": "why, in one sentence"}
        return {
            "title": HAND_OFF,
            "description": "Hand the work on when yours is done and the user's wish goes beyond "
            f"it. Write your answer as well.\n{lines}",
            "type": "object",
            "properties": {"intent": intent, "reason": reason},
            "required": ["intent"],
        }

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

    def _count(self, answer: AIMessage) -> None:
        """Add up its tokens, and note what a user should know of how it ended."""
        counted: Mapping[str, Any] = answer.usage_metadata or {}
        figures = [counted.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
        if all(type(figure) is int and figure >= 0 for figure in figures):
            spent = Usage(*figures)  # type: ignore[arg-type]  # they are numbers
            self._usage = spent if self._usage is None else self._usage + spent
        endings = {str(answer.response_metadata.get(name)) for name in _ENDINGS}
        if endings & _CUT_OFF:
            cut = "the answer was cut off at the limit of tokens (KDS_MODEL_MAX_TOKENS)"
            self._notes.append(cut)
        if endings & _FILTERED:
            self._notes.append("the provider held the answer back: its filter objects to it")
        if refusal := answer.additional_kwargs.get("refusal"):
            self._notes.append(f"the model refuses: {without_secrets(str(refusal))}")

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
        name, arguments = call["name"], call["args"]
        if (tool := self._tools.get(name)) is not None:
            text, failed = self._used(tool, call)
            self._tell(call, _clean(text[:RESULT_CHARS]), failed=failed)
            return False
        if name != HAND_OFF or not self._targets:
            known = ", ".join(self._tools) or "none"
            self._tell(call, f"unknown tool; the tools are: {known}", failed=True)
            return False
        said, why = arguments.get("intent"), arguments.get("reason")
        said = said.strip() if isinstance(said, str) else ""
        agents = {agent.name: target for target, agent in self._targets.items()}
        intent = agents.get(said.lower(), said.upper())
        if intent not in self._targets:
            reason = f"intent must be one of: {', '.join(self._targets)}"
            self._tell(call, reason, failed=True)
            return False
        reason = " ".join(why.split())[:REASON_CHARS] if isinstance(why, str) else ""
        handoff = Handoff(intent, self._targets[intent].name, reason)
        self._handoffs.setdefault(intent, handoff)
        noted = "noted; now give your answer to the user"
        self._messages.append(ToolMessage(noted, tool_call_id=call["id"], name=name))
        return True

    def _used(self, tool: BaseTool, call: Mapping[str, Any]) -> tuple[str, bool]:
        """What a tool returns, or what is wrong; and whether it failed."""
        given: Any = {**call, "type": "tool_call"}
        use = partial(tool.invoke, given, self._config)
        if getattr(tool, "coroutine", None) is not None:
            use = partial(lambda: asyncio.run(tool.ainvoke(given, self._config)))
        try:
            result = self._deadline.call(use)
        except Exception as error:  # noqa: BLE001  # foreign code: the model is told
            said = without_secrets(error.message if isinstance(error, KdsError) else str(error))
            return (f"{type(error).__name__}: {said}" if said else type(error).__name__), True
        if isinstance(result, ToolMessage):
            return str(result.text), result.status == "error"
        return str(result), False

    def _tell(self, call: Mapping[str, Any], text: str, *, failed: bool) -> None:
        """Tell the model what its call came to, and write it down for the reply."""
        self._uses.append(ToolUse(call["name"], _clean(call["args"]), text, failed=failed))
        status: Any = "error" if failed else "success"
        told = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
        self._messages.append(told)

    def _structure(self, schema: Mapping[str, object]) -> None:
        """Ask for the data, once all tools are used."""
        titled = {"title": self._prompt.name.replace("-", "_"), **schema}
        try:
            asking = self._model.with_structured_output(titled, include_raw=True)
        except NotImplementedError:
            hint = "use another model, or remove 'output' from the prompt file"
            raise self._unable("gives no structured output", hint) from None
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

    def _unable(self, what: str, hint: str) -> ModelError:
        return ModelError(f"{model_label(self._model)} {what}", kind="refused", hint=hint)


def _with_ids(answer: AIMessage, number: int) -> AIMessage:
    """An answer whose tool calls have names and ids: some servers leave ids out."""

    def named(field: str) -> list[Any]:
        return [
            call
            | {
                "name": call["name"] if isinstance(call["name"], str) else "",
                "id": call["id"] or f"call-{number}-{field}-{index}",
            }
            for index, call in enumerate(getattr(answer, field))
        ]

    made = {field: named(field) for field in ("tool_calls", "invalid_tool_calls")}
    return answer.model_copy(update=made)


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
