"""Identifiers of a text, split and joined, so that every spelling of a name finds the others.

``getUserName``, ``get_user_name`` and ``get user name`` share the words ``get user name``; the
first two also share ``getusername``, which is rare and therefore says more.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

_NAME: Final = re.compile(r"(?<!\w)[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*")
"""A name, with the names it is reached through: ``os.path.join``, ``std::move``."""

_PART: Final = re.compile(r"[^\W\d_]+|\d+")
_ASCII_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LINK: Final = re.compile(r"\.|::|->")
_INNER_CAPITAL: Final = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_MANY_NAMES: Final = 2000
"""Identifiers kept of one text: a generated file must not fill the index."""


def parts_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into its words, in lower case.

    >>> parts_of("getUserName"), parts_of("HTTP_Server2"), parts_of("os.path.join")
    (('get', 'user', 'name'), ('http', 'server', '2'), ('os', 'path', 'join'))
    """
    if identifier.isascii():
        return tuple(part.lower() for part in _ASCII_WORD.findall(identifier))
    parts = (word for part in _PART.findall(identifier) for word in _words_by_case(part))
    return tuple(word.lower() for word in parts)


def joined(identifier: str) -> str:
    """Return the one spelling that all spellings of an identifier share.

    >>> joined("getUserName") == joined("get_user_name") == joined("GET-USER-NAME")
    True
    """
    return "".join(parts_of(identifier))


def is_compound(name: str) -> bool:
    """Tell whether a word can only be an identifier: it has an underscore or an inner capital.

    >>> [is_compound(word) for word in ("load_rows", "loadRows", "HTMLPage", "API", "load", "_x")]
    [True, True, True, False, False, False]
    """
    return "_" in name.strip("_") or _INNER_CAPITAL.search(name) is not None


def names_in(text: str, *, code: bool) -> Iterator[str]:
    """Yield the identifiers of a text, each once: in prose only what can be nothing else.

    >>> list(names_in("Call os.path.join or load_rows() here.", code=False))
    ['os.path.join', 'load_rows']
    """
    seen: set[str] = set()
    for found in _NAME.finditer(text):
        name = found[0]
        if name in seen or len(name) < 2:
            continue
        if code or _is_identifier(text, found):
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
        words.update(dict.fromkeys(_words_of(name)))
    return " ".join(words)


def joined_forms(identifiers: Iterable[str]) -> tuple[str, ...]:
    """Return the joined spelling of each identifier, each once, nothing for what has none."""
    return tuple(dict.fromkeys(filter(None, map(joined, identifiers))))


def _words_by_case(part: str) -> Iterator[str]:
    """Cut letters of any script where a capital follows a small letter, or begins a word."""
    start = 0
    for at in range(1, len(part)):
        begins = part[at].isupper() and (
            not part[at - 1].isupper() or part[at + 1 : at + 2].islower()
        )
        if begins:
            yield part[start:at]
            start = at
    yield part[start:]


def _words_of(name: str) -> Iterator[str]:
    pieces = _LINK.split(name)
    for piece in pieces:
        parts = parts_of(piece)
        yield from parts
        if len(parts) > 1:
            yield "".join(parts)
    if len(pieces) > 1:
        yield joined(name)


def _is_identifier(text: str, found: re.Match[str]) -> bool:
    name = found[0]
    if any(map(is_compound, _LINK.split(name))):
        return True
    after = text[found.end() : found.end() + 1]
    before = text[found.start() - 1 : found.start()]
    return after == "(" or (before == "`" and after == "`") or _LINK.search(name) is not None
