"""What is said between an agent and its model until there is a reply.

The exchange does not talk to the model: it yields the next step (`AskModel`, `UseTool`), is sent
its result, and returns the AgentReply (`kds.agents.run`).
"""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from kds.agents.models import ModelError, model_label, without_secrets
from kds.agents.reply import FIELD, HAND_OFF, AgentReply, Handing, Handoff, ToolUse, Usage
from kds.brain.message import well_formed
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.outputschema import schema_faults
from kds.router.prompts.promptfile import PromptFile

_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length"})
_FILTERED: Final = frozenset({"content_filter", "refusal", "safety"})
_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason")
"""Where OpenAI, Anthropic and Ollama say why an answer ended."""
_RESPONSE_STATUS: Final = "status"
"""The same in OpenAI's Responses API."""
_SAY_WHY: Final = frozenset({"BaseChatOpenAI", "ChatAnthropic", "ChatOllama"})
"""Classes of LangChain, with all that is derived from them: none is imported for its name."""


def sound(answer: AIMessage, *, prefix: str) -> AIMessage:
    """``answer`` with tool calls as they should be: named, and with ids to answer to.

    Servers that only look like OpenAI's leave ids out. Ids are made with ``prefix``.
    """
    calls = [*answer.tool_calls, *answer.invalid_tool_calls]
    named: list[dict[str, Any]] = [
        {
            **call,
            "name": call["name"] if isinstance(call["name"], str) else "",
            "id": call["id"] if isinstance(call["id"], str) and call["id"] else f"{prefix}-{index}",
        }
        for index, call in enumerate(calls)
    ]
    count = len(answer.tool_calls)
    return answer.model_copy(
        update={"tool_calls": named[:count], "invalid_tool_calls": named[count:]}
    )


def clean(value: Any) -> Any:
    """JSON ``value`` as it can be written as UTF-8: models may send half of a surrogate pair.

    >>> clean({"a": ["\\ud800"]})
    {'a': ['\ufffd']}
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    return [clean(inner) for inner in value] if isinstance(value, list) else value


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


def has_end(answer: AIMessage, model: object) -> bool:
    """Whether a streamed answer came to its end, where its class tells that.

    OpenAI, Anthropic and Ollama send why an answer ended as the last thing, and LangChain makes
    nothing of it when a server leaves before that.
    """
    if not _SAY_WHY & {kind.__name__ for kind in type(model).__mro__}:
        return True
    return any(answer.response_metadata.get(name) for name in (*_ENDINGS, _RESPONSE_STATUS))


def read_json(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, with or without a code fence around it.

    >>> read_json('```json\\n{"n": 1}\\n```'), read_json("n is 1")
    ({'n': 1}, None)
    """
    inner = text.strip()
    if inner.startswith("```") and inner.endswith("```"):
        inner = inner.strip("`").removeprefix("json")
    try:
        found = json.loads(inner)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def told_off(raw: AIMessage, faults: Sequence[str]) -> list[BaseMessage]:
    """The messages that send an answer back with its faults."""
    told = "The answer does not fit:\n" + "\n".join(f"- {fault}" for fault in faults)
    told += "\nAnswer again with JSON that fits the schema, and nothing else."
    if raw.tool_calls:  # providers want a result for every call
        results = [ToolMessage(told, tool_call_id=call["id"] or "") for call in raw.tool_calls]
        return [raw, *results]
    return [raw, HumanMessage(told)]


def refuses_tools(error: ModelError) -> bool:
    """Whether a provider refused a request for the tools in it, as Ollama does for old models."""
    return error.kind in ("refused", "model") and "tool" in error.message.lower()


MOST_ROUNDS: Final = 8
"""Times that a model may use tools before it has to answer."""

MOST_CALLS: Final = 16
"""Tool calls that one message of a model may hold."""

RESULT_CHARS: Final = 16_000
"""Characters of a tool's result that a model reads: some 4,000 tokens."""

REPAIRS: Final = 1
"""Times that a model is told what is wrong with its structured answer."""


