"""Whether a model's rewrite can be taken for the message: length, names, numbers, negation.

A model may say the message in other words. It may not invent or lose a name, a number or a piece
of code, bring in or drop a negation, answer the message, or write more than a message.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from kds.brain.words.terms import FORMS, estimate_tokens, stem
from kds.router.english import words as listed
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis

Analyse = Callable[[str], Analysis]

OUTPUT_TOKENS: Final = 150
"""Longest rewrite, in tokens."""
GROWTH: Final = 5
"""Times as many words as the message has; `GROWN` more are always allowed."""
GROWN: Final = 20
READ_CHARS: Final = 4_000
"""Characters of one text that are compared."""

_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")
_SENTENCE_END: Final = re.compile(r"(?<![A-Z])(?<!Dr|Mr|Ms|vs)[.?!]+\s+(?=\S)")
_FORMS: Final = {
    "markup": re.compile(r"```|\*\*|^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s|</?\w+[^<>]*>|<!--|\]\(|[{}]"),
    "prefix": re.compile(
        r"^\W*(?:(?:sure|certainly|okay|ok|here)\b[^:]{0,60}:|(?:\w+[ -]){0,3}(?:rewrit\w*|rewrote|"
        r"rephras\w*|output|answer|result|contained|standalone|question|message)\s*:)",
        re.I,
    ),
    "instructions": re.compile(
        r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b.{0,60}\b(?:instruct|prompt|rule|above|"
        r"previous|prior|earlier|context|polic)|\bsystem (?:prompt|message)|\bas an? ai\b"
        r"|\bi(?:'m| am) (?:an? (?:ai|assistant)|sorry|unable)|\bi (?:can ?not|can't|won't)\b"
        r"|\b(?:system|assistant|user|human|ai)\s*:|<\||\[/?inst\]",
        re.I,
    ),
    "quotes": re.compile(r"""^["'`“‘«].*["'`”’»]$"""),
}
"""What a model writes around a message, or instead of one; allowed where the message has it."""

_TOKEN: Final = re.compile(r"--?\w[\w-]*|[$€£]?\d[\d.,]*(?:%|\w+)?|[^\W_](?:[\w./:@#+-]*[\w+#/])?")
_PLAIN: Final = re.compile(r"[^\W\d_]+(?:[-/][^\W\d_]+)*")
_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_STRAIGHT: Final = str.maketrans("’‘‛´“”„", "''''\"\"\"")
_CONTRACTED: Final = tuple(
    (re.compile(found, re.I), written)
    for found, written in (
        (r"\bcannot\b|\bcan't\b", "can not"), (r"\bwon't\b", "will not"), (r"(?<=\w)n't\b", " not"),
        (r"(?<=\w)'(?:re|m)\b", " be"), (r"(?<=\w)'ve\b", " have"), (r"(?<=\w)'ll\b", " will"),
        (r"(?<=\w)'[sd]?(?!\w)", " "),
    )
)  # fmt: skip
_FOLDED: Final = (
    dict.fromkeys(cc.BE, "be")
    | dict.fromkeys(cc.HAVE, "have")
    | dict.fromkeys(("do", "does", "did"), "do")
    | dict.fromkeys(("use", "uses", "used", "using"), "use")
    | {"an": "a", "ones": "one"}
)
_GRAMMATICAL: Final = (
    cc.DETERMINERS | cc.PERSONAL | cc.PREPOSITIONS | cc.PARTICLES | cc.COORDINATORS
    | cc.SUBORDINATORS | cc.MODALS | cc.NEGATIONS | cc.ADVERBS | cc.NUMBERS | cc.ORDINALS | cc.WH
)  # fmt: skip


def word_key(lower: str) -> str:
    """Return what all forms of a word share.

    >>> word_key("ran") == word_key("running"), word_key("were"), word_key("one")
    (True, 'be', 'one')
    """
    if lower in _FOLDED:
        return _FOLDED[lower]
    key = stem(lower)
    if lower in _GRAMMATICAL or key in _GRAMMATICAL:  # "one" is not a form of "on"
        return lower
    forms = FORMS.get(key)
    return stem(forms[0]) if forms else key


def _keys(name: str) -> frozenset[str]:
    return frozenset(map(word_key, listed("rewriting", name)))


