"""A title for a session, taken from its first user message. No model."""

import re
from typing import Final

LIMIT: Final = 48
"""Characters: a line of a session list beside a date and a count, on 80 columns."""

MARK: Final = "…"

_FENCE: Final = re.compile(r"(?ms)(?:```|~~~).*?(?:```|~~~|\Z)")
_MARKUP: Final = re.compile(r"#file:\S+\s*|^[\s>#*+-]+|[*`]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_TRAILING: Final = " ,;:-–—.…!"

_LOOSE_ENDS: Final = frozenset(
    "a an and as at because but by for from if in into is it its my of on or our so than that "
    "the their then this to when which while who with your".split()
)
"""Words that promise more: a title that was cut does not end with one."""


def title_of(message: str) -> str:
    """Return a short title for a session that begins with ``message``; "" when it says nothing.

    >>> title_of("## I want to add a **FAB button**. It should pulse.")
    'I want to add a FAB button'
    >>> title_of("Explain why the import of the second module fails when the first one is reloaded")
    'Explain why the import of the second module…'
    """
    for line in _FENCE.sub("\n", message).splitlines():
        text = " ".join(_MARKUP.sub("", line).split())
        sentence = _SENTENCE_END.split(text, maxsplit=1)[0].rstrip(_TRAILING)
        if any(map(str.isalnum, sentence)):
            return _cut(sentence)
    return ""


def _cut(sentence: str) -> str:
    if len(sentence) <= LIMIT:
        return sentence
    words = sentence[: LIMIT + 1].split(" ")[:-1]
    while words and words[-1].casefold().strip(_TRAILING) in _LOOSE_ENDS:
        words.pop()
    text = " ".join(words).rstrip(_TRAILING)
    # One word longer than the limit (a path, a URL) is cut where it is.
    return (text or sentence[: LIMIT - 1]) + MARK