GAP: Final = "\n\n"
"""Between what a model says before it uses tools, and what it says after."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask: to be sent the AIMessage, or of a ``structured`` call what LangChain makes of it."""

    runnable: Runnable[Any, Any]
    messages: tuple[BaseMessage, ...]
    structured: bool = False


@dataclass(frozen=True, slots=True)
class UseTool:
    """Call a tool: to be sent its ToolMessage."""

    tool: BaseTool
    call: ToolCall


Step = AskModel | UseTool
Steps = Generator[Step, Any, None]


class Exchange:
    """One agent, one turn, one model; ``blank`` is the reply without what the model says.

    `steps` runs once.
    """

    def __init__(
        self,
        prompt: PromptFile,
        library: PromptLibrary,
        blank: AgentReply,
        model: BaseChatModel,
        *,
        tools: Mapping[str, BaseTool],
        notes: Sequence[str] = (),
    ) -> None:
        self._prompt, self._blank, self._model = prompt, blank, model
        self._tools = dict(tools)
        self._handing = Handing.of(prompt, library)
        self._offers = bool(self._handing.targets) and HAND_OFF not in self._tools
        """Whether the model is given the tool to hand on; a last line does it as well."""
        turn = blank.turn
        self._messages: list[BaseMessage] = [
            SystemMessage(turn.prompt),
            *(_earlier(utterance) for utterance in turn.history),
            HumanMessage(turn.expanded or turn.message),
        ]
        self._texts: list[str] = []
        self._data: dict[str, Any] | None = None
        self._handoffs: dict[str, Handoff] = {}
        self._uses: list[ToolUse] = []
        self._usage: Usage | None = None
        self._notes = list(notes)
        self._refused = False

    def steps(self) -> Generator[Step, Any, AgentReply]:
        """Talk until there is a reply. Raises ModelError, and what is thrown in."""
        schema = self._prompt.output
        if schema is None or self._tools:
            yield from self._talk()
        if schema is not None:
            yield from self._structure(schema)
        return self._reply()

    def _talk(self) -> Steps:
        """Ask and use tools, until the model has nothing more to call."""
        for _ in range(MOST_ROUNDS):
            answer = yield from self._ask()
            if not (yield from self._serve(answer)):
                return
        self._notes.append(f"stopped after {MOST_ROUNDS} rounds of tools")

    def _ask(self) -> Generator[Step, Any, AIMessage]:
        try:
            answer = yield AskModel(self._bound(), tuple(self._messages))
        except ModelError as error:
            if self._tools or not self._offers or not refuses_tools(error):
                raise
            self._offers = False
            self._refused = True
            answer = yield AskModel(self._bound(), tuple(self._messages))
        return self._heard(answer)

    def _bound(self) -> Runnable[Any, Any]:
        """The model with its tools."""
        tools = [*self._tools.values(), *([self._handing.tool()] if self._offers else [])]
        if not tools:
            return self._model
        try:
            return self._model.bind_tools(tools)
        except NotImplementedError:
            if self._tools:
                name = model_label(self._model)
                hint = "use another model, or remove 'tools' from the prompt file"
                raise ModelError(f"{name} takes no tools", kind="refused", hint=hint) from None
            self._offers = False
            return self._model

    def _heard(self, answer: AIMessage) -> AIMessage:
        """Write down what an answer brings, and give its calls the names they need."""
        answer = sound(answer, prefix=f"call-{len(self._messages)}")
        self._messages.append(answer)
        self._count(answer)
        if answer.text:
            self._texts.append(clean(str(answer.text)))
        return answer

    def _count(self, answer: AIMessage) -> None:
        if (spent := usage_of(answer)) is not None:
            self._usage = spent if self._usage is None else self._usage + spent
        self._notes += answer_notes(answer)

    def _serve(self, answer: AIMessage) -> Generator[Step, Any, bool]:
        """Do what the model calls for; False when there is nothing to tell it."""
        for broken in answer.invalid_tool_calls:
            reason = f"the arguments are not JSON: {broken['error'] or broken['args']}"
            self._failed({**broken, "args": {}}, reason)
        handed_on = bool(answer.text) and not answer.invalid_tool_calls
        for index, call in enumerate(answer.tool_calls):
            handed_on = (yield from self._take(call, index)) and handed_on
        return bool(answer.tool_calls or answer.invalid_tool_calls) and not handed_on

    def _take(self, call: ToolCall, index: int) -> Generator[Step, Any, bool]:
        """Do one call; True when it hands the work on."""
        name, tool = call["name"], self._tools.get(call["name"])
        if index >= MOST_CALLS:
            reason = "too many calls at once"
        elif tool is not None:
            self._used(call, (yield UseTool(tool, call)))
            return False
        elif name == HAND_OFF and self._handing.targets:
            handoff = self._handing.given(call["args"].get("intent"), call["args"].get("reason"))
            if handoff is not None:
                self._handoffs.setdefault(handoff.intent, handoff)
                self._tell(call, "noted; now give your answer to the user")
                return True
            reason = f"intent must be one of: {', '.join(self._handing.targets)}"
        else:
            reason = f"unknown tool; the tools are: {', '.join(self._tools) or 'none'}"
        self._failed(call, reason)
        return False

    def _used(self, call: ToolCall, result: ToolMessage) -> None:
        text = clean(str(result.text)[:RESULT_CHARS])
        failed = result.status == "error"
        self._uses.append(ToolUse(call["name"], clean(call["args"]), text, failed=failed))
        self._tell(call, text)

    def _failed(self, call: Mapping[str, Any], reason: str) -> None:
        self._uses.append(ToolUse(call["name"], clean(call["args"]), reason, failed=True))
        self._tell(call, reason, status="error")

    def _tell(self, call: Mapping[str, Any], text: str, **status: Any) -> None:
        told = ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], **status)
        self._messages.append(told)

    def _structure(self, schema: Mapping[str, object]) -> Steps:
        """Get the data: from the answer where it is JSON that fits, else by asking for it."""
        data = read_json(self._texts[-1]) if self._texts else None
        if data is not None and not schema_faults(schema, data):
            self._data = data
            return
        titled = {"title": self._prompt.name.replace("-", "_"), **schema}
        asking = self._asking(titled)
        for _ in range(1 + REPAIRS):
            made = yield AskModel(asking, tuple(self._messages), structured=True)
            raw: AIMessage = made["raw"]
            self._count(raw)
            found, text = clean(made["parsed"]), clean(str(raw.text))
            if isinstance(found, dict):
                faults = schema_faults(schema, found)
                self._texts = [text or json.dumps(found, ensure_ascii=False)]
            else:
                faults = ["it is not a JSON object"]
                self._texts = [text]
            if not faults:
                self._data = found
                return
            self._messages += told_off(raw, faults)
        self._notes.append(f"no data: the answer does not fit the output schema: {faults[0]}")

    def _asking(self, schema: dict[str, Any]) -> Runnable[Any, Any]:
        try:
            return self._model.with_structured_output(schema, include_raw=True)
        except NotImplementedError:
            message = f"{model_label(self._model)} gives no structured output"
            hint = "use another model, or remove 'output' from the prompt file"
            raise ModelError(message, kind="refused", hint=hint) from None

    def _take_handoff(self, text: str) -> None:
        """The handoff that the answer itself names: in its last line, or in its data."""
        if self._data is not None:
            handoff, unknown = self._handing.given(self._data.get(FIELD)), None
        else:
            handoff, unknown = self._handing.said(text)
        if handoff is not None:
            self._handoffs.setdefault(handoff.intent, handoff)
        if unknown is not None:
            listed = ", ".join(self._handing.targets) or "none"
            self._notes.append(f"no handoff to {unknown}: the prompt file lists {listed}")

    def _reply(self) -> AgentReply:
        text = GAP.join(self._texts)
        self._take_handoff(text)
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


def _earlier(utterance: Utterance) -> BaseMessage:
    """What was said before, as the message that it was."""
    if utterance.role == "assistant":
        return AIMessage(utterance.text)
    return HumanMessage(utterance.text)
