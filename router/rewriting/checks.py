"""Whether a model's rewrite can be taken for the message: length, names, numbers, negation.

A model may say the message in other words. It may not invent or lose a name, a number or a piece
of code, bring in or drop a negation, answer the message, or write more than a message.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Final, Literal, NamedTuple

from kds.brain.words.terms import FORMS, estimate_tokens, stem
from kds.router.english import words as listed
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings

OUTPUT_TOKENS: Final = 150
"""Longest rewrite, in tokens."""
GROWTH: Final = 5
"""Times as many words as the message has; `GROWN` more are always allowed."""
GROWN: Final = 20
READ_CHARS: Final = 4_000
"""Characters of one text that are compared."""

_TOKEN: Final = re.compile(r"--?\w[\w-]*|[$€£]?\d[\d.,]*(?:%|\w+)?|[^\W_](?:[\w./:@#+-]*[\w+#/])?")
_SIGN: Final = re.compile(r"[^a-z0-9 .,?!'-]|(?<!\w)['-]")
"""What a model writes around a message (quotes, tags, "Rewritten:"), and letters of other scripts:
allowed where it was said."""
_PLAIN: Final = re.compile(r"[^\W\d_]+(?:[-/][^\W\d_]+)*")
_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_STRAIGHT: Final = str.maketrans("’‘‛´“”„", "''''\"\"\"")
_NOT: Final = re.compile(r"(?<=\w)n't\b|(?<=can)not\b", re.I)
_ENDING: Final = re.compile(r"(?<=\w)'(?:s|d|m|re|ve|ll)?(?!\w)", re.I)
_GRAMMATICAL: Final = (
    cc.DETERMINERS | cc.PERSONAL | cc.PREPOSITIONS | cc.PARTICLES | cc.COORDINATORS
    | cc.SUBORDINATORS | cc.MODALS | cc.NEGATIONS | cc.ADVERBS | cc.NUMBERS | cc.ORDINALS | cc.WH
    | cc.BE | cc.HAVE | cc.DO
)  # fmt: skip


def word_key(lower: str) -> str:
    """Return what all forms of a word share; words of grammar have no other forms.

    >>> word_key("ran") == word_key("running"), word_key("one")
    (True, 'one')
    """
    key = stem(lower)
    if lower in _GRAMMATICAL or key in _GRAMMATICAL:  # "one" is not a form of "on"
        return lower
    return stem(FORMS.get(key, (lower,))[0])


_NEGATIONS, _POINTING, _FAILING, _CARRYING, _FILLING, _LIGHT = (
    frozenset(map(word_key, listed("rewriting", name)))
    for name in ("negations", "pointing", "failing", "carrying", "filling", "light")
)
_EMPTY: Final = _GRAMMATICAL | _CARRYING
_MINOR: Final = _EMPTY | _POINTING | _FILLING


class Piece(NamedTuple):
    """A word of a text; ``key`` is what its forms share."""

    text: str
    key: str
    kind: Literal["word", "name", "number", "code"]


@lru_cache(maxsize=256)
def read_pieces(text: str) -> tuple[Piece, ...]:
    """Return the words, names, numbers and pieces of code of ``text``, in order.

    >>> [(one.key, one.kind) for one in read_pieces("Ann isn't in src/app.py: 1,000")][2:]
    [('not', 'word'), ('in', 'word'), ('src/app.py', 'code'), ('1000', 'number')]
    """
    marks = unicodedata.normalize("NFD", text[:READ_CHARS].translate(_STRAIGHT))
    plain = unicodedata.normalize("NFC", "".join(c for c in marks if not unicodedata.combining(c)))
    plain = _ENDING.sub(" ", _NOT.sub(" not", plain))
    return tuple(piece for match in _TOKEN.finditer(plain) for piece in _read(match[0]))


def _read(token: str) -> Iterator[Piece]:
    if _PLAIN.fullmatch(token) and not _CAMEL.search(token):
        for word in re.split("[-/]", token):
            key = word_key(word.lower())
            number = key in cc.NUMBERS and key not in ("one", "two")  # "which of the two"
            yield Piece(word, key, "number" if number else "name" if word[0].isupper() else "word")
    elif any(char.isalpha() or char == "_" for char in token.rstrip("stndrh%")):
        yield Piece(token, token, "code")
    else:
        yield Piece(token, token.rstrip(".,").replace(",", ""), "number")


def keys_of(text: str) -> list[str]:
    """What each word of ``text`` shares with its other forms."""
    return [one.key for one in read_pieces(text)]


def polarity(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the words that say something, and of those that are negated.

    >>> [sorted(keys) for keys in polarity("We don't deploy on Friday")]
    [['deploi', 'fridai'], ['deploi']]
    """
    pieces = read_pieces(text)
    weighty = (one.key for one in pieces if one.key not in _MINOR | _NEGATIONS)
    return frozenset(weighty), frozenset(_negated(pieces)) - {""}


