"""The router as a LangChain Runnable.

KDS itself does not use LangChain's interfaces; this adapter lets others compose the router
with `|`, and pass it config and callbacks (decision 0004).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda

from kds.brain.errors import MessageError
from kds.brain.turn import Turn

RouterInput = str | BaseMessage | PromptValue | Sequence[Any] | Mapping[str, Any]
"""A text, a human message, messages (the last human one counts), or {"message": one of these}."""


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
    if isinstance(given, PromptValue):
        return _last_human(given.to_messages())
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        return _last_human(given)
    raise _refusal(f"not a message: {type(given).__name__}")


def _from_mapping(given: Mapping[str, object]) -> str:
    for key in ("message", "messages", "input"):
        if key in given:
            return message_text(given[key])
    raise _refusal(f"no 'message' among the keys: {', '.join(map(str, given)) or 'none'}")


def _last_human(messages: Sequence[Any]) -> str:
    try:
        converted = convert_to_messages(messages)
    except (NotImplementedError, ValueError, TypeError, KeyError) as error:
        raise _refusal(f"not a list of messages: {error}") from error
    for message in reversed(converted):
        if isinstance(message, HumanMessage):
            return str(message.text)
    raise _refusal("no human message in the list")


def _refusal(message: str) -> MessageError:
    hint = 'pass a text, a HumanMessage, a list of messages, or {"message": ...}'
    return MessageError(message, hint=hint)
