"""Messages and histories as they arrive, made safe to handle and to show."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from kds.brain.errors import MessageError
from kds.brain.turn import Utterance

MESSAGE_LIMIT: Final = 100_000
"""Characters of one message. Only its first 2,000 are analysed, but all are searched for
secrets and scored, and the service answers no one else meanwhile: 0.1 to 0.6 s of CPU at this
length (measured on 28 kinds of text, from prose to nothing but brackets)."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""C0 but for tab and line feed, and DEL. Carriage returns are gone before."""

_ESCAPED: Final = re.compile(
    r"\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)

_BYTE_ORDER_MARK: Final = "\ufeff"


def clean_message(text: str) -> str:
    r"""Turn what a shell, an editor or a hook handed over into a message that can be routed.

    Lone surrogates (bytes of the command line that are not UTF-8) become U+FFFD. Line ends
    become ``\n``. NUL and the other C0 controls but ``\n`` and ``\t`` are removed, and the
    text is stripped.

    Raises MessageError when nothing is left, more than MESSAGE_LIMIT, or it is not text.

    >>> clean_message("  Make it\x00 purple\r\n")
    'Make it purple'
    """
    if not isinstance(text, str):  # from Python code that no type checker has seen
        raise MessageError(f"the message is not text but {text!r:.40}", hint="pass a str")
    text = without_controls(text).strip().strip(_BYTE_ORDER_MARK).strip()
    if not text:
        raise MessageError("the message is empty", hint="write what you want")
    if len(text) > MESSAGE_LIMIT:
        raise MessageError(
            f"the message has {len(text):,} characters, more than {MESSAGE_LIMIT:,}",
            hint="send the request without the files it is about",
        )
    return text


def without_controls(text: str) -> str:
    """Return ``text`` well-formed, with line feeds alone as line ends, and without controls.

    SQLite's text functions stop at NUL, and terminals obey the others.
    """
    text = well_formed(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", text)


def well_formed(text: str) -> str:
    r"""Return ``text`` as it can be encoded in UTF-8: lone surrogates become U+FFFD.

    A high and a low surrogate side by side are the one character they stand for.

    >>> well_formed("caf\udce9"), well_formed("\ud83d\ude00") == "\U0001f600"
    ('caf\ufffd', True)
    """
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def well_formed_json(text: str) -> str:
    r"""Return JSON without escapes of lone surrogates, which parsers refuse: U+FFFD instead.

    >>> well_formed_json(r'"\ud83d \ud83d\ude00"') == r'"\ufffd \ud83d\ude00"'
    True
    """
    if "\\u" not in text:
        return text
    return _ESCAPED.sub(lambda found: r"\ufffd" if found["lone"] else found[0], text)


_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC: links
)
"""Terminal sequences of ECMA-48, whole: without its first character the rest would be shown."""

_JOINED: Final = re.compile(r"(?<=[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])\u200d(?=\W)")
_KEPT: Final = "\ue000"
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SELECTORS: Final = range(0xE0100, 0xE01F0)
_FIRST_SELECTOR: Final = chr(_SELECTORS.start)
"""Variation selectors of ideographs: unseen behind any other character, and able to spell."""


def one_line(text: str) -> str:
    r"""Return ``text`` without line ends, terminal sequences and invisible characters.

    Those of category C (Unicode): controls, directions (U+202E), tags (U+E0061). The joiner
    inside of an emoji stays.

    >>> one_line("red\n\x1b[31m# Rules\u202e \U0001f469\u200d\U0001f4bb\U000e0061")
    'red # Rules 👩\u200d💻'
    """
    flat = " ".join(text.split())
    if flat.isprintable() and max(flat, default="") < _FIRST_SELECTOR:
        return flat
    marked = _JOINED.sub(_KEPT, _ESCAPES.sub("", text.replace(_KEPT, "")))
    seen = (" " if char.isspace() else char for char in marked if char.isspace() or _is_seen(char))
    return " ".join("".join(seen).split()).replace(_KEPT, "\u200d")


def _is_seen(char: str) -> bool:
    if char == _KEPT:
        return True
    return unicodedata.category(char) not in _UNSEEN and ord(char) not in _SELECTORS


_SHAPE: Final = '{"role": "user", "content": "Add a FAB button"}'
_ROLES: Final[Mapping[object, Literal["user", "assistant", ""]]] = {
    **{"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"},
    **dict.fromkeys(("system", "developer", "tool", "function", "remove"), ""),
}
"""Who says what has a role; "" for what neither the user nor the assistant says."""


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
    blocks = content if isinstance(content, list) else [content or ""]  # null beside calls of tools
    if content and not isinstance(content, str | list):
        raise _fault(f"has {content!r:.40} for a text", at)
    if not isinstance(role, str) or role not in _ROLES:
        raise _fault(f"has {role!r:.40} for a role", at)
    said = (one.get("text") if isinstance(one, Mapping) else one for one in blocks)
    text = "\n".join(one for one in said if one and isinstance(one, str))
    return Utterance(well_formed(text), who) if (who := _ROLES[role]) else None


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


def _fault(wrong: str, at: int | None = None) -> MessageError:
    where = "history" if at is None else f"history[{at}]"
    hint = f"write each message as {_SHAPE}; roles are user and assistant"
    return MessageError(f"{where} {wrong}", hint=hint)