def _negated(pieces: Sequence[Piece]) -> list[str]:
    """The word that each negation stands before; "" for one that stands before none."""
    light = _CARRYING | _POINTING
    return [
        next((one.key for one in pieces[at + 1 :] if one.key not in light), "")
        for at, piece in enumerate(pieces)
        if piece.key in _NEGATIONS
    ]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a rewrite is not taken: the name of the check, and what it met."""

    check: str
    detail: str

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Taken:
    """A rewrite that holds, and what it brought in: the longest phrase said before, "" for none."""

    text: str
    brought: str = ""


def check(rewrite: str, message: str, said: Iterable[str]) -> Taken | Fault:
    """Judge what a model made of ``message`` after what was ``said``. Never raises."""
    text, said = rewrite.strip(), [*said, message]
    mine, pieces = read_pieces(message), read_pieces(text)
    own, theirs, known = set(keys_of(message)), set(keys_of(text)), set(chain(*map(keys_of, said)))
    tokens = max(OUTPUT_TOKENS, estimate_tokens(message))
    words = max(len(mine) + GROWN, GROWTH * len(mine))
    if len(text) > 12 * tokens or estimate_tokens(text) > tokens or not 0 < len(pieces) <= words:
        return Fault("length", f"{len(pieces)} words")
    spelt, form = (one.translate(_STRAIGHT).lower() for one in ("".join(said), text))
    if strange := next((sign for sign in _SIGN.findall(form) if sign not in spelt), ""):
        return Fault("form", f"nobody wrote {strange!a}")
    if keys_of(text) == keys_of(message):
        return Taken(text)
    if new := next((one for one in _facts(pieces) if one.key not in known), None):
        return Fault(f"new {new.kind}", new.text)
    if lost := next((one for one in _facts(mine) if one.key not in theirs | _POINTING), None):
        return Fault(f"lost {lost.kind}", lost.text)
    if turned := _turned(mine, pieces, said):
        return Fault("negation", turned)
    if other := _other_request(text, message, known):
        return Fault("request", other)
    runs = (list(run) for old, run in groupby(pieces, lambda p: p.key in known - own) if old)
    brought = max(map(_phrase, runs), key=len, default="")
    return Taken(text, brought) if brought else Fault("request", "nothing came in")


def _facts(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Names (but for a first word, which is a capital anyway), numbers and code."""
    for at, one in enumerate(pieces):
        if one.kind != "word" and (one.kind != "name" or (at and one.key not in _GRAMMATICAL)):
            yield one


def _turned(mine: Sequence[Piece], pieces: Sequence[Piece], said: Iterable[str]) -> str:
    """What became of the negations, where not as many come back, before the same words.

    "fails to" may stand for "doesn't", and what was negated before may come in with its "not".
    """
    before, after = _negated(mine), _negated(pieces)
    if before and mine[0].key == "no" and len(after) < len(before):
        before = before[1:]  # "No, teal"
    own, theirs = ({one.key for one in each} for each in (mine, pieces))
    earlier = {word for text in said for word in _negated(read_pieces(text)) if word}
    new = [word for word in after if word in own or word not in earlier]
    failing = bool(theirs & _FAILING)
    if not len(new) <= len(before) <= len(after) + failing:
        return f"{len(after)} instead of {len(before)}"
    lost = (word for word in before if word in theirs and word not in after and not failing)
    return next((f"not of '{word}' any more" for word in lost), "")


def _other_request(text: str, message: str, known: set[str]) -> str:
    """How a rewrite asks for something else than the message; "" where it does not.

    Most of its words were said; a question stays one; of an order all but light verbs stays.
    """
    mine, theirs = read_pieces(message), read_pieces(text)
    weighty = [one for one in theirs if one.key not in _MINOR]
    new = [one.text for one in weighty if one.key not in known]
    if new and 2 * len(new) >= len(weighty):
        return f"new '{new[0]}'"
    if more := next((b.text for a, b in pairwise(theirs) if a.key == "and" and b.text in new), ""):
        return f"and '{more}'"
    asks = text.endswith("?")
    if message.rstrip().endswith("?"):
        return "" if asks else "no question any more"
    if not _orders(mine):
        return ""
    if asks or not _orders(theirs):
        return "no order any more"
    stays = {one.key for one in theirs} | _LIGHT | _MINOR
    stays |= {b.key for a, b in pairwise(mine) if a.key in cc.DEMONSTRATIVES}  # "that file"
    return next((f"lost '{one.text}'" for one in mine if one.key not in stays), "")


def _orders(pieces: Iterable[Piece]) -> bool:
    """Whether a text begins with a verb: "make", "please don't make"."""
    first = next((one for one in pieces if one.key not in _FILLING | _NEGATIONS | cc.DO), None)
    return first is not None and readings(first.text.lower()).verb == first.text.lower()


def _phrase(run: Sequence[Piece]) -> str:
    """The words of a run, without what is grammar at its ends."""
    weighty = [at for at, one in enumerate(run) if one.key not in _EMPTY] or [len(run)]
    return " ".join(one.text for one in run[weighty[0] : weighty[-1] + 1])