_NEGATIONS, _POINTING, _FAILING = _keys("negations"), _keys("pointing"), _keys("failing")
_CARRYING, _FILLING, _LIGHT = _keys("carrying"), _keys("filling"), _keys("light")
_MINOR: Final = _GRAMMATICAL | _POINTING | _FILLING | _CARRYING


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
    text = unicodedata.normalize("NFC", text).translate(_STRAIGHT)[:READ_CHARS]
    for contracted, written in _CONTRACTED:
        text = contracted.sub(written, text)
    return tuple(piece for match in _TOKEN.finditer(text) for piece in _read(match[0]))


def _read(token: str) -> Iterator[Piece]:
    if _PLAIN.fullmatch(token) and not _CAMEL.search(token):
        for word in re.split("[-/]", token):
            plain = unicodedata.normalize("NFD", word.lower())
            key = word_key("".join(c for c in plain if not unicodedata.combining(c)))
            number = key in cc.NUMBERS and key not in ("one", "two")  # "which of the two"
            yield Piece(word, key, "number" if number else "name" if word[0].isupper() else "word")
    elif any(char.isalpha() or char == "_" for char in token.rstrip("stndrh%")):
        yield Piece(token, token, "code")
    else:
        yield Piece(token, token.rstrip(".,").replace(",", ""), "number")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a rewrite is not taken: the name of the check, and what it met."""

    check: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.detail}" if self.detail else self.check


@dataclass(frozen=True, slots=True)
class Taken:
    """A rewrite that holds, and what it brought in: the longest phrase said before, "" for none."""

    text: str
    brought: str = ""


@dataclass(frozen=True)
class Told:
    """What a rewrite may draw on: the message, what the rules made of it, what was said before."""

    message: str
    expanded: str
    said: tuple[str, ...] = ()
    """By the user, oldest first, as written and as the rules expanded it."""
    replies: tuple[str, ...] = ()
    """By the assistant."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was said, the message included."""
        return (*self.said, *self.replies, self.expanded, self.message)

    @cached_property
    def mine(self) -> tuple[Piece, ...]:
        """The pieces of the message."""
        return read_pieces(self.message)

    @cached_property
    def own(self) -> frozenset[str]:
        """The keys of the message."""
        return frozenset(piece.key for piece in self.mine)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all texts."""
        return frozenset(piece.key for text in self.texts for piece in read_pieces(text))


def check(rewrite: str, told: Told, analyse: Analyse) -> Taken | Fault:
    """Judge what a model made of ``told.message``. Never raises."""
    text = rewrite.strip()
    pieces = read_pieces(text)
    fault = _form(text, pieces, told)
    if fault is None and [p.key for p in pieces] == [p.key for p in told.mine]:
        return Taken(text)
    fault = (
        fault or _names_and_numbers(pieces, told) or _negation(pieces, told)
        or _matter(text, pieces, told, analyse)
    )  # fmt: skip
    if fault is not None:
        return fault
    brought = _brought(pieces, told)
    return Taken(text, brought) if brought else Fault("too vague")


def _form(text: str, pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """One line, no longer than a message, without anything around it."""
    if not pieces:
        return Fault("empty")
    if _LINE_END.search(text):
        return Fault("lines", "more than one line")
    limit = max(OUTPUT_TOKENS, estimate_tokens(told.message))
    words = max(len(told.mine) + GROWN, GROWTH * len(told.mine))
    if len(text) > 12 * limit or estimate_tokens(text) > limit or len(pieces) > words:
        return Fault("length", f"{len(pieces)} words")
    said = "".join(told.texts)
    strange = (c for c in text if not (c.isascii() and c.isprintable()) and c not in said)
    if odd := next((c for c in strange if not unicodedata.name(c, "").startswith("LATIN ")), None):
        return Fault("characters", f"U+{ord(odd):04X}")
    plain, message = text.translate(_STRAIGHT), told.message.translate(_STRAIGHT).lower()
    for name, form in _FORMS.items():
        found = form.search(plain)
        if found and found[0].strip().lower() not in message and found[0] not in said:
            return Fault(name, found[0].strip()[:40])
    if len(_SENTENCE_END.findall(text)) > len(_SENTENCE_END.findall(told.message)):
        return Fault("more sentences")
    return None


def _names_and_numbers(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """Names, numbers and code: none invented, and none of the message's lost."""
    for at, piece in enumerate(pieces):
        if _must_stay(at, piece) and piece.key not in told.keys:
            return Fault(f"new {piece.kind}", piece.text)
    theirs = {piece.key for piece in pieces}
    for at, piece in enumerate(told.mine):
        if _must_stay(at, piece) and piece.key not in theirs | _POINTING:
            return Fault("lost word", piece.text)
    return None


