"""What was said before, in the shapes that chat programs keep it in."""

from collections.abc import Iterable, Mapping
from typing import Final

from kds.brain.errors import MessageError
from kds.brain.message import well_formed
from kds.brain.turn import Utterance

_SHAPE: Final = '{"role": "user", "content": "Add a FAB button"}'
_USER: Final = frozenset({"user", "human"})
_ASSISTANT: Final = frozenset({"assistant", "ai"})
_OTHERS: Final = frozenset({"system", "developer", "tool", "function", "remove"})
"""Roles of messages that neither the user nor the assistant says: they are left out."""


def utterances(history: Iterable[object]) -> tuple[Utterance, ...]:
    """Return a conversation, oldest first, as the router takes it.

    An item is an `Utterance`, a mapping with ``role`` and ``content`` (or ``text``), a pair of
    role and content, or a message of LangChain or of the
    OpenAI client. Messages of the system and of tools are left out.
    Raises MessageError with the index of an item that is none of these.

    >>> utterances([{"role": "user", "content": "Hi"}, ("assistant", "Hello. Shall I begin?")])[1]
    Utterance(text='Hello. Shall I begin?', role='assistant')
    """
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise _fault(f"is a {type(history).__name__}, not a list of messages")
    read = (_utterance(one, at) for at, one in enumerate(history))
    return tuple(one for one in read if one is not None)


def _utterance(item: object, at: int) -> Utterance | None:
    role, content = _parts(item, at)
    text = _text(content)
    if text is None:
        raise _fault(f"has {content!r:.40} for a text", at)
    if role in _OTHERS:
        return None
    if role in _USER:
        return Utterance(well_formed(text), "user")
    if role in _ASSISTANT:
        return Utterance(well_formed(text), "assistant")
    raise _fault(f"has {role!r:.40} for a role", at)


def _parts(item: object, at: int) -> tuple[object, object]:
    """Role and content of an item, whatever they are."""
    if isinstance(item, Utterance):
        return item.role, item.text
    if isinstance(item, Mapping):
        if "content" not in item and "text" not in item:
            raise _fault("has no 'content'", at)
        return item.get("role", item.get("type")), item.get("content", item.get("text"))
    if isinstance(item, tuple | list) and len(item) == len(("role", "content")):
        return item[0], item[1]
    role, content = getattr(item, "role", None), getattr(item, "content", None)
    role = role or str(getattr(item, "type", "")).lower().removesuffix("messagechunk") or None
    if role is None or content is None:
        raise _fault(f"is a {type(item).__name__}, not a message", at)
    return role, content


def _text(content: object) -> str | None:
    """The text of a content, which may be a list of blocks; None when it is neither."""
    if content is None or isinstance(content, str):
        return content or ""  # null beside calls of tools
    if not isinstance(content, list):
        return None
    blocks = (one if isinstance(one, str) else _block(one) for one in content)
    return "\n".join(filter(None, blocks))


def _block(block: object) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""


def _fault(wrong: str, at: int | None = None) -> MessageError:
    where = "history" if at is None else f"history[{at}]"
    hint = f"write each message as {_SHAPE}; roles are user and assistant"
    return MessageError(f"{where} {wrong}", hint=hint)
