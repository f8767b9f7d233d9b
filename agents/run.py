"""An agent as a LangChain Runnable, from a Turn or a message to an AgentReply; and the router.

    reply = agent.as_runnable(model).invoke("Make it purple")

No call takes longer than ``timeout_s`` in all, whatever the model does: retries, stalls, slow
trickles, several rounds of tools. Every error of a model becomes a ModelError without secrets;
what a tool raises is told to the model. A stream yields replies that add up (`AgentReply.__add__`).
"""

import asyncio
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
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import BaseTool, StructuredTool

from kds.agents.agent import Agent, AgentReply, Handoff, ToolUse, Usage
from kds.agents.models import (
    LazyModel,
    ModelError,
    model_error,
    model_label,
    model_secrets,
    without_secrets,
)
from kds.agents.tools import READ_CONVERSATION, chosen_tools, conversation_tool, workspace_tools
from kds.brain.errors import DispatchError, KdsError, MessageError
from kds.brain.message import well_formed
from kds.brain.settings import load_settings
from kds.brain.timeouts import Deadline
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary

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

Place = Workspace | Path | str | None
"""A workspace, or the folder of one; None: the one that the current folder is in."""

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


def message_text(given: Any) -> str:
    """The text of the user, out of every shape that LangChain hands on. Raises MessageError."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, BaseMessage):
        return str(given.text)
    if isinstance(given, Mapping):
        for key in ("message", "messages", "input"):
            if key in given:
                return message_text(given[key])
    else:
        with suppress(NotImplementedError, ValueError, TypeError, KeyError):  # not messages
            said = given.to_messages() if isinstance(given, PromptValue) else given
            for message in reversed(convert_to_messages(said)):
                if isinstance(message, HumanMessage):
                    return str(message.text)
    raise MessageError(
        f"no message of a user in this {type(given).__name__}",
        hint='pass a text, a HumanMessage, a list of messages, or {"message": ...}',
    )


def load(
    name: str,
    workspace: Place = None,
    model: BaseChatModel | str | None = None,
    *,
    tools: Iterable[BaseTool] = (),
) -> "AgentRunnable":
    """The agent of an intent ("PLAN"), or of a prompt file ("work-planner"), ready to run.

    ``model`` is a chat model of LangChain, or the name of one as in KDS_MODEL; None is the one
    that the user's settings name, if any. ``tools`` are those of your own that the prompt file
    names. Raises DispatchError, ConfigError, WorkspaceError and ModelError.
    """
    place = Workspace.at(workspace)
    asked = LazyModel(load_settings(place).model, model)
    agent = Agent.named(name, PromptLibrary.load(place.prompts_dir), workspace=str(place.root))
    own = workspace_tools(place)
    return agent.as_runnable(asked.load(), tools=(*own, *tools), timeout_s=asked.settings.timeout_s)


def names(workspace: Place = None) -> tuple[str, ...]:
    """The names of the agents of a workspace, by priority. Raises ConfigError, WorkspaceError."""
    library = PromptLibrary.load(Workspace.at(workspace).prompts_dir)
    return tuple(prompt.name for prompt in library.agents())


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
        tools: Iterable[BaseTool] = (),
        timeout_s: float | None = None,
    ) -> None:
        self.agent, self.model, self.name = agent, model, agent.name
        self.timeout_s = timeout_s or TIMEOUT_S
        self.tools, self.notes = chosen_tools(agent.prompt, tools)

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
            given: Iterator[AgentInput], run_manager: object, config: RunnableConfig, **options: Any
        ) -> Iterator[AgentReply]:
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

    def _pieces(
        self, given: Any, config: RunnableConfig, options: Mapping[str, Any], *, streams: bool
    ) -> Iterator[AgentReply]:
        if isinstance(given, Mapping) and isinstance(given.get("turn"), Turn):
            given = given["turn"]
        turned = isinstance(given, Turn)
        turn = self.agent.taking(given) if turned else self.agent.turn(message_text(given))
        blank = AgentReply(self.agent.name, self.agent.intent or turn.intent, "", turn.prompt, turn)
        if self.model is None:
            yield replace(blank, text=turn.prompt, notes=self.notes)
            return
        blank = replace(blank, answered=True, model=model_label(self.model))
        yield from _Run(self, self.model, blank, streams, config, options).pieces()


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
        self._model, self._blank, self._streams = model, blank, streams
        self._config, self._options = config, options
        self._deadline, self._timeout_s = Deadline(runnable.timeout_s), runnable.timeout_s
        self._messages: list[BaseMessage] = [
            SystemMessage(turn.prompt),
            *((AIMessage if said.role == "assistant" else HumanMessage)(said.text)
              for said in turn.history),
            HumanMessage(turn.expanded or turn.message),
        ]  # fmt: skip
        self._texts: list[str] = []
        self._shown = ""
        self._handoffs: dict[str, Handoff] = {}
        self._uses: list[ToolUse] = []
        self._usage: Usage | None = None
        self._notes = list(runnable.notes)
        self._tools = dict(runnable.tools)
        if READ_CONVERSATION in prompt.tools:
            self._tools.setdefault(READ_CONVERSATION, conversation_tool(turn))
        found = ((one, runnable.agent.library.for_intent(one)) for one in prompt.handoffs)
        targets = {intent: agent for intent, agent in found if agent is not None}
        if targets:
            lines = {intent: agent.description for intent, agent in targets.items()}
            names = {intent: agent.name for intent, agent in targets.items()}
            self._tools.setdefault(HAND_OFF, self._handing_off(names, lines))

    def pieces(self) -> Iterator[AgentReply]:
        """Run to the end: yield texts as they arrive, last everything else. Raises ModelError."""
        yield from self._talk()
        text = GAP.join(self._texts)
        if not text.strip():
            self._notes.append("the model gave no text")
        yield replace(
            self._blank,
            text=text.removeprefix(self._shown) if text.startswith(self._shown) else "",
            handoffs=tuple(self._handoffs.values()),
            tools=tuple(self._uses),
            usage=self._usage,
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _handing_off(self, names: Mapping[str, str], lines: Mapping[str, str]) -> BaseTool:
        """The tool to hand on to one of these intents, by the names of their agents, too."""
        by_name = {name: intent for intent, name in names.items()}

        def hand_off(intent: object = None, reason: object = "") -> str:
            said = intent.strip() if isinstance(intent, str) else ""
            found = by_name.get(said.lower(), said.upper())
            if found not in names:
                raise DispatchError(f"intent must be one of: {', '.join(names)}")
            why = " ".join(reason.split())[:REASON_CHARS] if isinstance(reason, str) else ""
            self._handoffs.setdefault(found, Handoff(found, names[found], why))
            return "noted; now give your answer to the user"

        told = "\n".join(f"{intent}: {what}" for intent, what in lines.items())
        schema = {
            "type": "object",
            "properties": {
                "intent": {"type": "string", "enum": [*names], "description": "who goes on"},
                "reason": {"type": "string", "description": "why, in one sentence"},
            },
            "required": ["intent"],
        }
        return StructuredTool.from_function(
            hand_off,
            name=HAND_OFF,
            description="Hand the work on when yours is done and the user's wish goes beyond it. "
            f"Write your answer as well.\n{told}",
            args_schema=schema,
        )

    def _talk(self) -> Iterator[AgentReply]:
        """Ask and use tools, until the model has nothing more to call."""
        for _ in range(MOST_ROUNDS):
            try:
                answer = yield from self._ask()
            except ModelError as error:  # as Ollama refuses tools for old models
                refuses = error.kind in ("refused", "model") and "tool" in error.message.lower()
                if not refuses or [*self._tools] != [HAND_OFF]:
                    raise
                self._tools.clear()
                self._notes.append("no handoffs: the model takes no tools")
                answer = yield from self._ask()
            self._messages.append(answer)
            self._count(answer)
            if answer.text:
                self._texts.append(_clean(str(answer.text)))
            if not self._serve(answer):
                return
        self._notes.append(f"stopped after {MOST_ROUNDS} rounds of tools")

    def _ask(self) -> Generator[AgentReply, None, AIMessage]:
        """Ask for one answer; yields its pieces where the caller streams."""
        model: Runnable[Any, Any] = self._model
        if self._tools:
            try:
                model = self._model.bind_tools([*self._tools.values()])
            except NotImplementedError:
                raise ModelError(
                    f"{model_label(self._model)} takes no tools",
                    kind="refused",
                    hint="use another model, or remove 'tools' from the prompt file",
                ) from None
        answer: Any
        with self._model_errors():
            if self._streams:
                answer = yield from self._streamed(model)
            else:
                answer = self._invoked(model)
            if not isinstance(answer, BaseMessage):
                raise TypeError(f"the model returned a {type(answer).__name__}")
        made = answer if isinstance(answer, AIMessage) else AIMessage(answer.content)
        return _with_ids(made, len(self._messages))

    def _invoked(self, model: Runnable[Any, Any]) -> Any:
        ask = partial(model.invoke, list(self._messages), self._config, **self._options)
        return self._deadline.call(ask)

    def _streamed(self, model: Runnable[Any, Any]) -> Generator[AgentReply, None, Any]:
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
        return None if whole is None else message_chunk_to_message(whole)

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
        """Do what the model calls for; False when it has answered and needs to be told nothing."""
        goes_on = not answer.text
        for call in (*answer.tool_calls, *answer.invalid_tool_calls):
            text, failed = self._used(call)
            arguments = call["args"] if isinstance(call["args"], dict) else {}
            if failed or call["name"] != HAND_OFF or not self._handoffs:
                self._uses.append(
                    ToolUse(str(call["name"]), _clean(arguments), text, failed=failed)
                )
                goes_on = True
            status: Any = "error" if failed else "success"
            told = ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
            self._messages.append(told)
        return goes_on and bool(answer.tool_calls or answer.invalid_tool_calls)

    def _used(self, call: Mapping[str, Any]) -> tuple[str, bool]:
        """What a tool returns, or what is wrong; and whether it failed."""
        if call["type"] == "invalid_tool_call":
            return f"the arguments are not JSON: {call['error'] or call['args']}", True
        if (tool := self._tools.get(call["name"])) is None:
            return f"unknown tool; the tools are: {', '.join(self._tools) or 'none'}", True
        given: Any = {**call, "type": "tool_call"}
        use = partial(tool.invoke, given, self._config)
        if getattr(tool, "coroutine", None) is not None:
            use = partial(lambda: asyncio.run(tool.ainvoke(given, self._config)))
        try:
            result = self._deadline.call(use)
        except Exception as error:  # noqa: BLE001  # foreign code: the model is told
            said = without_secrets(error.message if isinstance(error, KdsError) else str(error))
            return (f"{type(error).__name__}: {said}" if said else type(error).__name__), True
        message = isinstance(result, ToolMessage)
        text = _clean(str(result.text if message else result)[:RESULT_CHARS])
        return text, message and result.status == "error"


def _with_ids(answer: AIMessage, number: int) -> AIMessage:
    """An answer whose tool calls have names and ids: some servers leave ids out."""
    made = {
        field: [
            call
            | {
                "name": call["name"] if isinstance(call["name"], str) else "",
                "id": call["id"] or f"call-{number}-{field}-{index}",
            }
            for index, call in enumerate(getattr(answer, field))
        ]
        for field in ("tool_calls", "invalid_tool_calls")
    }
    return answer.model_copy(update=made)


def _clean(value: Any) -> Any:
    """JSON ``value`` as it can be written as UTF-8: models may send half of a surrogate pair."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value