def _must_stay(at: int, piece: Piece) -> bool:
    if piece.kind == "name":
        return at > 0 and piece.key not in _GRAMMATICAL
    return piece.kind != "word"


def _negation(pieces: tuple[Piece, ...], told: Told) -> Fault | None:
    """As many negations come back, before the same words.

    "fails to" may stand for "doesn't", and what was negated before may come in with its "not".
    """
    before, after = list(_negated(told.mine)), list(_negated(pieces))
    if before and told.mine[0].key == "no" and len(after) < len(before):
        before = before[1:]  # "No, teal"
    earlier = {word for text in told.texts for word in _negated(read_pieces(text))}
    new = [word for word in after if word in told.own or word not in earlier - {""}]
    failing = any(piece.key in _FAILING for piece in pieces)
    if not len(new) <= len(before) <= len(after) + failing:
        return Fault("negation", f"{len(after)} instead of {len(before)}")
    theirs = {piece.key for piece in pieces}
    for word in before:
        if word in theirs and word not in after and not failing:
            return Fault("negation", f"not of '{word}' any more")
    return None


def _negated(pieces: tuple[Piece, ...]) -> Iterator[str]:
    """The word that each negation stands before; "" for one that stands before none."""
    light = _CARRYING | _POINTING
    for at, piece in enumerate(pieces):
        if piece.key in _NEGATIONS:
            yield next((p.key for p in pieces[at + 1 :] if p.key not in light), "")


def polarity(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the words that say something, and of those that are negated.

    >>> [sorted(keys) for keys in polarity("We don't deploy on Friday")]
    [['deploi', 'fridai'], ['deploi']]
    """
    pieces = read_pieces(text)
    weighty = (one.key for one in pieces if one.key not in _MINOR | _NEGATIONS)
    return frozenset(weighty), frozenset(_negated(pieces)) - {""}


def _matter(text: str, pieces: tuple[Piece, ...], told: Told, analyse: Analyse) -> Fault | None:
    """Half of its words were said; a question stays one; of an order all but light verbs stays."""
    weighty = [piece for piece in pieces if piece.key not in _MINOR]
    new = [piece.text for piece in weighty if piece.key not in told.keys]
    if new and 2 * len(new) >= len(weighty):
        return Fault("new word", new[0])
    if told.message.rstrip().endswith("?"):
        return None if text.endswith("?") else Fault("no question any more")
    if told.own & {"same", "question"} or not _orders(analyse(told.message)):
        return None
    kept = [piece for piece in told.mine if piece.key not in _MINOR]
    if not kept:
        return Fault("too vague")  # "Do it": nothing in it holds a rewrite
    pointed = {two.key for one, two in pairwise(told.mine) if one.key in cc.DEMONSTRATIVES}
    theirs = {piece.key for piece in pieces} | _LIGHT | pointed
    if lost := next((piece.text for piece in kept if piece.key not in theirs), None):
        return Fault("lost word", lost)
    after = _orders(analyse(text))
    if not after or text.endswith("?"):
        return Fault("no order any more")
    return Fault("another request") if after > _orders(analyse(told.message)) else None


def _orders(text: Analysis) -> int:
    """How many things a text tells to do."""
    main = [c for c in text.clauses if c.verb is not None and not c.subordinate]
    verbs = sum(text.words[c.verb].tag != "VBG" for c in main if c.verb is not None)
    return max(verbs, 1) if any(c.mood == "imperative" for c in main) else 0


def _brought(pieces: tuple[Piece, ...], told: Told) -> str:
    """The longest phrase of the rewrite that the conversation has and the message has not."""
    runs: list[list[str]] = [[]]
    for piece in pieces:
        if piece.key in told.own or piece.key not in told.keys:
            runs.append([])
        elif piece.key not in _GRAMMATICAL | _CARRYING or runs[-1]:
            runs[-1].append(piece.text)
    for run in runs:
        while run and word_key(run[-1].lower()) in _GRAMMATICAL | _CARRYING:
            run.pop()
    return max((" ".join(run) for run in runs), key=len)
