"""A text as pieces that can be compared with those of another: words, names, numbers, code.

Two pieces are the same when their keys are: a form of one word ("deletes", "deleted") counts as
the word, numbers count by their digits, code (paths, flags, identifiers) counts as it is written.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from kds.brain.words.stems import FORMS, stem
from kds.router.language import closed_class as cc

Kind = Literal["word", "name", "number", "code"]

READ_CHARS: Final = 4_000
"""Characters that are compared of one text: more than a rewrite may lean on."""

_CHUNK: Final = re.compile(r"\S+")
_SPLIT: Final = re.compile(r"[,;…—–]+(?!\d)|(?<!\d)[,;…—–]+")
_BEFORE: Final = "\"'`,;:!?()[]{}<>*…—–"
_BEHIND: Final = _BEFORE + "."
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_PLAIN: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*-?")
_NUMBER: Final = re.compile(r"[-+$€£]?\d[\d.,]*(?:%|st|nd|rd|th)?")
_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_CONTRACTED: Final = re.compile(r"(?P<base>\w+?)(?P<end>n't|'(?:s|re|m|ve|ll|d))", re.IGNORECASE)
_STRAIGHT: Final = str.maketrans("’‘‛´“”„", "''''\"\"\"")

_WHOLE: Final[Mapping[str, str]] = {"ca": "can", "wo": "will", "sha": "shall"}
_ENDS: Final[Mapping[str, str]] = {
    "n't": "not", "'s": "'s", "'re": "be", "'m": "be", "'ve": "have", "'ll": "will", "'d": "'d",
}  # fmt: skip
_FOLDED: Final[Mapping[str, str]] = (
    {form: "be" for form in cc.BE if form.isalpha()}
    | {form: "have" for form in cc.HAVE if form.isalpha()}
    | dict.fromkeys(("do", "does", "did"), "do")
    | dict.fromkeys(("use", "uses", "used", "using"), "use")
    | {"n't": "not", "an": "a", "ones": "one"}
)


GRAMMATICAL: Final = (
    cc.DETERMINERS | cc.PERSONAL | cc.PREPOSITIONS | cc.PARTICLES | cc.COORDINATORS
    | cc.SUBORDINATORS | cc.MODALS | cc.NEGATIONS | cc.ADVERBS | cc.NUMBERS | cc.ORDINALS | cc.WH
)  # fmt: skip
"""Words of grammar: they say nothing of their own."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, name, number or bit of code; ``start`` and ``end`` are offsets in its text."""

    text: str
    start: int
    end: int
    key: str
    kind: Kind

    @property
    def lower(self) -> str:
        """The text in lower case, without accents."""
        return unaccented(self.text.lower())


@lru_cache(maxsize=256)
def read_pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of ``text``, in order; punctuation is none.

    >>> [piece.key for piece in read_pieces("Don't delete src/app.py, it's 1,000 lines!")]
    ['do', 'not', 'delet', 'src/app.py', 'it', "'s", '1000', 'line']
    """
    text = straight(text)[:READ_CHARS]
    return tuple(piece for start, chunk in _chunks(text) for piece in _read(chunk, start))


def straight(text: str) -> str:
    """Return ``text`` with one form of every letter, and straight quotes. Its length may change."""
    return unicodedata.normalize("NFC", text).translate(_STRAIGHT)


def word_key(lower: str) -> str:
    """Return what all forms of a word share.

    >>> word_key("ran") == word_key("running"), word_key("were"), word_key("one")
    (True, 'be', 'one')
    """
    if lower in _FOLDED:
        return _FOLDED[lower]
    key = stem(lower)
    if lower in GRAMMATICAL or key in GRAMMATICAL:  # "one" is no "on", "uses" no "us"
        return lower
    forms = FORMS.get(key)
    return stem(forms[0]) if forms else key


def keys(pieces: Iterable[Piece]) -> tuple[str, ...]:
    """Return the keys of ``pieces``."""
    return tuple(piece.key for piece in pieces)


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    for match in _CHUNK.finditer(text):
        at = match.start()
        chunk = match[0]
        begin = 0
        for gap in [*_SPLIT.finditer(chunk), None]:
            end = gap.start() if gap else len(chunk)
            part = chunk[begin:end]
            bare = part.lstrip(_BEFORE)
            stripped = bare.rstrip(_BEHIND)
            if any(map(str.isalnum, stripped)):
                yield at + begin + len(part) - len(bare), stripped
            begin = gap.end() if gap else end


def _read(chunk: str, start: int) -> Iterator[Piece]:
    if _NUMBER.fullmatch(chunk):
        digits = chunk.rstrip(".,").replace(",", "").lower().lstrip("+")
        yield Piece(chunk, start, start + len(chunk), digits, "number")
    elif _PLAIN.fullmatch(chunk) and not _CAMEL.search(chunk):
        for match in _WORD.finditer(chunk):
            yield from _words(match[0], start + match.start())
    elif "/" in chunk and all(part.isalpha() for part in chunk.split("/")):
        yield from _alternatives(chunk, start)
    elif (owner := _owner(chunk)) is not None:
        yield Piece(owner, start, start + len(owner), owner, "code")
        yield Piece("'s", start + len(owner), start + len(chunk), "'s", "word")
    else:
        yield Piece(chunk, start, start + len(chunk), chunk, "code")


def _owner(chunk: str) -> str | None:
    return chunk[:-2] if chunk.lower().endswith("'s") and len(chunk) > 2 else None


def _alternatives(chunk: str, start: int) -> Iterator[Piece]:
    """ "and/or", "Frank/Ann"; a path of plain words ("src/app") reads the same way."""
    at = start
    for part in chunk.split("/"):
        yield from _words(part, at)
        at += len(part) + 1


def _words(text: str, start: int) -> Iterator[Piece]:
    lower = text.lower()
    if lower == "cannot":
        yield Piece(text[:3], start, start + 3, "can", "word")
        yield Piece(text[3:], start + 3, start + len(text), "not", "word")
        return
    match = _CONTRACTED.fullmatch(text)
    if match is None:
        yield _word(text, start)
        return
    base, end = match["base"], match["end"]
    key = _WHOLE.get(base.lower(), "")
    at = start + len(base)
    yield Piece(base, start, at, key, "word") if key else _word(base, start)
    yield Piece(end, at, start + len(text), _ENDS[end.lower()], "word")


def _word(text: str, start: int) -> Piece:
    kind: Kind = "name" if text[:1].isupper() else "word"
    return Piece(text, start, start + len(text), word_key(unaccented(text.lower())), kind)


def unaccented(text: str) -> str:
    """Return ``text`` without accents, as many people write names.

    >>> unaccented("gonzález")
    'gonzalez'
    """
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
