"""Words as they are compared and counted: stems, identifiers, tokens.

The stems are those of SQLite's FTS5 index, which makes them here too, so that a word that the index
matched is recognised when a hit is judged. snowballstemmer, and Porter's algorithm as published,
differ in some words ("assembly", "ecology", "os").
"""

import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import regex
import yaml

WORD: Final = re.compile(r"[^\W_]+")
"""What the index takes for a word."""

_POSSESSIVE: Final = re.compile(r"[’']s\b")
_STEMMED: Final = re.compile(r"[a-z]{3,40}")
"""A longer "word" is a key or a hash, and has no stem."""

_PLAIN_WORD: Final = re.compile(r"[a-z0-9]+")

FORMS_KEPT: Final = 50_000
"""Words whose terms are remembered: about 10 MB, the vocabulary of a large store."""


class WordForms:
    """Tells which terms of the index a word stands for: "Services" is looked up as "servic"."""

    def __init__(self, tokenizer: str = "porter unicode61") -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._connection: sqlite3.Connection | None = None

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the terms of a word, in order: several where the index cuts it."""
        if (known := self._known.get(word)) is None:
            known = self._keep({word: self._cut(word)})[word]
        return known

    def learn(self, words: Iterable[str]) -> None:
        """Cut words of ASCII letters and digits, which have one term each, all at once."""
        new = [one for one in {*words} if one not in self._known and _PLAIN_WORD.fullmatch(one)]
        if new:
            cut = self._cut(" ".join(new))
            self._keep({word: (term,) for word, term in zip(new, cut, strict=True)})

    def of_text(self, text: str) -> tuple[str, ...]:
        """Return the terms of a whole text, in order."""
        if not text.isascii():
            return self._cut(text)
        words = _PLAIN_WORD.findall(text.lower())
        self.learn(words)
        return tuple(self(word)[0] for word in words)

    def _keep(self, new: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        if len(self._known) > FORMS_KEPT:
            self._known.clear()
        self._known |= new
        return new

    def _cut(self, text: str) -> tuple[str, ...]:
        with self._lock:
            if self._connection is None:
                self._connection = sqlite3.connect(
                    ":memory:", isolation_level=None, check_same_thread=False
                )
                self._connection.executescript(
                    f"CREATE VIRTUAL TABLE probe USING fts5(text, tokenize='{self._tokenizer}');"
                    "CREATE VIRTUAL TABLE term USING fts5vocab(probe, instance);"
                )
            self._connection.execute("DELETE FROM probe")
            self._connection.execute("INSERT INTO probe(text) VALUES (?)", (text,))
            rows = self._connection.execute("SELECT term FROM term ORDER BY offset")
            return tuple(row[0] for row in rows)


PORTER: Final = WordForms()
TOKENS: Final = WordForms("unicode61")
"""The same without stems."""


@lru_cache(maxsize=FORMS_KEPT)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; anything but English letters comes back as it is.

    >>> [stem(word) for word in ("marries", "hopping", "relational", "v2", "é")]
    ['marri', 'hop', 'relat', 'v2', 'é']
    """
    return PORTER(word)[0] if _STEMMED.fullmatch(word) else word


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order.

    >>> stems("The Servicer's Determination Dates")
    ['the', 'servic', 'determin', 'date']
    """
    words = WORD.findall(_POSSESSIVE.sub("", text).casefold())
    PORTER.learn(words)
    return list(map(stem, words))


def phrase_key(text: str) -> str:
    """Return what every spelling of a phrase shares.

    >>> phrase_key("Cut-off Dates") == phrase_key("cut off date")
    True
    """
    return " ".join(stems(text))


def stem_line(text: str) -> str:
    """Return the stems of a text, each between blanks of its own: count them with `said`.

    >>> stem_line("Closing Dates")
    ' close  date '
    """
    return _line(stems(text))


def seen_stems(text: str, also: str) -> str:
    """Return the stems of a text in order, and behind them those that only ``also`` has.

    >>> seen_stems("set page_size", "page size pagesize")
    ' set  page  size  pages '
    """
    own = stems(text)
    return _line([*own, *(one for one in dict.fromkeys(stems(also)) if one not in own)])


def _line(words: Iterable[str]) -> str:
    return "".join(f" {one} " for one in words)


def said(line: str, word: str) -> int:
    """Count how often a stem is in a line of stems."""
    return line.count(f" {word} ")


def has_phrase(line: str, key: str) -> bool:
    """Tell whether a phrase is in a line of stems.

    >>> has_phrase(stem_line("on each Closing Date"), phrase_key("closing dates"))
    True
    """
    return f" {key.replace(' ', '  ')} " in line


_WORDS: Final[dict[str, str]] = yaml.load(
    Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
EMPTY_WORDS: Final = frozenset(_WORDS["unasked"].split())
"""Words of a question that say how it is asked."""

EMPTY: Final = frozenset(stems(_WORDS["unasked_of_documents"]))
"""The same of questions about documents, as stems."""

ABOUT_MEANING: Final = frozenset(stems(_WORDS["about_meaning"]))
"""Stems that ask for what a thing is, whatever it is."""

FORMS: Final[dict[str, tuple[str, ...]]] = {}
"""Stem -> every form of the word, or of both words where two share a form ("lay", "leaves")."""

PORTER.learn(_WORDS["irregular"].split())
for _group in map(str.split, _WORDS["irregular"].split("|")):
    for _form in map(stem, _group):
        FORMS[_form] = tuple(dict.fromkeys((*FORMS.get(_form, ()), *_group)))


def forms_of(word: str) -> tuple[str, ...]:
    """Return ``word`` and its forms that share no stem with it: "When did she go?" - "I went".

    >>> forms_of("went"), forms_of("deploy")
    (('went', 'go', 'goes', 'gone'), ('deploy',))
    """
    return tuple(dict.fromkeys((word, *FORMS.get(stem(word), ()))))


# Identifiers

_NAME: Final = re.compile(r"(?<!\w)[^\W\d]\w*(?:(?:\.|::|->)[^\W\d]\w*)*")
"""A name, with the names it is reached through: ``os.path.join``, ``std::move``."""

_LINK: Final = re.compile(r"\.|::|->")
_INNER_CAPITAL: Final = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_LIKE_NAME: Final = re.compile(rf"[_(`]|{_INNER_CAPITAL.pattern}|\w(?:{_LINK.pattern})[^\W\d]")
"""What prose has where there is an identifier in it."""
_ASCII_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_UNICODE_WORD: Final = regex.compile(
    r"\p{Lu}+(?=\p{Lu}[^\p{Lu}\W\d_])|\p{Lu}?[^\p{Lu}\W\d_]+|\p{Lu}+|\d+", regex.VERSION1
)
_MANY_NAMES: Final = 2000
"""Identifiers kept of one text: a generated file must not fill the index."""


def parts_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into its words, in lower case.

    ``getUserName``, ``get_user_name`` and ``get user name`` share the words ``get user name``; the
    first two also share ``getusername``, which is rare and therefore says more.

    >>> parts_of("getUserName"), parts_of("HTTP_Server2"), parts_of("os.path.join")
    (('get', 'user', 'name'), ('http', 'server', '2'), ('os', 'path', 'join'))
    """
    words = _ASCII_WORD if identifier.isascii() else _UNICODE_WORD  # the first is much faster
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


