"""Identifiers of a text, split and joined, so that every spelling of a name finds the others.

``getUserName``, ``get_user_name`` and ``get user name`` share the words ``get user name``; the
first two also share ``getusername``, which is rare and therefore says more.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import regex

_NAME: Final = re.compile(r"(?<!\w)[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*")
"""A name, with the names it is reached through: ``os.path.join``, ``std::move``."""

_LINK: Final = re.compile(r"\.|::|->")
_INNER_CAPITAL: Final = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_ASCII_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_WORD: Final = regex.compile(
    r"\p{Lu}+(?=\p{Lu}[^\p{Lu}\W\d_])|\p{Lu}?[^\p{Lu}\W\d_]+|\p{Lu}+|\d+", regex.VERSION1
)
_MANY_NAMES: Final = 2000
"""Identifiers kept of one text: a generated file must not fill the index."""


def parts_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into its words, in lower case.

    >>> parts_of("getUserName"), parts_of("HTTP_Server2"), parts_of("os.path.join")
    (('get', 'user', 'name'), ('http', 'server', '2'), ('os', 'path', 'join'))
    """
    words = _ASCII_WORD if identifier.isascii() else _WORD  # the first is much faster
    return tuple(word.lower() for word in words.findall(identifier))


def joined(identifier: str) -> str:
    """Return the one spelling that all spellings of an identifier share.

    >>> joined("getUserName") == joined("get_user_name") == joined("GET-USER-NAME")
    True
    """
    return "".join(parts_of(identifier))


def joined_forms(identifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the joined spelling of each identifier that has one, each once."""
    return tuple(dict.fromkeys(filter(None, map(joined, identifiers))))


def is_compound(name: str) -> bool:
    """Tell whether a word can only be an identifier: it has an underscore or an inner capital.

    >>> [is_compound(word) for word in ("load_rows", "loadRows", "HTMLPage", "API", "load", "_x")]
    [True, True, True, False, False, False]
    """
    return "_" in name.strip("_") or _INNER_CAPITAL.search(name) is not None


def names_in(text: str, *, code: bool) -> Iterator[str]:
    """Yield the identifiers of a text, each once: in prose only what cannot be a plain word.

    >>> list(names_in("Call os.path.join or load_rows() here.", code=False))
    ['os.path.join', 'load_rows']
    """
    seen: set[str] = set()
    for found in _NAME.finditer(text):
        name = found[0]
        if name not in seen and len(name) > 1 and (code or _is_identifier(text, found)):
            seen.add(name)
            yield name
            if len(seen) == _MANY_NAMES:
                return


def ident_words(text: str, *, code: bool) -> str:
    """Return what the index knows of a text's identifiers: parts and joined forms, each once.

    >>> ident_words("x = getUserName(db.session)", code=True)
    'get user name getusername db session dbsession'
    """
    words: dict[str, None] = {}
    for name in names_in(text, code=code):
        pieces = _LINK.split(name)
        for piece in pieces:
            parts = parts_of(piece)
            words.update(dict.fromkeys(parts))
            if len(parts) > 1:
                words["".join(parts)] = None
        if len(pieces) > 1:
            words[joined(name)] = None
    return " ".join(words)


def _is_identifier(text: str, found: re.Match[str]) -> bool:
    links = _LINK.split(found[0])
    if len(links) > 1 or is_compound(found[0]):
        return True
    after = text[found.end() : found.end() + 1]
    return after == "(" or (after == "`" and text[found.start() - 1 : found.start()] == "`")
