"""Reading one answer of a model: its JSON, why it ended, and what to say of one that fails."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from kds.agents.model_error import ModelError, without_secrets
from kds.agents.reply import Usage
from kds.brain.message import well_formed

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
    """Whether a streamed answer came to its end, where ``model`` is of a kind that says so.

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