def names_in(text: str, *, code: bool) -> Iterator[str]:
    """Yield the identifiers of a text, each once: in prose only what cannot be a plain word.

    >>> list(names_in("Call os.path.join or load_rows() here.", code=False))
    ['os.path.join', 'load_rows']
    """
    if not (code or _LIKE_NAME.search(text)):
        return
    seen: set[str] = set()
    for found in _NAME.finditer(text):
        name = found[0]
        if name not in seen and len(name) > 1 and (code or _is_identifier(text, found)):
            seen.add(name)
            yield name
            if len(seen) == _MANY_NAMES:
                return


def _is_identifier(text: str, found: re.Match[str]) -> bool:
    name, after = found[0], text[found.end() : found.end() + 1]
    compound = "_" in name.strip("_") or _INNER_CAPITAL.search(name) or _LINK.search(name)
    quoted = after == "`" == text[found.start() - 1 : found.start()]
    return bool(compound) or after == "(" or quoted


def ident_words(text: str, *, code: bool) -> str:
    """Return what the index knows of a text's identifiers: parts and joined forms, each once.

    >>> ident_words("x = getUserName(db.session)", code=True)
    'get user name getusername db session dbsession'
    """
    words: dict[str, None] = {}
    for name in names_in(text, code=code):
        pieces = _LINK.split(name)
        for piece in pieces:
            words.update(dict.fromkeys((*parts_of(piece), joined(piece))))
        words[joined(name)] = None
    words.pop("", None)
    return " ".join(words)


# Tokens

TokenCounter = Callable[[str], int]
"""Returns the number of tokens of a text; 0 for an empty one, and never less for more text."""

_PIECE: Final = re.compile(
    r"(?P<word>[^\W\d_]+)|(?P<number>\d+)|(?P<space>\n\s*|[ \t]{2,})|(?P<sign>[^\w\s]|_)"
)
_PER_TOKEN: Final = {"word": 8, "number": 3, "space": 8, "sign": 1}
"""Characters that make one token as a rule: most words of chat are a token, long names several.
Indentation is counted, which WordPiece drops."""
_ASCII_TOKEN: Final = re.compile(r"[a-zA-Z]{1,8}|[0-9]{1,3}|[^\w\s]|_")
_ASCII_SPACE: Final = re.compile(r"\n\s*|[ \t]{2,}")


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens ``text`` has for a language model.

    KDS brings no tokenizer; users of one hand its counter to the store. Against WordPiece (whole
    text / mean error of a message): chat +2 % / 4 %, documentation +0 % / 7 %, code +5 % / 5 %.
    Rather too many than too few: what keeps to the estimate should keep to the model's budget.

    >>> estimate_tokens("Make the FAB button purple"), estimate_tokens("")
    (5, 0)
    """
    if text.isascii():  # most texts: the same in a fifth of the time
        spaces = sum(-(-len(one) // _PER_TOKEN["space"]) for one in _ASCII_SPACE.findall(text))
        return len(_ASCII_TOKEN.findall(text)) + spaces
    return sum(map(_cost, _PIECE.finditer(text)))


def _cost(piece: re.Match[str]) -> int:
    text, kind = piece[0], piece.lastgroup or ""
    if kind == "word" and not text.isascii():  # a sign of Chinese: one or two
        return len(text.encode("utf-8", "surrogatepass")) // 3 + 1
    return -(-len(text) // _PER_TOKEN[kind])
