"""The message as it arrives, made safe to handle: no lone surrogates, no control characters."""

import re
from typing import Final

from kds.brain.errors import MessageError

MESSAGE_LIMIT: Final = 100_000
"""Characters of one message. Only its first 2,000 are analysed, but all are searched for
secrets and scored, and nobody else is served meanwhile: 0.1 to 0.6 s of CPU at this length
(measured on 28 kinds of text, from prose to nothing but brackets)."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""The C0 controls but for tab and line feed, and DEL. Carriage returns are gone before."""

_ESCAPED: Final = re.compile(
    r"\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)

_BYTE_ORDER_MARK: Final = "\ufeff"


def clean_message(text: str) -> str:
    r"""Turn what a shell, an editor or a hook handed over into a message that can be routed.

    Lone surrogates (bytes of the command line that are no UTF-8) become U+FFFD. Line ends
    become ``\n``. NUL and the other C0 controls but ``\n`` and ``\t`` are removed, and the
    text is stripped.

    Raises MessageError when nothing is left, more than MESSAGE_LIMIT, or it is no text at all.

    >>> clean_message("  Make it\x00 purple\r\n")
    'Make it purple'
    """
    if not isinstance(text, str):  # from Python code that no type checker has seen
        raise MessageError(f"the message is no text but {text!r:.40}", hint="pass a str")
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
